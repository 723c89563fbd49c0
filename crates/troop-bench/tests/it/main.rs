//! The benchmark as people run it.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

mod bench;
