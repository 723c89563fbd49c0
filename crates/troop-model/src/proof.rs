//! Proof: the evidence that a task is done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Actor, Task, TaskRef, Team, Time, is_unprintable};

/// How many checks a task or a team may name.
pub const MAX_CHECKS: usize = 20;
/// How many characters of the end of a check's output are kept.
pub const MAX_TAIL: usize = 4_096;

/// The proof that a task is done. Comes from the process that ran its checks, never from the member that did the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    pub task: TaskRef,
    /// The results of the last run of its checks.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
    /// Where its work was merged, if it was.
    pub merge: Option<MergeRecord>,
    /// Why a person waived its checks.
    pub waived: Option<String>,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    pub command: String,
    /// Its exit code; 0 is good. As in shells: 124 after a timeout, 127 if it could not run, 128 and more for signals.
    pub exit_code: i32,
    /// The end of its output.
    #[serde(default)]
    pub tail: String,
    /// The commit on which it ran.
    pub commit: Option<String>,
    /// When it began.
    pub at: Time,
    /// How many milliseconds it took.
    pub took_ms: u64,
}

/// The origin of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusedBy {
    /// A hook.
    Hook,
    /// The merge: the work could not be merged.
    Merge,
    /// Checks that failed. Their evidence is in the log, too.
    Checks,
    /// The rules of the board.
    Board,
}

/// The refusal of an action on a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefusalRecord {
    /// The task; none if its creation was refused.
    pub task: Option<TaskRef>,
    /// The subject of the task whose creation was refused.
    pub subject: Option<String>,
    /// The actor that was refused.
    pub who: Actor,
    pub by: RefusedBy,
    pub reason: String,
    /// The details of the reason, if there are any. A failed attempt ends with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// The attempt whose completion was refused. The refusal counts against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

/// Where the work on a task was merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Merged")]
pub struct MergeRecord {
    /// The target branch.
    pub into: String,
    /// The commit of that branch.
    pub commit: String,
}

impl Proof {
    /// The results of a task's checks, and where its work was merged.
    #[must_use]
    pub fn new(
        task: impl Into<TaskRef>,
        evidence: Vec<Evidence>,
        merge: Option<MergeRecord>,
    ) -> Self {
        Self { task: task.into(), evidence, merge, waived: None }
    }

    /// A person's reason to waive a task's checks.
    #[must_use]
    pub fn waiver(task: impl Into<TaskRef>, reason: impl Into<String>) -> Self {
        Self { waived: Some(reason.into()), ..Self::new(task, Vec::new(), None) }
    }
}

impl Evidence {
    /// Whether the check passed.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.exit_code == 0
    }

    /// The evidence as stored: the end of the output, without control characters.
    pub(crate) fn kept(&self) -> Self {
        let is_kept = |c: &char| matches!(c, '\n' | '\t') || !is_unprintable(*c);
        let n_chars = self.tail.chars().count();
        let tail = self.tail.chars().skip(n_chars.saturating_sub(MAX_TAIL)).filter(is_kept);
        Self { tail: tail.collect(), ..self.clone() }
    }
}

impl Task {
    /// The checks that must pass before this task is done, each once: the team's, the lead's, then its own. None if a person
    /// waived them.
    pub fn required_checks<'a>(&'a self, team: &'a Team) -> Vec<&'a str> {
        if self.proof.waived.is_some() { Vec::new() } else { self.named_checks(team) }
    }

    /// All checks of the task, even if a person waived them.
    #[must_use]
    pub fn named_checks<'a>(&'a self, team: &'a Team) -> Vec<&'a str> {
        let mut all: Vec<&str> = Vec::new();
        let of_lead = team.lead_lease.iter().flat_map(|lease| &lease.checks);
        for check in team.settings.checks.iter().chain(of_lead).chain(&self.proof.checks) {
            if !all.contains(&check.as_str()) {
                all.push(check);
            }
        }
        all
    }
}
