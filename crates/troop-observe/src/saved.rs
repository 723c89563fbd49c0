//! What an observer knows, as bytes: it goes on where it was after a restart.

use serde::{Deserialize, Serialize};

use crate::observer::{Memory, Observer};

/// Raised when what is saved changes its shape.
const FORMAT: u32 = 1;

/// Why something is not what an observer saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// It is damaged, or something else.
    #[error("this is not the state of an observer")]
    Damaged {
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// Another version of the program saved it.
    #[error("this state has format {found}, and format {FORMAT} is what can be read")]
    Format {
        /// Its format.
        found: u32,
    },
}

#[derive(Serialize)]
struct Saved<'a> {
    format: u32,
    memory: &'a Memory,
}

#[derive(Deserialize)]
struct Head {
    format: u32,
}

#[derive(Deserialize)]
struct Body {
    memory: Memory,
}

impl Observer {
    /// All that is needed to go on later.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let saved = Saved { format: FORMAT, memory: &self.memory };
        serde_json::to_vec(&saved).expect("all keys of it are texts")
    }

    /// Goes on where another one was.
    pub fn restore(bytes: &[u8]) -> Result<Self, SavedError> {
        let damaged = |source| SavedError::Damaged { source };
        let Head { format } = serde_json::from_slice(bytes).map_err(damaged)?;
        if format != FORMAT {
            return Err(SavedError::Format { found: format });
        }
        let Body { memory } = serde_json::from_slice(bytes).map_err(damaged)?;
        Ok(Self::with(memory))
    }
}
