//! Answers to calls, as far as the tools read them.

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};
use troop_model::{
    Attachment, Comment, Evidence, Member, MemberName, Merged, MessageKind, Progress, Role, Status,
    TaskNumber, TeamStatus, Time, TrailEntry, Version,
};
use uuid::Uuid;

use super::proof::CheckExit;

/// A task.
#[derive(Debug, Deserialize)]
pub(super) struct TaskInFull {
    pub(super) id: Uuid,
    pub(super) number: TaskNumber,
    pub(super) subject: String,
    pub(super) description: String,
    pub(super) status: Status,
    pub(super) priority: i32,
    #[serde(rename = "type")]
    pub(super) task_type: String,
    pub(super) assignee: Option<String>,
    pub(super) owner: Option<String>,
    pub(super) blocked_by: Vec<TaskNumber>,
    pub(super) blocks: Vec<TaskNumber>,
    pub(super) progress: Option<Progress>,
    pub(super) result: Option<String>,
    pub(super) created_by: String,
    pub(super) created_at: Time,
    pub(super) completed_at: Option<Time>,
    pub(super) merged: Option<Merged>,
    pub(super) metadata: Map<String, Value>,
    pub(super) evidence: Vec<CheckExit>,
    pub(super) detail: Option<TaskInFullDetail>,
}

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

/// What belongs to a task but not to a list of tasks.
#[derive(Debug, Deserialize)]
pub(super) struct TaskInFullDetail {
    pub(super) comments: Vec<Comment>,
    pub(super) attachments: Vec<Attachment>,
    pub(super) evidence: Vec<Evidence>,
    pub(super) checks_waived: Option<String>,
    pub(super) events: Vec<TrailEntry>,
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
pub(super) struct TeamOverview {
    pub(super) name: String,
    pub(super) status: TeamStatus,
    pub(super) members: Vec<Member>,
    /// Who leads it, if anybody does.
    #[serde(default)]
    lead_lease: Option<IgnoredAny>,
}

impl TeamOverview {
    /// Whether a lead runs it and starts members.
    pub(super) fn is_led(&self) -> bool {
        self.lead_lease.is_some()
    }

    pub(super) fn lead(&self) -> Option<&Member> {
        self.members.iter().find(|member| member.role == Role::Lead)
    }
}

/// Messages.
#[derive(Debug, Deserialize)]
pub(super) struct MessageBatch {
    pub(super) messages: Vec<MessageBrief>,
}

/// A message.
#[derive(Debug, Deserialize)]
pub(super) struct MessageBrief {
    pub(super) id: Uuid,
    pub(super) from: String,
    pub(super) kind: MessageKind,
    pub(super) content: String,
    pub(super) summary: Option<String>,
    pub(super) sent_at: Time,
    pub(super) request_id: Option<Uuid>,
    pub(super) approve: Option<bool>,
    pub(super) task: Option<TaskNumber>,
}
