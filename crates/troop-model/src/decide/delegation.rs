//! Rules of delegation: a member runs on one task for the lead, within limits.

use uuid::Uuid;

use super::{Draft, Standing, task, work};
use crate::{
    DelegationOutcome, DelegationStatus, Fact, MemberName, MessageKind, NewTask, Party, Refusal,
    Status, TaskRef, access,
};

pub(super) fn start(
    draft: &mut Draft<'_>,
    to: &MemberName,
    task: Option<&TaskRef>,
    subject: Option<&str>,
    trace_id: Option<Uuid>,
) -> Result<(), Refusal> {
    draft.only_lead("delegate tasks")?;
    let to = draft.state.find_member(to.as_str())?.name.clone();
    let from = match (&draft.who, draft.state.lead()) {
        (Standing::Lead(lead), _) => lead.clone(),
        (_, Some(lead)) => lead.name.clone(),
        _ => return Err(Refusal::NoTeam),
    };
    check_link(draft, &from, &to)?;
    let settings = &draft.team()?.settings;
    let may_make_task = !settings.delegation.require_task && !settings.approve_start;
    let number = match (task, subject) {
        (Some(task), _) => {
            let number = draft.state.resolve(task)?;
            let mut running = draft.state.delegations().filter(|it| it.runs_on(&to));
            if running.any(|it| it.task == number) {
                return Err(Refusal::AlreadyDelegated { task: number, to });
            }
            work::assign(draft, task, &to)?;
            number
        }
        (None, Some(subject)) if may_make_task => {
            let new = NewTask {
                subject: subject.to_owned(),
                assignee: Some(to.clone()),
                ..NewTask::default()
            };
            let number = task::create(draft, &new)?;
            work::give(draft, number, subject.trim(), &to, 1)?;
            number
        }
        (None, _) => {
            return Err(Refusal::DelegationNeedsTask { pending: draft.state.some_pending() });
        }
    };
    let (delegation, own_trace) = (draft.new_id(), draft.new_id());
    draft.push(Fact::DelegationStarted {
        delegation,
        from,
        to,
        task: number,
        trace_id: trace_id.unwrap_or(own_trace),
        origin: draft.ctx.origin.clone(),
    });
    Ok(())
}

pub(super) fn finish(
    draft: &mut Draft<'_>,
    id: Uuid,
    outcome: &DelegationOutcome,
) -> Result<(), Refusal> {
    let delegation = draft.state.delegations.get().all.entries().get(&id);
    let delegation = delegation.ok_or(Refusal::UnknownDelegation { delegation: id })?;
    if delegation.status != DelegationStatus::Running {
        return Err(Refusal::DelegationEnded { delegation: id });
    }
    if draft.member().is_some_and(|member| *member != delegation.to && *member != delegation.from) {
        return Err(Refusal::Forbidden {
            who: draft.ctx.actor.name.clone(),
            what: "end the delegations of others",
            may: "its two sides",
        });
    }
    let (task, from, to) = (delegation.task, delegation.from.clone(), delegation.to.clone());
    // The member may have ended the task itself, or lost it meanwhile; then only the record is closed.
    let held = draft.state.tasks.get(task).filter(|it| {
        it.owner.as_ref() == Some(&to) && matches!(it.status, Status::InProgress | Status::Stale)
    });
    let (DelegationOutcome::Completed(said)
    | DelegationOutcome::Failed(said)
    | DelegationOutcome::Cancelled(said)) = outcome;
    crate::text::block("result", said)?;
    match outcome {
        DelegationOutcome::Completed(result) => {
            if let Some(held) = held {
                work::end(draft, held, result.clone(), None)?;
            }
            draft.push(Fact::DelegationCompleted { delegation: id, result: result.clone() });
        }
        DelegationOutcome::Failed(reason) => {
            if let Some(held) = held {
                work::fail_now(draft, held, reason)?;
            }
            draft.push(Fact::DelegationFailed { delegation: id, reason: reason.clone() });
        }
        DelegationOutcome::Cancelled(reason) => {
            if let Some(held) = held {
                work::give_back(draft, held, to.clone(), reason)?;
            }
            draft.push(Fact::DelegationCancelled { delegation: id, reason: reason.clone() });
        }
    }
    report(draft, &to, &from, task, outcome);
    Ok(())
}

/// The audit message from the member to the lead.
fn report(
    draft: &mut Draft<'_>,
    to: &MemberName,
    from: &MemberName,
    task: crate::TaskNumber,
    outcome: &DelegationOutcome,
) {
    let (what, text) = match outcome {
        DelegationOutcome::Completed(text) => ("completed", text),
        DelegationOutcome::Failed(text) => ("failed", text),
        DelegationOutcome::Cancelled(text) => ("gave back", text),
    };
    let lead = Party::member(from);
    if !draft.has_room(&lead) {
        return;
    }
    let id = draft.new_id();
    draft.push(Fact::MessageSent {
        id,
        from: Party::member(to),
        readers: vec![lead.clone()],
        to: lead,
        message_kind: MessageKind::Message,
        content: format!("{what} {task}: {}", crate::text::preview(text, crate::text::MAX_LINE)),
        summary: None,
        request_id: None,
        approve: None,
        task: Some(task),
        supersedes: None,
    });
}

fn check_link(draft: &Draft<'_>, from: &MemberName, to: &MemberName) -> Result<(), Refusal> {
    let Some(link) = draft.state.link(from, to) else {
        return Err(Refusal::NoLink { from: from.clone(), to: to.clone() });
    };
    if !link.enabled {
        return Err(Refusal::LinkDisabled { from: from.clone(), to: to.clone() });
    }
    let user = draft.ctx.origin.user_id.as_ref();
    if !draft.ctx.origin.is_internal() && !access::admits(&link.user_allow, &link.user_deny, user) {
        return Err(Refusal::DelegationDenied {
            user: user.cloned().unwrap_or_default(),
            to: to.clone(),
        });
    }
    let used = draft.state.n_running_to(to, Some(from));
    if used >= link.max_concurrent as usize {
        return Err(Refusal::LinkFull { to: to.clone(), used, limit: link.max_concurrent });
    }
    let limit = draft.team()?.settings.delegation.max_per_member;
    let used = draft.state.n_running_to(to, None);
    if used >= limit as usize {
        return Err(Refusal::MemberFull { to: to.clone(), used, limit });
    }
    Ok(())
}
