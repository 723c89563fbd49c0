//! What troop can do, without a screen: the library behind every surface.
//!
//! The command line, the terminal and the gateway use it in process. It never contains argv, printing, colours, exit codes,
//! HTTP, widgets or SQL; the environment and the current folder are handed in by the program.

mod error;
pub mod hint;
pub mod story;
pub mod text;
pub mod whole_file;

pub use error::{Error, FileAct, RefusedKind, Result};
