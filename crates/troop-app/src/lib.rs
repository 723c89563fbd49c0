//! What troop can do, without a screen: the library behind every surface.
//!
//! The command line, the terminal and the gateway use it in process. It never contains argv, printing, colours, exit codes,
//! HTTP, widgets or SQL; the environment and the current folder are handed in by the program.
//!
//! Read in this order: [`surroundings`] is what a command depends on, [`trust`] what a project may run, [`agents`] who can run
//! here, [`team`] the handle on one team; [`prove`] decides what a person's word about a task needs.

pub mod agents;
pub mod checkup;
pub mod demo;
mod error;
pub mod hint;
pub mod leading;
pub mod prove;
pub mod resume;
pub mod settings;
pub mod start;
pub mod stop;
pub mod story;
pub mod surroundings;
pub mod team;
pub mod text;
pub mod transfer;
pub mod trust;
pub mod whole_file;

pub use error::{Diagnosis, Error, ErrorClass, FileAct, RefusedKind, Result};

#[cfg(test)]
mod tests;
