//! The dependencies between a team's tasks.

use serde_json::{Value, json};
use troop_model::{State, Status, Task, TaskNumber};

use crate::text::one_line;

/// One task in the graph.
#[derive(Clone, Debug)]
pub struct GraphNode {
    pub number: TaskNumber,
    pub subject: String,
    pub status: Status,
    pub owner: Option<String>,
    pub waits_for: Vec<TaskNumber>,
}

impl GraphNode {
    /// The unfinished tasks of a team and what they wait for, or all tasks on the board.
    #[must_use]
    pub fn all(state: &State, with_finished: bool) -> Vec<Self> {
        let tasks = state.tasks();
        let is_shown = |number: TaskNumber| {
            let is_open = |number| tasks.status(number).is_some_and(|status| !status.is_finished());
            with_finished || is_open(number) || tasks.dependents(number).any(is_open)
        };
        let node = |task: &Task| {
            let waits_for = task.blocked_by.iter().map(|it| it.task);
            Self {
                number: task.number,
                subject: one_line(&task.subject),
                status: tasks.status(task.number).unwrap_or(task.status),
                owner: task.owner.as_ref().map(ToString::to_string),
                waits_for: waits_for
                    .filter(|it| tasks.get(*it).is_some() && is_shown(*it))
                    .collect(),
            }
        };
        let shown = tasks.numbers().filter(|number| is_shown(*number));
        shown.filter_map(|number| tasks.get(number)).map(node).collect()
    }
}

/// The graph for programs.
#[must_use]
pub fn graph_json(nodes: &[GraphNode]) -> Value {
    let task = |it: &GraphNode| json!({"number": it.number, "subject": it.subject, "status": it.status, "owner": it.owner});
    let tasks: Vec<_> = nodes.iter().map(task).collect();
    let edges = nodes.iter().flat_map(|node| {
        node.waits_for.iter().map(|from| json!({"from": from, "to": node.number}))
    });
    let edges: Vec<_> = edges.collect();
    json!({"tasks": tasks, "edges": edges})
}
