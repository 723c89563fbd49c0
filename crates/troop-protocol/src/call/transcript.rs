//! The transcript of a member, as it is kept and as it is sent page by page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troop_model::Time;

use crate::teammate::Level;

/// One entry of a transcript: one line of JSON in its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptEntry {
    pub at: Time,
    /// The delegation's session that the member worked in: `delegate:ID`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(flatten)]
    pub line: TranscriptLine,
}

/// The content of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptLine {
    pub source: TranscriptSource,
    pub level: Level,
    pub text: String,
}

impl TranscriptLine {
    /// A line that the member logged.
    #[must_use]
    pub fn said(level: Level, text: &str) -> Self {
        Self { source: TranscriptSource::Member, level, text: text.to_owned() }
    }

    /// A line that its process wrote to standard error.
    #[must_use]
    pub fn complaint(text: &str) -> Self {
        Self { source: TranscriptSource::Stderr, level: Level::Warn, text: text.to_owned() }
    }

    /// A note of troop's.
    #[must_use]
    pub fn note(text: &str) -> Self {
        Self { source: TranscriptSource::Troop, level: Level::Info, text: text.to_owned() }
    }

    /// A warning of troop's.
    #[must_use]
    pub fn trouble(text: &str) -> Self {
        Self { source: TranscriptSource::Troop, level: Level::Warn, text: text.to_owned() }
    }
}

/// Where an entry of a transcript comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptSource {
    /// The member logged it.
    Member,
    /// Its process wrote it to standard error.
    Stderr,
    /// troop noted it.
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
