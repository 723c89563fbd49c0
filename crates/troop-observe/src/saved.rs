//! Saves an observer as bytes, so that it can continue after a restart.

use serde::{Deserialize, Serialize};

use crate::observer::Observer;

/// Raise this when the saved state changes shape.
const FORMAT: u32 = 1;

/// Why a saved observer cannot be restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// It is damaged, or not a saved observer.
    #[error("this is not the state of an observer")]
    Damaged {
        #[source]
        source: serde_json::Error,
    },
    /// Another version of the program saved it.
    #[error("this state has format {found}, and format {FORMAT} is what can be read")]
    Format { found: u32 },
}

#[derive(Serialize, Deserialize)]
struct SavedState<M> {
    format: u32,
    memory: M,
}

/// The part that every format has.
#[derive(Deserialize)]
struct SavedHead {
    format: u32,
}

impl Observer {
    /// The state that is needed to continue later.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let saved = SavedState { format: FORMAT, memory: &self.memory };
        serde_json::to_vec(&saved).expect("all keys of it are texts")
    }

    /// Continues from a saved state.
    pub fn restore(bytes: &[u8]) -> Result<Self, SavedError> {
        let damaged = |source| SavedError::Damaged { source };
        let SavedHead { format } = serde_json::from_slice(bytes).map_err(damaged)?;
        if format != FORMAT {
            return Err(SavedError::Format { found: format });
        }
        let SavedState { memory, .. } = serde_json::from_slice(bytes).map_err(damaged)?;
        Ok(Self::with(memory))
    }
}
