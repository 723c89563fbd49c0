//! Rules of delegation: a member works on one task for the lead, within limits.
//!
//! A delegation ends when the member no longer holds the task, for any reason. When the last of several related delegations has
//! ended, the lead gets one announcement for all of them. The decision that ends the hold produces both events, so that neither
//! can be lost or happen twice.

mod announcement;

use uuid::Uuid;

use super::{
    Draft, Standing, mail, message::MessageDraft, supervision, task, usage, work, work::RetryRule,
};
use crate::{
    Delegation, DelegationOutcome, DelegationStatus, Fact, MemberName, MemberState, MessageKind,
    NewTask, Origin, Party, Refusal, State, StateCause, Status, TaskNumber, TaskRef, access, text,
};

/// The subject of a delegation.
#[derive(Clone, Copy, Debug)]
pub(super) struct DelegationOrder<'a> {
    pub(super) task: Option<&'a TaskRef>,
    /// The subject of a new task.
    pub(super) subject: Option<&'a str>,
    /// What the member should know besides the task's description.
    pub(super) note: Option<&'a str>,
    pub(super) trace_id: Option<Uuid>,
}

pub(super) fn start(
    draft: &mut Draft<'_>,
    to: &MemberName,
    order: &DelegationOrder<'_>,
) -> Result<(), Refusal> {
    draft.only_lead("delegate tasks")?;
    let DelegationOrder { task, subject, note, trace_id } = *order;
    let note = note.map(|note| text::block("note", note)).transpose()?;
    let to = draft.state.find_member(to.as_str())?.name.clone();
    let from = match (&draft.who, draft.state.lead()) {
        (Standing::Lead(lead), _) => lead.clone(),
        (_, Some(lead)) => lead.name.clone(),
        _ => return Err(Refusal::NoTeam),
    };
    let origin = conversation(draft, task);
    check_link(draft, &from, &to, &origin)?;
    usage::check(draft)?;
    let settings = &draft.team()?.settings;
    let may_make_task = !settings.delegation.require_task && !settings.approve_start;
    let begin = |draft: &mut Draft<'_>, task| {
        let delegation = draft.new_id();
        let trace = draft.new_id();
        draft.push(Fact::DelegationStarted {
            delegation,
            from: from.clone(),
            to: to.clone(),
            task,
            trace_id: trace,
            parent_trace_id: trace_id,
            origin: origin.clone(),
            note: note.clone(),
        });
    };
    // The delegation comes first in the log, so that the supervisor, which hands over the task, knows that it is delegated.
    match (task, subject) {
        (Some(task), _) => {
            let number = draft.state.resolve(task)?;
            if draft.state.delegation_of(number).is_some_and(|it| it.to == to) {
                return Err(Refusal::AlreadyDelegated { task: number, to });
            }
            begin(draft, number);
            // The member may already have the task, because troop gives tasks to idle members.
            let is_at_work = draft.state.tasks.get(number).is_some_and(|it| {
                it.status == Status::InProgress && it.owner.as_ref() == Some(&to)
            });
            if is_at_work {
                // The run goes on in the session in which it began, which mail reaches.
                if let Some(note) = &note {
                    tell_more(draft, &to, number, note);
                }
                return Ok(());
            }
            work::assign(draft, task, &to)
        }
        (None, Some(subject)) if may_make_task => {
            let new = NewTask {
                subject: subject.to_owned(),
                assignee: Some(to.clone()),
                ..NewTask::default()
            };
            let number = task::create(draft, &new)?;
            supervision::start_for_work(draft, &to)?;
            begin(draft, number);
            work::give(draft, number, subject.trim(), &to, 1)
        }
        (None, _) => Err(Refusal::DelegationNeedsTask { pending: draft.state.some_pending() }),
    }
}

/// Sends a member that works on a task already what it should know besides.
fn tell_more(draft: &mut Draft<'_>, to: &MemberName, task: TaskNumber, note: &str) {
    let to = Party::member(to);
    if !draft.has_room(&to) {
        return;
    }
    let from = mail::sender(draft);
    let content = format!("about {task}: {note}");
    let origin = draft.conversation();
    draft.send(MessageDraft {
        task: Some(task),
        origin,
        ..MessageDraft::new(from, to, MessageKind::Message, content)
    });
}

/// The note of a delegation that begins with this decision.
pub(super) fn note_of(draft: &Draft<'_>, task: TaskNumber) -> Option<String> {
    draft.facts.iter().rev().find_map(|fact| {
        let Fact::DelegationStarted { task: begun, note, .. } = fact else { return None };
        note.clone().filter(|_| *begun == task)
    })
}

