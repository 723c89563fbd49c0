//! Tasks: units of work, and their statuses.

mod record;
mod table;
mod trail;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use serde_json::{Map, Value};
use smol_str::SmolStr;
use std::fmt;
use uuid::Uuid;

pub(crate) use table::PackedTable;
pub use table::{TaskEnd, TaskTable};
pub use trail::{TrailEntry, TrailKind};

use crate::{
    Actor, Condition, Evidence, MemberName, MergeRecord, Origin, TaskNumber, Time, Usage,
    WorkspaceFolder, roster::shown_as_word,
};

/// The status of a task.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Waits for a member to take it.
    Pending,
    /// A member holds it.
    InProgress,
    /// Its result waits for approval.
    InReview,
    /// Done.
    Completed,
    /// Could not be done; can be retried.
    Failed,
    /// Will not be done.
    Cancelled,
    /// Pending, but other tasks must finish first. Derived, never stored.
    Blocked,
    /// A member holds it, but it has not moved for too long.
    Stale,
}

shown_as_word! {
    Status {
        Pending => "pending", InProgress => "in_progress", InReview => "in_review",
        Completed => "completed", Failed => "failed", Cancelled => "cancelled",
        Blocked => "blocked", Stale => "stale",
    }
}

impl Status {
    /// Whether the task is finished: nothing about its work ever changes again.
    #[must_use]
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled)
    }

    /// Whether the task may be deleted: it is finished, or failed and not worth another try.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        self.is_finished() || self == Self::Failed
    }
}

/// One unit of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its number in the team.
    pub number: TaskNumber,
    /// Its global id.
    pub id: Uuid,
    /// Its subject, on one line.
    pub subject: String,
    /// The work to do, in detail.
    pub description: String,
    /// Its status, but never `Blocked`: that depends on other tasks, so ask the table.
    pub status: Status,
    /// Its priority; higher goes first.
    pub priority: i32,
    /// Its label; `general` by default.
    pub task_type: SmolStr,
    /// The member that it is reserved for.
    pub assignee: Option<MemberName>,
    /// The member that holds it, or held it when it was finished.
    pub owner: Option<MemberName>,
    /// How often it was taken. Never reset, so that a late holder differs from the next one.
    pub attempts: u32,
    pub hold: TaskHold,
    /// The tasks that must end before it can start.
    pub blocked_by: Vec<Dependency>,
    pub start: Start,
    /// Its result; for a cancelled or failed task, the reason.
    pub result: Option<String>,
    pub proof: TaskProof,
    pub talk: Talk,
    pub provenance: Provenance,
    /// Free data.
    pub metadata: Metadata,
    /// The usage of its holders.
    pub usage: Usage,
    /// Its audit trail.
    pub trail: Vec<TrailEntry>,
}

/// How the owner holds a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskHold {
    pub since: Option<Time>,
    /// When the claim ends without a sign of life from the owner.
    pub lease_until: Option<Time>,
    pub progress: Option<Progress>,
    /// How many attempts do not count towards the team's limit: those before a manual retry, and those that ended for reasons
    /// unrelated to the task.
    pub forgiven: u32,
    /// How often the idle owner was asked in this attempt to report on the task.
    pub n_report_requests: u32,
}

/// When a task may start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    pub gate: StartGate,
    /// It cannot be taken before this moment; for a failed task, when troop retries it.
    pub not_before: Option<Time>,
    /// Whether the lead reserved it, or somebody took it back or gave it back: where members claim their work, troop does not give
    /// it out then.
    pub is_held_back: bool,
}

/// The checks of a task, and their results in this attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskProof {
    /// Commands that must pass before it is done, besides the team's.
    pub checks: Vec<String>,
    /// The results of the last run of the checks.
    pub evidence: Vec<Evidence>,
    /// How many runs failed.
    pub n_failed: u32,
    /// Why a person waived them.
    pub waived: Option<String>,
    /// Where its work was merged, if it was.
    pub merged: Option<MergeRecord>,
    /// Why its work cannot be merged, if that is known.
    pub conflict: Option<String>,
    /// How often its completion was refused in this attempt.
    pub n_refusals: u32,
}

/// The question, comments and files of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Talk {
    /// Its question to the user.
    pub question: Option<Question>,
    pub comments: Vec<Comment>,
    /// Files that belong to it.
    pub attachments: Vec<Attachment>,
}

