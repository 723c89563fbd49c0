//! Short constructors of commands, so that tests stay short.

use uuid::Uuid;

use super::bench::{name, newcomer};
use crate::{
    Actor, Command, DelegationOutcome, Dollars, Link, LinkChange, MemberState, MessageKind,
    NewTask, Outgoing, RefusalRecord, RefusedBy, RejectMode, Spawn, TaskCommand, TaskNumber,
    TaskRef, TaskUpdate, Usage, WorkspaceFolder,
};

impl From<TaskCommand> for Command {
    fn from(command: TaskCommand) -> Self {
        Self::Task(command)
    }
}

impl From<NewTask> for Command {
    fn from(new: NewTask) -> Self {
        Self::Task(TaskCommand::Create(new))
    }
}

impl From<Outgoing> for Command {
    fn from(outgoing: Outgoing) -> Self {
        Self::Send(outgoing)
    }
}

/// A usage report of input tokens and their cost.
pub(crate) fn used(who: &str, number: Option<u32>, input: u64, dollars: f64) -> Command {
    let dollars = Dollars::new(dollars).unwrap();
    Command::ReportUsage {
        member: name(who),
        task: number.map(task),
        model: Some("m".into()),
        usage: Usage { input, dollars, ..Usage::default() },
    }
}

/// A hook refused an action of ann.
pub(crate) fn refusal(number: Option<u32>, reason: &str) -> Command {
    Command::RecordRefusal(refusal_record(number, reason))
}

/// The completion of this attempt was refused.
pub(crate) fn not_done(number: u32, attempt: u32, by: RefusedBy) -> Command {
    let record = refusal_record(Some(number), "it does not fit");
    let details = Some("it does not fit: both change `a.txt`".to_owned());
    Command::RecordRefusal(RefusalRecord { by, details, attempt: Some(attempt), ..record })
}

pub(crate) fn refusal_record(number: Option<u32>, reason: &str) -> RefusalRecord {
    RefusalRecord {
        task: number.map(task),
        subject: number.is_none().then(|| "deploy".to_owned()),
        who: Actor::agent(&name("ann")),
        by: RefusedBy::Hook,
        reason: reason.to_owned(),
        details: None,
        attempt: None,
    }
}

/// The member is idle, but silent about the task that it holds.
pub(crate) fn silent(member: &str, number: u32, attempt: u32) -> Command {
    Command::ReportSilence { member: name(member), task: task(number), attempt }
}

/// Changes one setting of the team.
pub(crate) fn set(key: &str, value: impl Into<serde_json::Value>) -> Command {
    Command::UpdateTeam { description: None, settings: vec![(key.to_owned(), value.into())] }
}

pub(crate) fn task(number: u32) -> TaskRef {
    TaskRef::Number(TaskNumber(number))
}

/// A new task that waits for others.
pub(crate) fn create_after(subject: &str, blocked_by: &[u32]) -> NewTask {
    NewTask {
        subject: subject.to_owned(),
        blocked_by: blocked_by.iter().map(|number| task(*number)).collect(),
        ..NewTask::default()
    }
}

pub(crate) fn create(subject: &str) -> NewTask {
    create_after(subject, &[])
}

pub(crate) fn create_for(subject: &str, assignee: &str) -> NewTask {
    NewTask { assignee: Some(name(assignee)), ..create(subject) }
}

pub(crate) fn claim(number: u32) -> TaskCommand {
    TaskCommand::Claim { task: Some(task(number)) }
}

pub(crate) fn claim_next() -> TaskCommand {
    TaskCommand::Claim { task: None }
}

pub(crate) fn assign(number: u32, to: &str) -> TaskCommand {
    TaskCommand::Assign { task: Some(task(number)), to: name(to) }
}

pub(crate) fn renew(number: u32) -> TaskCommand {
    TaskCommand::Renew { task: task(number), attempt: None }
}

pub(crate) fn release(number: u32) -> TaskCommand {
    TaskCommand::Release { task: task(number), reason: "not mine".to_owned() }
}

pub(crate) fn complete(number: u32) -> TaskCommand {
    complete_with(number, "done")
}

pub(crate) fn complete_with(number: u32, result: &str) -> TaskCommand {
    TaskCommand::Complete {
        task: task(number),
        result: result.to_owned(),
        summary: None,
        attempt: None,
    }
}

/// Completes a task as a caller that believes it holds this attempt.
pub(crate) fn complete_attempt(number: u32, attempt: u32) -> TaskCommand {
    TaskCommand::Complete {
        task: task(number),
        result: "done".to_owned(),
        summary: None,
        attempt: Some(attempt),
    }
}

pub(crate) fn fail(number: u32) -> TaskCommand {
    TaskCommand::Fail {
        task: task(number),
        reason: "it broke".to_owned(),
        attempt: None,
        for_good: false,
    }
}

pub(crate) fn review(number: u32) -> TaskCommand {
    TaskCommand::Review { task: task(number), result: Some("a draft".to_owned()) }
}

pub(crate) fn approve(number: u32) -> TaskCommand {
    TaskCommand::Approve { task: task(number), comment: None }
}

