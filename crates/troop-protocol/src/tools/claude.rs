//! The dialect `claude`: the names that Claude Code has for teams, of the seeds' version and of today's.

mod members;
mod message;
mod tasks;
mod teams;
mod update;

use serde_json::Value;
use troop_model::{MemberName, TaskNumber, TaskRef};

pub use self::update::NO_RESULT;
use self::{
    members::{Agent, ShutdownTeammate, SpawnTeammate},
    message::{Broadcast, SendMessage},
    tasks::{TaskCreate, TaskGet, TaskList},
    teams::{CleanupTeam, TeamCreate, TeamDelete},
    update::TaskUpdate,
};
use super::{Calls, Category, Seat, TeamTool, Tool, desk::Desk, dialect};
use crate::code::{Failure, FailureKind};

dialect! {
    TeamCreate, SpawnTeammate, Agent, ShutdownTeammate, TaskCreate, TaskUpdate, TaskList, TaskGet, SendMessage, Broadcast,
    CleanupTeam, TeamDelete,
}

/// A task's number as this dialect writes it.
fn hash(number: TaskNumber) -> String {
    format!("#{}", number.0)
}

fn hashes(numbers: &[TaskNumber]) -> String {
    numbers.iter().map(|number| hash(*number)).collect::<Vec<_>>().join(", ")
}

/// The member that is meant: by its name, or by an id such as `ann@team`.
fn short_name(text: &str) -> &str {
    text.split('@').next().unwrap_or(text).trim()
}

fn member_name(text: &str) -> Result<MemberName, Failure> {
    short_name(text).parse().map_err(|error| {
        let hint = "for example: `ann`, `backend-dev`".to_owned();
        Failure::new(FailureKind::Invalid, &error).with_hint(hint)
    })
}

/// A task as models name it here: a number as text, or as a number.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(transparent)]
struct TaskId(TaskRef);

impl schemars::JsonSchema for TaskId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TaskId".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string"})
    }
}

/// What the client that this dialect is of says when a task is not there; agents look for it.
fn not_found(failure: Failure) -> Failure {
    if failure.kind == FailureKind::NotFound {
        Failure { message: format!("Task not found: {}", failure.message), ..failure }
    } else {
        failure
    }
}