/// The origin of a task, and when it changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Provenance {
    pub created_by: Actor,
    /// The conversation that caused it.
    pub origin: Origin,
    pub created_at: Time,
    /// When anything about it changed last.
    pub updated_at: Time,
    /// When its work moved last; heartbeats do not count.
    pub moved_at: Time,
    pub completed_at: Option<Time>,
}

impl Task {
    /// How many attempts count towards the team's limit.
    #[must_use]
    pub fn attempts_used(&self) -> u32 {
        self.attempts.saturating_sub(self.hold.forgiven)
    }
}

/// A dependency of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Dependency {
    /// The other task.
    pub task: TaskNumber,
    /// How that task must end.
    pub until: Condition,
}

/// The progress of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// 0 to 100.
    pub percent: u8,
    /// The current step.
    pub step: String,
}

/// Whether a task may start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartGate {
    /// No approval is needed.
    #[default]
    Open,
    /// It waits for approval.
    Waiting,
    /// It was approved.
    Approved,
}

/// A question to the user that is repeated until it is cleared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// The question.
    pub text: String,
    /// The member that asks.
    pub asked_by: MemberName,
    /// When the user is reminded next.
    pub next_at: Time,
    /// How often the user was reminded.
    pub n_reminders: u32,
    /// Whether it was escalated already.
    pub is_escalated: bool,
}

/// A comment on a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Comment {
    pub author: Actor,
    pub at: Time,
    pub text: String,
}

/// A workspace file that belongs to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    /// Its path in the workspace.
    pub path: String,
    /// The actor that attached it or wrote it last.
    pub by: Actor,
    pub at: Time,
    /// Its size in bytes then; none if it was not written through the workspace.
    #[serde(default)]
    pub size: Option<u64>,
    /// Its workspace folder, if it was written through the workspace.
    #[serde(default)]
    pub folder: Option<WorkspaceFolder>,
}

/// Free data of a task: a JSON object. Text in snapshots, because those cannot hold a value of unknown shape.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
pub struct Metadata(pub Map<String, Value>);

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.0.serialize(serializer)
        } else if self.0.is_empty() {
            serializer.serialize_str("")
        } else {
            serializer.serialize_str(&serde_json::to_string(&self.0).map_err(S::Error::custom)?)
        }
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return Map::deserialize(deserializer).map(Self);
        }
        let text = <&str>::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_str(text).map(Self).map_err(D::Error::custom)
    }
}

/// The shortest prefix of an id that names a task.
const MIN_ID: usize = 4;

/// A reference to a task: by number, by id, or by a prefix of an id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "TaskRefForm", into = "String")]
pub enum TaskRef {
    /// `7` or `task-7`.
    Number(TaskNumber),
    /// A UUID, or a prefix of one, in lower case.
    Id(String),
}

impl std::str::FromStr for TaskRef {
    type Err = crate::Refusal;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let digits = text
            .strip_prefix("task-")
            .or_else(|| text.strip_prefix("TASK-"))
            .or_else(|| text.strip_prefix('#'))
            .unwrap_or(text);
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        // Numbers have no leading zero, but UUIDs of today begin with one.
        let is_id_of_digits = digits.len() >= MIN_ID && text.starts_with('0');
        if let (true, false, Ok(number)) = (is_plain, is_id_of_digits, digits.parse()) {
            return Ok(Self::Number(TaskNumber(number)));
        }
        let is_id = text.len() >= MIN_ID
            && text.len() <= 36
            && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        if is_id {
            Ok(Self::Id(text.to_ascii_lowercase()))
        } else {
            Err(crate::Refusal::NotATaskName { text: crate::text::preview(text, 80) })
        }
    }
}

/// A reference to a task in JSON.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a task is named by its number, as `7` or `task-7`, or by its id")]
enum TaskRefForm {
    Number(u32),
    Text(String),
}

impl TryFrom<TaskRefForm> for TaskRef {
    type Error = crate::Refusal;

    fn try_from(written: TaskRefForm) -> Result<Self, Self::Error> {
        match written {
            TaskRefForm::Number(number) => Ok(Self::Number(TaskNumber(number))),
            TaskRefForm::Text(text) => text.parse(),
        }
    }
}

impl From<TaskRef> for String {
    fn from(task: TaskRef) -> Self {
        task.to_string()
    }
}

impl From<TaskNumber> for TaskRef {
    fn from(number: TaskNumber) -> Self {
        Self::Number(number)
    }
}

impl fmt::Display for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Id(id) => id.fmt(f),
        }
    }
}
