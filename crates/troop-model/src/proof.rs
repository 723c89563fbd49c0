//! Proof: what shows that a task is done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Actor, Task, TaskRef, Team, Time, is_unprintable};

/// How many checks a task or a team may name.
pub const MAX_CHECKS: usize = 20;
/// How many characters of the end of a check's output are kept.
pub const MAX_TAIL: usize = 4_096;

/// Whether a task is done, as far as known. Comes from whoever ran its checks, never from the member that did the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// Which task.
    pub task: TaskRef,
    /// What its checks said, the last time they ran.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
    /// Where its work is now, if it was merged.
    pub merge: Option<Merged>,
    /// Why a person does without its checks.
    pub waived: Option<String>,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// What ran.
    pub command: String,
    /// Its exit code; 0 is good. As in shells: 124 after a timeout, 127 if it could not run, 128 and more for signals.
    pub exit_code: i32,
    /// The end of what it printed.
    #[serde(default)]
    pub tail: String,
    /// The commit on which it ran.
    pub commit: Option<String>,
    /// When it began.
    pub at: Time,
    /// How many milliseconds it took.
    pub took_ms: u64,
}

/// What refused something that an actor wanted to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusedBy {
    /// A hook.
    Hook,
    /// The work itself: it could not be merged.
    Merge,
    /// Checks that failed. Their evidence is in the log, too.
    Checks,
    /// The rules of the board.
    Board,
}

/// Something that an actor wanted to do with a task, and that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefusalRecord {
    /// The task; none if it was to be put on the board.
    pub task: Option<TaskRef>,
    /// The subject of the task that was to be put on the board.
    pub subject: Option<String>,
    /// Who wanted it.
    pub who: Actor,
    pub by: RefusedBy,
    pub reason: String,
    /// The reason at length, if there is more to say. A failed attempt ends with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// The attempt that its holder called done. The refusal counts against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

/// Where the work on a task is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Merged {
    /// The branch that has it.
    pub into: String,
    /// The commit of that branch.
    pub commit: String,
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
