//! The names of the actions on the board, and the team version that each needs.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::TaskCommand;
use crate::{Role, Settings, TaskCreation, roster::shown_as_word};

/// An action on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskAction {
    Create,
    Claim,
    Complete,
    Cancel,
    Assign,
    List,
    Get,
    Search,
    Approve,
    Reject,
    Review,
    Comment,
    Progress,
    Attach,
    Prove,
    Update,
    AskUser,
    ClearAskUser,
    Retry,
    Fail,
    Delete,
    Release,
}

shown_as_word! {
    TaskAction {
        Create => "create", Claim => "claim", Complete => "complete", Cancel => "cancel", Assign => "assign",
        List => "list", Get => "get", Search => "search", Approve => "approve", Reject => "reject",
        Review => "review", Comment => "comment", Progress => "progress", Attach => "attach", Prove => "prove",
        Update => "update", AskUser => "ask_user", ClearAskUser => "clear_ask_user", Retry => "retry",
        Fail => "fail", Delete => "delete", Release => "release",
    }
}

impl TaskAction {
    /// The first team version that has an action. Every version has proving, failing and deleting, because troop itself ends
    /// work with them.
    #[must_use]
    pub fn first_version(self) -> u8 {
        match self {
            Self::Create
            | Self::Claim
            | Self::Complete
            | Self::Cancel
            | Self::Assign
            | Self::List
            | Self::Get
            | Self::Search
            | Self::Prove
            | Self::Fail
            | Self::Delete
            | Self::Release => 1,
            Self::Approve
            | Self::Reject
            | Self::Review
            | Self::Comment
            | Self::Progress
            | Self::Attach
            | Self::Update
            | Self::AskUser
            | Self::ClearAskUser
            | Self::Retry => 2,
        }
    }
}

impl TaskAction {
    /// The actions that a member's tools offer. The rules decide what it may do with them.
    #[must_use]
    pub fn offered(role: Role, settings: &Settings) -> Vec<Self> {
        let is_lead = role == Role::Lead;
        let is_offered = |action: &Self| match action {
            Self::Create => is_lead || settings.task_creation == TaskCreation::Members,
            Self::Assign
            | Self::Approve
            | Self::Reject
            | Self::Cancel
            | Self::Retry
            | Self::Update
            | Self::Delete => is_lead,
            Self::Claim
            | Self::Complete
            | Self::List
            | Self::Get
            | Self::Search
            | Self::Review
            | Self::Comment
            | Self::Progress
            | Self::Attach
            | Self::AskUser
            | Self::ClearAskUser
            | Self::Fail
            | Self::Release => true,
            // No member can record proof itself.
            Self::Prove => false,
        };
        let exists = |action: &Self| action.first_version() <= settings.version;
        Self::ALL.iter().copied().filter(is_offered).filter(exists).collect()
    }
}

impl TaskCommand {
    /// The action of a command. Renewing belongs to claiming.
    #[must_use]
    pub fn action(&self) -> TaskAction {
        match self {
            Self::Create(_) => TaskAction::Create,
            Self::Claim { .. } | Self::Renew { .. } => TaskAction::Claim,
            Self::Release { .. } => TaskAction::Release,
            Self::Assign { .. } => TaskAction::Assign,
            Self::Complete { .. } => TaskAction::Complete,
            Self::Fail { .. } => TaskAction::Fail,
            Self::Review { .. } => TaskAction::Review,
            Self::Approve { .. } => TaskAction::Approve,
            Self::Reject { .. } => TaskAction::Reject,
            Self::Cancel { .. } => TaskAction::Cancel,
            Self::Retry { .. } => TaskAction::Retry,
            Self::Comment { .. } => TaskAction::Comment,
            Self::Progress { .. } => TaskAction::Progress,
            Self::Attach { .. } => TaskAction::Attach,
            Self::Prove(_) => TaskAction::Prove,
            Self::AskUser { .. } => TaskAction::AskUser,
            Self::ClearAskUser { .. } => TaskAction::ClearAskUser,
            Self::Update { .. } => TaskAction::Update,
            Self::Delete { .. } => TaskAction::Delete,
        }
    }
}
