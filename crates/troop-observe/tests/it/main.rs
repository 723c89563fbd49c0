//! Streams in, teams out.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod captured;
mod consumers;
mod fuzz;
mod generations;
mod headless;
mod lifecycle;
mod middle;
mod million;
mod misshapen;
mod property;
mod stream;
mod tentative;
