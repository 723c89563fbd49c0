//! A team that keeps its own account of what it was promised.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use uuid::Uuid;

use crate::{
    Actor, Command, Condition, DelegationOutcome, Event, Fact, MemberName, MemberState,
    MessageKind, Metadata, NewTask, Origin, Outgoing, Party, Permissions, Settings, State, Status,
    Task, TaskCommand, TaskCreation, TaskNumber, TaskRef, TaskUpdate, decide, decode, encode,
    tests::{
        bench::{Bench, name, new_team, newcomer, user},
        commands::*,
    },
};

/// One thing that somebody asks for, in numbers that can be shrunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) who: u8,
    pub(crate) when: u8,
    pub(crate) what: u8,
    pub(crate) which: [u8; 3],
}

/// A team, and what it must be by its own account.
#[derive(Debug)]
pub(crate) struct World {
    bench: Bench,
    n_created: u32,
    ever_members: BTreeSet<MemberName>,
    unread: BTreeMap<Party, Vec<Uuid>>,
    finished: BTreeMap<TaskNumber, (Status, Option<String>, Option<MemberName>)>,
}

impl World {
    /// A small team; each bit of the number is a setting.
    pub(crate) fn new(team: u8) -> Self {
        let is_set = |bit: u8| team & (1 << bit) != 0;
        let mut settings = Settings {
            lease_seconds: 600,
            stale_after_minutes: 25,
            max_attempts: 2,
            retry_backoff_seconds: 60,
            followup_interval_minutes: 5,
            followup_max_reminders: 1,
            require_review: is_set(0),
            approve_start: is_set(1),
            ..Settings::default()
        };
        settings.delegation.require_task = is_set(2);
        if is_set(3) {
            settings.task_creation = TaskCreation::Members;
        }
        if is_set(4) {
            settings.unblock = Condition::OnFinish;
        }
        if is_set(5) {
            settings.escalation_mode = crate::Escalation::FailTask;
        }
        let mut world = Self {
            bench: Bench::empty(),
            n_created: 0,
            ever_members: BTreeSet::new(),
            unread: BTreeMap::new(),
            finished: BTreeMap::new(),
        };
        let command = Command::CreateTeam(new_team(settings, &["ann", "bob"]));
        world.decide(Actor::human("pat"), Origin::default(), &command);
        world
    }

    /// Asks for one thing and holds what comes of it against the promises.
    pub(crate) fn take(&mut self, step: &Step) {
        // Mostly forward, sometimes back: clocks disagree.
        let minutes = i64::from(step.when % 16) - 2;
        let now = self.bench.now.as_micros() + minutes * 60_000_000;
        self.bench.now = crate::Time::from_micros(now);
        let actor = match step.who % 8 {
            0 | 1 => Actor::agent(&name("ann")),
            2 | 3 => Actor::agent(&name("bob")),
            4 => Actor::agent(&name("lead")),
            5 => Actor::human("pat"),
            6 => Actor::system(),
            _ => Actor::agent(&name("eve")),
        };
        let origin = match step.who / 64 {
            0 => user("u1", "web", "c1"),
            _ => Origin::default(),
        };
        let command = command(&self.bench.state, step);
        self.decide(actor, origin, &command);
        if step.when > 230 {
            let bytes = self.bench.state.to_snapshot();
            self.bench.state = State::from_snapshot(bytes).unwrap();
        }
    }

    /// What the whole log amounts to is what the state is.
    pub(crate) fn end(&self) {
        let mut again = State::default();
        for event in &self.bench.log {
            let line = encode(event);
            let read = decode(&line).unwrap();
            assert_eq!(read, *event, "an event survives the log");
            again.apply(&read);
        }
        assert_eq!(again, self.bench.state, "the log says it all");
        let opened = State::from_snapshot(self.bench.state.to_snapshot()).unwrap();
        assert_eq!(opened, again, "so does a snapshot");
    }

    fn decide(&mut self, actor: Actor, origin: Origin, command: &Command) {
        let ctx = self.bench.context(actor, origin);
        let before = self.bench.state.clone();
        let opened = State::from_snapshot(before.to_snapshot()).unwrap();
        let decision = decide(&self.bench.state, command, &ctx);
        assert_eq!(decision, decide(&opened, command, &ctx), "packed or not, decisions are one");
        assert_eq!(self.bench.state, before, "deciding changes nothing");
        let Ok(events) = decision else { return };
        for mut state in [self.bench.state.clone(), opened] {
            state.begin();
            events.iter().for_each(|event| state.apply(event));
            state.rollback();
            assert_eq!(state, before, "what is taken back is as if it had never been");
            state.tasks().check();
            state.mailbox().check();
        }
        self.bench.state.begin();
        self.bench.apply(&events);
        events.iter().for_each(|event| self.note(event));
        self.check();
    }