/// The conversation of a delegation: the caller's, or that of the task.
fn conversation(draft: &Draft<'_>, task: Option<&TaskRef>) -> Origin {
    let task = task.filter(|_| draft.ctx.asker.origin.is_internal());
    let task = task.and_then(|task| draft.live(task).ok());
    task.map_or_else(|| draft.ctx.asker.origin.clone(), |task| task.provenance.origin.clone())
}

pub(super) fn finish(
    draft: &mut Draft<'_>,
    id: Uuid,
    outcome: &DelegationOutcome,
) -> Result<(), Refusal> {
    let delegation = draft.state.delegation(id);
    let delegation = delegation.ok_or(Refusal::UnknownDelegation { delegation: id })?;
    if delegation.status != DelegationStatus::Running {
        return Err(Refusal::DelegationEnded { delegation: id });
    }
    if draft.member().is_some_and(|member| *member != delegation.to && *member != delegation.from) {
        return Err(Refusal::Forbidden {
            who: draft.ctx.asker.actor.name.clone(),
            what: "end the delegations of others",
            may: "its two sides",
        });
    }
    text::block("result", outcome.said())?;
    let held = draft.state.tasks.get(delegation.task).filter(|it| {
        let is_open = matches!(it.status, Status::InProgress | Status::Stale);
        is_open && it.owner.as_ref() == Some(&delegation.to)
    });
    if let Some(held) = held {
        match outcome {
            DelegationOutcome::Completed(result) => work::end(draft, held, result.clone(), None)?,
            DelegationOutcome::Failed(reason) => {
                work::fail_now(draft, held, reason, RetryRule::AsConfigured)?;
            }
            DelegationOutcome::Cancelled(reason) => {
                work::give_back(draft, held, delegation.to.clone(), reason)?;
            }
        }
    }
    draft.push(ended(id, outcome));
    Ok(())
}

/// The result of a delegation whose member ended it without one.
pub const NO_RESULT: &str = "done";

/// Whether the delegation of a task ends when the actor itself reports that it is idle.
pub(super) fn is_ended_by_idle(draft: &Draft<'_>, task: TaskNumber) -> bool {
    let delegation = draft.state.delegation_of(task);
    draft.member().zip(delegation).is_some_and(|(member, it)| it.ends_with_work_of(member))
}

impl Delegation {
    /// Whether it ends when this member has nothing more to do for it and has not reported an outcome. Its result is then the
    /// member's last words.
    #[must_use]
    pub fn ends_with_work_of(&self, member: &MemberName) -> bool {
        self.status == DelegationStatus::Running && self.to == *member
    }
}

/// Gives delegated tasks that ended with the former lead to the same members again. Delegations made while nobody led have not
/// begun, so their leases start now.
pub(super) fn begin_again(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let state = draft.state;
    let running = state.delegations().filter(|it| it.status == DelegationStatus::Running);
    for delegation in running {
        let Some(task) = state.tasks.get(delegation.task) else { continue };
        let is_free = |fact: &Fact| matches!(fact, Fact::TaskReleased { task, .. } if *task == delegation.task);
        let is_held = matches!(task.status, Status::InProgress | Status::Stale)
            && task.owner.as_ref() == Some(&delegation.to)
            && !draft.facts.iter().any(is_free);
        if is_held {
            let lease_until = draft.ctx.now + draft.team()?.settings.lease();
            draft.push(Fact::TaskRenewed { task: task.number, lease_until });
        } else if task.status != Status::InReview {
            let attempt = task.attempts.saturating_add(1);
            work::give(draft, task.number, &task.subject, &delegation.to, attempt)?;
        }
    }
    Ok(())
}

/// The actor that retries a failed task.
pub(super) enum Retrier {
    ByAnybody,
    /// The member that it was delegated to.
    By(MemberName),
    /// No member yet: the one that it was delegated to is at its limit.
    Later,
}

/// Decides who retries a task. A delegated task stays with its member and with its siblings.
pub(super) fn retry(draft: &Draft<'_>, task: TaskNumber) -> Retrier {
    let Some(failed) = failed(draft.state, task) else { return Retrier::ByAnybody };
    if draft.state.member(&failed.to).is_none() {
        return Retrier::ByAnybody;
    }
    match check_link(draft, &failed.from, &failed.to, &failed.origin) {
        Ok(()) => Retrier::By(failed.to.clone()),
        Err(Refusal::LinkFull { .. } | Refusal::MemberFull { .. }) => Retrier::Later,
        Err(_) => Retrier::ByAnybody,
    }
}

