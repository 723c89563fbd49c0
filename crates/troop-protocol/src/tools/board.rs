//! The dialect `board`: one tool for the board, one for the mailbox, one to delegate.

mod message;
mod spawn;
mod tasks;
mod view;

use serde_json::Value;

use self::{message::TeamMessage, spawn::SpawnMember, tasks::TeamTasks};
use super::{Calls, Category, Seat, TeamTool, Tool, desk::Desk, dialect};
use crate::code::Failure;

dialect! { TeamTasks, TeamMessage, SpawnMember }
