//! The parts of long answers that the tools read.

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};
use troop_model::{Member, MemberName, Progress, Role, Status, TaskNumber, TeamStatus, Version};
use uuid::Uuid;

use super::proof::CheckExit;

/// A task in a list, borrowed from the answer: lists are long and frequent.
#[derive(Debug, Deserialize)]
pub(super) struct TaskLine<'a> {
    pub(super) id: Uuid,
    pub(super) number: TaskNumber,
    #[serde(borrow)]
    pub(super) subject: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) description: Cow<'a, str>,
    pub(super) status: Status,
    pub(super) priority: i32,
    pub(super) assignee: Option<MemberName>,
    pub(super) owner: Option<MemberName>,
    pub(super) blocked_by: Vec<TaskNumber>,
    pub(super) progress: Option<Progress>,
    pub(super) evidence: Vec<CheckExit>,
}

/// A page of tasks.
#[derive(Debug, Deserialize)]
pub(super) struct TaskPageLines<'a> {
    #[serde(borrow)]
    pub(super) tasks: Vec<TaskLine<'a>>,
    pub(super) page: usize,
    pub(super) pages: usize,
    pub(super) version: Version,
}

/// The team.
#[derive(Debug, Deserialize)]
pub(super) struct ToolTeam {
    pub(super) name: String,
    pub(super) status: TeamStatus,
    pub(super) members: Vec<Member>,
    /// The lead lease, if a lead runs it.
    #[serde(default)]
    lead_lease: Option<IgnoredAny>,
}

impl ToolTeam {
    /// Whether a lead runs it and starts members.
    pub(super) fn is_led(&self) -> bool {
        self.lead_lease.is_some()
    }

    pub(super) fn lead(&self) -> Option<&Member> {
        self.members.iter().find(|member| member.role == Role::Lead)
    }
}
