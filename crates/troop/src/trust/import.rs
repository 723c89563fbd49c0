//! What a team from a file would run, once somebody leads it here: nobody of this place has put it on the board.

use std::path::Path;

use troop_agent::Definition;
use troop_model::{State, Task};

use super::{CHECK, Runs};
use crate::config::Surroundings;

/// All that would run for an imported team without anybody saying so again.
pub(crate) fn imported_runs(state: &State, surroundings: &Surroundings, file: &Path) -> Vec<Runs> {
    let file = file.display().to_string();
    let check = |when: String| {
        let file = file.clone();
        move |command: &String| Runs {
            kind: CHECK,
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
            let (when, file) = (task.number.to_string(), file.clone());
            runs.push(Runs { kind: "task", when, command, file, names: Vec::new() });
        }
    }
    runs
}

/// Whether a member of the team does what tasks say, word for word.
fn runs_commands(state: &State, surroundings: &Surroundings) -> bool {
    let folders = Definition::folders(&surroundings.project, Some(&surroundings.home));
    let described = Definition::read_all(&folders);
    let is_command = |key: &str| {
        let agent = described.iter().find(|it| it.key == key).and_then(|it| it.agent.as_deref());
        key == "command" || agent == Some("command")
    };
    state.members().any(|member| is_command(&member.agent))
}

/// What the agent `command` would do for a task.
fn command_of(task: &Task) -> Option<String> {
    let command = match task.metadata.0.get("command") {
        Some(serde_json::Value::String(command)) => command.clone(),
        Some(other) => other.to_string(),
        None => task.description.clone(),
    };
    (!command.trim().is_empty()).then_some(command)
}