    /// Keeps the account.
    fn note(&mut self, event: &Event) {
        match &event.fact {
            Fact::TaskCreated { task, .. } => {
                self.n_created += 1;
                assert_eq!(task.0, self.n_created, "numbers go up by one");
            }
            Fact::MemberAdded { member, .. } => drop(self.ever_members.insert(member.clone())),
            Fact::MemberRemoved { member, .. } => drop(self.unread.remove(&Party::member(member))),
            Fact::MessageSent { id, readers, .. } => {
                for reader in readers {
                    self.unread.entry(reader.clone()).or_default().push(*id);
                }
            }
            Fact::MessageRead { reader, messages } => {
                let unread = self.unread.entry(reader.clone()).or_default();
                for id in messages {
                    let at = unread.iter().position(|it| it == id).expect("read at most once");
                    unread.remove(at);
                }
            }
            _ => {}
        }
    }

    fn check(&mut self) {
        let state = &self.bench.state;
        state.tasks().check();
        state.mailbox().check();
        assert_eq!(state.tasks().last().0, self.n_created, "no task is lost");
        for (reader, ids) in &self.unread {
            let unread: Vec<_> = state.mailbox().unread_of(reader).map(|it| it.id).collect();
            assert_eq!(unread, *ids, "{reader} skips nothing and reads in order");
        }
        for task in state.tasks().iter() {
            self.check_holder(task);
            let waits_for =
                |it: &crate::Dependency| state.tasks().path_between(it.task, task.number);
            assert_eq!(
                task.blocked_by.iter().find_map(waits_for),
                None,
                "{} waits for itself",
                task.number
            );
        }
        for member in &self.ever_members {
            assert!(state.n_running_to(member, None) <= 5, "{member} runs too many");
        }
        self.check_finished();
    }

    fn check_holder(&self, task: &Task) {
        let must_be_held =
            matches!(task.status, Status::InProgress | Status::InReview | Status::Stale);
        let may_have_owner = must_be_held || task.status.is_finished();
        let number = task.number;
        assert_ne!(task.status, Status::Blocked, "{number}: blocked is never stored");
        assert!(!must_be_held || task.owner.is_some(), "{number} is held by nobody");
        assert!(may_have_owner || task.owner.is_none(), "{number} is {} and held", task.status);
        let is_timed = matches!(task.status, Status::InProgress | Status::Stale);
        assert_eq!(
            task.lease_until.is_some(),
            is_timed,
            "{number} has a lease while it is worked on"
        );
        if let Some(owner) = &task.owner {
            assert!(self.ever_members.contains(owner), "{number} is held by a stranger");
            let is_member = self.bench.state.member(owner).is_some();
            assert!(!must_be_held || is_member, "{number} is held by one who left");
        }
    }

    fn check_finished(&mut self) {
        let tasks = self.bench.state.tasks();
        for (number, (status, result, owner)) in &self.finished {
            match (tasks.get(*number), tasks.status(*number)) {
                (Some(task), _) => {
                    let now = (task.status, &task.result, &task.owner);
                    assert_eq!(now, (*status, result, owner), "{number} was finished");
                }
                (None, Some(archived)) => assert_eq!(archived, *status, "{number} is archived"),
                (None, None) => assert_eq!(tasks.end(*number), Some(crate::Finished::Deleted)),
            }
        }
        for task in tasks.iter().filter(|task| task.status.is_finished()) {
            let end = (task.status, task.result.clone(), task.owner.clone());
            self.finished.entry(task.number).or_insert(end);
        }
    }
}

/// The command that a step stands for.
fn command(state: &State, step: &Step) -> Command {
    let [a, b, c] = step.which;
    match step.what % 44 {
        0..5 => new_task(state, a, b, c).into(),
        33 => say(["bob", "*", "ann", "lead", "user", "zoe"][usize::from(a % 6)], "hi").into(),
        34 => request(state, a, b),
        35 => answer_to(state, a, b),
        36 => {
            Command::MarkRead { reader: None, messages: (a > 60).then(|| some_mail(state, b, c)) }
        }
        37 => Command::MarkDelivered { reader: None, messages: some_mail(state, b, c) },
        38 => Command::Delegate {
            to: name(["ann", "bob", "zoe"][usize::from(a % 3)]),
            task: (b > 40).then(|| some_task(state, b)),
            subject: Some("delegated".into()),
            trace_id: None,
        },
        39 => finish_some(state, a, b),
        40 => member_command(a, b),
        41 | 42 | 43 => Command::Tick,
        what => task_command(state, what, step.which).into(),
    }
}

