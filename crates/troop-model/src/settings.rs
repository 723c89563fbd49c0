//! The settings of a team.

mod record;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use smol_str::SmolStr;

use self::record::SettingsRecord;
use crate::{Budget, Dollars};

/// A team's settings. Every field has a default, so a file or a command names only what differs.
// They are grouped by subject here. In logs, on the wire and in files they are flat: see `record`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "SettingsRecord", into = "SettingsRecord")]
pub struct Settings {
    /// The version, which decides the team's actions: 1 is the basic board, 2 adds review, comments, progress and the rest.
    pub version: u8,
    /// The names of the tools that members have. None: what each program offers if nobody chooses.
    pub dialect: Option<Dialect>,
    /// Who may create tasks.
    pub task_creation: TaskCreation,
    /// How work reaches members.
    pub assignment: Assignment,
    /// How dependencies must end, unless the task says otherwise.
    pub unblock: Condition,
    /// Whether the start of a task needs approval.
    pub approve_start: bool,
    /// Whether completing a task only submits it for review.
    pub require_review: bool,
    /// How long a claim holds without a heartbeat.
    pub lease_seconds: u32,
    /// How long a held task may stand still before it is stale; 0 means for ever.
    pub stale_after_minutes: u32,
    /// How many teammates run at once.
    pub max_teammates: u32,
    /// How often a task may be tried before it stays failed.
    pub max_attempts: u32,
    /// How long a failed task waits before its retry; doubles with every attempt.
    pub retry_backoff_seconds: u32,
    /// Who may set the team to work, and from where.
    pub access: AccessSettings,
    /// Questions to the user that stay unanswered, and tasks that are stale.
    pub followup: FollowupSettings,
    /// Rules of delegation.
    pub delegation: DelegationSettings,
    /// The files that the team shares.
    pub workspace: WorkspaceSettings,
    /// Where teammates work in a git repository.
    pub isolation: IsolationSettings,
    /// Commands that must pass before any task is done.
    pub checks: Vec<String>,
    /// How long one check may take.
    pub check_timeout_seconds: u32,
    /// The team's budget.
    pub budget: Budget,
}

/// Who may set the team to work, and from where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessSettings {
    /// Only these users may give the team work; empty means everyone.
    pub allow_user_ids: Vec<SmolStr>,
    /// These users may not, even if they are allowed above.
    pub deny_user_ids: Vec<SmolStr>,
    /// Only these channels may give the team work; empty means all.
    pub allow_channels: Vec<SmolStr>,
    /// These channels may not, even if they are allowed above.
    pub deny_channels: Vec<SmolStr>,
}

/// What users hear of without asking: questions that stay unanswered, tasks that are stale, progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowupSettings {
    /// Whether progress is reported to the chat that the task came from.
    pub progress_notifications: bool,
    /// How often a question to the user is repeated.
    pub interval_minutes: u32,
    /// After how many reminders the question is escalated; 0 means never.
    pub max_reminders: u32,
    /// The escalation of tasks that are stale or whose question stays unanswered.
    pub escalation_mode: Escalation,
    /// All escalations to carry out; if not empty, they replace `escalation_mode`.
    pub escalation_actions: Vec<Escalation>,
}

/// The files that the team shares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceSettings {
    /// Whether each conversation has its own workspace.
    pub scope: WorkspaceScope,
    /// The largest size of the workspace; none means no limit.
    pub quota_mb: Option<u32>,
}

/// Where teammates work in a git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsolationSettings {
    /// Where teammates work in a git repository.
    pub place: Isolation,
    /// How often troop checks whether the work of teammates fits together; 0 means never.
    pub watch_seconds: u32,
}

/// Rules of delegation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DelegationSettings {
    /// Whether a delegation must name a task that exists; otherwise one is created for it.
    pub require_task: bool,
    /// Whether the lead only coordinates and holds no task itself. It does not bind teammates. By default the built-in agent does
    /// so while it has teammates, and the board leaves it to other agents.
    pub delegate_mode: Option<bool>,
    /// How many delegations may run over a new link at once.
    pub max_per_link: u32,
    /// How many delegations one member may run at once, over all links.
    pub max_per_member: u32,
}

/// Who may create tasks besides people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskCreation {
    /// The lead alone.
    #[default]
    Lead,
    /// Every member.
    Members,
}

/// How work reaches members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assignment {
    /// Idle members get the next task.
    Auto,
    /// Members claim tasks themselves.
    Claim,
    /// Both.
    #[default]
    Both,
}

/// How a dependency must end.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The other task must be completed.
    #[default]
    #[serde(alias = "on-success")]
    OnSuccess,
    /// The other task must be completed or cancelled.
    #[serde(alias = "on-finish")]
    OnFinish,
}

/// The escalation of a task that does not move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Escalation {
    /// The lead gets a notice.
    #[default]
    NotifyLead,
    /// The task fails.
    FailTask,
}

/// Whether conversations share a workspace.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceScope {
    /// Each conversation has its own.
    #[default]
    Isolated,
    /// All share one.
    Shared,
}

/// Where teammates work in a git repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Each in its own folder and on its own branch; troop merges finished work.
    #[default]
    Worktree,
    /// All in the project's folder.
    None,
}

