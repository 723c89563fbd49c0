//! What no good member does.
