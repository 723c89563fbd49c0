//! Rules of holding a task: taking it, keeping it, giving it back, ending it.

use super::{Draft, Standing, delegation, lead, proof, reserved, supervision, usage};
use crate::{
    Assignment, Condition, Fact, Member, MemberName, MemberState, MessageKind, Party, Progress,
    Refusal, StartGate, Status, Task, TaskAction, TaskNumber, TaskRef, TaskTable, text,
};

/// How many characters of a result become its default summary.
const SUMMARY: usize = 200;

pub(super) fn claim(draft: &mut Draft<'_>, task: &TaskRef) -> Result<(), Refusal> {
    let member = claimant(draft)?;
    let task = draft.live(task)?;
    let is_own = task.owner.as_ref() == Some(&member);
    if is_own && matches!(task.status, Status::InProgress | Status::Stale) {
        return claim_again(draft, task);
    }
    check_available(draft, task, &member, TaskAction::Claim)?;
    free_if_due(draft, task, &member);
    take(draft, task, member)
}

/// Claims a task for its holder: this only renews an expired lease or a stale task.
fn claim_again(draft: &mut Draft<'_>, task: &Task) -> Result<(), Refusal> {
    let was_silent = is_expired(draft, task) || task.status == Status::Stale;
    recover_if_stale(draft, task);
    if was_silent {
        let lease_until = draft.ctx.now + draft.team()?.settings.lease();
        draft.push(Fact::TaskRenewed { task: task.number, lease_until });
    }
    Ok(())
}

pub(super) fn claim_next(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let member = claimant(draft)?;
    let Some(task) = next_for(draft, &member) else {
        return Err(nothing_available(&draft.state.tasks, member));
    };
    free_if_due(draft, task, &member);
    take(draft, task, member)
}

pub(super) fn assign_next(draft: &mut Draft<'_>, to: &MemberName) -> Result<(), Refusal> {
    draft.only_lead("assign tasks")?;
    let to = &draft.state.find_member(to.as_str())?.name;
    check_works(draft, to)?;
    match next_for(draft, to) {
        Some(task) => {
            supervision::start_for_work(draft, to)?;
            give_now(draft, task, to)
        }
        None => Err(nothing_available(&draft.state.tasks, to.clone())),
    }
}

/// The task that a member would get next.
pub(super) fn next_for<'a>(draft: &Draft<'a>, member: &MemberName) -> Option<&'a Task> {
    usage::check(draft).ok()?;
    let tasks = &draft.state.tasks;
    let next = tasks.ready_for(member).next().or_else(|| first_due(draft, member));
    next.and_then(|number| tasks.get(number))
}

/// The reserved task that troop gives a member next where members claim their work.
pub(super) fn next_reserved<'a>(draft: &Draft<'a>, member: &MemberName) -> Option<&'a Task> {
    usage::check(draft).ok()?;
    let number = reserved::work_to_give(draft.state, member).next()?;
    draft.state.tasks.get(number)
}

/// Gives a member a task that is available to it.
pub(super) fn give_now(draft: &mut Draft<'_>, task: &Task, to: &MemberName) -> Result<(), Refusal> {
    free_if_due(draft, task, to);
    give(draft, task.number, &task.subject, to, task.attempts.saturating_add(1))
}

fn nothing_available(tasks: &TaskTable, member: MemberName) -> Refusal {
    Refusal::NothingAvailable {
        member,
        n_blocked: tasks.n_with(Status::Blocked),
        n_held: tasks.n_with(Status::InProgress) + tasks.n_with(Status::Stale),
        n_reserved: tasks.n_with(Status::Pending) + n_resting(tasks),
    }
}

