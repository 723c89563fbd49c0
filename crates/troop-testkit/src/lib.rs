//! Tools that the tests of all crates share: throw-away stores and servers, faults, named waits, committed files,
//! git, a scripted model, a fuzzer.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod committed;
mod faulty;
mod fuzz;
mod git;
pub mod mock;
pub mod postgres;
mod stores;
mod wait;

pub use committed::{assert_current, repository};
pub use faulty::{Fault, FaultyStore};
pub use fuzz::fuzz;
pub use git::{git, git_may_fail};
pub use stores::{
    TestStore, bouncer_store, files_store, memory_store, postgres_store, sqlite_store,
};
pub use wait::{wait_for, wait_until_gone};
