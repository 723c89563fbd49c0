//! What surrounds a command: the environment and the configuration files, read once.

mod file;
mod hooks;
mod member;
mod models;
mod teams;

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::Result;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use troop_runtime::{HooksConfig, Layout};
use troop_store::{StoreError, StoreUrl};

pub(crate) use self::{
    hooks::HookFiles,
    member::{Starter, Stat},
    models::{LimitsConfig, ModelConfig, Models, PermissionsConfig},
    teams::{TeammateMode, Teams, TeamsConfig},
};

use self::file::ClaudeSettings;
use crate::{cli::Global, desk::Shared, report::Usage};

/// The configuration file, in `$TROOP_HOME/config.json` and in a project's `.troop/config.json`. Comments are allowed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Config {
    /// Where this file's schema is; for editors.
    #[serde(rename = "$schema")]
    schema: Option<String>,
    /// Where teams are kept: `sqlite:PATH`, `files:FOLDER` or `postgres://…`.
    pub(crate) store: Option<String>,
    /// The team, where there are several.
    pub(crate) team: Option<String>,
    /// What thinks for the lead of `troop run`: `script:FILE`, or an agent that is described. In a project's file it counts
    /// once the project is trusted.
    pub(crate) agent: Option<String>,
    /// What the built-in agent thinks with: a name of `models`, `PROVIDER/MODEL`, or a model's own name. Counts in your own file
    /// alone, as do `models`, `limits`, and what `permissions` allow.
    pub(crate) model: Option<String>,
    /// Models under names of one's own.
    pub(crate) models: Models,
    /// What the built-in agent may do.
    pub(crate) permissions: PermissionsConfig,
    /// How much one piece of work of the built-in agent may cost.
    pub(crate) limits: LimitsConfig,
    /// The name of the person at the keyboard, as it stands in the log.
    pub(crate) user: Option<String>,
    /// Whether there are teams, and what they are like.
    teams: TeamsConfig,
    /// Commands that run when something happens in a team.
    #[schemars(schema_with = "hooks::schema")]
    hooks: Option<Value>,
}

/// All that a command depends on besides its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) config: Config,
    pub(crate) user: String,
    pub(crate) teams: Teams,
    pub(crate) hooks: HookFiles,
    pub(crate) checks: CheckFiles,
    /// What the project's own file says thinks for the lead.
    pub(crate) project_agent: Option<(PathBuf, String)>,
    /// What a person should know about the files that were read.
    pub(crate) warnings: Vec<String>,
}

/// What must pass before a task is done: as a person has it, and as a project has it, which are not to be trusted alike.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckFiles {
    pub(crate) personal: Vec<String>,
    /// The project's, and the file that says so.
    pub(crate) project: (PathBuf, Vec<String>),
}

impl Surroundings {
    /// Reads everything; what is wrong with a file is an error.
    pub(crate) fn read(global: &Global) -> Result<Self> {
        Self::read_with(global, |_, error| Err(error))
    }

    /// Reads everything; what is wrong with a file is only told.
    pub(crate) fn read_what_is_there(global: &Global) -> Result<Self> {
        Self::read_with(global, |warnings, error| {
            warnings.push(error.to_string());
            Ok((Config::default(), HooksConfig::none()))
        })
    }

    /// Where things of teammates are moved that git cannot keep.
    pub(crate) fn aside(&self) -> PathBuf {
        self.home.join("aside")
    }

