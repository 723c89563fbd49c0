//! The messages between a lead and a teammate: seed 000's table, with our optional additions.
//!
//! Extra fields are always accepted, and our additions may be missing, so that any program that speaks the seed's protocol
//! can be a teammate, and our teammates can serve any lead that does.

mod task;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use troop_model::{Dollars, MessageKind, Origin, Permissions, SYSTEM, Time, Usage, Version};
use uuid::Uuid;

use crate::method;
pub use task::{WireId, WireRun, WireTask};

#[cfg(test)]
mod tests;

/// The version of the protocol that this program speaks.
pub const PROTOCOL_VERSION: u32 = 1;

/// Messages from a teammate to its lead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum FromTeammate {
    /// The teammate is ready for work. Always its first message.
    #[serde(rename = "team.ready")]
    Ready(Ready),
    /// The status of a task changed.
    #[serde(rename = "team.taskUpdate")]
    TaskUpdate(TaskReport),
    /// A message to another member.
    #[serde(rename = "team.message")]
    Message(MessageOut),
    /// It has nothing to do.
    #[serde(rename = "team.idle")]
    Idle(Idle),
    /// The answer to `team.shutdown`.
    #[serde(rename = "team.shutdownAck")]
    ShutdownAck(ShutdownAck),
    /// Something for people to see.
    #[serde(rename = "team.log")]
    Log(Log),
    /// What its model calls have cost since its last report. Every agent that spends anything reports it here.
    #[serde(rename = "turn/usage")]
    Usage(UsageReport),
    /// A sign of life. Every other line is one too.
    #[serde(rename = "turn/alive")]
    Alive {},
    /// It failed at work without a task: mail, or its first prompt. For a task, use `team.taskUpdate`.
    #[serde(rename = "turn/failed")]
    Failed { reason: String },
    /// It has dealt with everything that it has read. A teammate that gave its `version` sends this or `team.idle`.
    #[serde(rename = "turn/end")]
    TurnEnd {},
}

/// Messages from a lead to its teammate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum FromLead {
    /// A task to work on.
    #[serde(rename = "team.assignTask")]
    AssignTask {
        /// The task.
        task: WireTask,
    },
    /// A message from another member.
    #[serde(rename = "team.message")]
    Message(MessageIn),
    /// The open tasks of the board, and what the teammate may do.
    #[serde(rename = "team.updateContext")]
    UpdateContext(TeamContext),
    /// Asks the teammate to stop.
    #[serde(rename = "team.shutdown")]
    Shutdown {
        #[serde(default)]
        reason: String,
    },
    /// Tells the teammate to break off its work and stay.
    #[serde(rename = "turn/interrupt")]
    #[serde(rename_all = "camelCase")]
    Interrupt {
        #[serde(default)]
        reason: String,
        /// The teammate breaks off work on this task only, because it no longer holds it: it reports nothing about it, and sends
        /// `team.idle` when it has stopped. Without a task, the teammate stops whatever it does and keeps its task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task_id: Option<WireId>,
    },
}

/// `team.ready`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    /// The teammate's name.
    pub name: String,
    /// Whether it confirms with `message/read` what it has read. Otherwise mail counts as read once it is written to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acknowledges: bool,
    /// The version of the protocol that it speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

/// `team.taskUpdate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskReport {
    /// The task's id, as in `team.assignTask`.
    pub task_id: WireId,
    /// The new status.
    pub status: ReportedStatus,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The result in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Why it failed or is given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The attempt that the teammate works on; a report about an earlier one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Whether trying again would not help.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_good: bool,
}

/// The statuses that a teammate can report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportedStatus {
    /// It works on it. Also written `claimed`.
    #[serde(alias = "claimed")]
    InProgress,
    /// It is done. Also written `done`.
    #[serde(alias = "done")]
    Completed,
    /// It could not be done.
    Failed,
    /// It gives the task back.
    Pending,
}

/// `team.message` from a teammate. It names no sender: the lead knows who sent it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageOut {
    /// The recipient: a member's name, `lead`, `user`, or `*`.
    pub to: String,
    pub content: String,
    #[serde(default, skip_serializing_if = "is_plain")]
    pub kind: MessageKind,
    /// The message in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The request that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Uuid>,
    /// The answer to that request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<bool>,
}

/// `team.idle`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Idle {
    /// The task that it worked on last.
    #[serde(default, deserialize_with = "if_clear", skip_serializing_if = "Option::is_none")]
    pub last_task: Option<WireId>,
}

/// `team.shutdownAck`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownAck {
    /// Whether it stops.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub approve: bool,
    /// Why it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `team.log`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Log {
    /// How important it is.
    #[serde(default)]
    pub level: Level,
    pub text: String,
}

/// `turn/usage`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UsageReport {
    /// The model that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The task that it was asked for.
    #[serde(deserialize_with = "if_clear", skip_serializing_if = "Option::is_none")]
    pub task_id: Option<WireId>,
    /// Input tokens that were neither read from nor written to the API's cache.
    pub input: u64,
    /// Input tokens that the API read from its cache.
    pub cache_read: u64,
    /// Input tokens that the API wrote to its cache.
    pub cache_write: u64,
    /// Output tokens.
    pub output: u64,
    /// The cost in dollars. Leave it out if it is unknown: the tokens still count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
}

