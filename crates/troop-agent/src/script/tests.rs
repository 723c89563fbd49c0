//! The language of scripts.