    fn read_with(
        global: &Global,
        broken: impl Fn(&mut Vec<String>, anyhow::Error) -> Result<(Config, HooksConfig)>,
    ) -> Result<Self> {
        let home = find_home(global)?;
        let project = find_project(&env::current_dir().unwrap_or_default(), &home);
        let mut warnings = Vec::new();
        let mut read = |path: &Path| {
            let config = file::read(path, &mut warnings).and_then(|config| {
                let hooks = hooks::read(config.hooks.as_ref(), path, &mut warnings)?;
                Ok((config, hooks))
            });
            config.or_else(|error| broken(&mut warnings, error))
        };
        let [personal_path, shared_path] = [home.join("config.json"), shared_path(&project)];
        let (personal, personal_hooks) = read(&personal_path)?;
        // Where a person's own folder is in the project, its file is not the project's.
        let (shared, shared_hooks) = if shared_path == personal_path {
            (Config::default(), HooksConfig::none())
        } else {
            read(&shared_path)?
        };
        let claude_path = project.join(".claude/settings.json");
        let claude = ClaudeSettings::read(&claude_path, &mut warnings);
        let mut claude_hooks =
            hooks::read_foreign(claude.hooks.as_ref(), &claude_path, &mut warnings);
        claude_hooks.is_enabled &= !claude.are_hooks_off;
        let claude_teams = TeamsConfig::shown(claude.teammate_mode);
        let mut teams = Teams::of(&[
            (&shared_path, &shared.teams),
            (&claude_path, &claude_teams),
            (&personal_path, &personal.teams),
        ]);
        // What is paid for is not for a project to say.
        teams.budget = personal.teams.budget.into();
        let project_agent = shared.agent.map(|agent| (shared_path.clone(), agent));
        let checks = CheckFiles {
            personal: personal.teams.checks.0,
            project: (shared_path.clone(), shared.teams.checks.0),
        };
        let hooks = HookFiles {
            personal: personal_hooks,
            project: vec![(shared_path, shared_hooks), (claude_path, claude_hooks)],
        };
        let store = shared.store.map(|store| from_folder(&store, &project)).or(personal.store);
        let config = Config {
            store,
            team: shared.team.or(personal.team),
            agent: personal.agent,
            user: personal.user.or(shared.user),
            ..Config::default()
        };
        let user =
            config.user.clone().or_else(|| variable("USER")).unwrap_or_else(|| "user".to_owned());
        Ok(Self { home, project, config, user, teams, hooks, checks, project_agent, warnings })
    }

    /// The store that is meant: as said, as configured, or the embedded one.
    pub(crate) fn store_url(&self, global: &Global) -> String {
        let embedded = || format!("sqlite:{}", self.home.join("troop.db").display());
        said(global).or_else(|| self.config.store.clone()).unwrap_or_else(embedded)
    }

    /// Whether nobody said where teams are kept.
    pub(crate) fn is_default_store(&self, global: &Global) -> bool {
        said(global).is_none() && self.config.store.is_none()
    }
}

/// Reads a store's URL. One that makes no sense is wrong use, wherever it was written.
pub(crate) fn parse_store(url: &str) -> Result<StoreUrl> {
    StoreUrl::parse(split_layout(url).0).map_err(|error| {
        if let StoreError::Refused { what, hint } = error {
            Usage::new(what, hint).into()
        } else {
            error.into()
        }
    })
}

/// The readable files beside a store of files: `files:FOLDER?layout=seeds`, or Claude Code's.
pub(crate) fn shared_files(url: &str) -> Result<Option<Shared>> {
    let (url, layout) = split_layout(url);
    let StoreUrl::Files(folder) = parse_store(url)? else { return Ok(None) };
    let layout = match layout.map(str::parse::<Layout>).transpose() {
        Ok(layout) => layout.unwrap_or_default(),
        Err(error) => {
            let hint =
                format!("say `--store {}`", troop_model::quoted(&format!("{url}?layout=claude")));
            return Err(Usage::new(error.to_string(), hint).into());
        }
    };
    Ok(Some(Shared { folder, layout }))
}

/// A store's URL, and the layout that is written behind it.
fn split_layout(url: &str) -> (&str, Option<&str>) {
    match url.split_once("?layout=") {
        Some((url, layout)) if url.starts_with("files:") => (url, Some(layout)),
        _ => (url, None),
    }
}

