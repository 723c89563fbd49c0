//! Consent: what a project's own files would run does not run until a person has agreed to exactly that.

mod agreed;
mod import;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Component, Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use troop_agent::{
    Definition,
    builtin::{CommandConsent, McpServer},
};
use troop_model::{AgentKind, Hint, HintCommand, Time, USER};
use troop_runtime::HooksConfig;

use crate::{
    Error, FileAct, Result,
    hint::review_trust,
    surroundings::{Environment, Starter, Surroundings},
    whole_file::{self, FileAccess},
};
pub use agreed::{AgreedAgents, agreement};
pub use import::imported_commands;

/// The file in which a project names its MCP servers.
const MCP_FILE: &str = ".mcp.json";

/// Programs that run the file named next.
const INTERPRETERS: [&str; 14] = [
    "sh", "bash", "dash", "zsh", "fish", "source", ".", "python", "python3", "node", "deno", "bun",
    "ruby", "perl",
];
/// Extensions of programs, whether the file is executable or not.
const SUFFIXES: [&str; 12] =
    ["sh", "bash", "zsh", "fish", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "php"];

/// Something that a project's own files would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProjectCommand {
    pub kind: ProjectCommandKind,
    /// On what occasion it runs.
    pub when: String,
    /// The command for the shell.
    pub command: String,
    /// The file that says so, relative to the project's folder.
    pub file: String,
    /// The files of the project that the command names, each with a hash of its contents: another text is another command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// The kind of thing that a project would run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProjectCommandKind {
    /// Runs when something happens in a team.
    Hook,
    /// Must pass before a task is done.
    Check,
    Agent,
    #[serde(rename = "mcp server")]
    McpServer,
    /// Thinks for a lead.
    Lead,
    /// The text of a task, which the agent `command` runs.
    Task,
}

impl ProjectCommandKind {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Check => "check",
            Self::Agent => "agent",
            Self::McpServer => "mcp server",
            Self::Lead => "lead",
            Self::Task => "task",
        }
    }
}

/// A project, what it would run, and whether a person agreed to that.
#[derive(Debug)]
pub struct ProjectTrust {
    home: PathBuf,
    pub project: String,
    pub runs: Vec<ProjectCommand>,
    pub consent: Consent,
}

/// Whether a person agreed to what a project would run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// There is nothing to agree to.
    NotNeeded,
    Given,
    /// Given to something else, before the files changed.
    Outdated,
    /// Nobody has decided yet.
    Missing,
}

/// The file of consents.
#[derive(Debug, Default, Deserialize, Serialize)]
struct ConsentFile {
    projects: BTreeMap<String, RecordedConsent>,
}

#[derive(Debug, Deserialize, Serialize)]
struct RecordedConsent {
    fingerprint: String,
    by: String,
    at: Time,
}

impl ProjectTrust {
    /// Looks up what the project would run and whether a person agreed to it.
    pub fn look(surroundings: &Surroundings) -> Result<Self> {
        let project = &surroundings.project;
        let project = project.canonicalize().unwrap_or_else(|_| project.clone());
        let project = project.to_string_lossy().into_owned();
        let runs = project_commands(surroundings);
        let home = surroundings.home.clone();
        let file = ConsentFile::read(&home)?;
        let consent = match file.projects.get(&project) {
            _ if runs.is_empty() => Consent::NotNeeded,
            Some(recorded) if recorded.fingerprint == fingerprint(&runs) => Consent::Given,
            Some(_) => Consent::Outdated,
            None => Consent::Missing,
        };
        Ok(Self { home, project, runs, consent })
    }

    /// Records that a person agreed to what this project would run.
    pub fn agree(&mut self, by: &str, at: Time) -> Result<()> {
        check_person()?;
        let fingerprint = fingerprint(&self.runs);
        let recorded = RecordedConsent { fingerprint, by: by.to_owned(), at };
        ConsentFile::change(&self.home, |file| {
            file.projects.insert(self.project.clone(), recorded);
        })?;
        self.consent = Consent::Given;
        Ok(())
    }

