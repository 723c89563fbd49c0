//! Rules of running members: starting, interrupting, idling, ending.

use uuid::Uuid;

use super::{
    Draft, Standing, delegation, lead, mail,
    message::MessageDraft,
    results, team, usage,
    work::{self, RetryRule},
};
use crate::{
    AgentKind, Assignment, Fact, Member, MemberName, MemberState, MessageKind, Notice, Party,
    Permissions, Refusal, Request, Role, Settings, Spawn, StateCause, Status, Task, TaskAction,
    TaskRef, text,
};

pub(super) fn spawn(draft: &mut Draft<'_>, spawn: &Spawn) -> Result<(), Refusal> {
    draft.only_lead("start teammates")?;
    let new = &spawn.member;
    // troop does not start an external member; it only sends the prompt.
    let is_external = AgentKind::External.is(&new.agent);
    if !is_external {
        lead::current(draft)?;
    }
    match draft.state.member(&new.name) {
        None => team::add_member(draft, new)?,
        Some(member) if member.role == Role::Lead => {
            return Err(Refusal::LeadIsFixed { member: member.name.clone() });
        }
        Some(member) if member.is_running() => {
            return Err(Refusal::AlreadyRunning {
                member: member.name.clone(),
                state: member.state,
            });
        }
        Some(member) if member.agent != new.agent => {
            return Err(Refusal::MemberExists { member: member.name.clone() });
        }
        Some(_) => {}
    }
    if !is_external {
        check_room(draft)?;
        draft.push(starts(&new.name));
    }
    if let Some(prompt) = &spawn.prompt {
        let content = text::block("prompt", prompt)?;
        let from = mail::sender(draft);
        let to = Party::member(&new.name);
        let origin = draft.conversation();
        draft.send(MessageDraft {
            origin,
            ..MessageDraft::new(from, to, MessageKind::Message, content)
        });
    }
    Ok(())
}

/// Starts a member that somebody gives a task, if it does not run and a lead could start it. Work that troop itself hands on goes
/// to members that run, or waits for their restart.
pub(super) fn start_for_work(draft: &mut Draft<'_>, member: &MemberName) -> Result<(), Refusal> {
    if draft.who == Standing::System || !is_startable(draft, member) {
        return Ok(());
    }
    check_room(draft)?;
    draft.push(starts(member));
    Ok(())
}

/// Starts a member for a task that is reserved for it. Returns why it cannot be started.
pub(super) fn start_for_reserved(
    draft: &mut Draft<'_>,
    member: &MemberName,
) -> Result<(), Refusal> {
    let is_start = |fact: &Fact| *fact == starts(member);
    let stays_down = |it: &Member| {
        let was_stopped = it.state_cause == Some(StateCause::Asked);
        was_stopped || it.state == MemberState::Crashed
    };
    // Only a person or the lead starts a member that was stopped, or that crashed and waits for its restart.
    let is_order = matches!(draft.who, Standing::Person | Standing::Lead(_));
    let is_left = !is_order && draft.state.member(member).is_some_and(stays_down);
    if is_left || !is_startable(draft, member) || draft.facts.iter().any(is_start) {
        return Ok(());
    }
    let n_starting = draft.facts.iter().filter(|fact| is_spawning(fact)).count();
    check_room_for(draft, n_starting + 1)?;
    draft.push(starts(member));
    Ok(())
}

/// Whether a member does not run, and a lead could start it.
pub(super) fn is_startable(draft: &Draft<'_>, member: &MemberName) -> bool {
    let is_down = |it: &Member| it.role == Role::Member && !it.is_external() && !it.is_running();
    draft.state.member(member).is_some_and(is_down) && lead::current(draft).is_ok()
}

fn starts(member: &MemberName) -> Fact {
    Fact::MemberStateChanged {
        member: member.clone(),
        state: MemberState::Spawning,
        reason: None,
        cause: None,
        pid: None,
    }
}

fn is_spawning(fact: &Fact) -> bool {
    matches!(fact, Fact::MemberStateChanged { state: MemberState::Spawning, .. })
}

