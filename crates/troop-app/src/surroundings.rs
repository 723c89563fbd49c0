//! The surroundings of a command: the environment, the caller's choices, and the configuration files, read once.

mod environment;
mod file;
mod hooks;
mod models;
mod starter;
mod store;
mod teams;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use troop_model::LEAD_ALIASES;
use troop_runtime::HooksConfig;

pub use self::{
    environment::{Environment, TRUSTED_SERVERS},
    models::{LimitsConfig, ModelConfig, Models, PermissionsConfig, PriceConfig},
    starter::Starter,
    store::{ReadableFiles, parse_store, readable_files, store_from_folder},
    teams::{BudgetConfig, TeamDefaults, TeammateMode, TeamsConfig, TeamsOff},
};

use self::file::ClaudeSettings;
use crate::{Error, Result};

/// What to do if troop cannot keep its files in its folder.
pub(crate) const OTHER_HOME: &str = "say where: `TROOP_HOME=/path troop …`";

/// The configuration file, in `$TROOP_HOME/config.json` and in a project's `.troop/config.json`. Comments are allowed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Config", deny_unknown_fields)]
pub struct ConfigFile {
    /// Where this file's schema is; for editors.
    #[serde(rename = "$schema")]
    schema: Option<String>,
    /// Where teams are kept: `sqlite:PATH`, `files:FOLDER` or `postgres://…`.
    pub store: Option<String>,
    /// The team, where there are several.
    pub team: Option<String>,
    /// The agent that leads in `troop run`: `script:FILE`, or one that you describe. In a project's file it counts once the
    /// project is trusted.
    pub agent: Option<String>,
    /// The built-in agent's model: a name in `models`, `PROVIDER/MODEL`, or the model's own name. Counts only in your own file,
    /// as do `models`, `limits`, and what `permissions` allow.
    pub model: Option<String>,
    /// Models under your own names.
    pub models: Models,
    /// What the built-in agent may do.
    pub permissions: PermissionsConfig,
    /// How much the built-in agent may spend on one piece of work.
    pub limits: LimitsConfig,
    /// The name of the person at the keyboard, as it stands in the log.
    pub user: Option<String>,
    /// Whether teams are on, and defaults for new ones.
    teams: TeamsConfig,
    /// Commands that run when something happens in a team.
    #[schemars(schema_with = "hooks::schema")]
    hooks: Option<Value>,
}

/// The choices of a person or a program for one command, before any file is read. `None` leaves it to the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Where troop keeps its files.
    pub home: Option<PathBuf>,
    /// The URL of the store.
    pub store: Option<String>,
    pub team: Option<String>,
    /// The member to act as.
    pub acting: Option<String>,
}

/// Everything that a command depends on besides its own arguments.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub environment: Environment,
    pub choices: Choices,
    /// Where troop keeps its files.
    pub home: PathBuf,
    /// The folder of the project, which contains `.troop`, or the current folder.
    pub project: PathBuf,
    /// The name of the person at the keyboard.
    pub user: String,
    /// The store and the team that the files name.
    pub configured: ConfigTarget,
    pub teams: TeamDefaults,
    pub personal: PersonalCommands,
    pub shared: ProjectCommands,
    /// Warnings about the files that were read.
    pub warnings: Vec<String>,
}

/// The store and the team that configuration files name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigTarget {
    pub store: Option<String>,
    pub team: Option<String>,
}

/// Commands in a person's own file. They need no consent.
#[derive(Clone, Debug)]
pub struct PersonalCommands {
    pub hooks: HooksConfig,
    /// Commands that must pass before a task is done.
    pub checks: Vec<String>,
    /// The agent that leads.
    pub agent: Option<String>,
}

/// Commands in a project's own files. They need a person's consent, see [`crate::trust`].
#[derive(Clone, Debug, Default)]
pub struct ProjectCommands {
    /// The project's configuration file, which names the checks and the agent.
    pub file: PathBuf,
    /// Commands that must pass before a task is done.
    pub checks: Vec<String>,
    /// The agent that leads.
    pub agent: Option<String>,
    /// The hooks of each file that can have some.
    pub hooks: Vec<(PathBuf, HooksConfig)>,
}

impl Surroundings {
    /// Whether the lead acts without a team being named: its MCP client may be about to make the first.
    #[must_use]
    pub fn may_lack_team(&self) -> bool {
        let is_lead = self.choices.acting.as_deref().is_some_and(|it| LEAD_ALIASES.contains(&it));
        let team = self.choices.team.as_ref().or(self.configured.team.as_ref());
        is_lead && team.is_none() && !self.environment.is_teammate()
    }

    /// Reads everything; a mistake in a file of troop's is an error.
    pub fn read(environment: Environment, choices: Choices) -> Result<Self> {
        Self::read_with(environment, choices, |_, error| Err(error))
    }

    /// Reads everything; a mistake in a file is only a warning, and the file counts as empty.
    pub fn read_what_is_there(environment: Environment, choices: Choices) -> Result<Self> {
        Self::read_with(environment, choices, |warnings, error| {
            warnings.push(error.to_string());
            Ok((ConfigFile::default(), HooksConfig::none()))
        })
    }

    /// The surroundings of a project without any configuration.
    #[must_use]
    pub fn bare(environment: Environment, home: PathBuf, project: PathBuf, user: String) -> Self {
        Self {
            teams: TeamDefaults::of(&[], &environment),
            environment,
            choices: Choices::default(),
            home,
            project,
            user,
            configured: ConfigTarget::default(),
            personal: PersonalCommands::none(),
            shared: ProjectCommands::default(),
            warnings: Vec::new(),
        }
    }

