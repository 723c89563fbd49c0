//! The request of the writer of a file: the steps from its old content to its new content.

use std::fmt;

use serde_json::{Map, Value};
use troop_model::{Command, MemberName, Metadata, TaskCommand, TaskNumber, TaskRef, TaskUpdate};

use super::layout::{FileStatus, TaskFile};

/// How to read a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffReading {
    /// Somebody wants all of it.
    Whole,
    /// The board has moved on since the file was written, so that only steps forward count: taking a task, ending it.
    Forward,
}

/// One thing that somebody wants for a task.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskStep {
    Update(Box<TaskEdit>),
    Claim,
    Release,
    Complete { result: Option<String> },
    Fail { reason: Option<String> },
    Review { result: Option<String> },
    Retry,
    Cancel,
    Delete,
}

/// The changed fields of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskEdit {
    pub subject: Option<String>,
    pub description: Option<String>,
    pub assignee: Option<Option<String>>,
    pub waits_for: Option<Vec<String>>,
    pub metadata: Option<Map<String, Value>>,
}

/// A step, and the member in whose name it is taken; none is the lead.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedStep {
    pub by: Option<String>,
    pub step: TaskStep,
}

/// The steps from one file to another, in order.
pub fn difference(before: &TaskFile, now: &TaskFile, reading: DiffReading) -> Vec<WantedStep> {
    let mut wanted = Vec::new();
    let edit = edit(before, now);
    if reading == DiffReading::Whole && edit != TaskEdit::default() {
        wanted.push(WantedStep { by: None, step: TaskStep::Update(Box::new(edit)) });
    }
    wanted.extend(moves(before, now).into_iter().filter(|it| {
        let goes_back = matches!(
            it.step,
            TaskStep::Release | TaskStep::Retry | TaskStep::Delete | TaskStep::Cancel
        );
        reading == DiffReading::Whole || !goes_back
    }));
    wanted
}

fn edit(before: &TaskFile, now: &TaskFile) -> TaskEdit {
    TaskEdit {
        subject: changed(&before.subject, &now.subject),
        description: changed(&before.description, &now.description),
        assignee: changed(&before.assignee, &now.assignee),
        waits_for: now
            .waits_for
            .clone()
            .filter(|now| sorted(now) != sorted(before.waits_for.as_deref().unwrap_or_default())),
        metadata: now.metadata.as_ref().and_then(|now| merge(before.metadata.as_ref(), now)),
    }
}

/// The new value, if it differs from the old one.
fn changed<T: Clone + PartialEq>(before: &Option<T>, now: &Option<T>) -> Option<T> {
    now.clone().filter(|it| before.as_ref() != Some(it))
}

fn sorted(ids: &[String]) -> Vec<&String> {
    let mut ids: Vec<_> = ids.iter().collect();
    ids.sort_unstable();
    ids
}

/// The keys that differ; null removes one.
fn merge(
    before: Option<&Map<String, Value>>,
    now: &Map<String, Value>,
) -> Option<Map<String, Value>> {
    let nothing = Map::new();
    let before = before.unwrap_or(&nothing);
    let fresh = now.iter().filter(|(key, value)| before.get(*key) != Some(value));
    let mut merged: Map<_, _> = fresh.map(|(key, value)| (key.clone(), value.clone())).collect();
    let gone = before.keys().filter(|key| !now.contains_key(*key));
    merged.extend(gone.map(|key| (key.clone(), Value::Null)));
    (!merged.is_empty()).then_some(merged)
}

