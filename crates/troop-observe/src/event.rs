//! What happened in a team that is observed.

use serde::{Deserialize, Serialize};
use troop_model::{Surface, Time};

use crate::team::{Member, Task, TaskId, TeamRole};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamEvent {
    /// Events of one observer are counted from 1.
    pub sequence: u64,
    /// When it was said or, where lines have no time, when it was seen.
    pub at: Time,
    /// In which session it was seen.
    pub session_id: Option<String>,
    /// The team.
    pub team: String,
    /// The tool use by which it happened, if it was one.
    pub tool_use_id: Option<String>,
    /// What it was.
    pub what: What,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum What {
    /// There is a team.
    TeamCreated { role: TeamRole },
    /// There is none any more.
    TeamDeleted,
    /// Somebody joined.
    MemberJoined { member: Member },
    /// Somebody is gone.
    MemberLeft { member: Member },
    /// Somebody has nothing to do.
    MemberIdle { member: Member },
    /// Somebody works again.
    MemberActive { member: Member },
    /// There is something to do.
    TaskCreated { task: Task },
    /// Somebody does it.
    TaskClaimed { task: Task },
    /// It is done.
    TaskCompleted { task: Task },
    /// Something else about it changed.
    TaskUpdated { task: Task },
    /// It was taken from the board.
    TaskDeleted { task: Task },
    /// A member wrote to another or, without `to`, to all.
    Message {
        from: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        content: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    /// A member says that it is idle, or it can be seen.
    Idle {
        from: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        completed_task_id: Option<TaskId>,
    },
    /// A member is asked to stop.
    ShutdownRequest {
        from: String,
        to: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It agrees, or does not.
    ShutdownResponse {
        from: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        approved: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A member asks whether its plan is good.
    PlanApprovalRequest {
        from: String,
        to: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        plan: String,
    },
    /// It is told.
    PlanApprovalResponse {
        from: String,
        to: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        approved: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
    },
}

impl What {
    /// The name, from which every surface makes its own.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TeamCreated { .. } => "team.created",
            Self::TeamDeleted => "team.deleted",
            Self::MemberJoined { .. } => "member.joined",
            Self::MemberLeft { .. } => "member.shutdown",
            Self::MemberIdle { .. } => "member.idle",
            Self::MemberActive { .. } => "member.active",
            Self::TaskCreated { .. } => "task.created",
            Self::TaskClaimed { .. } => "task.claimed",
            Self::TaskCompleted { .. } => "task.completed",
            Self::TaskUpdated { .. } => "task.updated",
            Self::TaskDeleted { .. } => "task.deleted",
            Self::Message { .. } => "message.received",
            Self::Idle { .. } => "idle.reported",
            Self::ShutdownRequest { .. } => "shutdown.requested",
            Self::ShutdownResponse { .. } => "shutdown.response",
            Self::PlanApprovalRequest { .. } => "plan.requested",
            Self::PlanApprovalResponse { .. } => "plan.resolved",
        }
    }
}

impl TeamEvent {
    /// The name that observers know it by: `team:task:created`.
    #[must_use]
    pub fn name(&self) -> String {
        Surface::Observer.spell(self.what.kind())
    }
}

impl Serialize for TeamEvent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            sequence: u64,
            at: Time,
            kind: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            session_id: &'a Option<String>,
            team: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            tool_use_id: &'a Option<String>,
            #[serde(flatten)]
            what: &'a What,
        }
        let Self { sequence, at, session_id, team, tool_use_id, what } = self;
        let (sequence, at, kind) = (*sequence, *at, self.name());
        Shown { sequence, at, kind, session_id, team, tool_use_id, what }.serialize(serializer)
    }
}
