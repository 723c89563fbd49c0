//! The room of files: processes that mirror, command lines, and programs that know only the files.

mod command_line;
mod inbox;
mod mail;
mod mirror;
mod program;
mod visit;

pub(crate) use command_line::{command_line, hasty_member};
pub(crate) use mail::{RECIPIENT, reader, sender};
pub(crate) use mirror::{SimulatedMirror, run_mirror};
pub(crate) use program::program;

/// The path of a task's file.
pub(crate) fn task_path(file: &str) -> String {
    format!("tasks/{file}.json")
}
