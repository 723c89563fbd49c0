//! Results of checks, as tools show them: the approver of a task sees whether it passed.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use troop_model::{Evidence, MergeRecord, preview};

/// How much of the end of a check's output is shown.
const MAX_TAIL: usize = 1_000;
/// How much of a check's command is shown.
const MAX_COMMAND: usize = 200;
/// How much of a commit's id is shown.
const MAX_COMMIT: usize = 10;

/// The exit code of a check, as lists have it.
#[derive(Debug, Deserialize)]
pub(super) struct CheckExit {
    pub(super) exit_code: i32,
}

/// A summary of the checks of a task, if any ran.
pub(super) fn in_short(exit_codes: impl Iterator<Item = i32>) -> Option<String> {
    let exit_codes: Vec<_> = exit_codes.collect();
    let n_failed = exit_codes.iter().filter(|it| **it != 0).count();
    match (exit_codes.len(), n_failed) {
        (0, _) => None,
        (n, 0) => Some(format!("{n} passed")),
        (n, n_failed) => Some(format!("{n_failed} of {n} failed")),
    }
}

/// The result of one check.
#[derive(Debug, Serialize)]
pub(super) struct CheckReport {
    command: String,
    exit_code: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    tail: String,
}

impl From<&Evidence> for CheckReport {
    fn from(evidence: &Evidence) -> Self {
        let n_chars = evidence.tail.chars().count();
        Self {
            command: preview(&evidence.command, MAX_COMMAND),
            exit_code: evidence.exit_code,
            commit: evidence.commit.as_deref().map(|it| preview(it, MAX_COMMIT)),
            tail: evidence.tail.chars().skip(n_chars.saturating_sub(MAX_TAIL)).collect(),
        }
    }
}

impl CheckReport {
    /// The text for a model.
    pub(super) fn in_words(&self) -> String {
        let Self { command, exit_code, tail, .. } = self;
        let how = if *exit_code == 0 { "passed" } else { "failed" };
        let commit = self.commit.iter().map(|it| format!(", commit {it}")).collect::<String>();
        let tail = if tail.is_empty() { String::new() } else { format!("\n{}", tail.trim_end()) };
        format!("`{command}` {how} (exit code {exit_code}{commit}){tail}")
    }
}

/// Where the work on a task is.
pub(super) fn merged(merged: &MergeRecord) -> Value {
    json!({"into": merged.into, "commit": preview(&merged.commit, MAX_COMMIT)})
}

/// The text for a model.
pub(super) fn merged_in_words(merged: &MergeRecord) -> String {
    format!("{} into {}", preview(&merged.commit, MAX_COMMIT), merged.into)
}
