//! What tests of every crate share: throw-away stores and servers, faults, named waits, committed files.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

mod committed;
mod faulty;
pub mod postgres;
mod stores;
mod wait;

pub use committed::{assert_current, repository};
pub use faulty::{Fault, FaultyStore};
pub use stores::{TestStore, files_store, memory_store, postgres_store, sqlite_store};
pub use wait::wait_for;
