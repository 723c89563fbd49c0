//! Whose word counts: what a project's own files would run does not run before a person has agreed to it.

mod agreed;
mod import;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use troop_agent::{
    Definition,
    builtin::{CommandConsent, McpServer},
};
use troop_app::whole_file::{self, FileAccess};
use troop_model::Time;
use troop_runtime::HooksConfig;

use crate::{
    config::{self, CheckFiles, Surroundings},
    report::quoted_path,
};
pub(crate) use agreed::{AgreedAgents, agreement};
pub(crate) use import::imported_runs;

/// Where a project says which MCP servers it has.
const MCP_FILE: &str = ".mcp.json";
/// The kind of what runs when something happens.
const HOOK: &str = "hook";
/// The kind of what must pass before a task is done.
const CHECK: &str = "check";

/// Programs that run the file which is named next.
const INTERPRETERS: [&str; 14] = [
    "sh", "bash", "dash", "zsh", "fish", "source", ".", "python", "python3", "node", "deno", "bun",
    "ruby", "perl",
];
/// How files are called that are programs, whether they may be executed or not.
const SUFFIXES: [&str; 12] =
    ["sh", "bash", "zsh", "fish", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "php"];

/// Something that a project's own files would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Runs {
    /// What kind of thing it is.
    pub(crate) kind: &'static str,
    /// On what occasion.
    pub(crate) when: String,
    /// What the shell is given.
    pub(crate) command: String,
    /// The file that says so, from the project's folder on.
    pub(crate) file: String,
    /// The files of the project that the command names, and what is in them now: another text is another command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) names: Vec<String>,
}

/// A project, what it would run, and what a person said to that.
#[derive(Debug)]
pub(crate) struct Trust {
    home: PathBuf,
    pub(crate) project: String,
    pub(crate) runs: Vec<Runs>,
    pub(crate) standing: Standing,
}

/// What a person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// There is nothing to agree to.
    RunsNothing,
    /// Agreed.
    Trusted,
    /// Agreed to something else, before the files changed.
    Changed,
    /// Nothing yet.
    Unknown,
}

/// What people agreed to, as it is kept.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Kept {
    projects: BTreeMap<String, Agreement>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Agreement {
    fingerprint: String,
    by: String,
    at: Time,
}

impl Trust {
    /// Looks at what the project of these surroundings would run.
    pub(crate) fn look(surroundings: &Surroundings) -> Result<Self> {
        let project = &surroundings.project;
        let project = project.canonicalize().unwrap_or_else(|_| project.clone());
        let project = project.to_string_lossy().into_owned();
        let runs = runs(surroundings);
        let home = surroundings.home.clone();
        let kept = Kept::read(&home)?;
        let standing = match kept.projects.get(&project) {
            _ if runs.is_empty() => Standing::RunsNothing,
            Some(agreement) if agreement.fingerprint == fingerprint(&runs) => Standing::Trusted,
            Some(_) => Standing::Changed,
            None => Standing::Unknown,
        };
        Ok(Self { home, project, runs, standing })
    }

    /// Keeps that a person agreed to what this would run.
    pub(crate) fn agree(&mut self, by: &str, at: Time) -> Result<()> {
        let agreement = Agreement { fingerprint: fingerprint(&self.runs), by: by.to_owned(), at };
        Kept::change(&self.home, |kept| {
            kept.projects.insert(self.project.clone(), agreement);
        })?;
        self.standing = Standing::Trusted;
        Ok(())
    }

    /// Forgets what a person said about this project; whether there was anything.
    pub(crate) fn revoke(&mut self) -> Result<bool> {
        let mut was_there = false;
        Kept::change(&self.home, |kept| {
            was_there = kept.projects.remove(&self.project).is_some();
        })?;
        if self.standing != Standing::RunsNothing {
            self.standing = Standing::Unknown;
        }
        Ok(was_there)
    }

    /// Whether tasks are done without checks that the project has.
    pub(crate) fn withholds_checks(&self) -> bool {
        self.n_checks() > 0 && matches!(self.standing, Standing::Changed | Standing::Unknown)
    }

    fn n_checks(&self) -> usize {
        self.runs.iter().filter(|it| it.kind == CHECK).count()
    }

    /// Why some things do not run, with the command that changes it.
    pub(crate) fn warning(&self) -> Option<String> {
        let why = match self.standing {
            Standing::RunsNothing | Standing::Trusted => return None,
            Standing::Changed => "changed since you trusted it",
            Standing::Unknown => "is not trusted yet",
        };
        let n_runs = self.runs.len();
        let things = if n_runs == 1 { "1 thing" } else { &format!("{n_runs} things") };
        let so = match self.n_checks() {
            0 => String::new(),
            1 => ", so tasks are completed without its check".to_owned(),
            n => format!(", so tasks are completed without its {n} checks"),
        };
        Some(format!(
            "this project {why}: {things} in its files will not run{so}; review it: `troop trust`"
        ))
    }
}