pub(super) fn assign(
    draft: &mut Draft<'_>,
    task: &TaskRef,
    to: &MemberName,
) -> Result<(), Refusal> {
    draft.only_lead("assign tasks")?;
    let to = draft.state.find_member(to.as_str())?.name.clone();
    check_works(draft, &to)?;
    let task = draft.live(task)?;
    if task.status == Status::InProgress && task.owner.as_ref() == Some(&to) {
        return Ok(());
    }
    check_available(draft, task, &to, TaskAction::Assign)?;
    supervision::start_for_work(draft, &to)?;
    give_now(draft, task, &to)
}

/// Gives a task to a member. A member that troop runs, or starts for it, gets the task over its connection; any other is told by
/// mail.
pub(super) fn give(
    draft: &mut Draft<'_>,
    task: TaskNumber,
    subject: &str,
    to: &MemberName,
    attempt: u32,
) -> Result<(), Refusal> {
    let lease_until = draft.ctx.now + draft.team()?.settings.lease();
    let note = delegation::note_of(draft, task).map(|note| format!("\n{note}"));
    let content = format!("{task} is yours: {subject}{}", note.unwrap_or_default());
    draft.push(Fact::TaskAssigned { task, owner: to.clone(), attempt, lease_until });
    let is_told =
        |it: &Member| it.is_external() || !it.is_running() && lead::current(draft).is_err();
    if draft.state.member(to).is_some_and(is_told) {
        draft.tell(Party::member(to), MessageKind::TaskAssignment, content, Some(task));
    }
    Ok(())
}

pub(super) fn renew(
    draft: &mut Draft<'_>,
    task: &TaskRef,
    attempt: Option<u32>,
) -> Result<(), Refusal> {
    let task = held(draft, task, attempt, TaskAction::Claim)?;
    let lease_until = draft.ctx.now + draft.team()?.settings.lease();
    draft.push(Fact::TaskRenewed { task: task.number, lease_until });
    Ok(())
}

pub(super) fn release(draft: &mut Draft<'_>, task: &TaskRef, reason: &str) -> Result<(), Refusal> {
    let task = draft.live(task)?;
    check_could_claim(draft, task, draft.status(task))?;
    if let Standing::Member(member) = &draft.who {
        check_holder(draft, task, member)?;
    }
    let Some(owner) = task.owner.clone().filter(|_| !task.status.is_terminal()) else {
        return Err(Refusal::NotHeld { task: task.number, status: draft.status(task) });
    };
    let reason = text::block("reason", reason)?;
    let said = format!("{} was taken back by {}: {reason}", task.number, draft.actor());
    let is_external = draft.state.member(&owner).is_some_and(Member::is_external);
    give_back(draft, task, owner.clone(), &reason)?;
    // A member that troop runs is interrupted.
    if is_external && draft.member() != Some(&owner) {
        draft.tell(Party::member(&owner), MessageKind::System, said, Some(task.number));
    }
    Ok(())
}

pub(super) fn progress(
    draft: &mut Draft<'_>,
    task: &TaskRef,
    percent: i64,
    step: &str,
) -> Result<(), Refusal> {
    let task = held(draft, task, None, TaskAction::Progress)?;
    let in_range = u8::try_from(percent).ok().filter(|percent| *percent <= 100);
    let percent = in_range.ok_or(Refusal::PercentOutOfRange { percent })?;
    let step = if step.is_empty() { String::new() } else { text::line("step", step)? };
    let lease_until = draft.ctx.now + draft.team()?.settings.lease();
    recover_if_stale(draft, task);
    let what = format!("{} is at {percent}%: {step}", task.number);
    draft.push(Fact::TaskProgressed {
        task: task.number,
        progress: Progress { percent, step },
        lease_until,
    });
    if draft.team()?.settings.followup.progress_notifications {
        let what = what.trim_end_matches(": ").to_owned();
        draft.tell(Party::user(), MessageKind::System, what, Some(task.number));
    }
    Ok(())
}

