//! Messages in a team whose lead knows only the protocol's notifications.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::schema;
use crate::Turn;

#[derive(Deserialize)]
pub(super) struct MessageInput {
    #[serde(alias = "recipient")]
    to: String,
    #[serde(alias = "content", alias = "text")]
    message: String,
}

pub(super) fn about() -> (&'static str, Map<String, Value>) {
    let about =
        "Sends a message to a member of the team by name, to `lead`, or to `*` for all others.";
    let fields = [("to", "string", "Who gets it"), ("message", "string", "What you say")];
    (about, schema(&fields, &["to", "message"]))
}

/// Sends the message. Such a lead does not say whether it has arrived.
pub(super) async fn send(input: MessageInput, turn: &Turn) -> Result<String, String> {
    let MessageInput { to, message } = input;
    if to.trim().is_empty() || message.trim().is_empty() {
        return Err(
            "`to` and `message` are needed, for example {\"to\": \"lead\", \"message\": \"…\"}"
                .to_owned(),
        );
    }
    turn.say(to.trim(), &message).await.map_err(|error| error.to_string())?;
    Ok(format!("sent to {}", to.trim()))
}
