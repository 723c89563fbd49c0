//! Error responses of the APIs, and what they mean.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::builtin::model::ModelError;

/// How much of a message is kept: some servers answer with whole pages.
const MAX_MESSAGE: usize = 500;

/// All fields with which the APIs describe an error.
#[derive(Debug, Default, Deserialize)]
struct ApiFault {
    #[serde(default)]
    message: String,
    #[serde(default, rename = "type")]
    kind: Value,
    /// A word, or the status again.
    #[serde(default)]
    code: Value,
    /// Gemini's word for the error.
    #[serde(default)]
    status: Value,
    /// Gemini's wait time is in here.
    #[serde(default)]
    details: Vec<Value>,
}

/// Classifies an error response.
pub(crate) fn of_answer(status: u16, retry_after: Option<Duration>, body: &[u8]) -> ModelError {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let said = said(&value).unwrap_or_else(|| ApiFault {
        message: String::from_utf8_lossy(body).trim().to_owned(),
        ..ApiFault::default()
    });
    let retry_after = retry_after.or_else(|| retry_delay(&said));
    classify(status, retry_after, &said)
}

/// How long to wait, as Gemini writes it: `"37s"`.
fn retry_delay(said: &ApiFault) -> Option<Duration> {
    let delay = said.details.iter().find_map(|it| it.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

/// Classifies an error within a stream. None if it is not an error.
pub(crate) fn of_error(value: &Value) -> Option<ModelError> {
    let said = said(value)?;
    let word = [&said.kind, &said.status, &said.code].into_iter().find_map(Value::as_str);
    let number = said.code.as_u64().and_then(|code| u16::try_from(code).ok());
    let status = match word.unwrap_or_default() {
        "rate_limit_error" | "RESOURCE_EXHAUSTED" | "rate_limit_exceeded" => 429,
        "overloaded_error" => 529,
        "invalid_request_error" | "INVALID_ARGUMENT" => 400,
        "authentication_error" | "UNAUTHENTICATED" => 401,
        "permission_error" | "PERMISSION_DENIED" => 403,
        "not_found_error" | "NOT_FOUND" => 404,
        _ => number.unwrap_or(500),
    };
    Some(classify(status, retry_delay(&said), &said))
}

/// Finds the description of an error. Gemini puts it in a list.
fn said(value: &Value) -> Option<ApiFault> {
    let value = value.get(0).unwrap_or(value);
    let error = value.get("error").filter(|error| !error.is_null())?;
    // Some servers send only a message.
    let message =
        error.as_str().map(|text| ApiFault { message: text.to_owned(), ..ApiFault::default() });
    Some(message.unwrap_or_else(|| ApiFault::deserialize(error).unwrap_or_default()))
}

fn classify(status: u16, retry_after: Option<Duration>, said: &ApiFault) -> ModelError {
    let message = if said.message.is_empty() { "it does not say why" } else { &said.message };
    let message = troop_model::preview(message, MAX_MESSAGE);
    match status {
        401 | 403 => ModelError::Key { status, message },
        // Waiting does not help if the money is spent.
        429 if said.code == "insufficient_quota" => ModelError::Refused { status, message },
        408 | 409 | 425 | 429 | 500.. => ModelError::Busy { status, message, retry_after },
        413 => ModelError::TooLong { message },
        _ if is_too_long(said) => ModelError::TooLong { message },
        _ => ModelError::Refused { status, message },
    }
}

/// Whether the request exceeds the model's window.
fn is_too_long(said: &ApiFault) -> bool {
    let message = said.message.to_lowercase();
    let says = |words: &str| message.contains(words);
    said.code == "context_length_exceeded"
        || says("prompt is too long")
        || says("context length")
        || says("context window")
        || says("context limit")
        || says("context size")
        || says("maximum context")
        || says("exceeds the maximum number of tokens")
}
