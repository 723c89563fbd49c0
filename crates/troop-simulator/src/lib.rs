//! Simulated teams: boards, mirrors, leads, programs and people in one thread, with virtual time, one seed per history.
//!
//! The processes are simulated, and so are store, disk, git and time; what they decide is decided by the product's own functions
//! (`troop_runtime::deciding`, `troop_model`). Read in this order: `history` (the scheduler), `process` (a boundary between two
//! effects), `world`, `promise` (what must hold), then the rooms `files` and `git`.

mod board;
mod cast;
mod choice;
mod claimant;
mod disk;
mod files;
mod git;
mod history;
pub mod known;
mod plan;
mod process;
mod promise;
mod repository;
mod rest;
mod saved;
mod shrink;
mod store;
mod world;

pub use history::{HistoryEnd, run_choices, run_seed};
pub use plan::{HistoryPlan, Scenario};
pub use promise::{BrokenPromise, Promise};
pub use saved::SavedHistory;
pub use shrink::{ShrinkTrial, shrink, shrink_by};
pub use world::StepTally;