pub(super) fn set_state(
    draft: &mut Draft<'_>,
    member: &MemberName,
    state: MemberState,
    reason: Option<&str>,
    cause: Option<StateCause>,
    pid: Option<u32>,
) -> Result<(), Refusal> {
    if !matches!(draft.who, Standing::System | Standing::Person) {
        return Err(Refusal::Forbidden {
            who: draft.ctx.asker.actor.name.clone(),
            what: "say what state a member is in",
            may: "the supervisor",
        });
    }
    let member = draft.state.find_member(member.as_str())?;
    let is_so = member.state == state && member.state_cause == cause;
    if is_so && member.state_reason.as_deref() == reason && member.pid == pid {
        return Ok(());
    }
    if state == MemberState::Spawning && !member.is_running() {
        check_room(draft)?;
    }
    let name = member.name.clone();
    let reason = team::checked_reason(reason)?;
    // A member that was started for a task gets it as soon as it is ready.
    let is_ready = member.state == MemberState::Spawning && state == MemberState::Idle;
    let has_work = draft.state.tasks.held_by(&name).any(|number| is_in_progress(draft, number));
    let state = if is_ready && has_work { MemberState::Working } else { state };
    draft.push(Fact::MemberStateChanged { member: name.clone(), state, reason, cause, pid });
    match state {
        MemberState::Crashed => {
            for task in held_by(draft, &name) {
                work::take_away(draft, task, name.clone(), &format!("{name} {state}"))?;
            }
        }
        MemberState::Stopped => release_all(draft, &name, &format!("{name} {state}")),
        MemberState::Spawning
        | MemberState::Working
        | MemberState::Planning
        | MemberState::Idle
        | MemberState::Stopping => {}
    }
    Ok(())
}

/// Records that a member stopped that another program runs.
pub(super) fn stopped_outside(draft: &mut Draft<'_>, member: &Member, reason: &str) {
    draft.push(Fact::MemberStateChanged {
        member: member.name.clone(),
        state: MemberState::Stopped,
        reason: Some(reason.to_owned()),
        cause: Some(StateCause::Asked),
        pid: None,
    });
    release_all(draft, &member.name, &format!("{} {}", member.name, MemberState::Stopped));
}

/// The tasks that a member holds and works on, without those in review, which need no running holder.
fn held_by<'a>(draft: &Draft<'a>, member: &MemberName) -> Vec<&'a Task> {
    let tasks = &draft.state.tasks;
    let held = tasks.held_by(member).filter_map(|number| tasks.get(number));
    held.filter(|task| task.status != Status::InReview).collect()
}

/// Releases a member's tasks. The member ended for other reasons, so the attempts do not count.
fn release_all(draft: &mut Draft<'_>, member: &MemberName, reason: &str) {
    for task in held_by(draft, member) {
        draft.push(Fact::TaskReleased {
            task: task.number,
            owner: member.clone(),
            reason: reason.to_owned(),
            forgiven: true,
        });
    }
}

/// Records that a member ended together with its lead.
pub(super) fn lose(draft: &mut Draft<'_>, member: &Member, cause: StateCause) {
    let name = &member.name;
    let reason = cause.in_words();
    draft.push(Fact::MemberStateChanged {
        member: name.clone(),
        state: MemberState::Crashed,
        reason: Some(reason.to_owned()),
        cause: Some(cause),
        pid: None,
    });
    release_all(draft, name, &format!("{name} crashed: {reason}"));
}

pub(super) fn interrupt(
    draft: &mut Draft<'_>,
    member: &MemberName,
    reason: Option<&str>,
) -> Result<(), Refusal> {
    draft.only_lead("interrupt members")?;
    let member = draft.state.find_member(member.as_str())?;
    if !member.is_running() {
        return Err(Refusal::NotRunning { member: member.name.clone(), state: member.state });
    }
    let reason = team::checked_reason(reason)?;
    draft.push(Fact::MemberInterrupted { member: member.name.clone(), reason });
    // Its open requests are withdrawn together with its work.
    if !open_plans(draft, &Party::member(&member.name)).is_empty() {
        let cause = Some(StateCause::Interrupted);
        wait_no_more(draft, member, member.permissions, "interrupted", cause);
    }
    Ok(())
}

