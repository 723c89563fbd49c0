//! Events of an observed team.

use serde::{Deserialize, Serialize};
use troop_model::{Surface, Time};

use crate::team::{ObservedMember, ObservedTask, ObservedTaskId, TeamRole};

/// An event of an observed team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamEvent {
    /// Counts the events of one observer, from 1.
    pub sequence: u64,
    /// The line's time or, if it has none, when we saw it.
    pub at: Time,
    /// The session that showed it.
    pub session_id: Option<String>,
    pub team: String,
    /// The tool use that caused it, if one did.
    pub tool_use_id: Option<String>,
    pub fact: ObservedFact,
}

/// How far a message to or from a background agent has come when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailDelivery {
    /// The receiver works, and gets it at its next tool round or turn.
    Queued,
    /// The receiver had ended its work, and was resumed with it.
    Delivered,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ObservedFact {
    TeamCreated {
        role: TeamRole,
    },
    TeamDeleted,
    MemberJoined {
        member: ObservedMember,
    },
    MemberLeft {
        member: ObservedMember,
    },
    MemberIdle {
        member: ObservedMember,
    },
    MemberActive {
        member: ObservedMember,
    },
    TaskCreated {
        task: ObservedTask,
    },
    TaskClaimed {
        task: ObservedTask,
    },
    TaskCompleted {
        task: ObservedTask,
    },
    /// Something other than its status or owner changed.
    TaskUpdated {
        task: ObservedTask,
    },
    TaskDeleted {
        task: ObservedTask,
    },
    /// A member wrote to another or, without `to`, to all.
    Message {
        from: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        content: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// How far it has come, if the client said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delivery: Option<MailDelivery>,
    },
    /// A member reported that it is idle, or we inferred it.
    Idle {
        from: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        completed_task_id: Option<ObservedTaskId>,
    },
    ShutdownRequest {
        from: String,
        to: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    ShutdownResponse {
        from: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        approved: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    PlanApprovalRequest {
        from: String,
        to: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        plan: String,
    },
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

impl ObservedFact {
    /// The name; every surface spells it in its own way.
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
    /// The name in the observer's spelling: `team:task:created`.
    #[must_use]
    pub fn name(&self) -> String {
        Surface::Observer.spell(self.fact.kind())
    }
}

impl Serialize for TeamEvent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct TeamEventJson<'a> {
            sequence: u64,
            at: Time,
            kind: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            session_id: &'a Option<String>,
            team: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            tool_use_id: &'a Option<String>,
            #[serde(flatten)]
            fact: &'a ObservedFact,
        }
        let Self { sequence, at, session_id, team, tool_use_id, fact } = self;
        let kind = self.name();
        let json = TeamEventJson {
            sequence: *sequence,
            at: *at,
            kind,
            session_id,
            team,
            tool_use_id,
            fact,
        };
        json.serialize(serializer)
    }
}