/// The steps from one owner or status to another.
fn moves(before: &TaskFile, now: &TaskFile) -> Vec<WantedStep> {
    let holder = before.owner.clone().flatten();
    // A file that does not say who holds the task has not changed that.
    let owner = now.owner.clone().unwrap_or_else(|| holder.clone());
    let is_same = before.status == now.status;
    let is_taken = owner.is_some() && (owner != holder || !before.status.is_held());
    let by = owner.clone().or_else(|| holder.clone());
    let one = |by: &Option<String>, step| vec![WantedStep { by: by.clone(), step }];
    match now.status {
        FileStatus::InProgress if is_taken => one(&owner, TaskStep::Claim),
        // It names no owner, which the board will refuse.
        FileStatus::InProgress if !is_same && !before.status.is_held() => one(&by, TaskStep::Claim),
        FileStatus::InProgress if owner.is_none() && holder.is_some() => {
            one(&holder, TaskStep::Release)
        }
        FileStatus::InProgress => Vec::new(),
        // A name beside `pending` is half a claim.
        FileStatus::Pending if owner.is_some() && is_same && owner != holder => {
            one(&owner, TaskStep::Claim)
        }
        FileStatus::Pending if before.status.is_held() => one(&holder, TaskStep::Release),
        FileStatus::Pending if !is_same => one(&None, TaskStep::Retry),
        FileStatus::Pending => Vec::new(),
        // Two members completed it; the board refuses the second one.
        FileStatus::Completed if is_same && owner.is_some() && owner != holder => {
            one(&owner, TaskStep::Complete { result: now.result.clone() })
        }
        _ if is_same => Vec::new(),
        FileStatus::Completed => one(&by, TaskStep::Complete { result: now.result.clone() }),
        FileStatus::Failed => {
            let fail =
                WantedStep { by: by.clone(), step: TaskStep::Fail { reason: now.result.clone() } };
            // Only the holder of a task can fail it.
            let take = is_taken.then(|| WantedStep { by, step: TaskStep::Claim });
            take.into_iter().chain([fail]).collect()
        }
        FileStatus::InReview => one(&by, TaskStep::Review { result: now.result.clone() }),
        FileStatus::Cancelled => one(&None, TaskStep::Cancel),
        // Only a task that has ended can be deleted, so it is cancelled first.
        FileStatus::Deleted => {
            let cancel = (!before.status.has_ended()).then_some(TaskStep::Cancel);
            let steps = cancel.into_iter().chain([TaskStep::Delete]);
            steps.map(|step| WantedStep { by: None, step }).collect()
        }
    }
}

impl TaskStep {
    /// The command for a step. `find` resolves an id in a file to a task, `member` a name to a member.
    pub fn command(
        self,
        number: TaskNumber,
        find: &dyn Fn(&str) -> TaskRef,
        member: &dyn Fn(&str) -> Option<MemberName>,
    ) -> Result<Command, troop_model::Refusal> {
        let task = TaskRef::Number(number);
        Ok(Command::Task(match self {
            Self::Update(edit) => {
                let change = Box::new(edit.update(find, member)?);
                TaskCommand::Update { task, change }
            }
            Self::Claim => TaskCommand::Claim { task: Some(task) },
            Self::Release => TaskCommand::Release { task, reason: said(None, "given back") },
            Self::Complete { result } => {
                let result = said(result, "completed");
                TaskCommand::Complete { task, result, summary: None, attempt: None }
            }
            Self::Fail { reason } => TaskCommand::Fail {
                task,
                reason: said(reason, "failed"),
                attempt: None,
                for_good: false,
            },
            Self::Review { result } => TaskCommand::Review { task, result },
            Self::Retry => TaskCommand::Retry { task },
            Self::Cancel => TaskCommand::Cancel { task, reason: said(None, "cancelled") },
            Self::Delete => TaskCommand::Delete { task },
        }))
    }
}

impl fmt::Display for TaskStep {
    /// As a participle: what was done to a task.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Update(_) => "changed",
            Self::Claim => "claimed",
            Self::Release => "given back",
            Self::Complete { .. } => "completed",
            Self::Fail { .. } => "failed",
            Self::Review { .. } => "handed in for review",
            Self::Retry => "retried",
            Self::Cancel => "cancelled",
            Self::Delete => "deleted",
        })
    }
}

impl TaskEdit {
    fn update(
        self,
        find: &dyn Fn(&str) -> TaskRef,
        member: &dyn Fn(&str) -> Option<MemberName>,
    ) -> Result<TaskUpdate, troop_model::Refusal> {
        let assignee = match self.assignee {
            Some(Some(name)) => Some(Some(named(&name, member)?)),
            other => other.map(|_| None),
        };
        Ok(TaskUpdate {
            subject: self.subject,
            description: self.description,
            assignee,
            blocked_by: self.waits_for.map(|ids| ids.iter().map(|id| find(id)).collect()),
            metadata: self.metadata.map(Metadata),
            ..TaskUpdate::default()
        })
    }
}

/// The member that a text names. The board refuses a name that nobody has.
pub fn named(
    text: &str,
    member: &dyn Fn(&str) -> Option<MemberName>,
) -> Result<MemberName, troop_model::Refusal> {
    match member(text) {
        Some(name) => Ok(name),
        None => Ok(text.parse::<MemberName>()?),
    }
}

/// The given text, or one that says that it was done through a file.
fn said(text: Option<String>, otherwise: &str) -> String {
    text.unwrap_or_else(|| format!("{otherwise} through its file"))
}

#[cfg(test)]
mod tests;
