//! One line for one event.

use serde_json::Value;
use troop_model::{Event, Fact, encode};
use unicode_width::UnicodeWidthStr;

use super::{DIM, fit, moment, one_line, paint};

/// An event on one line: time, version, actor, kind, and the main fields.
pub(crate) fn event(event: &Event, width: usize) -> String {
    let at = moment(event.at);
    let head = format!(
        " {:>5}  {:<8} {:<20} ",
        event.version,
        one_line(&event.actor.name),
        event.fact.kind()
    );
    let room = width.saturating_sub(at.width() + head.width()).max(16);
    format!("{}{head}{}", paint(DIM, &at), fit(&details(event), room)).trim_end().to_owned()
}

/// The fields of a fact that a person looks for first.
fn details(event: &Event) -> String {
    let mut parts: Vec<String> =
        event.fact.task().map(|task| task.to_string()).into_iter().collect();
    parts.push(particulars(&event.fact).unwrap_or_else(|| texts(event)));
    parts.join("  ")
}

/// The details of facts whose texts alone would not explain them.
#[expect(clippy::wildcard_enum_match_arm, reason = "the texts of other facts explain them")]
fn particulars(fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::TaskProgressed { progress, .. } => {
            format!("{}% {}", progress.percent, one_line(&progress.step))
        }
        Fact::TaskUpdated { change, .. } => {
            let change = serde_json::to_value(change).unwrap_or_default();
            let keys = change.as_object().into_iter().flat_map(|fields| fields.keys().cloned());
            keys.collect::<Vec<_>>().join(", ")
        }
        Fact::MessageSent { from, to, content, .. } => {
            format!("{from} → {to}: {}", one_line(content))
        }
        Fact::LinkSet { link } => format!("{} → {}", link.from, link.to),
        Fact::LinkPurged { from, to } => format!("{from} → {to}"),
        Fact::DelegationStarted { from, to, .. } => format!("{from} → {to}"),
        _ => return None,
    })
}

/// The texts of a fact, in the order in which people look for them.
fn texts(event: &Event) -> String {
    let value: Value = serde_json::from_str(&encode(event)).unwrap_or_default();
    let keys = [
        "name",
        "member",
        "subject",
        "owner",
        "state",
        "reader",
        "result",
        "reason",
        "text",
        "path",
        "question",
        "permissions",
    ];
    let texts = keys.iter().filter_map(|key| value.get(*key)?.as_str().map(one_line));
    texts.collect::<Vec<_>>().join("  ")
}
