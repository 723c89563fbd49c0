//! Errors of workspace files, and what to do about them.

use std::{io, path::PathBuf};

use thiserror::Error;
use troop_model::{Hint, HintCommand, TaskRef, with_causes};
use troop_protocol::{ContentError, Failure, FailureKind};

use super::{MAX_ENTRIES, MAX_FILE, MAX_FILES};
use crate::BoardError;

/// One megabyte, as settings count it.
pub(super) const MB: u64 = 1024 * 1024;

/// Why something was not done with a file. Nothing has changed, unless the error says otherwise.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The path is invalid.
    #[error("`{}` is not a path in the workspace: {why}", path.escape_debug())]
    BadPath { path: String, why: &'static str },
    /// There is no such file.
    #[error("there is no file `{path}` in the workspace")]
    NotFound { path: String },
    /// A file that is to be attached to a task is not there.
    #[error("`{path}` is not in the workspace")]
    NotThere { path: String, task: TaskRef },
    /// It is not an ordinary file.
    #[error("`{path}` is {what}, which the workspace does not touch")]
    NotAFile {
        path: String,
        /// Its kind, as `a folder`.
        what: &'static str,
    },
    /// The file is too large.
    #[error("`{path}` has {size} bytes; a workspace file may have at most {MAX_FILE} (10 MB)")]
    TooLarge {
        path: String,
        /// Its size in bytes.
        size: u64,
    },
    /// The folder has as many files as it may have.
    #[error(
        "`{path}` would be one file too many: the workspace has {n_files} of at most {MAX_FILES}"
    )]
    TooMany { path: String, n_files: usize },
    /// The files together would be too large.
    #[error(
        "`{path}` with {size} bytes is more than the team's workspace has room for: {used} of {quota} bytes are used (`workspace_quota_mb` is {})",
        quota / MB
    )]
    OverQuota {
        path: String,
        /// Its size in bytes.
        size: u64,
        /// The size of all others.
        used: u64,
        /// The allowed size of all files.
        quota: u64,
    },
    /// The folder has too many entries to be read.
    #[error("`{}` has more than {MAX_ENTRIES} entries", path.display())]
    TooMuch { path: PathBuf },
    /// The folder itself cannot be used.
    #[error("the workspace `{}` cannot be used", path.display())]
    Unusable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The disk failed.
    #[error("`{path}` cannot be {act}")]
    Io {
        path: String,
        act: &'static str,
        #[source]
        source: io::Error,
    },
    /// The content is invalid.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The board refused it.
    #[error(transparent)]
    Board(#[from] BoardError),
}

impl WorkspaceError {
    /// The class of a failure.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::NotFound { .. } | Self::NotThere { .. } => FailureKind::NotFound,
            Self::BadPath { .. } | Self::Content(_) => FailureKind::Invalid,
            Self::NotAFile { .. } => FailureKind::Conflict,
            Self::TooLarge { .. }
            | Self::TooMany { .. }
            | Self::OverQuota { .. }
            | Self::TooMuch { .. } => FailureKind::Limit,
            Self::Unusable { .. } | Self::Io { .. } => FailureKind::Unavailable,
            Self::Board(error) => Failure::from(error).kind,
        }
    }

    /// The hint for a person.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        let delete = || HintCommand::troop("workspace delete").blank("PATH");
        Some(match self {
            Self::BadPath { .. } => {
                "use a path such as `notes/plan.md`, from the workspace's own folder".into()
            }
            Self::NotFound { .. } => {
                Hint::to("see what is there", HintCommand::troop("workspace list"))
            }
            Self::NotThere { path, task } => {
                let write = HintCommand::troop("workspace write").word(path).blank("FILE");
                Hint::to("put it there", write.word("--task").word(task))
            }
            Self::NotAFile { .. } => "choose another name, or put a plain file there".into(),
            Self::TooLarge { .. } => {
                "split it, or keep it in the project and write down where it is".into()
            }
            Self::TooMany { .. } => Hint::from("overwrite a file").or_to("delete one", delete()),
            Self::OverQuota { .. } => {
                let more = HintCommand::troop("team set").word("workspace_quota_mb=500");
                Hint::to("delete files", delete()).or_to("allow more", more)
            }
            Self::TooMuch { .. } => "clean it up by hand".into(),
            Self::Unusable { .. } => "it must be a writable folder, not a link".into(),
            Self::Io { .. } => {
                let free = HintCommand::other("df").word("-h");
                Hint::to("see whether the disk is full or read-only", free)
            }
            Self::Content(_) | Self::Board(_) => return None,
        })
    }
}

impl From<&WorkspaceError> for Failure {
    fn from(error: &WorkspaceError) -> Self {
        Self { hint: error.hint(), ..Self::new(error.kind(), &with_causes(error)) }
    }
}
