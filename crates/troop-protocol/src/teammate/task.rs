//! A task on the teammate wire, with the seed's field names.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use troop_model::{Refusal, Status, TaskNumber, TaskRef, TaskView, Time};
use uuid::Uuid;

/// A task's id as it was written. troop's look like `task-7`; other leads may use others.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WireIdForm", into = "String")]
pub struct WireId(String);

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "an id is a text such as `task-7`, or a number")]
enum WireIdForm {
    Number(u64),
    Text(String),
}

impl WireId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The task of our board that it names.
    pub fn task(&self) -> Result<TaskRef, Refusal> {
        TaskRef::from_str(&self.0)
    }
}

impl fmt::Display for WireId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<WireIdForm> for WireId {
    fn from(written: WireIdForm) -> Self {
        match written {
            WireIdForm::Number(number) => Self(number.to_string()),
            WireIdForm::Text(text) => Self(text),
        }
    }
}

impl From<WireId> for String {
    fn from(id: WireId) -> Self {
        id.0
    }
}

impl From<TaskNumber> for WireId {
    fn from(number: TaskNumber) -> Self {
        Self(number.to_string())
    }
}

/// A task. Only `id` and `subject` are always there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WireTask {
    /// The lead's id of it.
    pub id: WireId,
    /// Its number on our board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<TaskNumber>,
    /// What it is about.
    pub subject: String,
    /// What to do.
    #[serde(default)]
    pub description: String,
    /// Its status, if troop knows the word.
    #[serde(
        default,
        deserialize_with = "super::if_clear",
        skip_serializing_if = "Option::is_none"
    )]
    pub status: Option<Status>,
    /// The member that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The tasks that it waits for.
    #[serde(default)]
    pub blocked_by: Vec<WireId>,
    /// How often it was claimed. Reports in `team.taskUpdate` carry the same number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Higher goes first.
    #[serde(default)]
    pub priority: i32,
    /// The result so far, or why it was given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// When it was created.
    #[serde(
        default,
        deserialize_with = "super::if_clear",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_at: Option<Time>,
    /// When it was completed.
    #[serde(
        default,
        deserialize_with = "super::if_clear",
        skip_serializing_if = "Option::is_none"
    )]
    pub completed_at: Option<Time>,
    /// Arbitrary data.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The run, if the task is to be worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<WireRun>>,
}

/// What a member learns about its run on a task. The requester is not part of it: a run has its member's rights alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WireRun {
    /// The team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_id: Option<Uuid>,
    /// The task's UUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Uuid>,
    /// The session that it belongs to: `delegate:ID` for a delegation, which shares nothing with other sessions; else
    /// `teammate:NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The lane that it runs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The delegation, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegation_id: Option<Uuid>,
    /// The trace that it runs under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<Uuid>,
    /// The delegator's trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_trace_id: Option<Uuid>,
    /// What the member should know besides the task's description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The channel that the work came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The chat within the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
    /// The folder of the workspace that its files belong in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The kind of that chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_kind: Option<String>,
    /// The thread or topic within the chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_key: Option<String>,
}

impl WireTask {
    /// The delegation's own session, if the task is delegated.
    #[must_use]
    pub fn own_session(&self) -> Option<&str> {
        let run = self.run.as_ref()?;
        run.session.as_deref().filter(|_| run.delegation_id.is_some())
    }
}

impl From<TaskView> for WireTask {
    fn from(task: TaskView) -> Self {
        Self {
            id: task.number.into(),
            number: Some(task.number),
            subject: task.subject,
            description: task.description,
            status: Some(task.status),
            owner: task.owner.map(|owner| owner.to_string()),
            blocked_by: task.blocked_by.iter().map(|number| (*number).into()).collect(),
            attempt: Some(task.attempts),
            priority: task.priority,
            result: task.result,
            created_at: Some(task.created_at),
            completed_at: task.completed_at,
            metadata: task.metadata.0,
            run: None,
        }
    }
}
