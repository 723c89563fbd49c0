//! The model's own list of steps. It is for the model and for people who watch; the board holds the team's tasks.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::schema;

/// How many steps a list may have.
const MAX_STEPS: usize = 100;

#[derive(Deserialize)]
pub(super) struct TodoInput {
    todos: Vec<TodoStep>,
}

#[derive(Deserialize)]
struct TodoStep {
    content: String,
    #[serde(default)]
    status: StepStatus,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StepStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
}

pub(super) fn about() -> (&'static str, Map<String, Value>) {
    let about = "Replaces your own list of steps, for work with many of them. Others do not act on it; tasks for others belong on the board.";
    let mut input = schema(&[("todos", "array", "All steps, in order")], &["todos"]);
    let step = json!({
        "type": "object",
        "properties": {
            "content": {"type": "string", "description": "The step"},
            "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
        },
        "required": ["content"],
    });
    if let Some(todos) = input.get_mut("properties").and_then(|it| it.get_mut("todos")) {
        todos["items"] = step;
    }
    (about, input)
}

/// The list as the model reads it again.
pub(super) fn told(input: &TodoInput) -> Result<String, String> {
    let TodoInput { todos } = input;
    if todos.len() > MAX_STEPS {
        return Err(format!("{} steps are too many; a list has at most {MAX_STEPS}", todos.len()));
    }
    let n_done = todos.iter().filter(|it| it.status == StepStatus::Completed).count();
    let lines = todos.iter().map(|it| {
        let mark = match it.status {
            StepStatus::Pending => "[ ]",
            StepStatus::InProgress => "[>]",
            StepStatus::Completed => "[x]",
        };
        format!("\n{mark} {}", it.content.trim())
    });
    Ok(format!("{n_done} of {} steps are done{}", todos.len(), lines.collect::<String>()))
}
