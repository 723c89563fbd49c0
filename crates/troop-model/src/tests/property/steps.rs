//! Random commands and actors, as numbers that proptest can shrink.

use serde_json::json;
use uuid::Uuid;

use crate::{
    Actor, Command, Condition, Delegation, DelegationOutcome, DelegationStatus, Evidence,
    LinkChange, MemberState, MergeRecord, MessageKind, Metadata, NewTask, Origin, Outgoing,
    Permissions, Proof, RejectMode, State, Status, TaskCommand, TaskNumber, TaskRef, TaskUpdate,
    WorkspaceFolder,
    tests::{
        bench::{name, newcomer, user},
        commands::*,
    },
};

/// One random command at some moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) who: u8,
    pub(crate) when: u8,
    pub(crate) what: u8,
    pub(crate) which: [u8; 3],
}

impl Step {
    /// Mostly an actor that may issue the command; sometimes any actor.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all the rest is the lead's")]
    pub(crate) fn actor(self, state: &State, command: &Command) -> Actor {
        let anybody = || match self.who % 8 {
            0 | 1 => Actor::agent(&name("ann")),
            2 | 3 => Actor::agent(&name("bob")),
            4 => Actor::agent(&name("lead")),
            5 => Actor::human("pat"),
            6 => Actor::system(),
            _ => Actor::agent(&name("eve")),
        };
        let worker = || Actor::agent(&name(["ann", "bob"][usize::from(self.who % 2)]));
        let done_by = || if self.who.is_multiple_of(3) { worker() } else { Actor::human("pat") };
        if self.who < 80 {
            return anybody();
        }
        match command {
            Command::Tick
            | Command::FinishDelegation { .. }
            | Command::SetMemberState { .. }
            | Command::ReportIdle { .. }
            | Command::RecordRefusal { .. }
            | Command::TakeLead { .. }
            | Command::RenewLead
            | Command::ReleaseLead => Actor::system(),
            Command::Send(_) | Command::MarkDelivered { .. } | Command::MarkRead { .. } => {
                anybody()
            }
            Command::Task(TaskCommand::Claim { .. }) => worker(),
            Command::Task(TaskCommand::Prove(_)) => Actor::human("pat"),
            Command::Task(
                TaskCommand::Complete { task, .. }
                | TaskCommand::Progress { task, .. }
                | TaskCommand::Review { task, .. }
                | TaskCommand::AskUser { task, .. }
                | TaskCommand::ClearAskUser { task }
                | TaskCommand::Renew { task, .. }
                | TaskCommand::Fail { task, .. },
            ) => {
                let held = state.resolve(task).ok().and_then(|number| state.tasks().get(number));
                held.and_then(|task| task.owner.as_ref()).map_or_else(done_by, Actor::agent)
            }
            _ => Actor::agent(&name("lead")),
        }
    }

    pub(crate) fn origin(self) -> Origin {
        if self.who.is_multiple_of(4) { user("u1", "web", "c1") } else { Origin::default() }
    }

    pub(crate) fn command(self, state: &State) -> Command {
        command(self, state)
    }
}

/// The command that a step stands for.
fn command(step: Step, state: &State) -> Command {
    let [a, b, c] = step.which;
    match step.what % 60 {
        45 | 59 => supervise(state, a, b, c),
        28 if a < 180 => some_file(state, b, c),
        0..5 | 57..59 => new_task(state, a, b, c).into(),
        33 => say(["bob", "*", "ann", "lead", "user", "zoe"][usize::from(a % 6)], "hi").into(),
        34 => request(state, a, b),
        35 => answer_to(state, a, b),
        36 => {
            Command::MarkRead { reader: None, messages: (a > 60).then(|| some_mail(state, b, c)) }
        }
        37 => Command::MarkDelivered { reader: None, messages: some_mail(state, b, c) },
        38 | 46 | 47 => Command::Delegate {
            to: name(["ann", "bob", "zoe"][usize::from(a % 3)]),
            task: (b > 40).then(|| some_task(state, b)),
            subject: Some("delegated".into()),
            note: None,
            trace_id: None,
        },
        39 | 48..=50 => finish_some(state, a, b),
        40 => member_command(a, b),
        41..=43 | 51 => Command::Tick,
        52..57 => finish_ready(state, a),
        44 => task_command(state, 29, step.which).into(),
        what => task_command(state, what, step.which).into(),
    }
}

