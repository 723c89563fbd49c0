//! What can be looked at without changing anything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troop_model::{TaskFilter, TaskRef};

/// What can be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Query {
    /// Everything about a task.
    #[serde(rename = "task/get")]
    Task { task: TaskRef },
    /// A page of tasks.
    #[serde(rename = "task/list")]
    Tasks {
        /// Which tasks: `active`, `completed`, `all`, or any status.
        #[serde(default, with = "filter")]
        #[schemars(with = "String", default = "filter::active")]
        status: TaskFilter,
        /// Which page, from 1.
        #[serde(default = "first")]
        page: u32,
    },
    /// Tasks whose subject or description has all these words.
    #[serde(rename = "task/search")]
    Search {
        /// The words.
        text: String,
        /// Which page, from 1.
        #[serde(default = "first")]
        page: u32,
    },
    /// The task that a claim would take now.
    #[serde(rename = "task/next")]
    Next {},
    /// Who belongs to the team.
    #[serde(rename = "member/list")]
    Members {},
    /// What the caller has not read, oldest first.
    #[serde(rename = "message/list")]
    Messages {
        /// Instead, all messages of the team that are at hand; for the lead and people.
        #[serde(default)]
        all: bool,
    },
    /// The delegations at hand, oldest first.
    #[serde(rename = "delegation/list")]
    Delegations {},
    /// TEAM.md, as the caller's agent is to have it now.
    #[serde(rename = "team/context")]
    Context {},
    /// The team, its settings and its members.
    #[serde(rename = "team/show")]
    Team {},
}

fn first() -> u32 {
    1
}

/// A filter as the word that it is everywhere.
mod filter {
    use std::borrow::Cow;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
    use troop_model::TaskFilter;

    pub(super) fn active() -> &'static str {
        "active"
    }

    pub(super) fn serialize<S: Serializer>(
        filter: &TaskFilter,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let word = match filter {
            TaskFilter::Active => active(),
            TaskFilter::Finished => "completed",
            TaskFilter::All => "all",
            TaskFilter::Only(status) => status.as_str(),
        };
        word.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<TaskFilter, D::Error> {
        TaskFilter::parse(&Cow::<'de, str>::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
