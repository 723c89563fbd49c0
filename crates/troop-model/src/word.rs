//! A word that was meant to be one of a few.

use thiserror::Error;

/// A word that is none of the known ones.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{}` is none of: {}", word.escape_debug(), known.join(", "))]
pub struct UnknownWord {
    /// What was written.
    pub word: String,
    /// What could have been.
    pub known: Vec<&'static str>,
}