pub(super) fn report_idle(
    draft: &mut Draft<'_>,
    member: &MemberName,
    last_task: Option<&TaskRef>,
) -> Result<(), Refusal> {
    let member = draft.state.find_member(member.as_str())?;
    if draft.member().is_some_and(|own| *own != member.name) {
        return Err(Refusal::Forbidden {
            who: draft.ctx.asker.actor.name.clone(),
            what: "say that somebody else is idle",
            may: "only they themselves",
        });
    }
    let last = last_task.and_then(|task| draft.live(task).ok()).map(|task| task.number);
    if let Some(last) = last.filter(|last| delegation::is_ended_by_idle(draft, *last)) {
        return work::complete(draft, &last.into(), delegation::NO_RESULT, None, None);
    }
    if draft.state.tasks.held_by(&member.name).any(|number| is_in_progress(draft, number)) {
        // A member that holds a task is not idle.
        return Ok(());
    }
    let next = match draft.team()?.settings.assignment {
        Assignment::Claim => work::next_reserved(draft, &member.name),
        Assignment::Both | Assignment::Auto => work::next_for(draft, &member.name),
    };
    if member.role == Role::Member
        && let Some(task) = next
    {
        return work::give_now(draft, task, &member.name);
    }
    if matches!(member.state, MemberState::Working | MemberState::Spawning) {
        draft.push(Fact::MemberStateChanged {
            member: member.name.clone(),
            state: MemberState::Idle,
            reason: None,
            cause: None,
            pid: member.pid,
        });
    }
    if member.role == Role::Member && member.state != MemberState::Planning {
        tell_idle(draft, member, last_task);
    }
    Ok(())
}

/// Asks a member that is idle although it holds a task to report on the task. A member that was asked before and is still
/// silent would hold the task until its lease ends, so its attempt fails.
pub(super) fn report_silence(
    draft: &mut Draft<'_>,
    member: &MemberName,
    task: &TaskRef,
    attempt: u32,
) -> Result<(), Refusal> {
    if draft.who != Standing::System {
        return Err(Refusal::Forbidden {
            who: draft.ctx.asker.actor.name.clone(),
            what: "say that a member is silent",
            may: "the supervisor",
        });
    }
    let task = draft.live(task)?;
    let member = &draft.state.find_member(member.as_str())?.name;
    work::check_holder(draft, task, member)?;
    work::check_held(draft, task, Some(attempt), TaskAction::Fail)?;
    let number = task.number;
    let to = Party::member(member);
    let was_asked = task.hold.n_report_requests >= draft.state.limits.report_requests;
    if was_asked || !draft.has_room(&to) {
        let reason = format!("{member} says that it is idle but has not reported on {number}");
        return work::fail_now(draft, task, &reason, RetryRule::AsConfigured);
    }
    let content = format!("you hold {number} but say that you are idle; report its state");
    draft.send(MessageDraft {
        notice: Some(Notice::ReportDue),
        task: Some(number),
        origin: task.provenance.origin.clone(),
        ..MessageDraft::new(Party::system(), to, MessageKind::System, content)
    });
    Ok(())
}

/// Tells the lead that a member is idle. A newer notice replaces one that was not delivered yet.
fn tell_idle(draft: &mut Draft<'_>, member: &Member, last_task: Option<&TaskRef>) {
    let Some(lead) = draft.state.lead().map(|lead| Party::member(&lead.name)) else { return };
    let from = Party::member(&member.name);
    let summary = format!("{} is idle", member.name);
    // The member is idle even if it names a wrong task.
    let last = last_task.and_then(|task| draft.live(task).ok());
    if last.is_some_and(|task| delegation::was_delegated(draft, task.number, &member.name)) {
        // The announcement of its siblings tells the result.
        return;
    }
    let last = last.filter(|task| draft.state.untold.entries().contains_key(&task.number));
    let content = match last {
        Some(task) => {
            let result =
                results::in_notice(task.number, task.result.as_deref().unwrap_or_default());
            format!("{summary}; {} is {}: {result}", task.number, draft.status(task))
        }
        None => summary.clone(),
    };
    // A notice with a result stays until the lead has read it.
    let is_older = |it: &&crate::Message| {
        it.kind == MessageKind::Idle && it.from == from && it.is_replaceable()
    };
    let supersedes = draft.state.mailbox().unread_of(&lead).find(is_older).map(|it| it.id);
    if supersedes.is_none() && !draft.has_room(&lead) {
        return;
    }
    draft.send(MessageDraft {
        summary: Some(summary),
        task: last.map(|task| task.number),
        supersedes,
        origin: last.map(|task| task.provenance.origin.clone()).unwrap_or_default(),
        ..MessageDraft::new(from, lead, MessageKind::Idle, content)
    });
}

