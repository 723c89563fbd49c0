//! Conversations over real streams.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

mod ends;
mod flood;
mod peer;
mod streams;
mod support;
