//! What was agreed to is what runs: what a trusted project runs is looked at again before each run.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use troop_agent::builtin::CommandConsent;
use troop_runtime::Agreement;

use super::{CHECK, HOOK, Standing, Surroundings, Trust, agents, named};
use crate::report::Refused;

/// Whether the hooks and checks of a trusted project are what a person agreed to. Of others nothing is asked.
pub(crate) fn agreement(surroundings: &Surroundings, trust: &Trust) -> Agreement {
    if trust.standing != Standing::Trusted {
        return Agreement::default();
    }
    let run = trust.runs.iter().filter(|it| it.kind == HOOK || it.kind == CHECK);
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
pub(crate) struct AgreedAgents {
    project: PathBuf,
    is_trusted: bool,
    /// What each runs, by its key.
    agreed: BTreeMap<String, Told>,
}

/// What an agent runs: as people are told, and the files that it names.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    command: String,
    names: Vec<String>,
    /// The program that is started in the member's own folder, with the files that it names there.
    program: Option<(String, Vec<String>)>,
}

impl AgreedAgents {
    pub(crate) fn new(surroundings: &Surroundings, trust: &Trust) -> Self {
        let project = surroundings.project.clone();
        let is_trusted = matches!(trust.standing, Standing::Trusted | Standing::RunsNothing);
        let agreed = if is_trusted { told(&project) } else { BTreeMap::new() };
        Self { project, is_trusted, agreed }
    }

    /// Refuses an agent of the project to which nobody agreed, as it is described now.
    pub(crate) fn check(&self, key: &str) -> Result<(), Refused> {
        let now = told(&self.project).remove(key);
        if now.as_ref() == self.agreed.get(key) {
            return Ok(());
        }
        let message = match self.is_trusted {
            true => format!("the agent `{key}` changed since a person trusted it"),
            false => {
                format!("the agent `{key}` is this project's own, and the project is not trusted")
            }
        };
        Err(Refused::new(message, "review it: `troop trust`"))
    }

    /// Refuses a program that is another in the folder where it is started.
    pub(crate) fn check_program(&self, key: &str, folder: &Path) -> Result<(), String> {
        let program = self.agreed.get(key).and_then(|it| it.program.clone());
        program.map_or(Ok(()), |(command, names)| {
            CommandConsent { project: self.project.clone(), command, names, look: named }
                .check(folder)
        })
    }
}

fn told(project: &Path) -> BTreeMap<String, Told> {
    let told = agents(project).into_iter().map(|(definition, command)| {
        let here = |command: &str| named(project, project, command);
        let names = here(&definition.program.join(" "));
        let program = definition.program.first().map(|it| (it.clone(), here(it)));
        (definition.key, Told { command, names, program })
    });
    told.collect()
}