pub(super) fn complete(
    draft: &mut Draft<'_>,
    task: &TaskRef,
    result: &str,
    summary: Option<&str>,
    attempt: Option<u32>,
) -> Result<(), Refusal> {
    supervision::check_may_change(draft)?;
    let result = text::block("result", result)?;
    let live = draft.live(task)?;
    let status = draft.status(live);
    let is_untaken = matches!(status, Status::Pending | Status::Blocked);
    match (&draft.who, is_untaken) {
        // A caller that names its attempt has lost it if nobody holds the task.
        (Standing::Lead(member) | Standing::Member(member), true) if attempt.is_some() => {
            check_holder(draft, live, member)?;
        }
        // Completing a task that nobody holds claims it first, by the same rules.
        (Standing::Lead(_) | Standing::Member(_), true) => claim(draft, task)?,
        (Standing::Person | Standing::System, true) => {
            check_unblocked(draft, live, TaskAction::Complete)?;
        }
        _ => drop(held(draft, task, attempt, TaskAction::Complete)?),
    }
    if draft.member().is_some() {
        return end(draft, live, result, summary);
    }
    proof::check_proved(draft, live)?;
    recover_if_stale(draft, live);
    let summary = summarize(summary, &result)?;
    draft.push(Fact::TaskCompleted { task: live.number, result, summary });
    Ok(())
}

/// Ends a member's work on a task: completed, or submitted if the team reviews results.
pub(super) fn end(
    draft: &mut Draft<'_>,
    task: &Task,
    result: String,
    summary: Option<&str>,
) -> Result<(), Refusal> {
    recover_if_stale(draft, task);
    let summary = summarize(summary, &result)?;
    draft.push(if draft.team()?.settings.require_review {
        Fact::TaskSubmitted { task: task.number, result: Some(result) }
    } else {
        proof::check_proved(draft, task)?;
        Fact::TaskCompleted { task: task.number, result, summary }
    });
    Ok(())
}

pub(super) fn fail(
    draft: &mut Draft<'_>,
    task: &TaskRef,
    reason: &str,
    retry: RetryRule,
    attempt: Option<u32>,
) -> Result<(), Refusal> {
    let live = draft.live(task)?;
    let is_untaken = live.status == Status::Pending && draft.member().is_none();
    let task = if is_untaken { live } else { held(draft, task, attempt, TaskAction::Fail)? };
    fail_now(draft, task, &text::block("reason", reason)?, retry)
}

/// Whether troop retries a failed task by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetryRule {
    /// As often as the team's settings allow.
    AsConfigured,
    /// Another attempt would not help.
    Never,
}

/// Fails a task, and schedules a retry if the rule and the team's settings allow one.
pub(super) fn fail_now(
    draft: &mut Draft<'_>,
    task: &Task,
    reason: &str,
    retry: RetryRule,
) -> Result<(), Refusal> {
    let settings = &draft.team()?.settings;
    let n = task.attempts_used();
    let will_retry = retry == RetryRule::AsConfigured && n < settings.max_attempts;
    let retry_at = will_retry.then(|| draft.ctx.now + settings.backoff(n));
    draft.push(Fact::TaskFailed { task: task.number, reason: reason.to_owned(), retry_at });
    // The announcement of its siblings tells the result of a delegation.
    if !will_retry && draft.state.delegation_of(task.number).is_none() {
        let times = if n == 1 { "attempt" } else { "attempts" };
        draft.tell_lead(format!("{} failed after {n} {times}: {reason}", task.number), task.number);
    }
    if !will_retry {
        tell_about_dependents(draft, task.number, Status::Failed);
    }
    Ok(())
}

/// Releases a task. A task that was released too often fails instead, because the task itself may crash its holders. Forgiven
/// releases do not count.
pub(super) fn give_back(
    draft: &mut Draft<'_>,
    task: &Task,
    owner: MemberName,
    reason: &str,
) -> Result<(), Refusal> {
    let forgiven = is_forgiven(draft, &owner);
    if !forgiven && task.attempts_used() >= draft.team()?.settings.max_attempts {
        return fail_now(draft, task, reason, RetryRule::AsConfigured);
    }
    let reason = reason.to_owned();
    draft.push(Fact::TaskReleased { task: task.number, owner, reason, forgiven });
    Ok(())
}

