//! The table from failures to JSON-RPC error codes, both ways.

mod next;

use serde::Deserialize;
use serde_json::json;
use thiserror::Error;
use troop_model::{Hint, HintCommand, Refusal, RefusalKind};

use crate::{envelope::ErrorObject, method::MethodError};

#[cfg(test)]
mod tests;

/// JSON-RPC's code for an internal error.
pub(crate) const INTERNAL: i64 = -32_603;

/// The classes that callers branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The named thing does not exist.
    NotFound,
    /// Another caller was first, or the state is not what the caller believes.
    Conflict,
    /// The actor may not do that.
    Forbidden,
    /// The rules do not accept a value.
    Invalid,
    /// A limit is reached; later it may work.
    Limit,
    /// There is no work to take now.
    NoWork,
    /// The store cannot be reached. The change may have happened: repeat it with the same `operation`.
    Unavailable,
    /// Stored data cannot be read.
    Corrupt,
    /// There is no such method.
    UnknownMethod,
    /// The parameters do not have the form that the method needs.
    BadParams,
    /// The program that answers has a bug.
    Bug,
}

impl FailureKind {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 11] = [
        Self::NotFound,
        Self::Conflict,
        Self::Forbidden,
        Self::Invalid,
        Self::Limit,
        Self::NoWork,
        Self::Unavailable,
        Self::Corrupt,
        Self::UnknownMethod,
        Self::BadParams,
        Self::Bug,
    ];

    /// The JSON-RPC code. Codes that JSON-RPC does not define are in its range for servers.
    #[must_use]
    pub fn code(self) -> i64 {
        self.row().0
    }

    /// The name of the class, the same as in errors of the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    /// Its meaning, for the documentation.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        self.row().2
    }

    /// Whether somebody decided to refuse it: it did not happen, and the same again would be refused again.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::NotFound
                | Self::Conflict
                | Self::Forbidden
                | Self::Invalid
                | Self::Limit
                | Self::NoWork
        )
    }

    fn row(self) -> (i64, &'static str, &'static str) {
        match self {
            Self::NotFound => (-32_001, "not_found", "the named thing does not exist"),
            Self::Conflict => (
                -32_002,
                "conflict",
                "another caller was first, or the state is not what the caller believes",
            ),
            Self::Forbidden => (-32_003, "forbidden", "the actor may not do that"),
            Self::Invalid => (-32_004, "invalid", "the rules do not accept a value"),
            Self::Limit => (-32_005, "limit", "a limit is reached; try again later"),
            Self::NoWork => (-32_006, "no_work", "there is no task to take now"),
            Self::Unavailable => {
                (-32_010, "unavailable", "may have happened; repeat it with the same `operation`")
            }
            Self::Corrupt => (-32_011, "corrupt", "stored data cannot be read"),
            Self::UnknownMethod => (-32_601, "unknown_method", "there is no such method"),
            Self::BadParams => {
                (-32_602, "bad_params", "the message names the field and what is valid")
            }
            Self::Bug => (INTERNAL, "bug", "a bug in the program that answers"),
        }
    }
}

impl From<RefusalKind> for FailureKind {
    fn from(kind: RefusalKind) -> Self {
        match kind {
            RefusalKind::NotFound => Self::NotFound,
            RefusalKind::Conflict => Self::Conflict,
            RefusalKind::Forbidden => Self::Forbidden,
            RefusalKind::Invalid => Self::Invalid,
            RefusalKind::Limit => Self::Limit,
            RefusalKind::NoWork => Self::NoWork,
        }
    }
}

/// Why a call failed, as both sides see it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Failure {
    /// What to branch on.
    pub kind: FailureKind,
    /// One line.
    pub message: String,
    /// The name of the board's rule that forbids it, if one does.
    pub refusal: Option<String>,
    /// What to do next.
    pub hint: Option<Hint>,
}

/// The `data` of an error.
#[derive(Default, Deserialize)]
struct ErrorData {
    refusal: Option<String>,
    hint: Option<String>,
    next: Option<Hint>,
}

impl Failure {
    /// A failure without a hint.
    pub fn new(kind: impl Into<FailureKind>, message: &(impl ToString + ?Sized)) -> Self {
        Self { kind: kind.into(), message: message.to_string(), refusal: None, hint: None }
    }

    #[must_use]
    pub fn with_hint(self, hint: impl Into<Hint>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The message and the hint as text, for a model to act on.
    #[must_use]
    pub fn for_model(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}\nhint: {hint}", self.message),
            None => self.message.clone(),
        }
    }
}

impl From<&Refusal> for Failure {
    fn from(refusal: &Refusal) -> Self {
        let hint = next::next_step(refusal).map(Hint::from);
        Self {
            refusal: Some(refusal.name().to_owned()),
            hint,
            ..Self::new(refusal.kind(), refusal)
        }
    }
}

impl From<&MethodError> for Failure {
    fn from(error: &MethodError) -> Self {
        let kind = match error {
            MethodError::Unknown { .. } => FailureKind::UnknownMethod,
            MethodError::BadParams { .. } => FailureKind::BadParams,
        };
        Self::new(kind, error).with_hint("see docs/protocol.md")
    }
}

impl From<Failure> for ErrorObject {
    fn from(failure: Failure) -> Self {
        let Failure { kind, message, refusal, hint } = failure;
        let text = hint.as_ref().map(ToString::to_string);
        let data = match hint.filter(|hint| !hint.is_text()) {
            // The text is for people and models. Programs that render hints in their own way read the value beside it.
            Some(next) => {
                json!({"kind": kind.as_str(), "refusal": refusal, "hint": text, "next": next})
            }
            None => json!({"kind": kind.as_str(), "refusal": refusal, "hint": text}),
        };
        Self { code: kind.code(), message, data: Some(data) }
    }
}

impl From<ErrorObject> for Failure {
    /// An unknown code counts as an internal error of the other program.
    fn from(error: ErrorObject) -> Self {
        let kind = FailureKind::ALL.into_iter().find(|kind| kind.code() == error.code);
        let data = error.data.map(serde_json::from_value::<ErrorData>).and_then(Result::ok);
        let ErrorData { refusal, hint, next } = data.unwrap_or_default();
        let hint = next.or_else(|| hint.map(Hint::from));
        Self { kind: kind.unwrap_or(FailureKind::Bug), message: error.message, refusal, hint }
    }
}

/// The error for a request that ended with the program, or the part of it, that handled it.
pub(crate) fn unanswered() -> ErrorObject {
    let look =
        Hint::to("before you repeat it, look whether it happened", HintCommand::troop("events"));
    let message = "it may have been carried out: it was dropped before it was answered";
    Failure::new(FailureKind::Unavailable, message).with_hint(look).into()
}

pub(crate) fn internal(message: &str) -> ErrorObject {
    Failure::new(FailureKind::Bug, message).into()
}
