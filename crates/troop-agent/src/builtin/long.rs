//! Results that are too long for the board: the board gets the beginning, and a file of the workspace the whole.

use serde_json::Value;
use troop_model::{MAX_TEXT, preview, quoted};
use troop_protocol::{FileCall, WireTask};
use uuid::Uuid;

use crate::Turn;

/// A text as the board takes it.
pub(crate) async fn kept(text: &str, task: Option<&WireTask>, turn: &Turn) -> String {
    let n_chars = text.chars().count();
    if n_chars <= MAX_TEXT {
        return text.to_owned();
    }
    let name = &turn.place().name;
    let team = &turn.place().team;
    let path = format!("{name}-{}.md", Uuid::now_v7());
    let call = FileCall::Write {
        path: path.clone(),
        content: Some(text.to_owned()),
        base64: None,
        chat: None,
        task: task.and_then(|task| task.id.task().ok()),
        operation: None,
    };
    let rest = match turn.ask::<Value>(&call).await {
        Ok(_) => format!("all of it: `troop --team {} workspace read {path}`", quoted(team)),
        Err(error) => format!("the rest could not be kept: {error}"),
    };
    let end = format!("\n[cut: it has {n_chars} characters, and {MAX_TEXT} can be told; {rest}]");
    preview(text, MAX_TEXT.saturating_sub(end.chars().count())) + &end
}
