//! Which agent thinks for a member, by the key that it was given.

use std::{fmt, path::Path, sync::Arc};

use thiserror::Error;

use crate::{
    Agent, CommandAgent, Definition, ScriptAgent, ScriptError,
    builtin::{self, BuiltinAgent},
};

/// The agent that thinks.
const BUILTIN: &str = "builtin";
/// The agents that a teammate of this program can run.
const RUNS: &str = "`builtin`, `command`, `script:FILE`";

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
    /// It is described, but nobody can tell what it may do.
    #[error("the agent `{key}` is not described clearly in `{file}`: {why}")]
    Unclear {
        /// As it was given.
        key: String,
        /// Where it is described.
        file: String,
        /// What cannot be understood.
        why: String,
    },
    /// There is no model to think with.
    #[error("{why}")]
    NoModel {
        /// What is missing or wrong.
        why: String,
    },
    /// Its script cannot be followed.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// Where agents are looked for, and what they think with.
#[derive(Clone, Copy)]
pub struct Finder<'a> {
    /// The project; files are looked for in its folder.
    pub project: &'a Path,
    /// The person's own folder.
    pub home: Option<&'a Path>,
    /// How to ask the model of a name, or the usual one; or why that cannot be. Asked only for agents that think.
    pub thinks: &'a dyn Fn(Option<&str>) -> Result<builtin::BuiltinOptions, String>,
    /// The model that the member is to think with, if it was said.
    pub model: Option<&'a str>,
}

/// Finds the agent for a key: `builtin`, `command`, `script:FILE`, or what a definition describes.
pub fn agent(key: &str, finder: Finder<'_>) -> Result<Box<dyn Agent>, RegistryError> {
    let Finder { project, home, .. } = finder;
    if let Some(agent) = built_in(key, None, project)? {
        return Ok(agent);
    }
    if key == BUILTIN {
        return finder.thinking(None);
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
    if let Some(why) = &definition.wrong {
        return Err(unclear(definition, why));
    }
    let agent = definition.agent.as_deref().unwrap_or(BUILTIN);
    if agent == BUILTIN {
        return finder.thinking(Some(definition));
    }
    built_in(agent, definition.script.as_deref(), project)?
        .ok_or_else(|| RegistryError::CannotRun { key: key.to_owned(), agent: agent.to_owned() })
}

impl Finder<'_> {
    /// The agent that thinks, as it is described.
    fn thinking(&self, definition: Option<&Definition>) -> Result<Box<dyn Agent>, RegistryError> {
        let described = definition.and_then(|it| it.model.as_deref());
        // `inherit` is how others say that nobody chose.
        let model = self.model.or(described).filter(|model| *model != "inherit");
        let mut options = (self.thinks)(model).map_err(|why| RegistryError::NoModel { why })?;
        if let Some(definition) = definition {
            options.about.clone_from(&definition.prompt);
            let rules = |list: &[String]| {
                let rules = list.iter().map(|it| it.parse());
                rules.collect::<Result<Vec<_>, _>>().map_err(|why| unclear(definition, &why))
            };
            options.tools = definition.tools.as_deref().map(rules).transpose()?;
            options.rules.deny.extend(rules(&definition.denied)?);
        }
        Ok(Box::new(BuiltinAgent::new(Arc::new(options))))
    }
}

fn unclear(definition: &Definition, why: &dyn fmt::Display) -> RegistryError {
    let (key, file) = (definition.key.clone(), definition.file.display().to_string());
    RegistryError::Unclear { key, file, why: why.to_string() }
}

impl fmt::Debug for Finder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finder").field("project", &self.project).finish_non_exhaustive()
    }
}

/// The agents of this crate that do not think. A script is looked for in the project's folder.
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
