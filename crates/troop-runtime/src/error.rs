//! What a board answers when it does not do what it was asked.

use std::sync::Arc;

use thiserror::Error;
use troop_model::{CodecError, Refusal, TaskNumber, TeamName, Version};
use troop_store::StoreError;

/// The answer of a board.
pub type BoardResult<T> = Result<T, BoardError>;

/// Why a board did not do what it was asked.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum BoardError {
    /// A rule is against it. Nothing has changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store did not do its part. Many callers may wait for one append, so they share the cause.
    #[error(transparent)]
    Store(Arc<StoreError>),
    /// The log holds something that this program does not understand.
    #[error("event {version} of the log cannot be read")]
    Log {
        version: Version,
        #[source]
        source: Arc<CodecError>,
    },
    /// The log holds an event that belongs somewhere else.
    #[error("event {version} of the log is marked as event {found}")]
    Misplaced {
        version: Version,
        /// Where it says that it belongs.
        found: Version,
    },
    /// The archive holds something that this program does not understand.
    #[error("the archive of {number} cannot be read")]
    Archive {
        /// Which task.
        number: TaskNumber,
        #[source]
        source: Arc<serde_json::Error>,
    },
    /// What was to be imported is not the log of a team.
    #[error("this is not the log of a team: {what}")]
    NotALog {
        /// How it shows.
        what: String,
    },
    /// There is no team of that name.
    #[error("there is no team `{name}`")]
    NoSuchTeam {
        /// The name.
        name: String,
        /// The teams that there are.
        known: Vec<String>,
    },
    /// This session has a team already.
    #[error("team `{name}` is already active in this session")]
    AlreadyActive {
        /// Its name.
        name: TeamName,
    },
    /// This session has no team.
    #[error("there is no active team")]
    NoActiveTeam,
    /// The board met a fault in troop and does nothing more. What was acknowledged is durable.
    #[error("the board met a fault: {what}")]
    Broken {
        /// What it said.
        what: String,
    },
    /// The board was closed while somebody waited for it.
    #[error("the board is closed")]
    Closed,
}

impl From<StoreError> for BoardError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}
