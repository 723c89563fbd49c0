//! Errors of a board.

use std::{path::PathBuf, sync::Arc};

use thiserror::Error;
use troop_model::{CodecError, Refusal, TaskNumber, TeamName, Version};
use troop_store::StoreError;

/// The answer of a board.
pub type BoardResult<T> = Result<T, BoardError>;

/// Why a call to a board failed.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum BoardError {
    /// A rule forbids it. Nothing has changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed. Many callers may wait for one append, so they share the cause.
    #[error(transparent)]
    Store(Arc<StoreError>),
    /// The log has an event that this program does not understand.
    #[error("event {version} of the log cannot be read")]
    Log {
        version: Version,
        #[source]
        source: Arc<CodecError>,
    },
    /// The log has an event in the wrong place.
    #[error("event {version} of the log is marked as event {found}")]
    Misplaced {
        version: Version,
        /// The version that it claims.
        found: Version,
    },
    /// The archive has a task that this program does not understand.
    #[error("the archive of {number} cannot be read")]
    Archive {
        number: TaskNumber,
        #[source]
        source: Arc<serde_json::Error>,
    },
    /// The imported events are not the log of a team.
    #[error("this is not the log of a team: {what}")]
    NotALog { what: String },
    /// There is no team of that name.
    #[error("there is no team `{name}`")]
    NoSuchTeam {
        name: String,
        /// The teams that exist.
        known: Vec<String>,
    },
    /// This session has a team already.
    #[error("team `{name}` is already active in this session")]
    AlreadyActive { name: TeamName },
    /// This session has no team.
    #[error("there is no active team")]
    NoActiveTeam,
    /// Another program has the file of a task, so that nobody may change the task now.
    #[error("the file of {task} is in use: another program has had its lock `{}` for {seconds} s", lock.display())]
    FileInUse {
        task: TaskNumber,
        lock: PathBuf,
        /// How long the caller waited.
        seconds: u64,
    },
    /// The board hit a bug in troop and has stopped. Acknowledged changes are durable.
    #[error("the board met a fault: {what}")]
    Broken { what: String },
    /// The board was closed while a caller waited.
    #[error("the board is closed")]
    Closed,
}

impl From<StoreError> for BoardError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}
