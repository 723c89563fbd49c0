//! Why the library did not do what it was asked, with what to do about it.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use troop_model::Hint;
use troop_protocol::{ClientError, Failure};
use troop_runtime::BoardError;
use troop_store::StoreError;

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
    #[error("`{}` is not as troop wrote it; start over with `rm {}`", path.display(), troop_model::quoted_path(path))]
    Damaged {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
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
    /// The connection to the lead failed.
    #[error(transparent)]
    Connection(#[from] ClientError),
}

/// The class of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedKind {
    /// It cannot be done as things stand.
    Refused,
    /// Whoever asks has no right to it.
    Forbidden,
    /// Somebody else was first.
    Conflict,
    /// There is nothing to do now.
    NoWork,
}

impl RefusedKind {
    /// The word that programs read.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Forbidden => "forbidden",
            Self::Conflict => "conflict",
            Self::NoWork => "no_work",
        }
    }
}

/// What could not be done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAct {
    Made,
    Read,
    Watched,
    Written,
}

impl fmt::Display for FileAct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Made => "made",
            Self::Read => "read",
            Self::Watched => "watched",
            Self::Written => "written",
        })
    }
}

impl Error {
    pub fn misuse(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::Misuse { message: message.into(), hint: hint.into() }
    }

    pub fn refused(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::of_kind(RefusedKind::Refused, message, hint)
    }

    /// Whoever asks has no right to it.
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
