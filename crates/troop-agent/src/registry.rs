//! Finds the agent that thinks for a member by its key.

use std::{fmt, path::Path, sync::Arc};

use thiserror::Error;
use troop_model::AgentKind;

use crate::{
    Agent, CommandAgent, Definition, ScriptAgent, ScriptError,
    builtin::{self, BuiltinAgent},
};

/// The agents that a teammate can run.
const RUNS: &str = "`builtin`, `command`, `script:FILE`";

/// Why there is no agent for a key.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RegistryError {
    #[error("there is no agent `{key}`; the agents are: {}", known(described))]
    Unknown {
        key: String,
        /// The definitions of the project and of the person.
        described: Vec<String>,
    },
    /// A definition names an agent that a teammate cannot run.
    #[error("a teammate cannot run the agent `{agent}` of `{key}`; it can run: {RUNS}")]
    CannotRun { key: String, agent: String },
    /// The lead starts another program for it.
    #[error("`{key}` is another program; its lead starts `{program}` instead of troop")]
    Foreign { key: String, program: String },
    /// The key names no script.
    #[error("which script? write `script:FILE`, or `script: FILE` in the agent's definition")]
    NoScript,
    /// Its definition has a mistake, so its limits are unknown.
    #[error("the agent `{key}` is not described clearly in `{file}`: {why}")]
    Unclear { key: String, file: String, why: String },
    #[error("{why}")]
    NoModel { why: String },
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// Where to look for agents, and what they think with.
#[derive(Clone, Copy)]
pub struct Finder<'a> {
    pub project: &'a Path,
    /// The person's own folder.
    pub home: Option<&'a Path>,
    /// Gives the options for a named model, or for the default one. Called only for agents that think.
    pub thinks: &'a dyn Fn(Option<&str>) -> Result<builtin::BuiltinOptions, String>,
    /// The model that was chosen for the member.
    pub model: Option<&'a str>,
}

/// The agents of this crate, as keys name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnAgent<'k> {
    /// Thinks with a model.
    Builtin,
    /// Runs the commands of its tasks.
    Command,
    /// Follows a script, if the key names one.
    Script(Option<&'k str>),
}

impl<'k> OwnAgent<'k> {
    pub(crate) fn parse(key: &'k str) -> Option<Self> {
        match AgentKind::of(key)? {
            AgentKind::Builtin => Some(Self::Builtin),
            AgentKind::Command => Some(Self::Command),
            AgentKind::Script => Some(Self::Script(AgentKind::script_file(key))),
            AgentKind::ClaudeCode | AgentKind::Codex | AgentKind::Acp | AgentKind::External => None,
        }
    }
}

/// Finds the agent for a key: `builtin`, `command`, `script:FILE`, or the name of a definition.
pub fn agent(key: &str, finder: Finder<'_>) -> Result<Box<dyn Agent>, RegistryError> {
    if let Some(own) = OwnAgent::parse(key) {
        return finder.agent(own, None);
    }
    let definitions = Definition::read_all(&Definition::folders(finder.project, finder.home));
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
    let cannot_run = || RegistryError::CannotRun {
        key: key.to_owned(),
        agent: definition.agent.clone().unwrap_or_default(),
    };
    finder.agent(definition.own_agent().ok_or_else(cannot_run)?, Some(definition))
}

impl Definition {
    /// The agent of this crate that it uses, if it uses one.
    pub(crate) fn own_agent(&self) -> Option<OwnAgent<'_>> {
        self.agent.as_deref().map_or(Some(OwnAgent::Builtin), OwnAgent::parse)
    }
}

impl Finder<'_> {
    fn agent(
        &self,
        own: OwnAgent<'_>,
        definition: Option<&Definition>,
    ) -> Result<Box<dyn Agent>, RegistryError> {
        match own {
            OwnAgent::Builtin => self.thinking(definition),
            OwnAgent::Command => Ok(Box::new(CommandAgent)),
            OwnAgent::Script(file) => {
                let described = definition.and_then(|it| it.script.as_deref());
                let file = file.or(described).ok_or(RegistryError::NoScript)?;
                Ok(Box::new(ScriptAgent::read(&self.project.join(file))?))
            }
        }
    }

    /// The built-in agent, as its definition describes it.
    fn thinking(&self, definition: Option<&Definition>) -> Result<Box<dyn Agent>, RegistryError> {
        let described = definition.and_then(|it| it.model.as_deref());
        // Claude Code writes `inherit` if nobody chose a model.
        let model = self.model.or(described).filter(|model| *model != "inherit");
        let mut options = (self.thinks)(model).map_err(|why| RegistryError::NoModel { why })?;
        if let Some(definition) = definition {
            options.about.clone_from(&definition.prompt);
            let rules = |list: &[String]| {
                let rules = list.iter().map(|it| it.parse());
                rules.collect::<Result<Vec<_>, _>>().map_err(|why| unclear(definition, &why))
            };
            options.rights.only = definition.tools.as_deref().map(rules).transpose()?;
            options.rights.rules.deny.extend(rules(&definition.denied)?);
        }
        Ok(Box::new(BuiltinAgent::new(Arc::new(options))))
    }
}

fn unclear(definition: &Definition, why: &dyn fmt::Display) -> RegistryError {
    let key = definition.key.clone();
    let file = definition.file.display().to_string();
    RegistryError::Unclear { key, file, why: why.to_string() }
}

impl fmt::Debug for Finder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finder").field("project", &self.project).finish_non_exhaustive()
    }
}

fn known(described: &[String]) -> String {
    described.iter().fold(RUNS.to_owned(), |known, key| format!("{known}, `{key}`"))
}