    /// Forgets the consent to this project. Returns whether there was one.
    pub fn revoke(&mut self) -> Result<bool> {
        check_person()?;
        let mut was_there = false;
        ConsentFile::change(&self.home, |file| {
            was_there = file.projects.remove(&self.project).is_some();
        })?;
        if self.consent != Consent::NotNeeded {
            self.consent = Consent::Missing;
        }
        Ok(was_there)
    }

    /// Whether tasks are completed without checks that the project has.
    #[must_use]
    pub fn withholds_checks(&self) -> bool {
        self.n_checks() > 0 && matches!(self.consent, Consent::Outdated | Consent::Missing)
    }

    fn n_checks(&self) -> usize {
        self.runs.iter().filter(|it| it.kind == ProjectCommandKind::Check).count()
    }

    /// Why some things do not run, with the command that changes it.
    #[must_use]
    pub fn warning(&self) -> Option<Hint> {
        let why = match self.consent {
            Consent::NotNeeded | Consent::Given => return None,
            Consent::Outdated => "changed since you trusted it",
            Consent::Missing => "is not trusted yet",
        };
        let n_runs = self.runs.len();
        let things = if n_runs == 1 { "1 thing" } else { &format!("{n_runs} things") };
        let so = match self.n_checks() {
            0 => String::new(),
            1 => ", so tasks are completed without its check".to_owned(),
            n => format!(", so tasks are completed without its {n} checks"),
        };
        let message = format!("this project {why}: {things} in its files will not run{so}; ");
        Some(Hint::from(message).and_hint(review_trust()))
    }
}

/// Refuses to change a consent for a process that a member of a team started.
pub fn check_person() -> Result<()> {
    let Some(starter) = Starter::find(std::process::id())? else { return Ok(()) };
    let message = format!("`{}` runs this, but only a person can trust a project", starter.member);
    let ask = HintCommand::troop("message send").word(USER).text("…");
    Err(Error::forbidden(message, Hint::to("ask the user", ask)))
}

/// The hooks that may run: a person's own, and those of a trusted project.
#[must_use]
pub fn allowed_hooks(surroundings: &Surroundings, trust: &ProjectTrust) -> HooksConfig {
    let mut allowed = surroundings.personal.hooks.clone();
    if trust.consent == Consent::Given {
        let project = surroundings.project_hooks();
        allowed.hooks.extend(project.flat_map(|(_, config)| config.hooks.clone()));
    }
    allowed
}

/// The checks that must pass: a person's own, and those of a trusted project.
#[must_use]
pub fn allowed_checks(surroundings: &Surroundings, trust: &ProjectTrust) -> Vec<String> {
    let shared = &surroundings.shared.checks;
    let shared = shared.iter().filter(|_| trust.consent == Consent::Given);
    surroundings.personal.checks.iter().chain(shared).cloned().collect()
}

/// The MCP servers that a person agreed to, as a lead passes them on to its teammates.
#[derive(Debug, Serialize, Deserialize)]
struct AgreedServers {
    /// A hash of the file that names the servers.
    file: String,
    /// The files that the command of each server names.
    names: BTreeMap<String, Vec<String>>,
}

/// The MCP servers that a person agreed to, as a text for the processes that start them.
#[must_use]
pub fn allowed_servers(surroundings: &Surroundings, trust: &ProjectTrust) -> Option<String> {
    let project = &surroundings.project;
    let text = fs::read_to_string(project.join(MCP_FILE)).ok()?;
    if trust.consent != Consent::Given {
        return None;
    }
    let written = written_servers(&text).into_iter();
    let names = written.map(|it| (it.name.clone(), named(project, project, &it.shown()))).collect();
    let agreed = AgreedServers { file: hash(text.as_bytes()), names };
    Some(serde_json::to_string(&agreed).expect("plain text serializes to JSON"))
}

