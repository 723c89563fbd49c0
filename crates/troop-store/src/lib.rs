//! Keeps teams' logs. One contract, four backends; no rule of the board lives here.

mod contract;
mod error;

pub use contract::{
    Appended, Archived, Batch, BoxFuture, Entry, NewTeam, Snapshot, Store, TeamEntry, Turn,
    TurnWriter, Watch,
};
pub use error::{StoreError, StoreResult};
