//! The real program, as people and scripts use it.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod bad_input;
mod bench;
mod board;
mod builtin;
mod campaign;
mod claude;
mod delegation;
mod demo;
mod desk;
mod faults;
mod files;
mod follow;
mod isolation;
mod json;
mod killed_git;
mod landing;
mod logs;
mod mcp;
mod mirror;
mod observe;
mod pasting;
mod profile;
mod readme;
mod running;
mod stores;
mod surfaces;
mod teammate;
mod teams;
mod troop;
mod trust;
mod words;
mod workspace;
