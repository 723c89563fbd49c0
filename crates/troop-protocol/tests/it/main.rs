//! Conversations over real streams.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]
#![expect(clippy::indexing_slicing, reason = "a test may fail loudly")]
#![expect(clippy::wildcard_enum_match_arm, reason = "whatever else comes is wrong")]

mod client;
mod ends;
mod flood;
mod peer;
mod streams;
mod support;
mod tools;