/// Continues a failed delegation with a new one for the member that retries the task.
pub(super) fn go_on(draft: &mut Draft<'_>, task: TaskNumber, to: &MemberName) {
    let has_begun =
        |fact: &Fact| matches!(fact, Fact::DelegationStarted { task: begun, .. } if *begun == task);
    let Some(failed) = failed(draft.state, task) else { return };
    let from = failed.from.clone();
    let origin = failed.origin.clone();
    if draft.facts.iter().any(has_begun) || check_link(draft, &from, to, &origin).is_err() {
        return;
    }
    let delegation = draft.new_id();
    let trace_id = draft.new_id();
    let to = to.clone();
    let parent_trace_id = failed.parent_trace_id;
    let note = failed.note.clone();
    draft.push(Fact::DelegationStarted {
        delegation,
        from,
        to,
        task,
        trace_id,
        parent_trace_id,
        origin,
        note,
    });
}

/// The failed delegation of a task that waits for its retry.
fn failed(state: &State, task: TaskNumber) -> Option<&Delegation> {
    let rests = state.tasks.get(task).is_some_and(|it| it.start.not_before.is_some());
    if !rests {
        return None;
    }
    let newest = newest(state, task)?;
    let is_open = newest.status == DelegationStatus::Failed && !newest.is_announced;
    is_open.then_some(newest)
}

fn newest(state: &State, task: TaskNumber) -> Option<&Delegation> {
    state.delegations.get().all.entries().values().rev().find(|it| it.task == task)
}

/// Whether the newest delegation of a task was to this member.
pub(super) fn was_delegated(draft: &Draft<'_>, task: TaskNumber, member: &MemberName) -> bool {
    newest(draft.state, task).is_some_and(|it| it.to == *member)
}

/// Ends the delegations whose members no longer hold their tasks after this decision, and tells the lead.
pub(super) fn settle(draft: &mut Draft<'_>) {
    let ends = ends(draft);
    for (delegation, outcome) in &ends {
        let is_said = draft.facts.iter().any(|fact| fact.ends() == Some(delegation.id));
        if !is_said {
            draft.push(ended(delegation.id, outcome));
        }
        report(draft, delegation, outcome);
    }
    let mut told: Vec<&Delegation> = Vec::new();
    let over = given_up(draft);
    for delegation in ends.iter().map(|(delegation, _)| *delegation).chain(over) {
        if !told.iter().any(|it| it.is_sibling(delegation)) {
            announcement::announce(draft, delegation, &ends);
            told.push(delegation);
        }
    }
}

/// Failed delegations whose tasks will not be retried as part of them after all.
fn given_up<'a>(draft: &Draft<'a>) -> Vec<&'a Delegation> {
    let is_turn = |fact: &&Fact| {
        matches!(
            fact,
            Fact::TaskRetried { .. } | Fact::TaskCancelled { .. } | Fact::TaskDeleted { .. }
        )
    };
    let tasks = draft.facts.iter().filter(is_turn).filter_map(Fact::task);
    tasks.filter_map(|task| failed(draft.state, task)).collect()
}

/// A delegation that has just ended, and how.
type DelegationEnd<'a> = (&'a Delegation, DelegationOutcome);

/// The delegations that end with the facts so far.
fn ends<'a>(draft: &Draft<'a>) -> Vec<DelegationEnd<'a>> {
    let mut ends: Vec<DelegationEnd<'a>> = Vec::new();
    if draft.state.delegated.entries().is_empty() {
        return ends;
    }
    for fact in &draft.facts {
        let by_task = fact.task().and_then(|task| draft.state.delegation_of(task));
        let by_name = fact.ends().and_then(|id| draft.state.delegation(id));
        let Some(delegation) = by_name.or(by_task) else { continue };
        let Some(outcome) = outcome(draft, delegation, fact) else { continue };
        match ends.iter_mut().find(|(known, _)| known.id == delegation.id) {
            // A fact about the delegation itself takes precedence over one about its task.
            Some((_, known)) if by_name.is_some() => *known = outcome,
            Some(_) => {}
            None => ends.push((delegation, outcome)),
        }
    }
    ends
}

