//! A task as it goes over the teammate wire, in the seed's names.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use troop_model::{Refusal, Status, TaskNumber, TaskRef, TaskView, Time};

/// A task's id as it was written. Another lead's ids are its own; ours are like `task-7`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Written", into = "String")]
pub struct WireId(String);

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "an id is a text such as `task-7`, or a number")]
enum Written {
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

impl From<Written> for WireId {
    fn from(written: Written) -> Self {
        match written {
            Written::Number(number) => Self(number.to_string()),
            Written::Text(text) => Self(text),
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

/// A task. Only its id and its subject are sure to be there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WireTask {
    /// How the lead names it.
    pub id: WireId,
    /// Its number on our board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<TaskNumber>,
    /// What it is about.
    pub subject: String,
    /// What is to be done.
    #[serde(default)]
    pub description: String,
    /// Where it stands, if that is one of our words.
    #[serde(
        default,
        deserialize_with = "super::if_clear",
        skip_serializing_if = "Option::is_none"
    )]
    pub status: Option<Status>,
    /// Who holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What it waits for.
    #[serde(default)]
    pub blocked_by: Vec<WireId>,
    /// How often it was taken; the number to give back in `team.taskUpdate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Higher goes first.
    #[serde(default)]
    pub priority: i32,
    /// What came of it so far, or why it was given back.
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
    /// Where it belongs; said when it is assigned.
    #[serde(
        default,
        deserialize_with = "super::if_clear",
        skip_serializing_if = "Option::is_none"
    )]
    pub context: Option<Box<WireContext>>,
    /// Free data.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// Where a task belongs, for whatever works on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WireContext {
    /// The identity of the team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_id: Option<String>,
    /// The folder of the workspace that its files belong in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The channel that it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The chat that it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
}

impl From<&TaskView<'_>> for WireTask {
    fn from(task: &TaskView<'_>) -> Self {
        Self {
            id: task.number.into(),
            number: Some(task.number),
            subject: task.subject.to_owned(),
            description: task.description.to_owned(),
            status: Some(task.status),
            owner: task.owner.map(str::to_owned),
            blocked_by: task.blocked_by.iter().map(|number| (*number).into()).collect(),
            attempt: Some(task.attempts),
            priority: task.priority,
            result: task.result.clone(),
            created_at: Some(task.created_at),
            completed_at: task.completed_at,
            context: None,
            metadata: task.metadata.clone(),
        }
    }
}
