//! Which agent thinks for a member, by the key that it was given.

use std::path::Path;

use thiserror::Error;

use crate::{Agent, CommandAgent, Definition, ScriptAgent, ScriptError};

/// The agents that a teammate of this program can run.
const RUNS: &str = "`command`, `script:FILE`";

/// Why there is no agent for a key.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Nobody knows it.
    #[error("there is no agent `{key}`; there is: {}", known(described))]
    Unknown {
        /// As it was given.
        key: String,
        /// What the project and the person describe.
        described: Vec<String>,
    },
    /// It is known, but a teammate of this program cannot be it.
    #[error("a teammate cannot run the agent `{agent}` of `{key}`; it can run: {RUNS}")]
    CannotRun {
        /// As it was given.
        key: String,
        /// What would have to be run.
        agent: String,
    },
    /// A program of its own is to be started for it.
    #[error("`{key}` is a program of its own; its lead starts `{program}` instead of troop")]
    Foreign {
        /// As it was given.
        key: String,
        /// The program.
        program: String,
    },
    /// A script is needed.
    #[error("which script? write `script:FILE`, or `script: FILE` in the agent's definition")]
    NoScript,
    /// Its script cannot be followed.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// Finds the agent for a key: `command`, `script:FILE`, or what a definition describes. Files are looked for in the
/// project's folder.
pub fn agent(
    key: &str,
    project: &Path,
    home: Option<&Path>,
) -> Result<Box<dyn Agent>, RegistryError> {
    if let Some(agent) = built_in(key, None, project)? {
        return Ok(agent);
    }
    let definitions = Definition::read_all(&Definition::folders(project, home));
    let Some(definition) = definitions.iter().find(|it| it.key == key) else {
        let described = definitions.into_iter().map(|it| it.key).collect();
        return Err(RegistryError::Unknown { key: key.to_owned(), described });
    };
    if !definition.program.is_empty() {
        let program = definition.program.join(" ");
        return Err(RegistryError::Foreign { key: key.to_owned(), program });
    }
    let agent = definition.agent.as_deref().unwrap_or("builtin");
    built_in(agent, definition.script.as_deref(), project)?
        .ok_or_else(|| RegistryError::CannotRun { key: key.to_owned(), agent: agent.to_owned() })
}

/// The agents of this crate. A script is looked for in the project's folder.
fn built_in(
    key: &str,
    script: Option<&str>,
    project: &Path,
) -> Result<Option<Box<dyn Agent>>, RegistryError> {
    let script = key.strip_prefix("script:").or(script.filter(|_| key == "script"));
    if let Some(file) = script {
        return Ok(Some(Box::new(ScriptAgent::read(&project.join(file))?)));
    }
    match key {
        "command" => Ok(Some(Box::new(CommandAgent))),
        "script" => Err(RegistryError::NoScript),
        _ => Ok(None),
    }
}

fn known(described: &[String]) -> String {
    described.iter().fold(RUNS.to_owned(), |known, key| format!("{known}, `{key}`"))
}
