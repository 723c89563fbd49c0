//! Why the library did not do what it was asked, with what to do about it.

mod diagnosis;

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use troop_model::{Hint, Refusal, with_causes};
use troop_protocol::{ClientError, Failure, FailureKind};
use troop_runtime::{BoardError, ExportError, GitError, LeadError, RouteError};
use troop_store::StoreError;

pub use diagnosis::{Diagnosis, ErrorClass};

/// The answer of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something was not done. Surfaces choose exit codes, colours and words around it; the classes are here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It was asked for in a way that makes no sense, on a command line or in a configuration file.
    #[error("{message}")]
    Misuse { message: String, hint: Hint },
    /// It makes sense, but cannot be done here or now.
    #[error("{message}")]
    Refused { kind: RefusedKind, message: String, hint: Hint },
    /// A file could not be used.
    #[error("`{}` cannot be {act}", path.display())]
    File {
        path: PathBuf,
        act: FileAct,
        #[source]
        source: io::Error,
    },
    /// A file that troop wrote is not as troop wrote it.
    #[error("`{}` is not as troop wrote it", path.display())]
    Damaged {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    /// A file is not an exported team.
    #[error("`{}` cannot be imported", file.display())]
    Import {
        file: PathBuf,
        #[source]
        source: ExportError,
    },
    /// A team's board did not do it.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The store could not be opened, or did not do its part.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The lead did not do it.
    #[error(transparent)]
    Lead(#[from] Failure),
    /// Git did not do it.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The lead could not begin.
    #[error(transparent)]
    Leading(LeadError),
    /// The connection to the lead failed.
    #[error(transparent)]
    Connection(#[from] ClientError),
}

/// The class of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedKind {
    /// It cannot be done as things stand.
    Refused,
    /// The caller has no permission.
    Forbidden,
    /// Somebody else was first.
    Conflict,
    /// There is nothing to do now.
    NoWork,
}

/// The operation on a file that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAct {
    Made,
    Read,
    Removed,
    Started,
    Used,
    Watched,
    Written,
}

impl fmt::Display for FileAct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Made => "made",
            Self::Read => "read",
            Self::Removed => "removed",
            Self::Started => "started",
            Self::Used => "used",
            Self::Watched => "watched",
            Self::Written => "written",
        })
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Board(refusal.into())
    }
}

impl From<LeadError> for Error {
    fn from(error: LeadError) -> Self {
        match error {
            LeadError::Board(error) => Self::Board(error),
            other @ (LeadError::Folder { .. } | _) => Self::Leading(other),
        }
    }
}

impl From<RouteError> for Error {
    fn from(error: RouteError) -> Self {
        match error {
            RouteError::Board(error) => Self::Board(error),
            RouteError::Lead(failure) => Self::Lead(failure),
            RouteError::Connection(error) => Self::Connection(error),
        }
    }
}

/// An error as callers over a wire hear it.
impl From<Error> for Failure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "all others are diagnosed")]
    fn from(error: Error) -> Self {
        let error = match error {
            Error::Lead(failure) => return failure,
            Error::Board(error) => return error.into(),
            other => other,
        };
        let Diagnosis { class, hint } = diagnosis::of_error(&error);
        let kind = match class {
            ErrorClass::Call(kind) => kind,
            ErrorClass::Usage => FailureKind::Invalid,
            ErrorClass::Refused => FailureKind::Conflict,
            ErrorClass::Failed => FailureKind::Unavailable,
        };
        Self { hint, ..Self::new(kind, &with_causes(&error)) }
    }
}

impl Error {
    pub fn misuse(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::Misuse { message: message.into(), hint: hint.into() }
    }

    pub fn refused(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::of_kind(RefusedKind::Refused, message, hint)
    }

    /// The caller has no permission.
    pub fn forbidden(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::of_kind(RefusedKind::Forbidden, message, hint)
    }

    /// Somebody else was first.
    pub fn conflict(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::of_kind(RefusedKind::Conflict, message, hint)
    }

    /// There is nothing to do now.
    pub fn no_work(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::of_kind(RefusedKind::NoWork, message, hint)
    }

    /// Makes an error of each I/O error on a file.
    pub(crate) fn file(path: &Path, act: FileAct) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::File { path: path.to_owned(), act, source }
    }

    fn of_kind(kind: RefusedKind, message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::Refused { kind, message: message.into(), hint: hint.into() }
    }
}
