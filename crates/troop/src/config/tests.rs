//! Reading configuration files.
