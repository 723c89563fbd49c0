//! Which commands end the work on a task. All steps that follow (files, hooks, proof, the facts about its member) ask here,
//! so that every way to end a task goes through all of them.

use troop_model::{
    Actor, Command, DelegationOutcome, NO_RESULT, State, TaskCommand, TaskNumber, TaskRef,
};

/// How the work on a task ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum AttemptEnding {
    /// It is said to be done, with this result.
    Done(String),
    /// It is submitted for review.
    Submitted,
    /// Submitted work is approved.
    Approved,
    Failed,
    /// It is given back, for anybody to take.
    GivenBack,
}

/// The end of the work on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct AttemptEnd {
    pub(in super::super) task: TaskNumber,
    pub(in super::super) ending: AttemptEnding,
}

/// The end that a command of an actor would bring, if the rules take it.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other command ends the work on a task")]
pub(in super::super) fn attempt_end(
    state: &State,
    actor: &Actor,
    command: &Command,
) -> Option<AttemptEnd> {
    let (task, ending) = match command {
        Command::Task(order) => {
            let (task, ending) = ending_of(order)?;
            (state.resolve(task).ok()?, ending)
        }
        Command::FinishDelegation { delegation, outcome } => {
            let ending = match outcome {
                DelegationOutcome::Completed(result) => AttemptEnding::Done(result.clone()),
                DelegationOutcome::Failed(_) => AttemptEnding::Failed,
                DelegationOutcome::Cancelled(_) => AttemptEnding::GivenBack,
            };
            (state.delegations().find(|it| it.id == *delegation)?.task, ending)
        }
        Command::ReportIdle { member, last_task: Some(task) } if *actor == Actor::agent(member) => {
            let delegation = state.delegation_of(state.resolve(task).ok()?)?;
            let task = delegation.ends_with_work_of(member).then_some(delegation.task)?;
            (task, AttemptEnding::Done(NO_RESULT.to_owned()))
        }
        _ => return None,
    };
    Some(AttemptEnd { task, ending })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no other command ends the work on a task")]
fn ending_of(order: &TaskCommand) -> Option<(&TaskRef, AttemptEnding)> {
    Some(match order {
        TaskCommand::Complete { task, result, .. } => (task, AttemptEnding::Done(result.clone())),
        TaskCommand::Review { task, .. } => (task, AttemptEnding::Submitted),
        TaskCommand::Approve { task, .. } => (task, AttemptEnding::Approved),
        TaskCommand::Fail { task, .. } => (task, AttemptEnding::Failed),
        TaskCommand::Release { task, .. } => (task, AttemptEnding::GivenBack),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