/// The store as typed; an empty variable says nothing.
fn said(global: &Global) -> Option<String> {
    global.store.clone().filter(|store| !store.is_empty())
}

fn find_home(global: &Global) -> Result<PathBuf> {
    if let Some(home) = global.home.as_ref().filter(|home| !home.as_os_str().is_empty()) {
        return Ok(home.clone());
    }
    let home = variable("HOME").map(|home| PathBuf::from(home).join(".troop"));
    home.ok_or_else(|| {
        let hint = "say where: `TROOP_HOME=/path troop …`";
        Usage::new("there is no home folder to store teams in", hint).into()
    })
}

fn shared_path(project: &Path) -> PathBuf {
    project.join(".troop/config.json")
}

/// The folder that a project's `.troop` is in: this one, or the nearest above it. The person's own does not count.
fn find_project(folder: &Path, home: &Path) -> PathBuf {
    let is_project = |folder: &&Path| {
        let mark = folder.join(".troop");
        mark.is_dir() && mark != home
    };
    folder.ancestors().find(is_project).unwrap_or(folder).to_owned()
}

/// A store in a project's file is meant from the project's folder on, wherever a command is typed.
pub(crate) fn from_folder(store: &str, folder: &Path) -> String {
    match store.split_once(':') {
        Some((scheme @ ("sqlite" | "files"), path)) if !path.is_empty() => {
            format!("{scheme}:{}", folder.join(path.trim_start_matches("//")).display())
        }
        _ => store.to_owned(),
    }
}

/// The JSON Schema of a configuration file.
#[cfg(test)]
pub(crate) fn schema() -> String {
    let schema = schemars::schema_for!(Config);
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

/// Whether this runs in the process of a teammate, or in one that it started.
pub(crate) fn is_teammate() -> bool {
    variable("TROOP_TEAMMATE").is_some_and(|value| value == "1")
}

/// The environment of this process, for what it starts.
pub(crate) fn environment() -> Vec<(OsString, OsString)> {
    env::vars_os().collect()
}

/// What a person's own file says, with what a project's files forbid added, for an agent that thinks. And what switched teams
/// off, if anything did.
pub(crate) fn thinking(home: &Path, project: &Path) -> Result<(Config, Option<teams::Off>)> {
    let path = home.join("config.json");
    let mut config = file::read(&path, &mut Vec::new())?;
    config.permissions.deny.extend(file::forbidden(&shared_path(project)));
    for name in [".claude/settings.json", ".claude/settings.local.json"] {
        config.permissions.deny.extend(file::forbidden(&project.join(name)));
    }
    let off = Teams::of(&[(&path, &config.teams)]).off;
    Ok((config, off))
}

/// The person's own folder, as the environment has it.
pub(crate) fn home() -> Option<PathBuf> {
    let chosen = variable("TROOP_HOME").map(PathBuf::from);
    chosen.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".troop")))
}

/// The variable by which a lead tells its teammates which file of MCP servers a person agreed to.
pub(crate) const TRUSTED_SERVERS: &str = "TROOP_TRUSTED_SERVERS";

/// The file of MCP servers that a person agreed to, as the lead has it.
pub(crate) fn trusted_servers() -> Option<String> {
    variable(TRUSTED_SERVERS)
}

/// The project that a teammate works for, as its lead has it.
pub(crate) fn project() -> Option<PathBuf> {
    variable("TROOP_PROJECT").map(PathBuf::from)
}

/// Where Codex keeps its configuration.
pub(crate) fn codex_home() -> Option<PathBuf> {
    let chosen = variable("CODEX_HOME").map(PathBuf::from);
    chosen.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".codex")))
}

/// The program that a name means in this environment, with links followed.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    let found =
        env::split_paths(&folders).map(|folder| folder.join(name)).find(|it| it.is_file())?;
    found.canonicalize().ok()
}

pub(crate) fn variable(name: &str) -> Option<String> {
    env::var_os(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests;
