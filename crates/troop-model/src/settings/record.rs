//! A team's settings as they are in logs, on the wire and in files: flat. Logs are kept for ever, so names never change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::{
    AccessSettings, Assignment, Condition, DelegationSettings, Dialect, Escalation,
    FollowupSettings, Isolation, IsolationSettings, Settings, TaskCreation, WorkspaceScope,
    WorkspaceSettings,
};
use crate::Budget;

/// A team's settings. Every field has a default, so a file or a command names only what differs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Settings")]
pub(super) struct SettingsRecord {
    /// The version, which decides the team's actions: 1 is the basic board, 2 adds review, comments, progress and the rest.
    version: u8,
    /// The names of the tools that members have: `board` (`team_tasks`, `team_message`, `spawn`) or `claude` (`TaskCreate`,
    /// `SendMessage`). Without it, the built-in agent has those of `claude`, and `troop mcp` offers those of `board`.
    dialect: Option<Dialect>,
    /// Who may create tasks.
    task_creation: TaskCreation,
    /// How work reaches members.
    assignment: Assignment,
    /// How dependencies must end, unless the task says otherwise.
    unblock: Condition,
    /// Whether the start of a task needs approval.
    approve_start: bool,
    /// Whether completing a task only submits it for review.
    require_review: bool,
    /// How long a claim holds without a heartbeat.
    lease_seconds: u32,
    /// How long a held task may stand still before it is stale; 0 means for ever.
    stale_after_minutes: u32,
    /// How many teammates run at once.
    max_teammates: u32,
    /// How often a task may be tried before it stays failed.
    max_attempts: u32,
    /// How long a failed task waits before its retry; doubles with every attempt.
    retry_backoff_seconds: u32,
    /// Only these users may give the team work; empty means everyone.
    allow_user_ids: Vec<SmolStr>,
    /// These users may not, even if they are allowed above.
    deny_user_ids: Vec<SmolStr>,
    /// Only these channels may give the team work; empty means all.
    allow_channels: Vec<SmolStr>,
    /// These channels may not, even if they are allowed above.
    deny_channels: Vec<SmolStr>,
    /// How often a question to the user is repeated.
    followup_interval_minutes: u32,
    /// After how many reminders the question is escalated; 0 means never.
    followup_max_reminders: u32,
    /// The escalation of tasks that are stale or whose question stays unanswered.
    escalation_mode: Escalation,
    /// All escalations to carry out; if not empty, they replace `escalation_mode`.
    escalation_actions: Vec<Escalation>,
    /// Rules of delegation.
    delegation: DelegationSettings,
    /// Whether each conversation has its own workspace.
    workspace_scope: WorkspaceScope,
    /// The largest size of the workspace; none means no limit.
    workspace_quota_mb: Option<u32>,
    /// Whether progress is reported to the chat that the task came from.
    progress_notifications: bool,
    /// Where teammates work in a git repository.
    isolation: Isolation,
    /// How often troop checks whether the work of teammates fits together; 0 means never.
    isolation_watch_seconds: u32,
    /// Commands that must pass before any task is done.
    checks: Vec<String>,
    /// How long one check may take.
    check_timeout_seconds: u32,
    /// The team's budget.
    budget: Budget,
}

impl Default for SettingsRecord {
    fn default() -> Self {
        Settings::default().into()
    }
}

impl From<SettingsRecord> for Settings {
    fn from(record: SettingsRecord) -> Self {
        Self {
            version: record.version,
            dialect: record.dialect,
            task_creation: record.task_creation,
            assignment: record.assignment,
            unblock: record.unblock,
            approve_start: record.approve_start,
            require_review: record.require_review,
            lease_seconds: record.lease_seconds,
            stale_after_minutes: record.stale_after_minutes,
            max_teammates: record.max_teammates,
            max_attempts: record.max_attempts,
            retry_backoff_seconds: record.retry_backoff_seconds,
            access: AccessSettings {
                allow_user_ids: record.allow_user_ids,
                deny_user_ids: record.deny_user_ids,
                allow_channels: record.allow_channels,
                deny_channels: record.deny_channels,
            },
            followup: FollowupSettings {
                progress_notifications: record.progress_notifications,
                interval_minutes: record.followup_interval_minutes,
                max_reminders: record.followup_max_reminders,
                escalation_mode: record.escalation_mode,
                escalation_actions: record.escalation_actions,
            },
            delegation: record.delegation,
            workspace: WorkspaceSettings {
                scope: record.workspace_scope,
                quota_mb: record.workspace_quota_mb,
            },
            isolation: IsolationSettings {
                place: record.isolation,
                watch_seconds: record.isolation_watch_seconds,
            },
            checks: record.checks,
            check_timeout_seconds: record.check_timeout_seconds,
            budget: record.budget,
        }
    }
}

impl From<Settings> for SettingsRecord {
    fn from(settings: Settings) -> Self {
        Self {
            version: settings.version,
            dialect: settings.dialect,
            task_creation: settings.task_creation,
            assignment: settings.assignment,
            unblock: settings.unblock,
            approve_start: settings.approve_start,
            require_review: settings.require_review,
            lease_seconds: settings.lease_seconds,
            stale_after_minutes: settings.stale_after_minutes,
            max_teammates: settings.max_teammates,
            max_attempts: settings.max_attempts,
            retry_backoff_seconds: settings.retry_backoff_seconds,
            allow_user_ids: settings.access.allow_user_ids,
            deny_user_ids: settings.access.deny_user_ids,
            allow_channels: settings.access.allow_channels,
            deny_channels: settings.access.deny_channels,
            followup_interval_minutes: settings.followup.interval_minutes,
            followup_max_reminders: settings.followup.max_reminders,
            escalation_mode: settings.followup.escalation_mode,
            escalation_actions: settings.followup.escalation_actions,
            delegation: settings.delegation,
            workspace_scope: settings.workspace.scope,
            workspace_quota_mb: settings.workspace.quota_mb,
            progress_notifications: settings.followup.progress_notifications,
            isolation: settings.isolation.place,
            isolation_watch_seconds: settings.isolation.watch_seconds,
            checks: settings.checks,
            check_timeout_seconds: settings.check_timeout_seconds,
            budget: settings.budget,
        }
    }
}
