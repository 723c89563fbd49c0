//! What was seen of a member, as it is kept and as it is answered page by page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troop_model::Time;

use crate::teammate::Level;

/// One entry of a transcript: one line of JSON in its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptEntry {
    pub at: Time,
    /// The session of its own that the member worked in: `delegate:ID`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(flatten)]
    pub line: TranscriptLine,
}

/// What an entry of a transcript says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptLine {
    pub source: TranscriptSource,
    pub level: Level,
    pub text: String,
}

impl TranscriptLine {
    /// What the member says.
    #[must_use]
    pub fn said(level: Level, text: &str) -> Self {
        Self { source: TranscriptSource::Member, level, text: text.to_owned() }
    }

    /// A line that its process wrote to standard error.
    #[must_use]
    pub fn complaint(text: &str) -> Self {
        Self { source: TranscriptSource::Stderr, level: Level::Warn, text: text.to_owned() }
    }

    /// What troop saw.
    #[must_use]
    pub fn note(text: &str) -> Self {
        Self { source: TranscriptSource::Troop, level: Level::Info, text: text.to_owned() }
    }

    /// Something wrong that troop saw.
    #[must_use]
    pub fn trouble(text: &str) -> Self {
        Self { source: TranscriptSource::Troop, level: Level::Warn, text: text.to_owned() }
    }
}

/// Where an entry of a transcript comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptSource {
    /// The member said it.
    Member,
    /// Its process wrote it to standard error.
    Stderr,
    /// troop saw it.
    Troop,
}

/// From which end a transcript is paged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptEdge {
    /// The newest page first.
    #[default]
    End,
    /// The oldest page first.
    Beginning,
}

/// The answer to `transcript/read`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptPage {
    /// The entries of the page, oldest first.
    pub entries: Vec<TranscriptEntry>,
    /// The cursor of the next page, farther from the edge; none if there is nothing farther.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Where the page ends, to follow the transcript from there; none if nothing was ever written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
}
