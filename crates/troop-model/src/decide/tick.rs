//! The effects of time: leases, stale tasks, retries, reminders, escalation.

use std::{fmt, time::Duration};

use super::{
    Draft, Standing,
    delegation::{self, Retrier},
    results,
    task::interval,
    work,
};
use crate::{Escalation, Fact, MessageKind, Party, Refusal, Status, Task};

pub(super) fn tick(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if draft.member().is_some() {
        return Err(Refusal::Forbidden {
            who: draft.ctx.asker.actor.name.clone(),
            what: "let time pass",
            may: "troop itself",
        });
    }
    draft.who = Standing::System;
    results::tell_overdue(draft);
    let tasks = &draft.state.tasks;
    let at = |status| {
        tasks.with_status(status).filter_map(|number| tasks.get(number)).collect::<Vec<_>>()
    };
    for task in at(Status::Failed) {
        if work::is_rested(draft, task) {
            retry(draft, task)?;
        }
    }
    for task in at(Status::InProgress) {
        if work::is_expired(draft, task) {
            expire(draft, task)?;
        } else if !go_stale(draft, task)? {
            remind(draft, task)?;
        }
    }
    for task in at(Status::InReview).into_iter().chain(at(Status::Stale)) {
        if work::is_expired(draft, task) {
            expire(draft, task)?;
        } else {
            remind(draft, task)?;
        }
    }
    Ok(())
}

/// Retries a failed task: for any member, or for the one that it was delegated to.
fn retry(draft: &mut Draft<'_>, task: &Task) -> Result<(), Refusal> {
    match delegation::retry(draft, task.number) {
        // The member is at its limit of delegations.
        Retrier::Later => Ok(()),
        Retrier::By(member) if work::can_have(draft, task, &member) => {
            work::give_now(draft, task, &member)
        }
        Retrier::By(_) | Retrier::ByAnybody => {
            draft.push(Fact::TaskRetried { task: task.number, fresh: false });
            Ok(())
        }
    }
}

fn expire(draft: &mut Draft<'_>, task: &Task) -> Result<(), Refusal> {
    let Some(owner) = task.owner.clone() else { return Ok(()) };
    let reason = format!("the lease of {owner} expired");
    work::take_away(draft, task, owner, &reason)
}

/// Marks a task that has not moved as stale, and returns whether it did.
fn go_stale(draft: &mut Draft<'_>, task: &Task) -> Result<bool, Refusal> {
    let settings = &draft.team()?.settings;
    let limit = Duration::from_secs(60 * u64::from(settings.stale_after_minutes));
    if limit.is_zero() || draft.ctx.now.since(task.provenance.moved_at) < limit {
        return Ok(false);
    }
    draft.push(Fact::TaskStale { task: task.number });
    let minutes = settings.stale_after_minutes;
    escalate(draft, task, Standstill::For { minutes })?;
    Ok(true)
}

fn remind(draft: &mut Draft<'_>, task: &Task) -> Result<(), Refusal> {
    let Some(question) = task.talk.question.as_ref().filter(|it| it.next_at <= draft.ctx.now)
    else {
        return Ok(());
    };
    let limit = draft.team()?.settings.followup.max_reminders;
    if limit > 0 && question.n_reminders >= limit {
        if !question.is_escalated {
            escalate(draft, task, Standstill::Unanswered { n_reminders: question.n_reminders })?;
        }
        return Ok(());
    }
    let next_at = draft.ctx.now + interval(draft)?;
    let content =
        format!("{} still asks about {}: {}", question.asked_by, task.number, question.text);
    draft.push(Fact::TaskReminded { task: task.number, next_at });
    draft.tell(Party::user(), MessageKind::System, content, Some(task.number));
    Ok(())
}

/// Why a task is escalated. Each reason escalates once, independently of the other.
#[derive(Clone, Copy)]
enum Standstill {
    For { minutes: u32 },
    Unanswered { n_reminders: u32 },
}

impl fmt::Display for Standstill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::For { minutes: 1 } => f.write_str("has not moved for a minute"),
            Self::For { minutes } => write!(f, "has not moved for {minutes} minutes"),
            Self::Unanswered { n_reminders: 1 } => {
                f.write_str("got no answer from the user after a reminder")
            }
            Self::Unanswered { n_reminders } => {
                write!(f, "got no answer from the user after {n_reminders} reminders")
            }
        }
    }
}

fn escalate(draft: &mut Draft<'_>, task: &Task, why: Standstill) -> Result<(), Refusal> {
    let reason = format!("{} {why}", task.number);
    let is_unanswered = matches!(why, Standstill::Unanswered { .. });
    draft.push(Fact::TaskEscalated { task: task.number, reason: reason.clone(), is_unanswered });
    if !draft.team()?.settings.escalations().contains(&Escalation::FailTask) {
        draft.tell_lead(reason, task.number);
        return Ok(());
    }
    draft.tell_lead(format!("{reason}; it failed"), task.number);
    draft.push(Fact::TaskFailed { task: task.number, reason, retry_at: None });
    work::tell_about_dependents(draft, task.number, Status::Failed);
    Ok(())
}
