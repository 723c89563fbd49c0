//! Which agent thinks for a member, by the key that it was given.

use std::path::Path;

use thiserror::Error;

use crate::{Agent, CommandAgent, Definition};

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

fn built_in(
    key: &str,
    _script: Option<&str>,
    _project: &Path,
) -> Result<Option<Box<dyn Agent>>, RegistryError> {
    match key {
        "command" => Ok(Some(Box::new(CommandAgent))),
        _ => Ok(None),
    }
}

fn known(described: &[String]) -> String {
    described.iter().fold(RUNS.to_owned(), |known, key| format!("{known}, `{key}`"))
}