/// Takes a task from a member that crashed or was silent. A delegated task fails and is retried as a delegation; any other is
/// released.
pub(super) fn take_away(
    draft: &mut Draft<'_>,
    task: &Task,
    owner: MemberName,
    reason: &str,
) -> Result<(), Refusal> {
    let is_run = draft.state.delegation_of(task.number).is_some_and(|run| run.to == owner);
    match is_run && !is_forgiven(draft, &owner) {
        true => fail_now(draft, task, reason, RetryRule::AsConfigured),
        false => give_back(draft, task, owner, reason),
    }
}

/// Whether a release does not count as an attempt, because the task is not the cause: the lead or a person took it back, the
/// holder was asked to stop, or the budget is spent.
fn is_forgiven(draft: &Draft<'_>, owner: &MemberName) -> bool {
    let stops = draft.state.member(owner).is_some_and(|it| it.state == MemberState::Stopping);
    // A member that stops because the budget is spent has not failed.
    let is_spent = usage::check(draft).is_err();
    stops || is_spent || matches!(draft.who, Standing::Lead(_) | Standing::Person)
}

/// Tells the lead which tasks now wait for a task that has failed or was cancelled.
pub(super) fn tell_about_dependents(draft: &mut Draft<'_>, number: TaskNumber, how: Status) {
    let tasks = &draft.state.tasks;
    let waits = |dependent: &TaskNumber| {
        let is_waiting = tasks.status(*dependent) == Some(Status::Blocked);
        let until = tasks
            .get(*dependent)
            .and_then(|it| it.blocked_by.iter().find(|it| it.task == number).copied());
        let goes_on =
            how == Status::Cancelled && until.is_some_and(|it| it.until == Condition::OnFinish);
        is_waiting && !goes_on
    };
    for dependent in tasks.dependents(number).filter(waits).collect::<Vec<_>>() {
        let refusal = Refusal::DependencyEnded { task: dependent, by: vec![number], how };
        draft.tell_lead(refusal.to_string(), dependent);
    }
}

/// The given summary, or the beginning of the result.
pub(super) fn summarize(summary: Option<&str>, result: &str) -> Result<String, Refusal> {
    match summary {
        Some(summary) => text::block("summary", summary),
        None => Ok(text::preview(result.trim().lines().next().unwrap_or_default(), SUMMARY)),
    }
}

/// The live task, if the actor may act on it as its holder. People and troop itself may act for the holder.
fn held<'a>(
    draft: &Draft<'a>,
    task: &TaskRef,
    attempt: Option<u32>,
    action: TaskAction,
) -> Result<&'a Task, Refusal> {
    let task = draft.live(task)?;
    check_held(draft, task, attempt, action)?;
    Ok(task)
}

/// Refuses to act on a task that has no holder, that another member holds, or that is in another attempt.
pub(super) fn check_held(
    draft: &Draft<'_>,
    task: &Task,
    attempt: Option<u32>,
    action: TaskAction,
) -> Result<(), Refusal> {
    let status = draft.status(task);
    // A result in review is for others to judge.
    let is_held = matches!(status, Status::InProgress | Status::Stale);
    if let Some(member) = draft.member().filter(|_| is_held) {
        check_holder(draft, task, member)?;
    }
    if attempt.is_none() {
        check_could_claim(draft, task, status)?;
    }
    if !matches!(status, Status::InProgress | Status::Stale) {
        // Renewing is part of claiming, but "cannot be claimed" would mislead.
        return Err(if action == TaskAction::Claim {
            Refusal::NotHeld { task: task.number, status }
        } else {
            Refusal::WrongStatus { task: task.number, status, action }
        });
    }
    match attempt {
        Some(held) if held != task.attempts => {
            Err(Refusal::LateHolder { task: task.number, held, now: task.attempts })
        }
        _ => Ok(()),
    }
}