    /// Where troop moves files of teammates that git cannot keep.
    #[must_use]
    pub fn aside(&self) -> PathBuf {
        self.home.join("aside")
    }

    /// The URL of the store to use: chosen, configured, or the embedded one.
    #[must_use]
    pub fn store_url(&self) -> String {
        let embedded = || format!("sqlite:{}", self.home.join("troop.db").display());
        let named = self.choices.store.clone().or_else(|| self.configured.store.clone());
        named.unwrap_or_else(embedded)
    }

    /// Whether neither a choice nor a file names a store.
    #[must_use]
    pub fn is_default_store(&self) -> bool {
        self.choices.store.is_none() && self.configured.store.is_none()
    }

    fn read_with(
        environment: Environment,
        choices: Choices,
        broken: impl Fn(&mut Vec<String>, Error) -> Result<(ConfigFile, HooksConfig)>,
    ) -> Result<Self> {
        let home = find_home(&environment, &choices)?;
        let project = find_project(environment.folder(), &home);
        let mut warnings = Vec::new();
        let mut read = |path: &Path| {
            let config = file::read(path, &mut warnings).and_then(|config| {
                let hooks = hooks::read(config.hooks.as_ref(), path, &mut warnings)?;
                Ok((config, hooks))
            });
            config.or_else(|error| broken(&mut warnings, error))
        };
        let personal_path = home.join("config.json");
        let shared_path = shared_path(&project);
        let (personal, personal_hooks) = read(&personal_path)?;
        // If the project's folder holds the person's own folder, that file is not the project's.
        let (shared, shared_hooks) = if shared_path == personal_path {
            (ConfigFile::default(), HooksConfig::none())
        } else {
            read(&shared_path)?
        };
        let claude_path = project.join(".claude/settings.json");
        let claude = ClaudeSettings::read(&claude_path, &mut warnings);
        let mut claude_hooks =
            hooks::read_foreign(claude.hooks.as_ref(), &claude_path, &mut warnings);
        claude_hooks.is_enabled &= !claude.are_hooks_off;
        let claude_teams = TeamsConfig::shown(claude.teammate_mode);
        let files = [
            (shared_path.as_path(), &shared.teams),
            (&claude_path, &claude_teams),
            (&personal_path, &personal.teams),
        ];
        let mut teams = TeamDefaults::of(&files, &environment);
        // A project has no say in what a person pays.
        teams.budget = personal.teams.budget.into();
        let named_user = personal.user.or(shared.user).or_else(|| environment.variable("USER"));
        let shared_store = shared.store.map(|store| store_from_folder(&store, &project));
        Ok(Self {
            environment,
            choices,
            home,
            project,
            user: named_user.unwrap_or_else(|| "user".to_owned()),
            configured: ConfigTarget {
                store: shared_store.or(personal.store),
                team: shared.team.or(personal.team),
            },
            teams,
            personal: PersonalCommands {
                hooks: personal_hooks,
                checks: personal.teams.checks.0,
                agent: personal.agent,
            },
            shared: ProjectCommands {
                hooks: vec![(shared_path.clone(), shared_hooks), (claude_path, claude_hooks)],
                file: shared_path,
                checks: shared.teams.checks.0,
                agent: shared.agent,
            },
            warnings,
        })
    }

    /// The project's hooks, file by file. A file that switches hooks off does so for the whole project, and a person does so
    /// for everything.
    pub fn project_hooks(&self) -> impl Iterator<Item = &(PathBuf, HooksConfig)> {
        let hooks = &self.shared.hooks;
        let is_enabled =
            self.personal.hooks.is_enabled && hooks.iter().all(|(_, config)| config.is_enabled);
        hooks.iter().filter(move |_| is_enabled)
    }
}

impl PersonalCommands {
    #[must_use]
    pub fn none() -> Self {
        Self { hooks: HooksConfig::none(), checks: Vec::new(), agent: None }
    }
}

/// The configuration of the built-in agent: the person's own file, with what the project's files forbid added.
#[derive(Debug)]
pub(crate) struct ThinkingConfig {
    pub(crate) file: ConfigFile,
    /// The setting that switched teams off, if any did.
    pub(crate) off: Option<TeamsOff>,
}

impl ThinkingConfig {
    pub(crate) fn read(home: &Path, project: &Path, environment: &Environment) -> Result<Self> {
        let path = home.join("config.json");
        let mut config = file::read(&path, &mut Vec::new())?;
        config.permissions.deny.extend(file::forbidden(&shared_path(project)));
        for name in [".claude/settings.json", ".claude/settings.local.json"] {
            config.permissions.deny.extend(file::forbidden(&project.join(name)));
        }
        let off = TeamDefaults::of(&[(&path, &config.teams)], environment).off;
        Ok(Self { file: config, off })
    }
}

fn find_home(environment: &Environment, choices: &Choices) -> Result<PathBuf> {
    let home = choices.home.clone().or_else(|| environment.below_home(".troop"));
    home.ok_or_else(|| Error::misuse("there is no home folder to store teams in", OTHER_HOME))
}

fn shared_path(project: &Path) -> PathBuf {
    project.join(".troop/config.json")
}

/// The folder that contains the project's `.troop`: this one, or the nearest above it. The person's own does not count.
fn find_project(folder: &Path, home: &Path) -> PathBuf {
    let is_project = |folder: &&Path| {
        let mark = folder.join(".troop");
        mark.is_dir() && mark != home
    };
    folder.ancestors().find(is_project).unwrap_or(folder).to_owned()
}

/// The JSON Schema of a configuration file.
#[cfg(test)]
fn schema() -> String {
    let schema = schemars::schema_for!(ConfigFile);
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

#[cfg(test)]
mod tests;