pub(crate) fn reject(number: u32) -> TaskCommand {
    reject_as(number, RejectMode::Cancel)
}

pub(crate) fn revise(number: u32) -> TaskCommand {
    reject_as(number, RejectMode::Revise)
}

fn reject_as(number: u32, mode: RejectMode) -> TaskCommand {
    TaskCommand::Reject { task: task(number), reason: "too short".to_owned(), mode }
}

pub(crate) fn cancel(number: u32) -> TaskCommand {
    TaskCommand::Cancel { task: task(number), reason: "not needed".to_owned() }
}

pub(crate) fn retry(number: u32) -> TaskCommand {
    TaskCommand::Retry { task: task(number) }
}

pub(crate) fn comment(number: u32, text: &str) -> TaskCommand {
    TaskCommand::Comment { task: task(number), text: text.to_owned() }
}

pub(crate) fn progress(number: u32, percent: i64) -> TaskCommand {
    TaskCommand::Progress { task: task(number), percent, step: "writing".to_owned() }
}

pub(crate) fn record(path: &str, size: u64, number: Option<u32>) -> Command {
    let folder = WorkspaceFolder::default();
    Command::RecordFile { folder, path: path.to_owned(), size, task: number.map(task) }
}

pub(crate) fn forget(path: &str) -> Command {
    Command::ForgetFile { folder: WorkspaceFolder::default(), path: path.to_owned() }
}

pub(crate) fn attach(number: u32, path: &str) -> TaskCommand {
    TaskCommand::Attach { task: task(number), path: path.to_owned() }
}

pub(crate) fn ask_user(number: u32) -> TaskCommand {
    TaskCommand::AskUser { task: task(number), question: "red or blue?".to_owned() }
}

pub(crate) fn clear_ask_user(number: u32) -> TaskCommand {
    TaskCommand::ClearAskUser { task: task(number) }
}

pub(crate) fn update(number: u32, change: TaskUpdate) -> TaskCommand {
    TaskCommand::Update { task: task(number), change: Box::new(change) }
}

pub(crate) fn wait_for(number: u32, others: &[u32]) -> TaskCommand {
    let blocked_by = Some(others.iter().map(|other| task(*other)).collect());
    update(number, TaskUpdate { blocked_by, ..TaskUpdate::default() })
}

pub(crate) fn prioritise(number: u32, priority: i32) -> TaskCommand {
    update(number, TaskUpdate { priority: Some(priority), ..TaskUpdate::default() })
}

pub(crate) fn delete(number: u32) -> TaskCommand {
    TaskCommand::Delete { task: task(number) }
}

pub(crate) fn say(to: &str, content: &str) -> Outgoing {
    send(to, MessageKind::Message, content)
}

pub(crate) fn send(to: &str, kind: MessageKind, content: &str) -> Outgoing {
    Outgoing::new(to, kind, content)
}

pub(crate) fn answer(to: &str, kind: MessageKind, request: Uuid, approve: bool) -> Outgoing {
    Outgoing { request_id: Some(request), approve: Some(approve), ..send(to, kind, "") }
}

pub(crate) fn read_all() -> Command {
    Command::MarkRead { reader: None, messages: None }
}

pub(crate) fn set_state(member: &str, state: MemberState) -> Command {
    Command::SetMemberState { member: name(member), state, reason: None, cause: None, pid: None }
}

/// A member runs, with a process id made from the length of its name.
pub(crate) fn ready(member: &str) -> Command {
    let pid = Some(member.len() as u32);
    Command::SetMemberState {
        member: name(member),
        state: MemberState::Idle,
        reason: None,
        cause: None,
        pid,
    }
}

pub(crate) fn spawn(member: &str) -> Command {
    Command::SpawnMember(Spawn { member: newcomer(member), prompt: None })
}

pub(crate) fn idle(member: &str, last: Option<u32>) -> Command {
    Command::ReportIdle { member: name(member), last_task: last.map(task) }
}

pub(crate) fn take_lead(session: u128, over: Option<u64>) -> Command {
    Command::TakeLead {
        session: Uuid::from_u128(session),
        holder: format!("pat#{session}"),
        over,
        checks: Vec::new(),
    }
}

pub(crate) fn remove(member: &str) -> Command {
    Command::RemoveMember { member: name(member), reason: None }
}

pub(crate) fn delegate(number: u32, to: &str) -> Command {
    Command::Delegate {
        to: name(to),
        task: Some(task(number)),
        subject: None,
        note: None,
        trace_id: None,
    }
}

pub(crate) fn finish(delegation: Uuid, outcome: DelegationOutcome) -> Command {
    Command::FinishDelegation { delegation, outcome }
}

/// The change that makes a link what this one is.
pub(crate) fn whole(link: &Link) -> LinkChange {
    LinkChange {
        enabled: Some(link.enabled),
        max_concurrent: Some(link.max_concurrent),
        user_allow: Some(link.user_allow.clone()),
        user_deny: Some(link.user_deny.clone()),
        ..LinkChange::new(link.from.clone(), link.to.clone())
    }
}