impl From<&UsageReport> for Usage {
    fn from(report: &UsageReport) -> Self {
        let UsageReport { input, cache_read, cache_write, output, .. } = *report;
        let priced = report.dollars.and_then(Dollars::new);
        let dollars = priced.unwrap_or_default();
        let usage = Self { input, cache_read, cache_write, output, dollars, unpriced: 0 };
        let unpriced = if priced.is_some() { 0 } else { usage.tokens() };
        Self { unpriced, ..usage }
    }
}

/// How important a line of a log is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// For debugging.
    #[serde(alias = "trace")]
    Debug,
    /// Something is wrong, and work goes on. Also written `warning`.
    #[serde(alias = "warning")]
    Warn,
    /// Something is wrong.
    #[serde(alias = "fatal")]
    Error,
    /// Everything else, by whatever name.
    #[default]
    #[serde(other)]
    Info,
}

/// `team.message` to a teammate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageIn {
    /// The sender, stamped by the lead.
    pub from: String,
    pub content: String,
    /// Its id, for `message/read`; ids that are not UUIDs, which other leads may use, are ignored. A message may come twice,
    /// with the same id.
    #[serde(default, deserialize_with = "if_clear", skip_serializing_if = "Option::is_none")]
    pub id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "is_plain")]
    pub kind: MessageKind,
    /// The message in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The request that it makes or answers.
    #[serde(default, deserialize_with = "if_clear", skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Uuid>,
    /// The answer to that request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<bool>,
    /// The task that it is about.
    #[serde(default, deserialize_with = "if_clear", skip_serializing_if = "Option::is_none")]
    pub task_id: Option<WireId>,
    /// When it was stored.
    #[serde(default, deserialize_with = "if_clear", skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Time>,
    /// The session in which the member handles mail: `teammate:NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The conversation that it belongs to. Only the lead's agent gets it.
    #[serde(default, skip_serializing_if = "is_nowhere")]
    pub origin: Origin,
}

impl MessageIn {
    /// A message from a member.
    #[must_use]
    pub fn new(from: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            from: from.into(),
            content: content.into(),
            id: None,
            kind: MessageKind::Message,
            summary: None,
            request_id: None,
            approve: None,
            task_id: None,
            sent_at: None,
            session: None,
            origin: Origin::default(),
        }
    }

    /// A message from troop itself, which the board does not have.
    #[must_use]
    pub fn system(content: impl Into<String>) -> Self {
        Self { kind: MessageKind::System, ..Self::new(SYSTEM, content) }
    }
}

/// `team.updateContext`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamContext {
    /// The first 200 open tasks of the board, shortened: without metadata, and with the first 500 characters of their
    /// descriptions. `task/get` gives a whole task.
    #[serde(default)]
    pub tasks: Vec<WireTask>,
    /// What the teammate may do without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Permissions>,
    /// TEAM.md: what the member's agent should know about its team, marked as context. Sent before the next piece of work
    /// whenever it has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_md: Option<String>,
    /// Only for the lead's agent: as of this version of the log, no member that runs or will run can begin a pending task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck_at: Option<Version>,
    /// After how many seconds of silence the lead considers the teammate hung.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<u32>,
    /// Why nothing more may be spent: the team's budget. An agent ends its turn at the next safe point and gives its task back
    /// with this reason; the task comes again when there is more to spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<String>,
}

impl TeamContext {
    /// Whether it holds more than the tasks. Then the lead is one that also answers board calls.
    #[must_use]
    pub fn goes_beyond_table(&self) -> bool {
        let Self { tasks: _, mode, team_md, stuck_at, lease_seconds, spent } = self;
        mode.is_some()
            || team_md.is_some()
            || stuck_at.is_some()
            || lease_seconds.is_some()
            || spent.is_some()
    }
}

method::methods_both_ways!(FromTeammate, FromLead);

impl TaskReport {
    /// A report about a task as it was assigned, with nothing but a status.
    #[must_use]
    pub fn about(task: &WireTask, status: ReportedStatus) -> Self {
        Self {
            task_id: task.id.clone(),
            status,
            result: None,
            summary: None,
            reason: None,
            attempt: task.attempt,
            for_good: false,
        }
    }
}

impl MessageOut {
    /// A message that answers no request.
    #[must_use]
    pub fn new(to: impl Into<String>, kind: MessageKind, content: impl Into<String>) -> Self {
        let to = to.into();
        let content = content.into();
        Self { to, content, kind, summary: None, request_id: None, approve: None }
    }
}

impl ShutdownAck {
    #[must_use]
    pub fn agreed() -> Self {
        Self { approve: true, reason: None }
    }

    #[must_use]
    pub fn refused(reason: &str) -> Self {
        Self { approve: false, reason: Some(reason.to_owned()) }
    }
}

/// Reads a value if it has the expected form. An optional field of another form is no reason to reject a message.
fn if_clear<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(T::deserialize(value).ok())
}

fn yes() -> bool {
    true
}

fn is_true(value: &bool) -> bool {
    *value
}

fn is_nowhere(origin: &Origin) -> bool {
    *origin == Origin::default()
}

fn is_plain(kind: &MessageKind) -> bool {
    *kind == MessageKind::Message
}
