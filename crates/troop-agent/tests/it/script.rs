//! The agent `script`.
