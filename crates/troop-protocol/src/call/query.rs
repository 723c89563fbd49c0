//! Queries: calls that change nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troop_model::{Dialect, TaskFilter, TaskRef};

use super::transcript::TranscriptEdge;

/// A query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Query {
    /// Everything about a task.
    #[serde(rename = "task/get")]
    Task {
        task: TaskRef,
        /// The character with which the shown part of a long result begins.
        #[serde(default)]
        offset: usize,
    },
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
    /// Tasks whose subject or description contains all these words.
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
    /// The members of the team.
    #[serde(rename = "member/list")]
    Members {},
    /// The caller's unread messages, oldest first.
    #[serde(rename = "message/list")]
    Messages {
        /// All messages that the board still holds, instead of the caller's; only for the lead and people.
        #[serde(default)]
        all: bool,
    },
    /// The delegations that the board still holds, oldest first.
    #[serde(rename = "delegation/list")]
    Delegations {},
    /// The current TEAM.md of the caller's agent.
    #[serde(rename = "team/context")]
    Context {
        /// The tools that the agent has; those of the team's dialect if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dialect: Option<Dialect>,
        /// Whether troop does not run the agent, as over MCP: then it completes its tasks with its tools.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_client: bool,
    },
    /// The team, its settings and its members.
    #[serde(rename = "team/show")]
    Team {},
    /// The teams of the store, with their states.
    #[serde(rename = "team/list")]
    Teams {
        /// Includes deleted teams.
        #[serde(default)]
        all: bool,
    },
    /// Everything that waits for a person: plans, permissions, questions, results, starts of tasks, merges.
    #[serde(rename = "need/list")]
    Needs {},
    /// A page of a member's transcript.
    #[serde(rename = "transcript/read")]
    Transcript {
        member: String,
        /// Where to begin: at the `end`, with the newest page, or at the `beginning`.
        #[serde(default)]
        from: TranscriptEdge,
        /// The `next` of the previous page; without it, the first page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<String>,
        /// How many entries, at most 1,000. A page also ends at a megabyte.
        #[serde(default = "page_of_entries")]
        limit: u32,
    },
}

fn first() -> u32 {
    1
}

fn page_of_entries() -> u32 {
    100
}

/// A filter, written as one word.
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
