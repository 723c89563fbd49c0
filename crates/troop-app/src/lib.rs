//! What troop can do, without a screen: the library behind every surface.
//!
//! The command line, the terminal and the gateway use it in process. It never contains argv, printing, colours, exit codes,
//! HTTP, widgets or SQL; the environment and the current folder are handed in by the program.
//!
//! Read in this order: [`surroundings`] is what a command depends on, [`trust`] what a project may run, [`agents`] which agents
//! can run here, [`team`] the handle on one team. [`start`] and [`resume`] decide what a team needs, [`leading`] leads it, and
//! [`stop`] stops it, whichever process leads. [`prove`] checks a person's completion of a task, [`transfer`] carries teams as
//! files, [`checkup`] finds what is wrong here, [`observing`] reads the teams of other programs. [`story`] and [`hint`] are
//! what surfaces show.

pub mod agents;
pub mod checkup;
pub mod demo;
mod error;
pub mod hint;
pub mod leading;
pub mod mcp_client;
pub mod observing;
pub mod prove;
pub mod resume;
pub mod settings;
pub mod start;
pub mod stop;
pub mod story;
pub mod surroundings;
pub mod task_graph;
pub mod team;
pub mod text;
pub mod token;
pub mod transfer;
pub mod trust;
pub mod whole_file;

pub use error::{Diagnosis, Error, ErrorClass, FileAct, RefusedKind, Result};

#[cfg(test)]
mod tests;
