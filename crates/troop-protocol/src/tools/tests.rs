//! Every tool as models see it, and what the modes let through.
