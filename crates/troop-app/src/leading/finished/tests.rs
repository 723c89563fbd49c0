//! What is left to complain about.