/// Ends the planning of a member whose plan was answered. After an approval it may do what the lead may do.
pub(super) fn plan_was_answered(draft: &mut Draft<'_>, party: &Party, is_yes: bool) {
    let Ok(member) = draft.state.find_member(party.as_str()) else { return };
    let mut permissions = member.permissions;
    if is_yes && permissions == Permissions::Plan {
        let lead = draft.state.lead().map_or(Permissions::Default, |lead| lead.permissions);
        permissions = lead.max(Permissions::Default);
        draft.push(Fact::MemberModeChanged { member: member.name.clone(), permissions });
    }
    let why = if is_yes { "its plan was approved" } else { "its plan was rejected" };
    wait_no_more(draft, member, permissions, why, None);
}

/// Approves the open plans of a member that may now do more than plan.
pub(super) fn approve_plans(draft: &mut Draft<'_>, member: &Member, permissions: Permissions) {
    let why = format!("its mode is {permissions}");
    let own = Party::member(&member.name);
    for request_id in open_plans(draft, &own) {
        let id = draft.new_id();
        let from = mail::sender(draft);
        draft.push(Fact::MessageSent {
            id,
            from,
            readers: vec![own.clone()],
            to: own.clone(),
            message_kind: MessageKind::PlanApprovalResponse,
            content: why.clone(),
            summary: None,
            notice: None,
            request_id: Some(request_id),
            approve: Some(true),
            task: None,
            supersedes: None,
            origin: draft.conversation(),
        });
    }
    wait_no_more(draft, member, permissions, &why, None);
}

fn open_plans(draft: &Draft<'_>, of: &Party) -> Vec<Uuid> {
    let is_its = |it: &Request| it.from == *of && it.kind == MessageKind::PlanApprovalRequest;
    draft.state.requests().filter(|(_, it)| is_its(it)).map(|(id, _)| *id).collect()
}

/// Sets the state of a member that no longer waits for an answer to its plan.
fn wait_no_more(
    draft: &mut Draft<'_>,
    member: &Member,
    permissions: Permissions,
    why: &str,
    cause: Option<StateCause>,
) {
    if member.state != MemberState::Planning {
        return;
    }
    let holds = draft.state.tasks.held_by(&member.name).next().is_some();
    let otherwise = if holds { MemberState::Working } else { MemberState::Idle };
    let only_plans = permissions == Permissions::Plan;
    draft.push(Fact::MemberStateChanged {
        member: member.name.clone(),
        state: if only_plans { MemberState::Planning } else { otherwise },
        reason: Some(why.to_owned()),
        cause,
        pid: member.pid,
    });
}

/// Refuses changes by a member that may only plan.
pub(super) fn check_may_change(draft: &Draft<'_>) -> Result<(), Refusal> {
    let Standing::Member(name) = &draft.who else { return Ok(()) };
    match draft.state.member(name) {
        Some(member) if member.permissions == Permissions::Plan => {
            Err(Refusal::PlanFirst { member: name.clone() })
        }
        _ => Ok(()),
    }
}

/// Refuses one more running teammate beyond the limit or the budget.
fn check_room(draft: &Draft<'_>) -> Result<(), Refusal> {
    check_room_for(draft, 1)
}

fn check_room_for(draft: &Draft<'_>, n_more: usize) -> Result<(), Refusal> {
    usage::check(draft)?;
    let settings = &draft.team()?.settings;
    let is_running = |member: &&Member| member.role == Role::Member && member.is_running();
    let running = draft.state.members().filter(is_running).count();
    let limit = settings.max_teammates;
    match has_room(settings, running + n_more) {
        true => Ok(()),
        false => Err(Refusal::TooManyTeammates { running, limit }),
    }
}

/// Refuses to start a team with more teammates than may run at once.
pub fn check_start(settings: &Settings, n_members: usize) -> Result<(), Refusal> {
    let limit = settings.max_teammates;
    match has_room(settings, n_members) {
        true => Ok(()),
        false => Err(Refusal::TooManyToStart { n_members, limit }),
    }
}

fn has_room(settings: &Settings, n_running: usize) -> bool {
    n_running <= settings.max_teammates as usize
}

fn is_in_progress(draft: &Draft<'_>, number: crate::TaskNumber) -> bool {
    matches!(draft.state.tasks.status(number), Some(Status::InProgress | Status::Stale))
}