/// The hooks that may run: a person's own, and those of a project that is trusted.
pub(crate) fn allowed_hooks(surroundings: &Surroundings, trust: &Trust) -> HooksConfig {
    let mut allowed = surroundings.hooks.personal.clone();
    if trust.standing == Standing::Trusted {
        let project = surroundings.hooks.of_project();
        allowed.hooks.extend(project.flat_map(|(_, config)| config.hooks.clone()));
    }
    allowed
}

/// The checks that must pass: a person's own, and those of a project that is trusted.
pub(crate) fn allowed_checks(surroundings: &Surroundings, trust: &Trust) -> Vec<String> {
    let CheckFiles { personal, project: (_, project) } = &surroundings.checks;
    let project = project.iter().filter(|_| trust.standing == Standing::Trusted);
    personal.iter().chain(project).cloned().collect()
}

/// The MCP servers that a person agreed to: the file that names them, and the files that their commands name.
#[derive(Debug, Serialize, Deserialize)]
struct AgreedServers {
    /// What is in the file, as its fingerprint.
    file: String,
    names: BTreeMap<String, Vec<String>>,
}

/// The MCP servers that a person agreed to, as a text for who starts them. None if nobody did.
pub(crate) fn allowed_servers(surroundings: &Surroundings, trust: &Trust) -> Option<String> {
    let project = &surroundings.project;
    let text = fs::read_to_string(project.join(MCP_FILE)).ok()?;
    if trust.standing != Standing::Trusted {
        return None;
    }
    let written = written_servers(&text).into_iter();
    let names = written.map(|it| (it.name.clone(), named(project, project, &it.shown()))).collect();
    let agreed = AgreedServers { file: hash(text.as_bytes()), names };
    Some(serde_json::to_string(&agreed).expect("what is all text is JSON"))
}

/// The MCP servers of a project, if its file is still the one that was agreed to.
pub(crate) fn servers(project: &Path, agreed: Option<&str>) -> Result<Vec<McpServer>, String> {
    let agreed = agreed.and_then(|it| serde_json::from_str::<AgreedServers>(it).ok());
    let Some(AgreedServers { file, mut names }) = agreed else { return Ok(Vec::new()) };
    let text = fs::read_to_string(project.join(MCP_FILE)).unwrap_or_default();
    if hash(text.as_bytes()) != file {
        return Ok(Vec::new());
    }
    let mut servers = McpServer::read_all(&text, &config::variable)?;
    for (server, written) in servers.iter_mut().zip(written_servers(&text)) {
        server.agreed = Some(CommandConsent {
            project: project.to_owned(),
            command: written.shown(),
            names: names.remove(&server.name).unwrap_or_default(),
            look: named,
        });
    }
    // A member has the tools of its team, and acts in nobody else's name.
    servers.retain(|server| !server.is_of_troop());
    Ok(servers)
}

/// Servers as they are written: what variables hold is the person's own.
fn written_servers(text: &str) -> Vec<McpServer> {
    McpServer::read_all(text, &|name| Some(format!("${{{name}}}"))).unwrap_or_default()
}

/// What thinks for the lead where nobody says so: as the project has it, if it may, or as the person has it.
pub(crate) fn lead_agent(surroundings: &Surroundings, trust: &Trust) -> Option<String> {
    let project = surroundings.project_agent.as_ref().map(|(_, agent)| agent.clone());
    project.filter(|_| trust.standing == Standing::Trusted).or(surroundings.config.agent.clone())
}

