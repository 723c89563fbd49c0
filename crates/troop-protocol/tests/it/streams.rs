//! Real streams.
