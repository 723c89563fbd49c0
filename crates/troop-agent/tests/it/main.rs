//! Agents at work, each with a lead at the other end of a wire in memory.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod builtin;
mod command;
mod lead;
mod mischief;
mod script;
mod teammate;
