//! Events as lines of JSON: the form in which they are stored, streamed and read by people.

mod upgrade;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

pub(crate) use upgrade::{UPGRADES, Upgrade};

use crate::{Actor, Event, Fact, OperationId, Time, Version};

/// The form of events that this program writes.
pub const SCHEMA: u32 = 4;

/// How many bytes most events take.
const USUAL_LINE: usize = 384;

/// Why a line is not an event that this program understands.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CodecError {
    /// A newer program wrote it.
    #[error("event {version} has form {schema}; this troop knows forms up to {SCHEMA}")]
    NewerSchema {
        /// The event's position.
        version: Version,
        /// Its form.
        schema: u32,
    },
    /// It is of a kind that this program does not know.
    #[error("event {version} is a `{kind}`, which this troop does not know")]
    UnknownKind {
        /// The event's position.
        version: Version,
        /// Its kind.
        kind: String,
    },
    /// It is not an event at all.
    #[error("not an event: {0}")]
    Malformed(#[from] serde_json::Error),
}

impl CodecError {
    /// Whether a newer program would understand the line.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::NewerSchema { .. } | Self::UnknownKind { .. })
    }
}

#[derive(Serialize)]
struct EncodedEvent<'a> {
    version: Version,
    schema: u32,
    at: Time,
    actor: &'a Actor,
    operation: OperationId,
    #[serde(flatten)]
    fact: &'a Fact,
}

#[derive(Deserialize)]
struct EventHead<'a> {
    version: Version,
    schema: u32,
    at: Time,
    actor: Actor,
    operation: OperationId,
    #[serde(borrow)]
    kind: Cow<'a, str>,
}

/// Writes an event as one line of JSON.
#[must_use]
pub fn encode(event: &Event) -> String {
    let line = EncodedEvent {
        version: event.version,
        schema: SCHEMA,
        at: event.at,
        actor: &event.actor,
        operation: event.operation,
        fact: &event.fact,
    };
    let mut json = Vec::with_capacity(USUAL_LINE);
    serde_json::to_writer(&mut json, &line).expect("an event has no part that JSON cannot hold");
    String::from_utf8(json).expect("JSON is UTF-8")
}

/// Reads an event, of this form or an older one.
pub fn decode(line: &str) -> Result<Event, CodecError> {
    decode_with(line, SCHEMA, UPGRADES)
}

pub(crate) fn decode_with(
    line: &str,
    schema: u32,
    upgrades: &[Upgrade],
) -> Result<Event, CodecError> {
    let head: EventHead<'_> = serde_json::from_str(line)?;
    if head.schema > schema {
        return Err(CodecError::NewerSchema { version: head.version, schema: head.schema });
    }
    let mut kind = head.kind.into_owned();
    let fact = if head.schema == schema {
        serde_json::from_str(line)
    } else {
        let mut fields: Map<String, Value> = serde_json::from_str(line)?;
        let n_known = (head.schema as usize).saturating_sub(1);
        upgrades.iter().skip(n_known).for_each(|upgrade| upgrade(&mut fields));
        if let Some(Value::String(renamed)) = fields.get("kind") {
            kind.clone_from(renamed);
        }
        serde_json::from_value(Value::Object(fields))
    };
    let fact = fact.map_err(|error| {
        // A value inside the event can be unknown too, but only an unknown kind means that a newer program wrote it.
        if error.to_string().starts_with(&format!("unknown variant `{kind}`")) {
            CodecError::UnknownKind { version: head.version, kind }
        } else {
            CodecError::Malformed(error)
        }
    })?;
    Ok(Event {
        version: head.version,
        at: head.at,
        actor: head.actor,
        operation: head.operation,
        fact,
    })
}
