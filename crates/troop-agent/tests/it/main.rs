//! Agents at work, each with a lead at the other end of an in-memory wire.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod asking;
mod builtin;
mod command;
mod lead;
mod script;
mod teammate;
