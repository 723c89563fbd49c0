//! The commands that an imported team would run once it is led here: nobody here put them on the board.

use std::path::Path;

use troop_agent::Definition;
use troop_model::{AgentKind, State, Task};

use super::{ProjectCommand, ProjectCommandKind};
use crate::surroundings::Surroundings;

/// Everything that would run for an imported team without anybody saying so again.
#[must_use]
pub fn imported_commands(
    state: &State,
    surroundings: &Surroundings,
    file: &Path,
) -> Vec<ProjectCommand> {
    let file = file.display().to_string();
    let check = |when: String| {
        let file = file.clone();
        move |command: &String| ProjectCommand {
            kind: ProjectCommandKind::Check,
            when: when.clone(),
            command: command.clone(),
            file: file.clone(),
            names: Vec::new(),
        }
    };
    let mut runs = Vec::new();
    if let Some(team) = state.team() {
        let of_lead = team.lead_lease.iter().flat_map(|lease| &lease.checks);
        let of_all = check("every task, before it is done".to_owned());
        runs.extend(team.settings.checks.iter().chain(of_lead).map(of_all));
    }
    let runs_commands = runs_commands(state, surroundings);
    for task in state.tasks().iter().filter(|task| !task.status.is_finished()) {
        runs.extend(
            task.proof.checks.iter().map(check(format!("{}, before it is done", task.number))),
        );
        if let Some(command) = command_of(task).filter(|_| runs_commands) {
            runs.push(ProjectCommand {
                kind: ProjectCommandKind::Task,
                when: task.number.to_string(),
                command,
                file: file.clone(),
                names: Vec::new(),
            });
        }
    }
    runs
}

/// Whether a member of the team runs the text of its tasks.
fn runs_commands(state: &State, surroundings: &Surroundings) -> bool {
    let folders = Definition::folders(&surroundings.project, Some(&surroundings.home));
    let described = Definition::read_all(&folders);
    let is_command = |key: &str| {
        let agent = described.iter().find(|it| it.key == key).and_then(|it| it.agent.as_deref());
        AgentKind::Command.is(key) || agent.is_some_and(|it| AgentKind::Command.is(it))
    };
    state.members().any(|member| is_command(&member.agent))
}

/// The command that the agent `command` would run for a task.
fn command_of(task: &Task) -> Option<String> {
    let command = match task.metadata.0.get("command") {
        Some(serde_json::Value::String(command)) => command.clone(),
        Some(other) => other.to_string(),
        None => task.description.clone(),
    };
    (!command.trim().is_empty()).then_some(command)
}