/// The MCP servers of a project, if its file is still the one that a person agreed to.
pub(crate) fn servers(
    project: &Path,
    agreed: Option<&str>,
    environment: &Environment,
) -> Result<Vec<McpServer>, String> {
    let agreed = agreed.and_then(|it| serde_json::from_str::<AgreedServers>(it).ok());
    let Some(AgreedServers { file, mut names }) = agreed else { return Ok(Vec::new()) };
    let text = fs::read_to_string(project.join(MCP_FILE)).unwrap_or_default();
    if hash(text.as_bytes()) != file {
        return Ok(Vec::new());
    }
    let mut servers = McpServer::read_all(&text, &|name| environment.variable(name))?;
    for (server, written) in servers.iter_mut().zip(written_servers(&text)) {
        server.agreed = Some(CommandConsent {
            project: project.to_owned(),
            command: written.shown(),
            names: names.remove(&server.name).unwrap_or_default(),
            look: named,
        });
    }
    // A member gets the tools of its own team only, and acts in nobody else's name.
    servers.retain(|server| !server.is_of_troop());
    Ok(servers)
}

/// The servers as written in the file: the values of variables are a person's own and stay out.
fn written_servers(text: &str) -> Vec<McpServer> {
    McpServer::read_all(text, &|name| Some(format!("${{{name}}}"))).unwrap_or_default()
}

/// The lead's default agent: the agent of a trusted project, else the person's own choice.
#[must_use]
pub fn lead_agent(surroundings: &Surroundings, trust: &ProjectTrust) -> Option<String> {
    let shared = surroundings.shared.agent.clone();
    shared.filter(|_| trust.consent == Consent::Given).or(surroundings.personal.agent.clone())
}

/// Everything that the project's files would run.
fn project_commands(surroundings: &Surroundings) -> Vec<ProjectCommand> {
    let project = &surroundings.project;
    let from = |path: &Path| {
        let file = path.strip_prefix(&surroundings.project).unwrap_or(path);
        file.display().to_string()
    };
    let mut commands = Vec::new();
    for (path, config) in surroundings.project_hooks() {
        commands.extend(config.hooks.iter().map(|hook| ProjectCommand {
            kind: ProjectCommandKind::Hook,
            when: hook.when(),
            command: hook.command.clone(),
            file: from(path),
            names: named(project, project, &hook.command),
        }));
    }
    let shared = &surroundings.shared;
    commands.extend(shared.checks.iter().map(|check| ProjectCommand {
        kind: ProjectCommandKind::Check,
        when: "every task, before it is done".to_owned(),
        command: check.clone(),
        file: from(&shared.file),
        names: named(project, project, check),
    }));
    for (definition, command) in agents(project) {
        commands.push(ProjectCommand {
            kind: ProjectCommandKind::Agent,
            when: format!("a member with the agent `{}`", definition.key),
            command,
            file: from(&definition.file),
            names: named(project, project, &definition.program.join(" ")),
        });
    }
    let file = surroundings.project.join(MCP_FILE);
    let text = fs::read_to_string(&file).unwrap_or_default();
    for server in written_servers(&text) {
        commands.push(ProjectCommand {
            kind: ProjectCommandKind::McpServer,
            when: format!("an agent that uses the tools of `{}`", server.name),
            command: format!("{} ({})", server.shown(), hash(text.as_bytes())),
            file: from(&file),
            names: named(project, project, &server.shown()),
        });
    }
    if let Some(agent) = &shared.agent {
        let command = match AgentKind::script_file(agent) {
            Some(script) => follows(project, script),
            None => agent.clone(),
        };
        commands.push(ProjectCommand {
            kind: ProjectCommandKind::Lead,
            when: "`troop run`".to_owned(),
            command,
            file: from(&shared.file),
            names: Vec::new(),
        });
    }
    commands
}

