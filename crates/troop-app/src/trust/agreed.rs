//! Only what a person agreed to runs: troop compares the files of a trusted project again before each run.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use troop_agent::builtin::CommandConsent;
use troop_runtime::Agreement;

use super::{Consent, ProjectCommandKind, ProjectTrust, Surroundings, agents, named};
use crate::{Error, Result, hint::review_trust};

/// Tells whether the hooks and checks of a trusted project are still what a person agreed to. Other commands pass.
#[must_use]
pub fn agreement(surroundings: &Surroundings, trust: &ProjectTrust) -> Agreement {
    if trust.consent != Consent::Given {
        return Agreement::default();
    }
    let is_run_by_lead =
        |kind| matches!(kind, ProjectCommandKind::Hook | ProjectCommandKind::Check);
    let run = trust.runs.iter().filter(|it| is_run_by_lead(it.kind));
    let agreed: BTreeMap<String, CommandConsent> = run
        .map(|it| {
            let agreed = CommandConsent {
                project: surroundings.project.clone(),
                command: it.command.clone(),
                names: it.names.clone(),
                look: named,
            };
            (it.command.clone(), agreed)
        })
        .collect();
    Agreement::new(move |command, folder| {
        agreed.get(command).map_or(Ok(()), |agreed| agreed.check(folder))
    })
}

/// The agents that a project describes, as a person agreed to them.
#[derive(Debug)]
pub struct AgreedAgents {
    project: PathBuf,
    is_trusted: bool,
    /// The command of each agent, by its key.
    agreed: BTreeMap<String, AgentCommand>,
}

/// The command of an agent.
#[derive(Debug, PartialEq, Eq)]
struct AgentCommand {
    /// As people read it.
    command: String,
    /// The files that it names.
    names: Vec<String>,
    program: Option<AgentProgram>,
}

/// The program of an agent, which starts in the member's own folder.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AgentProgram {
    command: String,
    /// The files that it names there.
    names: Vec<String>,
}

impl AgreedAgents {
    #[must_use]
    pub fn new(surroundings: &Surroundings, trust: &ProjectTrust) -> Self {
        let project = surroundings.project.clone();
        let is_trusted = matches!(trust.consent, Consent::Given | Consent::NotNeeded);
        let agreed = if is_trusted { described(&project) } else { BTreeMap::new() };
        Self { project, is_trusted, agreed }
    }

    /// Refuses an agent of the project unless a person agreed to its present description.
    pub fn check(&self, key: &str) -> Result<()> {
        let now = described(&self.project).remove(key);
        if now.as_ref() == self.agreed.get(key) {
            return Ok(());
        }
        let message = match self.is_trusted {
            true => format!("the agent `{key}` changed since a person trusted it"),
            false => {
                format!("the agent `{key}` is this project's own, and the project is not trusted")
            }
        };
        Err(Error::refused(message, review_trust()))
    }

    /// Refuses a program that differs in the folder where it starts.
    pub fn check_program(&self, key: &str, folder: &Path) -> Result<(), String> {
        let program = self.agreed.get(key).and_then(|it| it.program.clone());
        program.map_or(Ok(()), |AgentProgram { command, names }| {
            CommandConsent { project: self.project.clone(), command, names, look: named }
                .check(folder)
        })
    }
}

fn described(project: &Path) -> BTreeMap<String, AgentCommand> {
    let commands = agents(project).into_iter().map(|(definition, command)| {
        let here = |command: &str| named(project, project, command);
        let names = here(&definition.program.join(" "));
        let program = definition.program.first();
        let program = program.map(|it| AgentProgram { command: it.clone(), names: here(it) });
        (definition.key, AgentCommand { command, names, program })
    });
    commands.collect()
}