/// If a member acts on a task that nobody holds, says why it could not even claim the task, if it could not.
fn check_could_claim(draft: &Draft<'_>, task: &Task, status: Status) -> Result<(), Refusal> {
    if status != Status::Pending || draft.member().is_none() {
        return Ok(());
    }
    let member = claimant(draft)?;
    check_available(draft, task, &member, TaskAction::Claim)
}

pub(super) fn check_holder(
    draft: &Draft<'_>,
    task: &Task,
    member: &MemberName,
) -> Result<(), Refusal> {
    let number = task.number;
    match task.owner.clone().filter(|_| !task.status.is_finished()) {
        Some(owner) if owner == *member => Ok(()),
        Some(owner) => {
            Err(Refusal::NotYours { task: number, member: member.clone(), owner: Some(owner) })
        }
        None => {
            let status = draft.status(task);
            check_could_claim(draft, task, status)?;
            Err(Refusal::NotHeld { task: number, status })
        }
    }
}

fn claimant(draft: &Draft<'_>) -> Result<MemberName, Refusal> {
    let is_pushed_only = draft.team()?.settings.assignment == Assignment::Auto;
    match &draft.who {
        Standing::Person | Standing::System => Err(Refusal::OnlyMembersHold),
        Standing::Member(_) if is_pushed_only => Err(Refusal::AssignmentIsAutomatic),
        Standing::Lead(name) | Standing::Member(name) => {
            check_works(draft, name)?;
            Ok(name.clone())
        }
    }
}

/// Refuses work beyond the budget, and work of a lead that only coordinates. Teammates are not bound by delegate mode.
fn check_works(draft: &Draft<'_>, member: &MemberName) -> Result<(), Refusal> {
    usage::check(draft)?;
    let is_delegating = draft.team()?.settings.delegation.delegate_mode == Some(true);
    if is_delegating && draft.state.is_lead(member) {
        return Err(Refusal::LeadDelegates);
    }
    Ok(())
}

/// The one check that decides who gets a task: it is pending, unblocked, unowned, and not reserved for others.
fn check_available(
    draft: &Draft<'_>,
    task: &Task,
    member: &MemberName,
    action: TaskAction,
) -> Result<(), Refusal> {
    usage::check(draft)?;
    let number = task.number;
    let is_worn_out = task.attempts_used() >= draft.team()?.settings.max_attempts;
    match (&task.owner, task.hold.since) {
        // The next tick fails a task without attempts left; until then it is not available.
        (Some(owner), Some(since))
            if !task.status.is_terminal() && (is_worn_out || !is_expired(draft, task)) =>
        {
            let owner = owner.clone();
            let status = draft.status(task);
            return Err(if owner == *member {
                Refusal::WrongStatus { task: number, status, action }
            } else if action == TaskAction::Claim {
                Refusal::TaskHeld { task: number, owner, since }
            } else {
                Refusal::TaskTaken { task: number, to: member.clone(), owner, since }
            });
        }
        _ => check_unblocked(draft, task, action)?,
    }
    if task.start.gate == StartGate::Waiting {
        return Err(Refusal::AwaitsStart { task: number });
    }
    if let Some(assignee) = &task.assignee
        && assignee != member
        && action == TaskAction::Claim
    {
        return Err(Refusal::TaskReserved { task: number, assignee: assignee.clone() });
    }
    Ok(())
}

/// Whether a member can be given a task now.
pub(super) fn can_have(draft: &Draft<'_>, task: &Task, member: &MemberName) -> bool {
    check_available(draft, task, member, TaskAction::Assign).is_ok()
}