/// The agents that the project describes, and what each would run.
fn agents(project: &Path) -> Vec<(Definition, String)> {
    let described = Definition::read_all(&Definition::folders(project, None));
    let command = |definition: &Definition| match (&definition.agent, &definition.script) {
        _ if !definition.program.is_empty() => Some(definition.program.join(" ")),
        (Some(agent), script) => match AgentKind::of(agent) {
            Some(AgentKind::Script) => {
                let script = AgentKind::script_file(agent).or(script.as_deref());
                script.map(|script| follows(project, script))
            }
            Some(AgentKind::Command) => Some("the commands of tasks".to_owned()),
            // This version of troop does not run it, or it runs nothing of the project's.
            _ => None,
        },
        // Troop's own agent asks before it runs anything.
        (None, _) => None,
    };
    described.into_iter().filter_map(|it| command(&it).map(|command| (it, command))).collect()
}

/// A script with a hash of its contents: another text is another script.
fn follows(project: &Path, script: &str) -> String {
    let text = fs::read(project.join(script)).unwrap_or_default();
    format!("the script {script} ({})", hash(&text))
}

/// The files of the project that the words of a command name, if it runs in this folder, each with a hash of its contents.
fn named(project: &Path, folder: &Path, command: &str) -> Vec<String> {
    let is_end = |c: char| c.is_whitespace() || "\"'`;&|<>()={}$,".contains(c);
    let mut names: Vec<String> = Vec::new();
    let mut before = "";
    for word in command.split(is_end).filter(|word| !word.is_empty()) {
        let runs_next = INTERPRETERS.contains(&std::mem::replace(&mut before, word));
        // The variable in front of a path is the project's folder, or we cannot know it.
        let own = word.strip_prefix("CLAUDE_PROJECT_DIR/").map(Path::new);
        let own = own.or_else(|| Path::new(word).strip_prefix(project).ok());
        let (root, inside) = own.map_or((folder, Path::new(word)), |inside| (project, inside));
        let is_below = !inside.components().any(|it| it == Component::ParentDir);
        let file = root.join(inside);
        if inside.is_absolute() || !is_below || !file.is_file() {
            continue;
        }
        let text = fs::read(&file).unwrap_or_default();
        // Files that a command only reads or writes may change.
        let mode = file.metadata().map_or(0, |it| it.permissions().mode());
        let is_program = mode & 0o111 != 0 || text.starts_with(b"#!");
        let has_suffix =
            inside.extension().is_some_and(|it| SUFFIXES.iter().any(|known| it == *known));
        if !runs_next && !is_program && !has_suffix {
            continue;
        }
        let named = format!("{} ({})", inside.display(), hash(&text));
        if !names.contains(&named) {
            names.push(named);
        }
    }
    names
}

/// A hash of what a person agrees to: exactly what was shown, and nothing else in the files.
fn fingerprint(runs: &[ProjectCommand]) -> String {
    hash(&serde_json::to_vec(runs).expect("plain text serializes to JSON"))
}

fn hash(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

impl ConsentFile {
    fn read(home: &Path) -> Result<Self> {
        let path = path(home);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(Error::File { path, act: FileAct::Read, source }),
        };
        serde_json::from_str(&text).map_err(|source| Error::Damaged { path, source })
    }

    /// Changes the file. One process at a time does this, so that no consent is lost, and the file is replaced as a whole.
    fn change(home: &Path, change: impl FnOnce(&mut Self)) -> Result<()> {
        let path = path(home);
        let unwritten =
            |source: io::Error| Error::File { path: path.clone(), act: FileAct::Written, source };
        fs::create_dir_all(home).map_err(unwritten)?;
        let lock = File::create(home.join("trust.lock")).map_err(unwritten)?;
        lock.lock().map_err(unwritten)?;
        let mut file = Self::read(home)?;
        change(&mut file);
        let text = serde_json::to_string_pretty(&file).expect("plain text serializes to JSON");
        let written = whole_file::write(&path, format!("{text}\n").as_bytes(), FileAccess::Owner);
        written.map_err(unwritten)
    }
}

fn path(home: &Path) -> PathBuf {
    home.join("trust.json")
}
