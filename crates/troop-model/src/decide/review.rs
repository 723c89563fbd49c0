//! Rules of judging a task: submitting, approving, rejecting, cancelling, trying again.

use super::{
    Draft, Standing, proof,
    work::{self, RetryRule},
};
use crate::{Fact, Party, Refusal, RejectMode, StartGate, Status, Task, TaskAction, TaskRef, text};

pub(super) fn submit(
    draft: &mut Draft<'_>,
    task: &TaskRef,
    result: Option<&str>,
) -> Result<(), Refusal> {
    let task = draft.live(task)?;
    let Some(member) = draft.member() else { return Err(Refusal::OnlyMembersHold) };
    work::check_holder(draft, task, member)?;
    expect(draft, task, &[Status::InProgress, Status::Stale], TaskAction::Review)?;
    if task.status == Status::Stale {
        draft.push(Fact::TaskRecovered { task: task.number });
    }
    let result = result.map(|result| text::block("result", result)).transpose()?;
    draft.push(Fact::TaskSubmitted { task: task.number, result });
    Ok(())
}

pub(super) fn approve(
    draft: &mut Draft<'_>,
    task: &TaskRef,
    comment: Option<&str>,
) -> Result<(), Refusal> {
    draft.only_lead("approve tasks")?;
    let task = draft.live(task)?;
    let comment = comment.map(|comment| text::block("comment", comment)).transpose()?;
    if awaits_start(task) {
        draft.push(Fact::TaskStartApproved { task: task.number });
        if let Some(text) = comment {
            draft.push(Fact::TaskCommented { task: task.number, text });
        }
        return Ok(());
    }
    expect(draft, task, &[Status::InReview], TaskAction::Approve)?;
    proof::check_proved(draft, task)?;
    let summary = work::summarize(None, task.result.as_deref().unwrap_or("approved"))?;
    draft.push(Fact::TaskApproved { task: task.number, summary, comment });
    Ok(())
}

pub(super) fn reject(
    draft: &mut Draft<'_>,
    task: &TaskRef,
    reason: &str,
    mode: RejectMode,
) -> Result<(), Refusal> {
    draft.only_lead("reject tasks")?;
    let task = draft.live(task)?;
    let reason = text::block("reason", reason)?;
    let said = format!("{} was rejected by {}: {reason}", task.number, draft.actor());
    if awaits_start(task) {
        reject_start(draft, task, reason, mode);
        draft.tell_lead(said, task.number);
        return Ok(());
    }
    expect(draft, task, &[Status::InReview], TaskAction::Reject)?;
    let why = reason.clone();
    draft.push(Fact::TaskRejected { task: task.number, reason, mode });
    match (mode, &task.owner) {
        (RejectMode::Cancel, owner) => {
            draft.tell_lead(said.clone(), task.number);
            let is_there = |it: &&crate::MemberName| {
                draft.state.member(it).is_some() && !draft.state.is_lead(it)
            };
            if let Some(owner) = owner.as_ref().filter(is_there) {
                let owner = Party::member(owner);
                draft.tell(owner, crate::MessageKind::System, said, Some(task.number));
            }
            work::tell_about_dependents(draft, task.number, Status::Cancelled);
        }
        (RejectMode::Revise, Some(owner)) if draft.state.member(owner).is_none() => {
            let reason = format!("{owner} is no longer in the team");
            let task = task.number;
            let owner = owner.clone();
            draft.push(Fact::TaskReleased { task, owner, reason, forgiven: true });
        }
        (RejectMode::Revise, Some(owner)) => {
            let owner = Party::member(owner);
            draft.tell(owner, crate::MessageKind::System, said, Some(task.number));
            // troop itself sends back work that cannot be merged.
            if draft.who == Standing::System && !proof::holder_can_repair(draft, task) {
                work::fail_now(draft, task, &why, RetryRule::AsConfigured)?;
            }
        }
        (RejectMode::Revise, None) => {}
    }
    Ok(())
}

/// Rejects a start: the task is cancelled, or keeps waiting with the reason as a comment.
fn reject_start(draft: &mut Draft<'_>, task: &Task, reason: String, mode: RejectMode) {
    match mode {
        RejectMode::Cancel => {
            draft.push(Fact::TaskCancelled { task: task.number, reason });
            work::tell_about_dependents(draft, task.number, Status::Cancelled);
        }
        RejectMode::Revise => {
            draft.push(Fact::TaskCommented { task: task.number, text: reason });
        }
    }
}

pub(super) fn cancel(draft: &mut Draft<'_>, task: &TaskRef, reason: &str) -> Result<(), Refusal> {
    draft.only_lead("cancel tasks")?;
    let task = draft.live(task)?;
    let open =
        [Status::Pending, Status::Blocked, Status::InProgress, Status::Stale, Status::Failed];
    expect(draft, task, &open, TaskAction::Cancel)?;
    let reason = text::block("reason", reason)?;
    let holder = task.owner.clone().filter(|owner| draft.member() != Some(owner));
    let said = format!("{} was cancelled by {}: {reason}", task.number, draft.actor());
    draft.push(Fact::TaskCancelled { task: task.number, reason });
    if let Some(holder) = holder {
        draft.tell(Party::member(&holder), crate::MessageKind::System, said, Some(task.number));
    }
    work::tell_about_dependents(draft, task.number, Status::Cancelled);
    Ok(())
}

pub(super) fn retry(draft: &mut Draft<'_>, task: &TaskRef) -> Result<(), Refusal> {
    draft.only_lead("retry tasks")?;
    let task = draft.live(task)?;
    expect(draft, task, &[Status::Failed, Status::Stale], TaskAction::Retry)?;
    let fresh = draft.who != Standing::System;
    draft.push(Fact::TaskRetried { task: task.number, fresh });
    Ok(())
}

fn awaits_start(task: &Task) -> bool {
    task.start.gate == StartGate::Waiting && task.status == Status::Pending
}

fn expect(
    draft: &Draft<'_>,
    task: &Task,
    allowed: &[Status],
    action: TaskAction,
) -> Result<(), Refusal> {
    let status = draft.status(task);
    if allowed.contains(&status) {
        Ok(())
    } else {
        Err(Refusal::WrongStatus { task: task.number, status, action })
    }
}
