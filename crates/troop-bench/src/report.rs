//! Errors for people and programs: one line, a hint, the right exit code.

use std::process::ExitCode;

use serde_json::json;

use crate::output::BenchPrinter;

const FAILED: u8 = 1;
const WRONG_USE: u8 = 2;

/// The benchmark cannot measure what was asked for, and how to ask instead.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct WrongUse {
    message: String,
    hint: String,
}

impl WrongUse {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// Prints an error with its causes and its hint.
pub(crate) fn print(error: &anyhow::Error, printer: &BenchPrinter) -> ExitCode {
    let wrong_use = error.downcast_ref::<WrongUse>();
    let hint = wrong_use.map(|it| &it.hint);
    let message = format!("{error:#}");
    if printer.json {
        let kind = if wrong_use.is_some() { "usage" } else { "failed" };
        let error = json!({"kind": kind, "message": message, "hint": hint});
        printer.error_line(&json!({ "error": error }).to_string());
    } else {
        printer.error_line(&format!("error: {message}"));
        if let Some(hint) = hint {
            printer.error_line(&format!("hint: {hint}"));
        }
    }
    ExitCode::from(if wrong_use.is_some() { WRONG_USE } else { FAILED })
}
