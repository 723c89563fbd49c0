//! Queries: lists, searches, and the visibility of tasks.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::{Origin, State, Status, Task, UnknownWord, text};

/// How many tasks a list shows at once.
pub const PAGE: usize = 30;
/// How much of a result is shown with its task.
pub const MAX_SHOWN_RESULT: usize = 8_000;
/// How much of a text is shown with a search hit.
pub const MAX_SNIPPET: usize = 500;

/// A filter of tasks by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskFilter {
    /// Tasks that are neither completed nor cancelled.
    #[default]
    Active,
    /// Completed and cancelled tasks.
    Finished,
    /// All tasks.
    All,
    /// Tasks with this status.
    Only(Status),
}

impl TaskFilter {
    /// Parses a filter: `active`, `completed`, `all`, or any status.
    pub fn parse(text: &str) -> Result<Self, UnknownWord> {
        match text {
            "active" => Ok(Self::Active),
            "completed" => Ok(Self::Finished),
            "all" => Ok(Self::All),
            status => status.parse().map(Self::Only).map_err(|mut unknown: UnknownWord| {
                unknown.known.splice(0..0, ["active", "all"]);
                unknown
            }),
        }
    }

    /// Whether a task with this status matches.
    #[must_use]
    pub fn admits(self, status: Status) -> bool {
        match self {
            Self::Active => !status.is_finished(),
            Self::Finished => status.is_finished(),
            Self::All => true,
            Self::Only(only) => status == only,
        }
    }

    /// Whether archived tasks can match.
    #[must_use]
    pub fn includes_archived(self) -> bool {
        self.admits(Status::Completed) || self.admits(Status::Cancelled)
    }
}

/// Whether a caller in this conversation sees a task: users of a channel see the tasks that they caused.
#[must_use]
pub fn is_visible(task: &Task, viewer: &Origin) -> bool {
    let origin = &task.provenance.origin;
    let is_same_chat = origin.channel == viewer.channel && origin.chat_id == viewer.chat_id;
    let is_same_user = origin.user_id == viewer.user_id;
    // A caller without a user id sees the tasks of the same chat that have none either.
    let is_any_chat = viewer.chat_id.is_none() && viewer.user_id.is_some();
    viewer.is_internal() || is_same_user && (is_any_chat || is_same_chat)
}

/// A search over subjects and descriptions: every word must be there, in any case, in any order.
#[derive(Clone, Debug)]
pub struct Search {
    words: Vec<String>,
}

impl Search {
    /// A search for the words of a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { words: text.split_whitespace().map(str::to_lowercase).collect() }
    }

    /// The part of a task to show as a hit, if it is one.
    #[must_use]
    pub fn snippet(&self, task: &Task) -> Option<String> {
        let subject = task.subject.to_lowercase();
        let description = task.description.to_lowercase();
        let is_there = |word: &String| subject.contains(word) || description.contains(word);
        let is_hit = !self.words.is_empty() && self.words.iter().all(is_there);
        is_hit.then(|| text::preview(&task.description, MAX_SNIPPET))
    }
}

impl State {
    /// The distinct channel and chat pairs that have tasks.
    #[must_use]
    pub fn scopes(&self) -> Vec<(Option<SmolStr>, Option<SmolStr>)> {
        let mut scopes: Vec<_> =
            self.origins().map(|origin| (origin.channel.clone(), origin.chat_id.clone())).collect();
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    }
}