/// Records that some file was written or deleted.
fn some_file(state: &State, b: u8, c: u8) -> Command {
    let path = format!("{}.txt", b % 4);
    let folder = match c % 3 {
        0 => WorkspaceFolder::shared(),
        1 => WorkspaceFolder::default(),
        _ => WorkspaceFolder::of_chat(Some("c1".into())),
    };
    if b < 128 {
        let task = (c > 40).then(|| some_task(state, c));
        Command::RecordFile { folder, path, size: u64::from(b), task }
    } else {
        Command::ForgetFile { folder, path }
    }
}

fn new_task(state: &State, a: u8, b: u8, c: u8) -> NewTask {
    let blocked_by = [(a, 80), (b, 140), (c, 200)];
    let blocked_by = blocked_by.into_iter().filter(|(n, least)| n >= least);
    let free = json!({"n": f64::from(a) / f64::from(b), "s": format!("{c}")});
    NewTask {
        priority: i32::from(a % 3),
        assignee: b.is_multiple_of(4).then(|| name(["ann", "bob"][usize::from(c % 2)])),
        blocked_by: blocked_by.map(|(n, _)| some_task(state, n)).collect(),
        until: c.is_multiple_of(3).then_some(Condition::OnFinish),
        approve_start: c.is_multiple_of(5).then_some(false),
        metadata: Metadata(free.as_object().cloned().unwrap()),
        id: (a == 7).then(|| Uuid::from_u128(u128::from(b))),
        ..create(&format!("{a} {b}"))
    }
}

/// Mostly a recent task, by number or by id; sometimes one that does not exist.
fn some_task(state: &State, n: u8) -> TaskRef {
    let last = state.tasks().last().0;
    match n % 40 {
        0 => TaskRef::Number(TaskNumber(0)),
        1 => TaskRef::Number(TaskNumber(last + 1)),
        2 => TaskRef::Id("0190".into()),
        3 => TaskRef::Id("zz-".into()),
        4 => state
            .tasks()
            .iter()
            .nth(usize::from(n) % state.tasks().len().max(1))
            .map_or(TaskRef::Id(String::new()), |task| TaskRef::Id(task.id.to_string())),
        5..10 => TaskRef::Number(TaskNumber(u32::from(n) % (last + 1))),
        _ => TaskRef::Number(TaskNumber(last.saturating_sub(u32::from(n) % 5))),
    }
}

fn task_command(state: &State, what: u8, [a, b, c]: [u8; 3]) -> TaskCommand {
    let task = fitting_task(state, what, a).unwrap_or_else(|| some_task(state, a));
    let attempt = (b > 200).then_some(u32::from(c % 3));
    let text = if c == 0 { String::new() } else { format!("because {c}") };
    match what {
        5..9 => TaskCommand::Claim { task: Some(task) },
        9..11 => TaskCommand::Claim { task: None },
        11..13 => TaskCommand::Assign {
            task: (c > 60).then_some(task),
            to: name(["ann", "bob"][usize::from(b % 2)]),
        },
        13 => TaskCommand::Renew { task, attempt },
        14 => TaskCommand::Release { task, reason: text },
        15..19 => TaskCommand::Complete { task, result: text, summary: None, attempt },
        19 => TaskCommand::Fail { task, reason: text, attempt, for_good: false },
        20 => TaskCommand::Review { task, result: (b > 128).then_some(text) },
        21 | 22 => TaskCommand::Approve { task, comment: (b > 128).then_some(text) },
        23 if b > 128 => TaskCommand::Reject { task, reason: text, mode: RejectMode::Cancel },
        23 => TaskCommand::Reject { task, reason: text, mode: RejectMode::Revise },
        24 => TaskCommand::Cancel { task, reason: text },
        25 => TaskCommand::Retry { task },
        26 => TaskCommand::Comment { task, text },
        27 => TaskCommand::Progress { task, percent: i64::from(b), step: text },
        28 => TaskCommand::Attach { task, path: format!("{}.txt", b % 4) },
        29 if b > 128 => TaskCommand::Prove(some_proof(task, b, c)),
        29 => TaskCommand::AskUser { task, question: text },
        30 => TaskCommand::ClearAskUser { task: asking(state).unwrap_or(task) },
        31 => TaskCommand::Delete { task },
        _ => TaskCommand::Update { task, change: Box::new(some_change(state, b, c)) },
    }
}