fn new_task(state: &State, a: u8, b: u8, c: u8) -> NewTask {
    let blocked_by = [(a, 80), (b, 140), (c, 200)];
    let blocked_by = blocked_by.into_iter().filter(|(n, least)| n >= least);
    let free = json!({"n": f64::from(a) / f64::from(b), "s": format!("{c}")});
    NewTask {
        priority: i32::from(a % 3),
        assignee: (b % 4 == 0).then(|| name(["ann", "bob"][usize::from(c % 2)])),
        blocked_by: blocked_by.map(|(n, _)| some_task(state, n)).collect(),
        until: (c % 3 == 0).then_some(Condition::OnFinish),
        approve_start: (c % 5 == 0).then_some(false),
        metadata: Metadata(free.as_object().cloned().unwrap()),
        id: (a == 7).then(|| Uuid::from_u128(u128::from(b))),
        ..create(&format!("{a} {b}"))
    }
}

/// Mostly a task of the last ones, by number or by id; sometimes none at all.
fn some_task(state: &State, n: u8) -> TaskRef {
    let last = state.tasks().last().0;
    match n % 16 {
        0 => TaskRef::Number(TaskNumber(0)),
        1 => TaskRef::Number(TaskNumber(last + 1)),
        2 => TaskRef::Id("0190".into()),
        3 => TaskRef::Id("zz-".into()),
        4 => state
            .tasks()
            .iter()
            .nth(usize::from(n) % state.tasks().len().max(1))
            .map_or(TaskRef::Id(String::new()), |task| TaskRef::Id(task.id.to_string())),
        5 => TaskRef::Number(TaskNumber(u32::from(n) % (last + 1))),
        _ => TaskRef::Number(TaskNumber(last.saturating_sub(u32::from(n / 16) % 6))),
    }
}

fn task_command(state: &State, what: u8, [a, b, c]: [u8; 3]) -> TaskCommand {
    let task = some_task(state, a);
    let attempt = (b > 200).then_some(u32::from(c % 3));
    let text = if c == 0 { String::new() } else { format!("because {c}") };
    match what {
        5..9 => TaskCommand::Claim { task: Some(task) },
        9..11 => TaskCommand::Claim { task: None },
        11..13 => TaskCommand::Assign { task, to: name(["ann", "bob"][usize::from(b % 2)]) },
        13 => TaskCommand::Renew { task, attempt },
        14 => TaskCommand::Release { task, reason: text },
        15..19 => TaskCommand::Complete { task, result: text, summary: None, attempt },
        19 => TaskCommand::Fail { task, reason: text, attempt },
        20 => TaskCommand::Review { task, result: (b > 128).then_some(text) },
        21 | 22 => TaskCommand::Approve { task, comment: (b > 128).then_some(text) },
        23 if b > 128 => {
            TaskCommand::Reject { task, reason: text, mode: crate::RejectMode::Cancel }
        }
        23 => TaskCommand::Reject { task, reason: text, mode: crate::RejectMode::Revise },
        24 => TaskCommand::Cancel { task, reason: text },
        25 => TaskCommand::Retry { task },
        26 => TaskCommand::Comment { task, text },
        27 => TaskCommand::Progress { task, percent: i64::from(b), step: text },
        28 => TaskCommand::Attach { task, path: format!("{}.txt", b % 4) },
        29 => TaskCommand::AskUser { task, question: text },
        30 => TaskCommand::ClearAskUser { task },
        31 => TaskCommand::Delete { task },
        _ => TaskCommand::Update { task, change: Box::new(some_change(state, b, c)) },
    }
}

fn some_change(state: &State, b: u8, c: u8) -> TaskUpdate {
    TaskUpdate {
        priority: (b % 3 == 0).then_some(i32::from(c)),
        assignee: (b % 5 == 0).then(|| (c > 100).then(|| name("ann"))),
        blocked_by: (b % 2 == 0).then(|| vec![some_task(state, c)]),
        add_blocked_by: if b % 7 == 0 { vec![some_task(state, b ^ c)] } else { vec![] },
        metadata: (b % 11 == 0).then(|| Metadata(serde_json::Map::new())),
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
    let kind = match kind {
        MessageKind::PlanApprovalRequest => MessageKind::PlanApprovalResponse,
        _ => MessageKind::ShutdownResponse,
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
    let n_all = state.delegations().count().max(1);
    let id = state.delegations().nth(usize::from(a) % n_all).map_or(Uuid::nil(), |it| it.id);
    let outcome = match b % 3 {
        0 => DelegationOutcome::Completed("all done".into()),
        1 => DelegationOutcome::Failed("it broke".into()),
        _ => DelegationOutcome::Cancelled("no more".into()),
    };
    finish(id, outcome)
}

fn member_command(a: u8, b: u8) -> Command {
    let who = ["ann", "bob", "eve", "lead"][usize::from(b % 4)];
    match a % 6 {
        0 => remove(who),
        1 | 2 => Command::AddMember(newcomer(who)),
        3 => Command::SetMemberMode { member: name(who), permissions: Permissions::Plan },
        4 => Command::PurgeLink { from: name("lead"), to: name(who) },
        _ => set_state(who, MemberState::ALL[usize::from(a) % MemberState::ALL.len()]),
    }
}