/// All that the project's files would run. What else they may run one day is added here.
fn runs(surroundings: &Surroundings) -> Vec<Runs> {
    let project = &surroundings.project;
    let from = |path: &Path| {
        let file = path.strip_prefix(&surroundings.project).unwrap_or(path);
        file.display().to_string()
    };
    let mut runs = Vec::new();
    for (path, config) in surroundings.hooks.of_project() {
        runs.extend(config.hooks.iter().map(|hook| Runs {
            kind: HOOK,
            when: hook.when(),
            command: hook.command.clone(),
            file: from(path),
            names: named(project, project, &hook.command),
        }));
    }
    let (path, checks) = &surroundings.checks.project;
    runs.extend(checks.iter().map(|check| Runs {
        kind: CHECK,
        when: "every task, before it is done".to_owned(),
        command: check.clone(),
        file: from(path),
        names: named(project, project, check),
    }));
    for (definition, command) in agents(project) {
        let when = format!("a member with the agent `{}`", definition.key);
        let names = definition.program.join(" ");
        let (file, names) = (from(&definition.file), named(project, project, &names));
        runs.push(Runs { kind: "agent", when, command, file, names });
    }
    let file = surroundings.project.join(MCP_FILE);
    let text = fs::read_to_string(&file).unwrap_or_default();
    for server in written_servers(&text) {
        runs.push(Runs {
            kind: "mcp server",
            when: format!("an agent that uses the tools of `{}`", server.name),
            command: format!("{} ({})", server.shown(), hash(text.as_bytes())),
            file: from(&file),
            names: named(project, project, &server.shown()),
        });
    }
    if let Some((path, agent)) = &surroundings.project_agent {
        let command = match agent.strip_prefix("script:") {
            Some(script) => follows(project, script),
            None => agent.clone(),
        };
        let when = "`troop run`".to_owned();
        runs.push(Runs { kind: "lead", when, command, file: from(path), names: Vec::new() });
    }
    runs
}

/// The agents that the project describes, and what each would run.
fn agents(project: &Path) -> Vec<(Definition, String)> {
    let described = Definition::read_all(&Definition::folders(project, None));
    let command = |definition: &Definition| match (&definition.agent, &definition.script) {
        _ if !definition.program.is_empty() => Some(definition.program.join(" ")),
        (Some(agent), Some(script)) if agent == "script" => Some(follows(project, script)),
        (Some(agent), _) => match agent.strip_prefix("script:") {
            Some(script) => Some(follows(project, script)),
            None => (agent == "command").then(|| "the commands of tasks".to_owned()),
        },
        // This version does not run it.
        (None, _) => None,
    };
    described.into_iter().filter_map(|it| command(&it).map(|command| (it, command))).collect()
}

/// A script, and what is in it now: another text is another script.
fn follows(project: &Path, script: &str) -> String {
    let text = fs::read(project.join(script)).unwrap_or_default();
    format!("the script {script} ({})", hash(&text))
}

/// The files of the project that the words of a command name which is run in a folder, with what is in them now.
fn named(project: &Path, folder: &Path, command: &str) -> Vec<String> {
    let is_end = |c: char| c.is_whitespace() || "\"'`;&|<>()={}$,".contains(c);
    let (mut names, mut before): (Vec<String>, &str) = (Vec::new(), "");
    for word in command.split(is_end).filter(|word| !word.is_empty()) {
        let runs_next = INTERPRETERS.contains(&std::mem::replace(&mut before, word));
        // What a variable before it names is the project's folder, or nothing that can be known.
        let own = word.strip_prefix("CLAUDE_PROJECT_DIR/").map(Path::new);
        let own = own.or_else(|| Path::new(word).strip_prefix(project).ok());
        let (root, inside) = own.map_or((folder, Path::new(word)), |inside| (project, inside));
        let is_below = !inside.components().any(|it| it == Component::ParentDir);
        let file = root.join(inside);
        if inside.is_absolute() || !is_below || !file.is_file() {
            continue;
        }
        let text = fs::read(&file).unwrap_or_default();
        // What a command only reads or writes may change.
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

/// What a person agrees to, in short: exactly what was shown, and nothing else that is in the files.
fn fingerprint(runs: &[Runs]) -> String {
    hash(&serde_json::to_vec(runs).expect("what is all text is JSON"))
}

fn hash(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

impl Kept {
    fn read(home: &Path) -> Result<Self> {
        let path = path(home);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(error).with_context(|| format!("`{}` cannot be read", path.display()));
            }
        };
        serde_json::from_str(&text).with_context(|| {
            format!(
                "`{}` is not as troop wrote it; start over with `rm {}`",
                path.display(),
                quoted_path(&path)
            )
        })
    }

    /// Changes what is kept, one process at a time, so that no agreement is lost; and at once, so that none is half.
    fn change(home: &Path, change: impl FnOnce(&mut Self)) -> Result<()> {
        let path = path(home);
        let cannot = || format!("`{}` cannot be written", path.display());
        fs::create_dir_all(home).with_context(cannot)?;
        let turn = File::create(home.join("trust.lock")).with_context(cannot)?;
        turn.lock().with_context(cannot)?;
        let mut kept = Self::read(home)?;
        change(&mut kept);
        let text = serde_json::to_string_pretty(&kept)? + "\n";
        whole_file::write(&path, text.as_bytes(), FileAccess::Owner).with_context(cannot)
    }
}

fn path(home: &Path) -> PathBuf {
    home.join("trust.json")
}
