//! Defers the completion of a task that a model reports in the middle of its turn: it counts at the end of the turn,
//! with the model's last words, so that nothing it still does or says is lost.

use std::sync::{Mutex, MutexGuard};

use serde_json::value::{RawValue, to_raw_value};
use troop_model::{Command, MemberName, Status, TaskCommand, TaskRef, TaskView, Version, lock};
use troop_protocol::{Answer, Call, Calls, Change, Failure, FailureKind, NO_RESULT, Query};

use crate::Turn;

/// A member's wire, on which the completion of its own task waits for the end of its turn.
#[derive(Debug)]
pub(super) struct DeferredCompletion<'a> {
    turn: &'a Turn,
    /// The completed task, and its result if the model gave one.
    done: Mutex<Option<(TaskRef, Option<String>)>>,
}

impl<'a> DeferredCompletion<'a> {
    pub(super) fn new(turn: &'a Turn) -> Self {
        Self { turn, done: Mutex::new(None) }
    }

    pub(super) fn is_kept(&self) -> bool {
        self.done().is_some()
    }

    pub(super) fn has_result(&self) -> bool {
        self.done().as_ref().is_some_and(|(_, result)| result.is_some())
    }

    /// Completes the task now. These words are its result, unless the model gave one before.
    pub(super) async fn settle(&self, words: &str) -> Result<(), Failure> {
        let Some((task, result)) = self.done().take() else { return Ok(()) };
        let words = if words.is_empty() { NO_RESULT } else { words };
        let result = result.unwrap_or_else(|| words.to_owned());
        let command = TaskCommand::Complete { task, result, summary: None, attempt: None };
        let change = Change { command: Command::Task(command), operation: None };
        self.turn.ask::<Answer>(&change).await?;
        Ok(())
    }

    /// Whether the member works on this task.
    async fn is_at(&self, task: &TaskRef) -> bool {
        let asked =
            self.turn.query::<TaskView>(&Query::Task { task: task.clone(), offset: 0 }).await;
        let own = Some(self.turn.place().name.as_str());
        asked.is_ok_and(|it| {
            it.status == Status::InProgress && it.owner.as_ref().map(MemberName::as_str) == own
        })
    }

    fn keep(&self, task: TaskRef, result: String) -> Result<Box<RawValue>, Failure> {
        *self.done() = Some((task, (result != NO_RESULT).then_some(result)));
        let answer = Answer { version: Version::ZERO, task: None, events: Vec::new() };
        to_raw_value(&answer).map_err(|error| Failure::new(FailureKind::Bug, &error.to_string()))
    }

    fn done(&self) -> MutexGuard<'_, Option<(TaskRef, Option<String>)>> {
        lock(&self.done)
    }
}

impl Calls for DeferredCompletion<'_> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "all else has nothing to do with an end")]
    async fn call(&self, call: Call) -> Result<Box<RawValue>, Failure> {
        let Call::Change(change) = &call else { return Calls::call(self.turn, call).await };
        match &change.command {
            Command::Task(TaskCommand::Complete { task, result, .. }) if self.is_at(task).await => {
                // A member has one task at a time: completing the next one completes this one.
                if self.done().as_ref().is_some_and(|(done, _)| done != task) {
                    self.settle("").await?;
                }
                return self.keep(task.clone(), result.clone());
            }
            Command::Task(TaskCommand::Claim { .. }) => self.settle("").await?,
            Command::Task(
                TaskCommand::Fail { task, .. }
                | TaskCommand::Release { task, .. }
                | TaskCommand::Cancel { task, .. },
            ) => drop(self.done().take_if(|(done, _)| done == task)),
            _ => {}
        }
        Calls::call(self.turn, call).await
    }
}
