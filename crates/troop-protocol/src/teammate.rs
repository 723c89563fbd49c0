//! The messages between a lead and a teammate: seed 000's table, with our optional additions.
//!
//! Extra fields are always accepted, and our additions may be missing, so that any program that speaks the seed's protocol
//! can be a teammate, and our teammates can serve any lead that does.

mod task;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use troop_model::{Dollars, MessageKind, Origin, Permissions, SYSTEM, Time, Usage, Version};
use uuid::Uuid;

use crate::{
    envelope::Notification,
    method::{self, MethodError},
};
pub use task::{WireId, WireRun, WireTask};

#[cfg(test)]
mod tests;

/// The version of the protocol that this program speaks.
pub const PROTOCOL_VERSION: u32 = 1;

/// What a teammate says to its lead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum FromTeammate {
    /// It is there and can be given work. Always the first thing that it says.
    #[serde(rename = "team.ready")]
    Ready(Ready),
    /// The status of a task changed.
    #[serde(rename = "team.taskUpdate")]
    TaskUpdate(TaskReport),
    /// Something is to be told to another member.
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
    /// What its thinking has cost since it said so last. Every agent that spends something tells it here.
    #[serde(rename = "turn/usage")]
    Usage(UsageReport),
    /// A sign of life. Every other line is one too.
    #[serde(rename = "turn/alive")]
    Alive {},
    /// It could not do what it was told without a task: mail, or what it is to begin with. A task has `team.taskUpdate`.
    #[serde(rename = "turn/failed")]
    Failed { reason: String },
    /// It has dealt with all that it has read. `team.idle` says so too. Who gives its `version` says one or the other.
    #[serde(rename = "turn/end")]
    TurnEnd {},
}

/// What a lead says to a teammate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum FromLead {
    /// A task to work on.
    #[serde(rename = "team.assignTask")]
    AssignTask {
        /// The task.
        task: WireTask,
    },
    /// What another member says.
    #[serde(rename = "team.message")]
    Message(MessageIn),
    /// What else there is on the board, and what the teammate may do.
    #[serde(rename = "team.updateContext")]
    UpdateContext(TeamContext),
    /// The teammate is asked to stop.
    #[serde(rename = "team.shutdown")]
    Shutdown {
        #[serde(default)]
        reason: String,
    },
    /// The teammate is to stop what it does now, and stay.
    #[serde(rename = "turn/interrupt")]
    #[serde(rename_all = "camelCase")]
    Interrupt {
        #[serde(default)]
        reason: String,
        /// Only if it is at this task, which is not its own any more: it says nothing about it, and `team.idle` when it has
        /// broken off. Else it is to stop whatever it does, and a task stays its own.
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
    /// Whether it says with `message/read` what it has read. Otherwise what was written to it counts as read.
    #[serde(default, skip_serializing_if = "is_false")]
    pub acknowledges: bool,
    /// The version of the protocol that it speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

/// `team.taskUpdate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskReport {
    /// Which task, as it was assigned.
    pub task_id: WireId,
    /// Where it stands now.
    pub status: ReportedStatus,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The same in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Why it failed or is given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Which attempt the teammate works on; a late one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Whether it failed for a reason that trying again does not help against.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_good: bool,
}

/// What a teammate can say about its task.
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

/// `team.message` from a teammate. Who says it is not for the teammate to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageOut {
    /// To whom: a name, `lead`, `user`, or `*`.
    pub to: String,
    pub content: String,
    #[serde(default, skip_serializing_if = "is_plain")]
    pub kind: MessageKind,
    /// The same in a few words.
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
    /// What it worked on before.
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
    /// Why not.
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
    /// Tokens that were read.
    pub input: u64,
    /// Tokens that were read from what the API kept at hand.
    pub cache_read: u64,
    /// Tokens that were read, and kept at hand from then on.
    pub cache_write: u64,
    /// Tokens that were said.
    pub output: u64,
    /// What all this cost, in dollars. Who does not know leaves it out: then the tokens count, and the price is unknown.
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
    /// For who looks for a fault.
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
    /// Who says it, stamped by the lead.
    pub from: String,
    pub content: String,
    /// Its identity, for `message/read`, if it is a UUID: another lead may have other ids, which say nothing here. A message
    /// may come twice; its id tells.
    #[serde(default, deserialize_with = "if_clear", skip_serializing_if = "Option::is_none")]
    pub id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "is_plain")]
    pub kind: MessageKind,
    /// The same in a few words.
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
    /// The session that mail is dealt with in: `teammate:NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The conversation that it belongs to. Told to the lead alone.
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
    /// The first 200 tasks of the board that are not over, in short: without metadata, and with the first 500 characters of
    /// their descriptions. `task/get` has all of a task.
    #[serde(default)]
    pub tasks: Vec<WireTask>,
    /// What the teammate may do without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Permissions>,
    /// TEAM.md: what the member's agent is to know about its team, marked as context. Comes before the next piece of work
    /// whenever it has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_md: Option<String>,
    /// Only for the lead's agent: up to this version of the log, nobody who runs or will run can begin any of the tasks that
    /// are pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck_at: Option<Version>,
    /// After how many seconds without a word of the teammate it is taken to hang.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<u32>,
    /// Why nothing more may be spent: the team's budget. Whoever thinks ends its turn at the next safe point and gives its task
    /// back with this reason; it comes again when there is more to spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<String>,
}

macro_rules! said_as_methods {
    ($($name:ident),*) => {$(
        impl From<&$name> for Notification {
            fn from(said: &$name) -> Self {
                method::encode(said)
            }
        }

        impl TryFrom<&Notification> for $name {
            type Error = MethodError;

            fn try_from(said: &Notification) -> Result<Self, MethodError> {
                method::decode(&said.method, said.params.as_ref())
            }
        }
    )*};
}
said_as_methods!(FromTeammate, FromLead);

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

fn is_false(value: &bool) -> bool {
    !value
}

fn is_nowhere(origin: &Origin) -> bool {
    *origin == Origin::default()
}

fn is_plain(kind: &MessageKind) -> bool {
    *kind == MessageKind::Message
}
