//! Failures of a store, in the classes that callers branch on.

#[cfg(test)]
mod tests;

use std::error::Error;

use thiserror::Error as ThisError;
use troop_model::Hint;

use crate::failure::LINE_PATIENCE;

/// The answer of a store.
pub type StoreResult<T> = Result<T, StoreError>;

/// Why a call failed. Every variant says what happened and what to do about it.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum StoreError {
    /// The store exists but must not be used this way: foreign, newer, read-only.
    #[error("{what}")]
    Refused {
        /// The refused operation, and why.
        what: String,
        /// The hint for a person.
        hint: Hint,
    },
    /// There is no such team, store or folder.
    #[error("{what}")]
    NotFound {
        /// The missing thing.
        what: String,
        /// The hint for a person.
        hint: Hint,
    },
    /// Another caller was first.
    #[error("{what}")]
    Conflict {
        /// The change that came first.
        what: String,
        /// The hint for a person.
        hint: Hint,
    },
    /// The store does not answer now. The change may or may not have happened; repeating it is safe.
    #[error("{what}")]
    Unavailable {
        /// The operation that was tried.
        what: String,
        /// The hint for a person.
        hint: Hint,
        /// Why it did not work.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// Stored data is not what was written. Finding it changes nothing.
    #[error("{what}")]
    Corrupt {
        /// Where, and how it shows.
        what: String,
        /// The hint for a person.
        hint: Hint,
    },
    /// A bug in troop itself.
    #[error("{what}")]
    Bug {
        /// The broken assumption.
        what: String,
    },
}

impl StoreError {
    /// Whether the same call may succeed if it is repeated soon.
    ///
    /// A caller that waited in line for too long should not repeat it: it would wait as long again.
    #[must_use]
    pub fn is_worth_repeating(&self) -> bool {
        matches!(self, Self::Unavailable { source, .. } if !source.is::<WaitedInLine>())
    }
}

/// The cause of an `Unavailable` after the full wait in line.
#[derive(Debug, ThisError)]
#[error("waited in line for {} s", LINE_PATIENCE.as_secs())]
pub(crate) struct WaitedInLine;
