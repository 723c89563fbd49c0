//! Tasks and messages with the field names of this dialect.

use serde::Serialize;
use serde_json::{Map, Value, json};
use troop_model::{
    MAX_SNIPPET, MemberName, MessageView, Status, TaskNumber, TaskView, Time, preview,
};
use uuid::Uuid;

use super::super::{
    proof::{CheckReport, in_short, merged},
    seen::TaskLine,
};
use crate::code::{Failure, FailureKind};

/// A task in a list.
#[derive(Debug, Serialize)]
pub(super) struct BriefTask<'a> {
    task_number: TaskNumber,
    id: Uuid,
    subject: &'a str,
    status: Status,
    #[serde(skip_serializing_if = "is_zero")]
    priority: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    assignee: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner_agent_id: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    blocked_by: &'a [TaskNumber],
    #[serde(skip_serializing_if = "Option::is_none")]
    progress_percent: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress_step: Option<&'a str>,
    /// A summary of its checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<String>,
}

/// A task with everything that belongs to it.
#[derive(Debug, Serialize)]
pub(super) struct FullTask<'a> {
    #[serde(flatten)]
    brief: BriefTask<'a>,
    description: &'a str,
    task_type: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    blocks: &'a [TaskNumber],
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
    /// Where the rest of the result begins, if it is long.
    #[serde(skip_serializing_if = "Option::is_none")]
    result_rest: Option<String>,
    created_by_agent_id: &'a str,
    /// The conversation that it belongs to.
    #[serde(skip_serializing_if = "Map::is_empty")]
    origin: Map<String, Value>,
    created_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Time>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: &'a Map<String, Value>,
    comments: Vec<Value>,
    events: Vec<Value>,
    attachments: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<CheckReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checks_waived: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merged: Option<Value>,
}

fn is_zero(priority: &i32) -> bool {
    *priority == 0
}

impl<'a> From<&'a TaskLine<'_>> for BriefTask<'a> {
    fn from(task: &'a TaskLine<'_>) -> Self {
        Self {
            task_number: task.number,
            id: task.id,
            subject: &task.subject,
            status: task.status,
            priority: task.priority,
            assignee: task.assignee.as_ref().map(MemberName::as_str),
            owner_agent_id: task.owner.as_ref().map(MemberName::as_str),
            blocked_by: &task.blocked_by,
            progress_percent: task.progress.as_ref().map(|it| it.percent),
            progress_step: task.progress.as_ref().map(|it| it.step.as_str()),
            checks: in_short(task.evidence.iter().map(|it| it.exit_code)),
        }
    }
}

impl<'a> FullTask<'a> {
    /// Both are read from the same answer.
    pub(super) fn new(line: &'a TaskLine<'_>, task: &'a TaskView) -> Self {
        let detail = || task.detail.iter();
        let comments = detail().flat_map(|detail| &detail.comments);
        let attachments = detail().flat_map(|detail| &detail.attachments);
        let events = detail().flat_map(|detail| &detail.events);
        Self {
            brief: line.into(),
            description: &task.description,
            task_type: &task.task_type,
            blocks: &task.blocks,
            result: task.result.as_deref(),
            result_rest: task
                .result_next_offset
                .map(|offset| format!("the result goes on: get with \"offset\": {offset}")),
            created_by_agent_id: &task.created_by,
            origin: origin(task),
            created_at: task.created_at,
            completed_at: task.completed_at,
            metadata: &task.metadata.0,
            comments: comments
                .map(|it| json!({"author": it.author.name, "at": it.at, "text": it.text}))
                .collect(),
            events: events
                .map(|it| {
                    json!({
                        "event": it.what, "actor": it.actor.name, "actor_type": it.actor.kind, "at": it.at, "note": it.note,
                    })
                })
                .collect(),
            attachments: attachments
                .map(|it| json!({"path": it.path, "by": it.by.name, "at": it.at}))
                .collect(),
            evidence: detail().flat_map(|detail| &detail.evidence).map(CheckReport::from).collect(),
            checks_waived: detail().find_map(|detail| detail.checks_waived.as_deref()),
            merged: task.merged.as_ref().map(merged),
        }
    }
}

/// The conversation of a task, as far as it has one.
fn origin(task: &TaskView) -> Map<String, Value> {
    let TaskView { user_id, channel, chat_id, peer_kind, local_key, .. } = task;
    let parts = [
        ("user_id", user_id),
        ("channel", channel),
        ("chat_id", chat_id),
        ("peer_kind", peer_kind),
        ("local_key", local_key),
    ];
    let known = parts.into_iter().filter_map(|(name, part)| Some((name, part.as_ref()?)));
    known.map(|(name, part)| (name.to_owned(), part.as_str().into())).collect()
}

/// A task that a search found.
#[derive(Debug, Serialize)]
pub(super) struct SearchHit<'a> {
    task_number: TaskNumber,
    id: Uuid,
    subject: &'a str,
    status: Status,
    snippet: String,
}

impl<'a> From<&'a TaskLine<'_>> for SearchHit<'a> {
    fn from(task: &'a TaskLine<'_>) -> Self {
        Self {
            task_number: task.number,
            id: task.id,
            subject: &task.subject,
            status: task.status,
            snippet: preview(&task.description, MAX_SNIPPET),
        }
    }
}

/// A page of tasks.
#[derive(Debug, Serialize)]
pub(super) struct TaskPageText<T> {
    pub(super) tasks: Vec<T>,
    pub(super) page: usize,
    pub(super) pages: usize,
}

impl<T: Serialize> TaskPageText<T> {
    pub(super) fn told(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map_err(|error| Failure::new(FailureKind::Bug, &error))
    }
}

/// A message as its reader gets it, with the sender stamped before the text.
pub(super) fn message(message: &MessageView) -> Value {
    let text = format!("[Team message from {}]: {}", message.from, message.content);
    let mut shown = json!({
        "from": message.from, "kind": message.kind, "text": text, "sent_at": message.sent_at,
    });
    if let Some(shown) = shown.as_object_mut() {
        let mut add = |name: &str, value: Option<Value>| {
            shown.extend(value.map(|value| (name.to_owned(), value)));
        };
        add("summary", message.summary.as_ref().map(|it| json!(it)));
        add("request_id", message.request_id.map(|it| json!(it)));
        add("approve", message.approve.map(|it| json!(it)));
        add("task_number", message.task.map(|it| json!(it)));
    }
    shown
}
