//! How events of older forms become current ones. Logs are kept for ever, so an upgrade never changes.

use serde_json::{Map, Value};

/// One step from an older form of events to the next: changes the JSON of one event in place.
pub(crate) type Upgrade = fn(&mut Map<String, Value>);

/// The first entry takes form 1 to form 2, and so on.
pub(crate) const UPGRADES: &[Upgrade] = &[name_causes, keep, keep];

/// In form 1, programs read from the text for people why a member was in its state and what a notice was about. Form 2 has
/// fields for both.
fn name_causes(fields: &mut Map<String, Value>) {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let named = match (text("kind"), text("message_kind")) {
        (Some("member.state_changed"), _) => {
            let cause =
                text("state").zip(text("reason")).and_then(|(state, why)| cause(state, why));
            cause.map(|cause| ("cause", cause))
        }
        (Some("message.sent"), Some("system")) => {
            text("summary").and_then(notice).map(|notice| ("notice", notice))
        }
        _ => None,
    };
    if let Some((name, word)) = named {
        fields.insert(name.to_owned(), word.into());
    }
}

fn cause(state: &str, reason: &str) -> Option<&'static str> {
    // For a lead, this text was the whole reason, or the end of the reason if the lead stopped.
    let is_before_it = |it: &str| it.ends_with("; ") || it.is_empty() && state != "stopped";
    let is_end = |words: &str| reason.strip_suffix(words).is_some_and(is_before_it);
    match state {
        _ if is_end("it has not done yet what it was told") => Some("left_open"),
        _ if is_end("it could not do what it was told") => Some("could_not"),
        "crashed" => (reason == "its lead ended").then_some("lead_ended"),
        "stopped" => match reason.strip_prefix("its team stopped") {
            Some(rest) if rest.is_empty() || rest.starts_with(": ") => Some("team_stopped"),
            _ => Some("asked"),
        },
        _ if reason == "interrupted" || reason.starts_with("interrupted; ") => Some("interrupted"),
        _ => None,
    }
}

fn notice(summary: &str) -> Option<&'static str> {
    match summary {
        "a hook said no to what it did" => Some("deed_vetoed"),
        "it is not done yet" => Some("not_done"),
        other => other.starts_with("a hook said no").then_some("vetoed"),
    }
}

/// Forms 3 and 4 have more words in fields of the form before (which rule refused, what a notice is about), so that an older program says that a
/// newer one wrote the log, instead of calling it damaged.
fn keep(_: &mut Map<String, Value>) {}
