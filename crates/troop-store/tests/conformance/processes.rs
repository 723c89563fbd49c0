//! Cases with several processes.
