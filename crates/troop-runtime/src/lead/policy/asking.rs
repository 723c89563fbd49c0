//! Which commands hooks are asked about: only those that the rules would accept.

use troop_model::{
    Actor, ActorKind, Command, DelegationOutcome, Event, Fact, MemberName, Refusal, State,
    TaskCommand, TaskNumber, Time,
};

use super::attempt_end::{AttemptEnd, AttemptEnding, attempt_end};
use crate::{
    CommandRequest,
    hooks::{HookEvent, HookTask, Occasion},
};

/// The event about which hooks may be asked before a command is given, if there is one.
#[expect(clippy::wildcard_enum_match_arm, reason = "hooks are asked about two things only")]
pub(in super::super) fn event_of(command: &Command) -> Option<HookEvent> {
    match command {
        Command::Task(TaskCommand::Create(_)) | Command::Delegate { task: None, .. } => {
            Some(HookEvent::TaskCreated)
        }
        Command::Task(TaskCommand::Complete { .. } | TaskCommand::Approve { .. })
        | Command::FinishDelegation { outcome: DelegationOutcome::Completed(_), .. }
        | Command::ReportIdle { last_task: Some(_), .. } => Some(HookEvent::TaskCompleted),
        _ => None,
    }
}

/// The verdict of the rules on a command.
#[derive(Debug)]
pub(in super::super) enum RuleVerdict {
    /// They accept it, with these events.
    Accepted(Vec<Event>),
    /// They accept it once its task is proved.
    NeedsProof,
    Refused(Refusal),
}

/// The verdict of the rules on a command in this state. Changes nothing.
pub(in super::super) fn ruling(
    state: &State,
    request: &CommandRequest,
    clock: Time,
) -> RuleVerdict {
    match request.judged(state, clock) {
        Ok(events) => RuleVerdict::Accepted(events),
        Err(Refusal::NotProved { .. }) => RuleVerdict::NeedsProof,
        Err(refusal) => RuleVerdict::Refused(refusal),
    }
}

/// Whether the rules would accept a command, proof aside.
pub fn would_take(state: &State, request: &CommandRequest, clock: Time) -> bool {
    !matches!(ruling(state, request, clock), RuleVerdict::Refused(_))
}

/// The occasion on which hooks are asked before a command is given; none if the rules refuse the command, if it has no effect
/// of this kind, or if it was carried out before.
pub(in super::super) fn occasion(
    state: &State,
    request: &CommandRequest,
    now: Time,
) -> Option<Occasion> {
    if state.operation(request.operation).is_some() {
        return None;
    }
    let ruling = ruling(state, request, now);
    match &ruling {
        RuleVerdict::Refused(_) => return None,
        RuleVerdict::Accepted(events) => {
            let created = events.iter().find_map(|event| created(event, &request.asker.actor));
            if created.is_some() {
                return created;
            }
        }
        RuleVerdict::NeedsProof => {}
    }
    let (task, result) = done(state, request)?;
    let doer = match &ruling {
        RuleVerdict::Accepted(events) if !completes(events, task) => return None,
        RuleVerdict::Accepted(events) => events.iter().find_map(|event| claimer(event, task)),
        RuleVerdict::NeedsProof | RuleVerdict::Refused(_) => None,
    };
    let task = hook_task(state, task, doer.or_else(|| member(&request.asker.actor)))?;
    Some(Occasion::TaskCompleted { task, result })
}

/// A task as hooks see it; the member that completes a task without a holder is its owner.
pub(in super::super) fn hook_task(
    state: &State,
    number: TaskNumber,
    doer: Option<MemberName>,
) -> Option<HookTask> {
    let task = state.tasks().get(number)?;
    Some(HookTask {
        number,
        subject: task.subject.clone(),
        description: task.description.clone(),
        owner: task.owner.clone().or(doer).or_else(|| task.assignee.clone()),
        folder: None,
    })
}

/// The task that an event makes.
fn created(event: &Event, actor: &Actor) -> Option<Occasion> {
    let Fact::TaskCreated { task, subject, description, assignee, .. } = &event.fact else {
        return None;
    };
    let task = HookTask {
        // Unless another task is created first.
        number: *task,
        subject: subject.clone(),
        description: description.clone(),
        owner: assignee.clone(),
        folder: None,
    };
    Some(Occasion::TaskCreated { task, teammate: member(actor) })
}

/// The task that a command ends as done, and its result.
fn done(state: &State, request: &CommandRequest) -> Option<(TaskNumber, String)> {
    let AttemptEnd { task, ending } = attempt_end(state, &request.asker.actor, &request.command)?;
    match ending {
        AttemptEnding::Done(result) => Some((task, result)),
        AttemptEnding::Approved => {
            let result = state.tasks().get(task)?.result.clone();
            Some((task, result.unwrap_or_default()))
        }
        AttemptEnding::Submitted | AttemptEnding::Failed | AttemptEnding::GivenBack => None,
    }
}

/// Whether a task is done by these events. A result that is only submitted for review is not.
fn completes(events: &[Event], number: TaskNumber) -> bool {
    events.iter().any(|event| {
        matches!(&event.fact, Fact::TaskCompleted { task, .. } | Fact::TaskApproved { task, .. } if *task == number)
    })
}

/// The member that takes a task by an event.
fn claimer(event: &Event, number: TaskNumber) -> Option<MemberName> {
    let Fact::TaskClaimed { task, owner, .. } = &event.fact else { return None };
    (*task == number).then(|| owner.clone())
}

/// The member that an actor is, if it is one.
pub(in super::super) fn member(actor: &Actor) -> Option<MemberName> {
    (actor.kind == ActorKind::Agent).then(|| actor.name.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
