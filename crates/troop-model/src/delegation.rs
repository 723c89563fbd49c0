//! One run of a member on one task for the lead.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{MemberName, Origin, TaskNumber, Time, roster::shown_as_word};

/// The status of a delegation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelegationStatus {
    /// The member works.
    Running,
    /// It ended with a result.
    Completed,
    /// It ended without one.
    Failed,
    /// It was cancelled.
    Cancelled,
}

shown_as_word! {
    DelegationStatus {
        Running => "running", Completed => "completed", Failed => "failed", Cancelled => "cancelled",
    }
}

/// The record of one delegation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    pub id: Uuid,
    /// The member that delegated.
    pub from: MemberName,
    pub to: MemberName,
    /// The delegated task.
    pub task: TaskNumber,
    pub status: DelegationStatus,
    /// When it began.
    pub started_at: Time,
    /// When it ended.
    pub ended_at: Option<Time>,
    /// The result, or the reason why there is none, shortened for display.
    pub result: Option<String>,
    /// Whether the lead was told the result.
    pub is_announced: bool,
    /// The trace that it runs under.
    pub trace_id: Uuid,
    /// The trace of the delegating member.
    pub parent_trace_id: Option<Uuid>,
    /// The conversation that it began in, where its result goes.
    pub origin: Origin,
    /// What the member should know besides the task's description.
    pub note: Option<String>,
    /// Whether its member was at work on the task already: then it goes on in the session in which it began.
    pub is_adopted: bool,
}

/// The session in which a member works. A session is the memory of an agent; sessions share nothing, not even with a person's
/// own chat with the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionKey {
    /// A delegation's own session, which ends with it.
    Delegate(Uuid),
    /// Mail, and work that was not delegated.
    Teammate(MemberName),
}

impl SessionKey {
    /// The lane of all these sessions, apart from people's own chats.
    pub const LANE: &'static str = "team";
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delegate(id) => write!(f, "delegate:{id}"),
            Self::Teammate(member) => write!(f, "teammate:{member}"),
        }
    }
}

impl Delegation {
    /// The session that it runs in.
    #[must_use]
    pub fn session(&self) -> SessionKey {
        match self.is_adopted {
            true => SessionKey::Teammate(self.to.clone()),
            false => SessionKey::Delegate(self.id),
        }
    }

    /// Whether the two are announced together, when the last sibling has ended.
    pub(crate) fn is_sibling(&self, other: &Self) -> bool {
        self.from == other.from && self.origin == other.origin
    }

    /// Whether this member works on it now.
    pub(crate) fn runs_on(&self, member: &MemberName) -> bool {
        self.status == DelegationStatus::Running && self.to == *member
    }
}
