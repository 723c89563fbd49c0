//! What troop can do, without a screen: the library behind every surface.
//!
//! The command line, the terminal and the gateway use it in process. It never contains argv, printing, colours, exit codes,
//! HTTP, widgets or SQL; the environment and the current folder are handed in by the program.
//!
//! Read in this order: [`surroundings`] is what a command depends on, [`trust`] what a project may run, [`agents`] who can run
//! here, [`team`] the handle on one team; [`prove`] decides what a person's word about a task needs; [`observing`] reads the
//! teams of other programs.

pub mod agents;
mod error;
pub mod hint;
pub mod mcp_client;
pub mod observing;
pub mod prove;
pub mod story;
pub mod surroundings;
pub mod task_graph;
pub mod team;
pub mod text;
pub mod token;
pub mod trust;
pub mod whole_file;

pub use error::{Error, FileAct, RefusedKind, Result};
