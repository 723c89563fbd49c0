//! The dialect `claude`: the names of Claude Code's team tools, in the seeds' version and in today's.

mod members;
mod message;
mod tasks;
mod teams;
mod update;

use serde_json::Value;
use troop_model::{MemberName, TaskNumber, TaskRef};

pub use self::update::NO_RESULT;
use self::{
    members::{AgentTool, ShutdownTeammate, SpawnTeammate},
    message::{Broadcast, SendMessage},
    tasks::{TaskCreate, TaskGet, TaskListTool},
    teams::{CleanupTeam, TeamCreate, TeamDelete},
    update::TaskUpdateTool,
};
use super::{Calls, Category, Seat, TeamTool, Tool, desk::ToolDesk, dialect};
use crate::code::{Failure, FailureKind};

/// The tool that also works without a team.
pub(super) const CREATES_TEAM: &str = TeamCreate::NAME;

dialect! {
    TeamCreate, SpawnTeammate, AgentTool, ShutdownTeammate, TaskCreate, TaskUpdateTool, TaskListTool, TaskGet, SendMessage, Broadcast,
    CleanupTeam, TeamDelete,
}

/// A task's number as this dialect writes it.
fn hash(number: TaskNumber) -> String {
    format!("#{}", number.0)
}

fn hashes(numbers: &[TaskNumber]) -> String {
    numbers.iter().map(|number| hash(*number)).collect::<Vec<_>>().join(", ")
}

/// The name of a member, from a name or an id such as `ann@team`.
fn short_name(text: &str) -> &str {
    text.split('@').next().unwrap_or(text).trim()
}

fn member_name(text: &str) -> Result<MemberName, Failure> {
    short_name(text).parse().map_err(|error| {
        let hint = "for example: `ann`, `backend-dev`".to_owned();
        Failure::new(FailureKind::Invalid, &error).with_hint(hint)
    })
}

/// A task as models name it: a number, also as text.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(transparent)]
struct TaskText(TaskRef);

impl schemars::JsonSchema for TaskText {
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

/// Claude Code's message for an unknown task; agents look for it.
fn not_found(failure: Failure) -> Failure {
    if failure.kind == FailureKind::NotFound {
        Failure { message: format!("Task not found: {}", failure.message), ..failure }
    } else {
        failure
    }
}
