//! Keeps teams' logs. One contract, four backends; no rule of the board lives here.

mod contract;
mod error;

mod draft;
mod failure;
mod record;

mod bell;
mod hold;
mod turnstile;
mod worker;
mod writer;

mod files;
mod memory;
mod postgres;
mod sqlite;
mod url;

pub use contract::{
    AppendOutcome, AppendSlot, ArchivedTask, Batch, BoxFuture, Entry, Glance, GrowthNotice,
    NewTeam, SlotWriter, Snapshot, Store, StoreFuture, TeamEntry, Watch,
};
pub use error::{StoreError, StoreResult};
pub use files::FilesStore;
pub use memory::MemoryStore;
pub use postgres::{PostgresStore, PostgresUrl};
pub use sqlite::SqliteStore;
pub use url::{Missing, StoreUrl, open};