fn some_proof(task: TaskRef, b: u8, c: u8) -> Proof {
    let evidence = Evidence {
        command: "make".to_owned(),
        exit_code: i32::from(c % 2),
        tail: "\u{7}".repeat(usize::from(b)),
        commit: None,
        at: crate::Time::default(),
        took_ms: 1,
    };
    let merge = c.is_multiple_of(3).then(|| MergeRecord { into: "b".into(), commit: "c".into() });
    let waived = c.is_multiple_of(7).then(|| "why not".to_owned());
    Proof { task, evidence: vec![evidence; usize::from(b % 3)], merge, waived }
}

/// Completes available tasks, so that some are archived.
fn finish_ready(state: &State, a: u8) -> Command {
    let ready = state.tasks().ready();
    let number = ready.get(usize::from(a) % ready.len().max(1)).copied().unwrap_or_default();
    if a > 230 { cancel(number.0).into() } else { complete(number.0).into() }
}

/// Mostly a task whose status suits the command.
fn fitting_task(state: &State, what: u8, a: u8) -> Option<TaskRef> {
    let status = match what {
        13 | 14 | 19 | 20 | 27 | 29 => Status::InProgress,
        21..=23 => Status::InReview,
        25 => Status::Failed,
        31 => Status::Completed,
        _ => return None,
    };
    let fitting: Vec<_> = state.tasks().with_status(status).collect();
    let task = fitting.get(usize::from(a) % fitting.len().max(1))?;
    (!a.is_multiple_of(5)).then(|| (*task).into())
}

fn asking(state: &State) -> Option<TaskRef> {
    let task = state.tasks().iter().find(|task| task.talk.question.is_some())?;
    Some(task.number.into())
}

fn some_change(state: &State, b: u8, c: u8) -> TaskUpdate {
    TaskUpdate {
        priority: b.is_multiple_of(3).then_some(i32::from(c)),
        assignee: b.is_multiple_of(5).then(|| (c > 100).then(|| name("ann"))),
        blocked_by: b.is_multiple_of(2).then(|| vec![some_task(state, c)]),
        add_blocked_by: if b.is_multiple_of(7) { vec![some_task(state, b ^ c)] } else { vec![] },
        metadata: b.is_multiple_of(11).then(|| Metadata(serde_json::Map::new())),
        ..TaskUpdate::default()
    }
}

fn request(state: &State, a: u8, b: u8) -> Command {
    let to = ["ann", "lead", "*", "user"][usize::from(a % 4)];
    let kinds = [MessageKind::ShutdownRequest, MessageKind::PlanApprovalRequest, MessageKind::Idle];
    let kind = kinds[usize::from(b) % kinds.len()];
    let content = format!("at {}", state.version());
    send(to, kind, &content).into()
}

fn answer_to(state: &State, a: u8, b: u8) -> Command {
    let request = state.requests().nth(usize::from(a) % state.requests().count().max(1));
    let (id, to, kind) = request
        .map_or((Uuid::nil(), "lead".to_owned(), MessageKind::ShutdownRequest), |(id, it)| {
            (*id, it.from.to_string(), it.kind)
        });
    let kind = if kind == MessageKind::PlanApprovalRequest {
        MessageKind::PlanApprovalResponse
    } else {
        MessageKind::ShutdownResponse
    };
    let outgoing: Outgoing = answer(&to, kind, id, b > 128);
    outgoing.into()
}

