//! Finding agents.
