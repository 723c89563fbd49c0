//! What tests of every crate share.