/// The set of tool names that a team's agents use; it decides the default settings of a new team.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// `team_tasks`, `team_message`, `spawn`.
    #[default]
    Board,
    /// `TeamCreate`, `TaskUpdate`, `SendMessage`.
    Claude,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            version: 2,
            dialect: None,
            task_creation: TaskCreation::default(),
            assignment: Assignment::default(),
            unblock: Condition::default(),
            approve_start: false,
            require_review: false,
            lease_seconds: 900,
            stale_after_minutes: 120,
            max_teammates: 5,
            max_attempts: 3,
            retry_backoff_seconds: 10,
            access: AccessSettings::default(),
            followup: FollowupSettings::default(),
            delegation: DelegationSettings::default(),
            workspace: WorkspaceSettings::default(),
            isolation: IsolationSettings::default(),
            checks: Vec::new(),
            check_timeout_seconds: 600,
            budget: Budget::default(),
        }
    }
}

impl Default for FollowupSettings {
    fn default() -> Self {
        Self {
            progress_notifications: false,
            interval_minutes: 30,
            max_reminders: 3,
            escalation_mode: Escalation::default(),
            escalation_actions: Vec::new(),
        }
    }
}

impl Default for IsolationSettings {
    fn default() -> Self {
        Self { place: Isolation::default(), watch_seconds: 10 }
    }
}

impl Default for DelegationSettings {
    fn default() -> Self {
        Self { require_task: true, delegate_mode: None, max_per_link: 3, max_per_member: 5 }
    }
}

impl Settings {
    /// The default settings of a new team with this dialect.
    #[must_use]
    pub fn for_dialect(dialect: Dialect) -> Self {
        let own = Self { dialect: Some(dialect), ..Self::default() };
        match dialect {
            // Its lead creates first and delegates then; work that goes to idle members by itself would be begun in between.
            Dialect::Board => {
                Self { unblock: Condition::OnFinish, assignment: Assignment::Claim, ..own }
            }
            Dialect::Claude => Self { task_creation: TaskCreation::Members, ..own },
        }
    }

    /// Changes some settings, each by its full name, or returns what is wrong with one of them. [`check`](Self::check) then
    /// tells whether the values are consistent.
    pub fn changed(&self, changes: &[(String, Value)]) -> Result<Self, String> {
        let mut all = serde_json::to_value(self).expect("settings have no part JSON cannot hold");
        let mut changed = self.clone();
        for (key, value) in changes {
            let slot = key.split('.').try_fold(&mut all, |inner, part| inner.get_mut(part));
            let slot = slot.filter(|slot| !slot.is_object());
            *slot.ok_or_else(|| format!("there is no setting `{key}`"))? = value.clone();
            changed = Self::deserialize(&all)
                .map_err(|reason| format!("`{key}` cannot be that: {reason}"))?;
        }
        Ok(changed)
    }

    /// Checks that all values are in range and consistent.
    pub fn check(&self) -> Result<(), String> {
        let in_range = |name: &str, value: u32, range: std::ops::RangeInclusive<u32>| {
            if range.contains(&value) {
                Ok(())
            } else {
                Err(format!("`{name}` must be {} to {}, not {value}", range.start(), range.end()))
            }
        };
        in_range("version", u32::from(self.version), 1..=2)?;
        let gates =
            [("approve_start", self.approve_start), ("require_review", self.require_review)];
        if let Some((name, _)) = gates.iter().find(|(_, is_on)| *is_on && self.version < 2) {
            return Err(format!(
                "`{name}` needs version 2, because nobody can approve in version 1"
            ));
        }
        in_range("lease_seconds", self.lease_seconds, 1..=WEEK)?;
        in_range("stale_after_minutes", self.stale_after_minutes, 0..=WEEK)?;
        in_range("max_teammates", self.max_teammates, 1..=1_000)?;
        in_range("max_attempts", self.max_attempts, 1..=100)?;
        in_range("retry_backoff_seconds", self.retry_backoff_seconds, 0..=WEEK)?;
        in_range("followup_interval_minutes", self.followup.interval_minutes, 1..=WEEK)?;
        in_range("followup_max_reminders", self.followup.max_reminders, 0..=1_000)?;
        in_range("isolation_watch_seconds", self.isolation.watch_seconds, 0..=WEEK)?;
        in_range("check_timeout_seconds", self.check_timeout_seconds, 1..=WEEK)?;
        in_range("budget.warn_percent", self.budget.warn_percent, 1..=100)?;
        let is_nothing = [
            ("dollars", self.budget.dollars == Some(Dollars::default())),
            ("tokens", self.budget.tokens == Some(0)),
        ];
        if let Some((name, _)) = is_nothing.iter().find(|(_, is_nothing)| *is_nothing) {
            return Err(format!("`budget.{name}` must be more than 0: nobody could do anything"));
        }
        let checks = crate::decide::named_checks(&self.checks);
        checks.map_err(|refusal| format!("`checks` cannot be that: {refusal}"))?;
        in_range("delegation.max_per_link", self.delegation.max_per_link, 1..=1_000)?;
        in_range("delegation.max_per_member", self.delegation.max_per_member, 1..=1_000)
    }

    /// How long a claim holds without a sign of life.
    #[must_use]
    pub fn lease(&self) -> Duration {
        Duration::from_secs(self.lease_seconds.into())
    }

    /// The back-off after the `attempt`-th failure.
    pub(crate) fn backoff(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(16);
        Duration::from_secs(u64::from(self.retry_backoff_seconds) << doublings)
    }

    pub(crate) fn escalations(&self) -> Vec<Escalation> {
        if self.followup.escalation_actions.is_empty() {
            vec![self.followup.escalation_mode]
        } else {
            self.followup.escalation_actions.clone()
        }
    }
}

const WEEK: u32 = 7 * 24 * 60 * 60;
