//! What tests of every crate share: throw-away stores and servers, faults, named waits, committed files,
//! a model that says what it is told to.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod committed;
mod faulty;
pub mod mock;
pub mod postgres;
mod stores;
mod wait;

pub use committed::{assert_current, repository};
pub use faulty::{Fault, FaultyStore};
pub use stores::{TestStore, files_store, memory_store, postgres_store, sqlite_store};
pub use wait::wait_for;
