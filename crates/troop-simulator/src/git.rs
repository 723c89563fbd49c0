//! The room of git: a lead with its members, teams that land, and a person who commits.

mod completion;
mod land;
mod lead;
mod person;

pub(crate) use land::{land, prepare_landing};
pub(crate) use lead::{lead, prepare_team};
pub(crate) use person::person;
