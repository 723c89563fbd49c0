//! One line for one event.

use serde_json::Value;
use troop_model::{Event, encode};

use super::{DIM, fit, moment, one_line, paint};

/// An event on one line: when, where in the log, who, what, and the rest in brief.
pub(crate) fn event(event: &Event, width: usize) -> String {
    let rest = details(event);
    let (version, at) = (event.version.to_string(), moment(event.at));
    let kind = event.fact.kind();
    let head = format!(
        "{} {:>6}  {:<12} {kind:<20}",
        paint(DIM, &at),
        version,
        one_line(&event.actor.name)
    );
    let room = width.saturating_sub(at.len() + 6 + 12 + 20 + 6).max(20);
    format!("{head}  {}", fit(&rest, room)).trim_end().to_owned()
}

/// The fields of a fact that a person looks for first.
fn details(event: &Event) -> String {
    let value: Value = serde_json::from_str(&encode(event)).unwrap_or_default();
    let mut parts = Vec::new();
    if let Some(task) = event.fact.task() {
        parts.push(task.to_string());
    }
    let keys = [
        "name",
        "member",
        "subject",
        "owner",
        "state",
        "from",
        "to",
        "reader",
        "content",
        "result",
        "reason",
        "text",
        "path",
        "question",
        "progress",
        "change",
        "permissions",
    ];
    for key in keys {
        match value.get(key) {
            Some(Value::String(text)) => parts.push(one_line(text)),
            Some(Value::Null) | None => {}
            Some(other) => parts.push(one_line(&other.to_string())),
        }
    }
    parts.join("  ")
}
