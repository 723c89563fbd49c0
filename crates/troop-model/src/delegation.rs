//! One run of a member on one task for the lead.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{MemberName, Origin, TaskNumber, Time, roster::shown_as_word};

/// How a delegation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelegationStatus {
    /// The member works.
    Running,
    /// It ended with a result.
    Completed,
    /// It ended without one.
    Failed,
    /// It was called off.
    Cancelled,
}

shown_as_word! {
    DelegationStatus {
        Running => "running", Completed => "completed", Failed => "failed", Cancelled => "cancelled",
    }
}

/// The record of one delegation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// Its identity.
    pub id: Uuid,
    /// Who delegated.
    pub from: MemberName,
    /// To whom.
    pub to: MemberName,
    /// Which task.
    pub task: TaskNumber,
    /// How it stands.
    pub status: DelegationStatus,
    /// When it began.
    pub started_at: Time,
    /// When it ended.
    pub ended_at: Option<Time>,
    /// What came of it.
    pub result: Option<String>,
    /// The trace that it runs under.
    pub trace_id: Uuid,
    /// The conversation that it began in, where its result belongs.
    pub origin: Origin,
}

impl Delegation {
    /// Whether this member works on it now.
    pub(crate) fn runs_on(&self, member: &MemberName) -> bool {
        self.status == DelegationStatus::Running && self.to == *member
    }
}
