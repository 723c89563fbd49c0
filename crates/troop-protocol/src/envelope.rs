//! JSON-RPC 2.0 envelopes: requests, notifications and responses, with their parameters still unread.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{
    Number, Value,
    value::{RawValue, to_raw_value},
};
use thiserror::Error;

use troop_model::preview;

use crate::{code, frame::SkipReason};

#[cfg(test)]
mod tests;

/// How much is shown of an `error` that is not an error object.
const MAX_SHOWN: usize = 200;

/// One message.
#[derive(Clone, Debug)]
pub enum Envelope {
    Request {
        /// Names the request in its answer.
        id: Id,
        asked: Notification,
    },
    Notification(Notification),
    Response {
        id: Id,
        outcome: Result<Box<RawValue>, ErrorObject>,
    },
}

/// A method with its unread parameters.
#[derive(Clone, Debug)]
pub struct Notification {
    pub method: String,
    /// Its parameters; an empty object if there were none.
    pub params: Box<RawValue>,
}

/// Names a request in its answer; chosen by the caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    Number(Number),
    Text(String),
}

/// JSON-RPC's error object.
#[derive(Clone, Debug, PartialEq, Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct ErrorObject {
    /// The class of the error; `code.rs` has the table.
    pub code: i64,
    /// One line for people and agents.
    #[serde(default)]
    pub message: String,
    /// Details for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// The fields of a line, as they were read.
#[derive(Deserialize)]
struct EnvelopeParts<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    /// `null` is a valid result.
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct EnvelopeLine<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ErrorObject>,
}

impl Envelope {
    /// Reads a line. A missing `jsonrpc` is forgiven: not every program that can be a teammate writes it.
    pub fn parse(line: &[u8]) -> Result<Self, SkipReason> {
        // serde reads a list as a struct without field names, so lists are sorted out first.
        if !line.trim_ascii_start().starts_with(b"{") {
            return Err(reason(line));
        }
        let parts: EnvelopeParts<'_> = serde_json::from_slice(line).map_err(|_| reason(line))?;
        let id = parts.id.map(|id| serde_json::from_str::<Id>(id.get())).transpose();
        let id = id.map_err(|_| SkipReason::NotAMessage)?;
        if let Some(method) = parts.method {
            let params = parts.params.map_or_else(no_params, ToOwned::to_owned);
            let asked = Notification { method, params };
            return Ok(match id {
                Some(id) => Self::Request { id, asked },
                None => Self::Notification(asked),
            });
        }
        let outcome = match (parts.error, parts.result) {
            (Some(error), _) => Err(ErrorObject::read(error)),
            (None, Some(result)) => Ok(result.to_owned()),
            (None, None) => return Err(SkipReason::NotAMessage),
        };
        let id = id.ok_or(SkipReason::Unasked)?;
        Ok(Self::Response { id, outcome })
    }

    /// Writes a line, including the line end.
    #[must_use]
    pub fn to_line(&self) -> Vec<u8> {
        let nothing = EnvelopeLine {
            jsonrpc: "2.0",
            id: None,
            method: None,
            params: None,
            result: None,
            error: None,
        };
        let asks = |id, asked| {
            let Notification { method, params }: &Notification = asked;
            EnvelopeLine { id, method: Some(method), params: Some(params), ..nothing }
        };
        let line = match self {
            Self::Request { id, asked } => asks(Some(id), asked),
            Self::Notification(asked) => asks(None, asked),
            Self::Response { id, outcome: Ok(result) } => {
                EnvelopeLine { id: Some(id), result: Some(result), ..nothing }
            }
            Self::Response { id, outcome: Err(error) } => {
                EnvelopeLine { id: Some(id), error: Some(error), ..nothing }
            }
        };
        let mut bytes =
            serde_json::to_vec(&line).expect("an envelope has no part that JSON cannot hold");
        // JSON allows line ends only between tokens, so parameters that span lines mean the same on one.
        if bytes.contains(&b'\n') {
            bytes.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        }
        bytes.push(b'\n');
        bytes
    }
}

impl Notification {
    pub fn new(method: &str, params: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self { method: method.to_owned(), params: to_raw_value(params)? })
    }
}

impl ErrorObject {
    /// Reads an error. The caller must get an answer, so anything that is not an error object becomes the message.
    fn read(written: &RawValue) -> Self {
        serde_json::from_str(written.get()).unwrap_or_else(|_| Self {
            code: code::INTERNAL,
            message: preview(written.get(), MAX_SHOWN),
            data: None,
        })
    }
}

impl From<u64> for Id {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

pub(crate) fn no_params() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("an empty object is JSON")
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Finds out why a line is not a message.
fn reason(line: &[u8]) -> SkipReason {
    if line.trim_ascii().is_empty() {
        return SkipReason::Blank;
    }
    let Ok(text) = std::str::from_utf8(line) else { return SkipReason::NotText };
    match serde_json::from_str::<&RawValue>(text).map(|value| value.get().as_bytes().first()) {
        Err(_) => SkipReason::NotJson,
        Ok(Some(b'{')) => SkipReason::NotAMessage,
        Ok(Some(b'[')) => SkipReason::Batch,
        Ok(_) => SkipReason::NotAnObject,
    }
}