fn check_unblocked(draft: &Draft<'_>, task: &Task, action: TaskAction) -> Result<(), Refusal> {
    let tasks = &draft.state.tasks;
    let by: Vec<_> = tasks.open_dependencies(task.number).iter().map(|it| it.task).collect();
    match (draft.status(task), task.start.not_before) {
        (Status::Pending, _) => Ok(()),
        _ if by.is_empty() && (is_expired(draft, task) || is_rested(draft, task)) => Ok(()),
        (Status::Failed, Some(until)) if by.is_empty() => {
            let seconds = until.since(draft.ctx.now).as_secs().max(1);
            Err(Refusal::TaskRests { task: task.number, seconds })
        }
        (Status::Blocked, _) => {
            for how in [Status::Failed, Status::Cancelled] {
                let ended: Vec<_> =
                    by.iter().copied().filter(|it| tasks.status(*it) == Some(how)).collect();
                if !ended.is_empty() {
                    return Err(Refusal::DependencyEnded { task: task.number, by: ended, how });
                }
            }
            Err(Refusal::TaskBlocked { task: task.number, by })
        }
        (
            status @ (Status::InProgress
            | Status::InReview
            | Status::Completed
            | Status::Failed
            | Status::Cancelled
            | Status::Stale),
            _,
        ) => Err(Refusal::WrongStatus { task: task.number, status, action }),
    }
}

fn take(draft: &mut Draft<'_>, task: &Task, owner: MemberName) -> Result<(), Refusal> {
    let lease_until = draft.ctx.now + draft.team()?.settings.lease();
    draft.push(Fact::TaskClaimed {
        task: task.number,
        owner,
        attempt: task.attempts.saturating_add(1),
        lease_until,
    });
    Ok(())
}

/// Whether the holder's lease has ended, so that others may take over.
pub(super) fn is_expired(draft: &Draft<'_>, task: &Task) -> bool {
    matches!(task.status, Status::InProgress | Status::Stale)
        && task.hold.lease_until.is_some_and(|until| until <= draft.ctx.now)
}

fn n_resting(tasks: &TaskTable) -> usize {
    let rests = |number| tasks.get(number).is_some_and(|task| task.start.not_before.is_some());
    tasks.with_status(Status::Failed).filter(|number| rests(*number)).count()
}

/// Whether the back-off of a failed task has passed.
pub(super) fn is_rested(draft: &Draft<'_>, task: &Task) -> bool {
    task.status == Status::Failed
        && task.start.not_before.is_some_and(|until| until <= draft.ctx.now)
}

/// Does what the next tick would do to a task that a member is about to take, so that claims do not wait for ticks.
fn free_if_due(draft: &mut Draft<'_>, task: &Task, taker: &MemberName) {
    if is_rested(draft, task) {
        draft.push(Fact::TaskRetried { task: task.number, fresh: false });
        delegation::go_on(draft, task.number, taker);
    } else if is_expired(draft, task)
        && let Some(owner) = task.owner.clone()
    {
        let reason = format!("the lease of {owner} expired");
        let task = task.number;
        draft.push(Fact::TaskReleased { task, owner, reason, forgiven: false });
    }
}

/// The first task that the next tick would make available.
fn first_due(draft: &Draft<'_>, member: &MemberName) -> Option<TaskNumber> {
    let tasks = &draft.state.tasks;
    let is_due = |number: &TaskNumber| {
        tasks.get(*number).is_some_and(|task| {
            (is_expired(draft, task) || is_rested(draft, task))
                && check_available(draft, task, member, TaskAction::Claim).is_ok()
        })
    };
    [Status::InProgress, Status::Stale, Status::Failed]
        .into_iter()
        .flat_map(|status| tasks.with_status(status))
        .find(is_due)
}

fn recover_if_stale(draft: &mut Draft<'_>, task: &Task) {
    if task.status == Status::Stale {
        draft.push(Fact::TaskRecovered { task: task.number });
    }
}