fn some_mail(state: &State, b: u8, c: u8) -> Vec<Uuid> {
    let every = usize::from(b % 4) + 1;
    let ids = state.mailbox().iter().skip(usize::from(c % 4)).step_by(every);
    ids.map(|message| message.id).chain([Uuid::nil()]).collect()
}

fn finish_some(state: &State, a: u8, b: u8) -> Command {
    let is_meant = |it: &&Delegation| a < 64 || it.status == DelegationStatus::Running;
    let meant: Vec<_> = state.delegations().filter(is_meant).map(|it| it.id).collect();
    let id = meant.get(usize::from(a) % meant.len().max(1)).copied().unwrap_or_default();
    let outcome = match b % 3 {
        0 => DelegationOutcome::Completed("all done".into()),
        1 => DelegationOutcome::Failed("it broke".into()),
        _ => DelegationOutcome::Cancelled("no more".into()),
    };
    finish(id, outcome)
}

fn member_command(a: u8, b: u8) -> Command {
    let who = ["ann", "bob", "eve", "lead"][usize::from(b % 4)];
    match a % 10 {
        0 => remove(who),
        9 => used(who, (b < 200).then_some(u32::from(b % 8)), u64::from(b), 0.0),
        6 => Command::UpdateTeam { description: None, settings: some_settings(b) },
        7 => Command::SetLink(LinkChange {
            enabled: Some(b < 200),
            max_concurrent: Some(u32::from(b % 8)),
            user_deny: Some(vec!["u2".into()]),
            ..LinkChange::new(name("lead"), name(who))
        }),
        8 => Command::CompleteTeam,
        1 | 2 => Command::AddMember(newcomer(who)),
        3 => Command::SetMemberMode { member: name(who), permissions: Permissions::Plan },
        4 => Command::PurgeLink { from: name("lead"), to: name(who) },
        _ => set_state(who, MemberState::ALL[usize::from(a) % MemberState::ALL.len()]),
    }
}

/// Commands of a supervisor and to it. Without a current lead lease, takes one first.
fn supervise(state: &State, a: u8, b: u8, c: u8) -> Command {
    let who = ["ann", "bob", "eve", "lead"][usize::from(b % 4)];
    let team = state.team();
    let lease =
        team.and_then(|team| team.lead_lease.as_ref()).filter(|it| it.until > state.latest());
    let Some(lease) = lease else { return take_lead(u128::from(b % 3), None) };
    let running = state.members().find(|it| it.is_running());
    match (a % 10, running) {
        (0, _) => take_lead(u128::from(b % 3), (c > 100).then_some(lease.fence)),
        (1, _) => Command::RenewLead,
        (2, _) => Command::ReleaseLead,
        (3 | 4, _) => spawn(who),
        (5, _) => ready(who),
        (6 | 7, Some(member)) => {
            Command::InterruptMember { member: member.name.clone(), reason: None }
        }
        (8, _) if c < 100 => refusal(Some(u32::from(c % 8)).filter(|it| *it > 0), "not good"),
        (6..9, _) => idle(who, (c > 100).then_some(u32::from(c % 8))),
        _ => Command::StopTeam { reason: None },
    }
}

/// Settings may change during a run; the invariants still hold.
fn some_settings(b: u8) -> Vec<(String, serde_json::Value)> {
    vec![
        ("budget.tokens".to_owned(), b.is_multiple_of(16).then_some(100).into()),
        ("require_review".to_owned(), b.is_multiple_of(3).into()),
        ("checks".to_owned(), if b.is_multiple_of(5) { json!(["make"]) } else { json!([]) }),
        ("max_attempts".to_owned(), (b % 4).into()),
        ("lease_seconds".to_owned(), (300 * (1 + u32::from(b % 5))).into()),
    ]
}
