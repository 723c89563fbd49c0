//! A task's audit trail: the events of the task without heartbeats and progress.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Actor, Time, Version, roster::shown_as_word};

/// One line of a task's audit trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrailEntry {
    /// The event's version in the team's log, which holds the rest of it.
    pub version: Version,
    /// The last word of the event's kind.
    pub what: TrailKind,
    pub actor: Actor,
    pub at: Time,
    /// The reason or comment, if one was given.
    pub note: Option<String>,
}

/// The kinds of trail entries. Snapshots hold these by position: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrailKind {
    Created,
    Updated,
    Claimed,
    Assigned,
    Released,
    Submitted,
    Completed,
    Approved,
    StartApproved,
    Rejected,
    Cancelled,
    Failed,
    Retried,
    Stale,
    Recovered,
    Commented,
    Attached,
    Checked,
    Merged,
    Refused,
    Asked,
    AskCleared,
    Escalated,
}

shown_as_word! {
    TrailKind {
        Created => "created",
        Updated => "updated",
        Claimed => "claimed",
        Assigned => "assigned",
        Released => "released",
        Submitted => "submitted",
        Completed => "completed",
        Approved => "approved",
        StartApproved => "start_approved",
        Rejected => "rejected",
        Cancelled => "cancelled",
        Failed => "failed",
        Retried => "retried",
        Stale => "stale",
        Recovered => "recovered",
        Commented => "commented",
        Attached => "attached",
        Checked => "checked",
        Merged => "merged",
        Refused => "refused",
        Asked => "asked",
        AskCleared => "ask_cleared",
        Escalated => "escalated",
    }
}
