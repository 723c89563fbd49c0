//! The dialect `board`: one tool for the board, one for the mailbox, one for shared files, one to delegate.

mod message;
mod spawn;
mod tasks;
mod view;
mod workspace;

use serde_json::Value;

use self::{message::TeamMessage, spawn::SpawnMember, tasks::TeamTasks, workspace::TeamWorkspace};
use super::{Calls, Category, Seat, TeamTool, Tool, desk::ToolDesk, dialect};
use crate::code::Failure;

dialect! { TeamTasks, TeamMessage, TeamWorkspace, SpawnMember }
