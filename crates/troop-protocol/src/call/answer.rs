//! Answers to calls: the same JSON that the command line prints with `--json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use troop_model::{
    Actor, DelegationView, Event, Member, MessageView, Need, OperationId, TaskNumber, TaskView,
    Team, TeamId, TeamName, TeamStatus, Time, Version,
};

/// The answer to a changing call, once its effect is durable.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The version of the log after the change.
    pub version: Version,
    /// The task that it was about, as `--json` shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<TaskView>")]
    pub task: Option<Box<RawValue>>,
    /// The events that the change appended; none if nothing had to change.
    #[serde(with = "as_in_the_log")]
    #[schemars(with = "Vec<EventLine>")]
    pub events: Vec<Event>,
}

impl Answer {
    /// The first task that the change was about.
    #[must_use]
    pub fn number(&self) -> Option<TaskNumber> {
        self.events.iter().find_map(|event| event.fact.task())
    }
}

/// An event as it is in the log.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventLine {
    /// Its position in the log.
    pub version: Version,
    /// The version of its format.
    pub schema: u32,
    /// When it happened.
    pub at: Time,
    /// Who did it.
    pub actor: Actor,
    /// The operation that caused it.
    pub operation: OperationId,
    /// Its kind, such as `task.claimed`.
    pub kind: String,
    /// The fields of that kind.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The answer to `session/open`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionInfo {
    /// The version of the protocol that the lead speaks.
    pub protocol: u32,
    /// The team's name.
    pub team: TeamName,
    /// The current version of its log.
    pub version: Version,
}

/// The state of a team, as people see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TeamStanding {
    /// No lead has run it yet.
    Active,
    /// A lead runs it.
    Running,
    /// No lead runs it any more, and its work is not over.
    Stopped,
    /// Its work is over.
    Completed,
    /// Only its log is left.
    Deleted,
}

impl TeamStanding {
    #[must_use]
    pub fn of(team: &Team, is_led: bool) -> Self {
        match team.status {
            TeamStatus::Deleted => Self::Deleted,
            _ if is_led => Self::Running,
            TeamStatus::Completed => Self::Completed,
            TeamStatus::Active if team.n_leads > 0 => Self::Stopped,
            TeamStatus::Active => Self::Active,
        }
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Completed => "completed",
            Self::Deleted => "deleted",
        }
    }
}

/// The answer to `task/list` and `task/search`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TaskList {
    /// The tasks of the page.
    pub tasks: Vec<TaskView>,
    /// The number of this page, from 1.
    pub page: usize,
    /// How many pages there are.
    pub pages: usize,
    /// The version of the log that the page shows.
    pub version: Version,
}

/// The answer to `member/list`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MemberList {
    /// The members, the lead first.
    pub members: Vec<Member>,
}

/// The answer to `team/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamList {
    /// The teams of the store, oldest first.
    pub teams: Vec<TeamListing>,
}

/// One team of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamListing {
    pub id: TeamId,
    pub name: String,
    pub state: TeamStanding,
    /// Whether it was deleted: only its log is left, and its name may be another team's.
    pub deleted: bool,
}

/// The answer to `need/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NeedList {
    /// Requests of members first, then tasks that wait for a person.
    pub needs: Vec<Need>,
    /// The version of the log that the list shows.
    pub version: Version,
}

/// The answer to `message/list`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MessageList {
    /// The messages, oldest first.
    pub messages: Vec<MessageView>,
}

/// The answer to `delegation/list`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DelegationList {
    /// The delegations, oldest first.
    pub delegations: Vec<DelegationView>,
}

/// The answer to `team/context`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextText {
    /// TEAM.md, marked as context.
    pub team_md: String,
}

/// Events in the form that they have in the log.
mod as_in_the_log {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _, ser::Error as _};
    use serde_json::value::RawValue;
    use troop_model::{Event, decode, encode};

    pub(super) fn serialize<S: Serializer>(
        events: &[Event],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let lines: Result<Vec<_>, _> =
            events.iter().map(|event| RawValue::from_string(encode(event))).collect();
        serializer.collect_seq(lines.map_err(S::Error::custom)?)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Event>, D::Error> {
        let lines = Vec::<Box<RawValue>>::deserialize(deserializer)?;
        lines.iter().map(|line| decode(line.get()).map_err(D::Error::custom)).collect()
    }
}

/// One event in the form that it has in the log.
pub(super) mod in_log_form {
    use serde::{
        Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _,
    };
    use serde_json::value::RawValue;
    use troop_model::{Event, decode, encode};

    pub(in crate::call) fn serialize<S: Serializer>(
        event: &Event,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        RawValue::from_string(encode(event)).map_err(S::Error::custom)?.serialize(serializer)
    }

    pub(in crate::call) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Event, D::Error> {
        let line = Box::<RawValue>::deserialize(deserializer)?;
        decode(line.get()).map_err(D::Error::custom)
    }
}