/// How a fact ends a delegation, if it does.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "everything else leaves the task with its holder"
)]
fn outcome(draft: &Draft<'_>, delegation: &Delegation, fact: &Fact) -> Option<DelegationOutcome> {
    Some(match fact {
        Fact::DelegationCompleted { result, .. } | Fact::TaskCompleted { result, .. } => {
            DelegationOutcome::Completed(result.clone())
        }
        Fact::TaskSubmitted { result, .. } => {
            let result = result.clone().unwrap_or_else(|| "handed in for review".to_owned());
            DelegationOutcome::Completed(result)
        }
        Fact::DelegationFailed { reason, .. } | Fact::TaskFailed { reason, .. } => {
            DelegationOutcome::Failed(reason.clone())
        }
        Fact::DelegationCancelled { reason, .. } | Fact::TaskCancelled { reason, .. } => {
            DelegationOutcome::Cancelled(reason.clone())
        }
        Fact::TaskRetried { .. } => DelegationOutcome::Cancelled("begun anew".to_owned()),
        Fact::TaskReleased { .. } if is_cut_short(draft, &delegation.to) => return None,
        // While nobody leads, others may take an interrupted task.
        Fact::TaskClaimed { owner, .. } | Fact::TaskAssigned { owner, .. }
            if *owner != delegation.to =>
        {
            DelegationOutcome::Cancelled(format!("{owner} took it"))
        }
        Fact::TaskReleased { reason, .. } if is_lost(draft, delegation) => {
            DelegationOutcome::Failed(reason.clone())
        }
        Fact::TaskReleased { reason, .. } => DelegationOutcome::Cancelled(reason.clone()),
        _ => return None,
    })
}

/// Whether a member ends because its team does. The team may continue under another lead.
fn is_cut_short(draft: &Draft<'_>, member: &MemberName) -> bool {
    let ends_with_team = |fact: &Fact| {
        let Fact::MemberStateChanged { member: who, state, cause: Some(cause), .. } = fact else {
            return false;
        };
        let with_lead = *state == MemberState::Crashed && *cause == StateCause::LeadEnded;
        let with_team = *state == MemberState::Stopped && *cause == StateCause::TeamStopped;
        who == member && (with_lead || with_team)
    };
    draft.facts.iter().any(ends_with_team)
}

/// Whether a task was taken away because its holder crashed or was silent, not by choice.
fn is_lost(draft: &Draft<'_>, delegation: &Delegation) -> bool {
    let task = draft.state.tasks.get(delegation.task);
    let by_choice = match &draft.who {
        Standing::Person | Standing::Lead(_) => true,
        Standing::Member(member) => *member == delegation.to,
        Standing::System => false,
    };
    !by_choice || task.is_some_and(|task| work::is_expired(draft, task))
}

fn ended(delegation: Uuid, outcome: &DelegationOutcome) -> Fact {
    match outcome.clone() {
        DelegationOutcome::Completed(result) => Fact::DelegationCompleted { delegation, result },
        DelegationOutcome::Failed(reason) => Fact::DelegationFailed { delegation, reason },
        DelegationOutcome::Cancelled(reason) => Fact::DelegationCancelled { delegation, reason },
    }
}

/// Records the member's final report. It has no readers: the announcement tells the lead.
fn report(draft: &mut Draft<'_>, delegation: &Delegation, outcome: &DelegationOutcome) {
    let what = match outcome {
        DelegationOutcome::Completed(_) => "completed",
        DelegationOutcome::Failed(_) => "failed at",
        DelegationOutcome::Cancelled(_) => "stopped working on",
    };
    let said = text::preview(outcome.said(), text::MAX_LINE);
    let from = Party::member(&delegation.to);
    let to = Party::member(&delegation.from);
    let content = format!("{what} {}: {said}", delegation.task);
    draft.send(MessageDraft {
        readers: Vec::new(),
        task: Some(delegation.task),
        origin: delegation.origin.clone(),
        ..MessageDraft::new(from, to, MessageKind::Message, content)
    });
}

fn check_link(
    draft: &Draft<'_>,
    from: &MemberName,
    to: &MemberName,
    origin: &Origin,
) -> Result<(), Refusal> {
    if from == to {
        return Err(Refusal::SelfLink { member: from.clone() });
    }
    let Some(link) = draft.state.link(from, to) else {
        return Err(Refusal::NoLink { from: from.clone(), to: to.clone() });
    };
    if !link.enabled {
        return Err(Refusal::LinkDisabled { from: from.clone(), to: to.clone() });
    }
    let user = origin.user_id.as_ref();
    if !origin.is_internal() && !access::admits(&link.user_allow, &link.user_deny, user) {
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

impl Fact {
    /// The delegation that this fact ends.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact ends one by name")]
    fn ends(&self) -> Option<Uuid> {
        match self {
            Self::DelegationCompleted { delegation, .. }
            | Self::DelegationFailed { delegation, .. }
            | Self::DelegationCancelled { delegation, .. } => Some(*delegation),
            _ => None,
        }
    }
}
