//! Work that is merged, and of which the board has not heard: what has to be given to the board, so that nobody does it again.

use troop_model::{
    Command, DelegationOutcome, State, Status, Task, TaskCommand, TaskNumber, TaskRef,
};

use super::completion::{DoneClaim, DoneWay};
use crate::{AttemptName, CommandRequest, UnheardMerge};

/// The result of a task if nothing else is known of it.
const NO_RESULT: &str = "done; the lead was killed when it had just merged this";

/// The newest attempts at all tasks that are not over.
pub fn open_attempts(state: &State) -> Vec<AttemptName> {
    let open = state.tasks().iter().filter(|task| is_open(task));
    open.map(|task| AttemptName { task: task.number, attempt: task.attempts }).collect()
}

fn is_open(task: &Task) -> bool {
    task.attempts > 0 && !task.status.is_finished()
}

/// Whether the board still counts an attempt as open.
pub fn is_unheard(state: &State, merge: &UnheardMerge) -> bool {
    let task = state.tasks().get(merge.task);
    task.is_some_and(|task| is_open(task) && task.attempts == merge.attempt)
}

/// Whether the board knows where the work is merged.
pub fn is_recorded(state: &State, merge: &UnheardMerge) -> bool {
    let merged = state.tasks().get(merge.task).and_then(|it| it.proof.merged.as_ref());
    merged.is_some_and(|it| it.commit == merge.commit)
}

/// The command by which troop itself ends a merged task, if the board refused the command that waited for the merge.
pub fn last_resort(state: &State, merge: &UnheardMerge) -> Option<Command> {
    let task = state.tasks().get(merge.task).filter(|_| is_unheard(state, merge))?;
    let report = merge.report.as_ref().map(|it| &it.command);
    let is_approval =
        report.is_none_or(|it| matches!(it, Command::Task(TaskCommand::Approve { .. })));
    let task_ref = TaskRef::from(merge.task);
    match task.status {
        // Work that was submitted is merged when it is approved, and not before.
        Status::InReview if is_approval => {
            Some(Command::Task(TaskCommand::Approve { task: task_ref, comment: None }))
        }
        Status::InReview => None,
        Status::Pending
        | Status::Blocked
        | Status::InProgress
        | Status::Stale
        | Status::Failed
        | Status::Completed
        | Status::Cancelled => Some(complete(merge.task, report)),
    }
}

/// What troop itself says to end a task that was merged for a command which the board would not take any more, because its holder
/// lost the task meanwhile.
pub fn completion(state: &State, request: &CommandRequest, claim: &DoneClaim) -> Option<Command> {
    let task = state.tasks().get(claim.task)?;
    let is_let_go = claim.way != DoneWay::Approve
        && matches!(task.status, Status::Pending | Status::Blocked)
        && claim.attempt == Some(task.attempts);
    is_let_go.then(|| complete(claim.task, Some(&request.command)))
}

fn complete(task: TaskNumber, report: Option<&Command>) -> Command {
    let (result, summary) = match report {
        Some(Command::Task(TaskCommand::Complete { result, summary, .. })) => {
            (result.clone(), summary.clone())
        }
        Some(Command::FinishDelegation {
            outcome: DelegationOutcome::Completed(result), ..
        }) => (result.clone(), None),
        _ => (NO_RESULT.to_owned(), None),
    };
    Command::Task(TaskCommand::Complete { task: task.into(), result, summary, attempt: None })
}

#[cfg(test)]
mod tests;
