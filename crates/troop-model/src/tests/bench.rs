//! A small team on a test bench: actors, a clock, and the outcome of each command.

use std::{fmt::Debug, time::Duration};

use uuid::Uuid;

use crate::{
    Actor, Asker, Command, Context, Event, Limits, Mailbox, MemberName, NewMember, NewTeamCommand,
    OperationId, Origin, Party, Refusal, Settings, State, Status, Task, TaskNumber, TeamId, Time,
    decide,
};

/// Ten o'clock on the day when all tests begin.
pub(crate) const TEN: Time = Time::from_micros(1_767_261_600_000_000);

/// The limits on the bench: small, so that a short test reaches them, and with a long lead lease, so that a test may span
/// hours. Tests of the limits themselves use `Bench::shipped`.
pub(crate) const SMALL: Limits = Limits {
    unread: 40,
    settled: 8,
    finished: 4,
    delegations: 4,
    min_operations: 16,
    max_operations: 32,
    refusals: Limits::SHIPPED.refusals,
    report_requests: Limits::SHIPPED.report_requests,
    lead_lease: Duration::from_secs(4 * 60 * 60),
};

/// A team with the lead `lead` and the members `ann` and `bob`, at ten o'clock.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    pub(crate) state: State,
    pub(crate) log: Vec<Event>,
    pub(crate) now: Time,
    pub(crate) n_operations: u128,
}

/// An actor on the bench, about to issue a command.
#[derive(Debug)]
pub(crate) struct Asking<'a> {
    bench: &'a mut Bench,
    actor: Actor,
    origin: Origin,
    fence: Option<u64>,
}

pub(crate) fn name(text: &str) -> MemberName {
    text.parse().unwrap()
}

pub(crate) fn number(number: u32) -> TaskNumber {
    TaskNumber(number)
}

pub(crate) fn newcomer(text: &str) -> NewMember {
    NewMember::new(name(text), "script")
}

pub(crate) fn new_team(settings: Settings, members: &[&str]) -> NewTeamCommand {
    NewTeamCommand {
        goal: String::new(),
        team: TeamId(Uuid::from_u128(7)),
        name: "alpha".parse().unwrap(),
        description: String::new(),
        settings,
        lead: newcomer("lead"),
        members: members.iter().map(|name| newcomer(name)).collect(),
    }
}

/// The conversation of a user on a channel.
pub(crate) fn user(user: &str, channel: &str, chat: &str) -> Origin {
    let some = |text: &str| (!text.is_empty()).then(|| text.into());
    Origin { user_id: some(user), channel: some(channel), chat_id: some(chat), ..Origin::default() }
}

pub(crate) fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.fact.kind()).collect()
}

impl Bench {
    /// A team with the usual settings.
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// A team with other settings.
    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::default();
        change(&mut settings);
        let mut bench = Self::empty();
        bench.person().ok(Command::CreateTeam(new_team(settings, &["ann", "bob"])));
        bench
    }

    /// A log without events.
    pub(crate) fn empty() -> Self {
        let state = State { limits: SMALL, ..State::default() };
        Self { state, log: Vec::new(), now: TEN, n_operations: 0 }
    }

    /// A team with the usual settings under the limits that troop ships.
    pub(crate) fn shipped() -> Self {
        let mut bench = Self::empty();
        bench.state = State::default();
        bench.person().ok(Command::CreateTeam(new_team(Settings::default(), &["ann", "bob"])));
        bench
    }

    /// Sets the clock to this many minutes after ten.
    pub(crate) fn at(&mut self, minutes: u64) -> &mut Self {
        self.now = TEN + Duration::from_secs(60 * minutes);
        self
    }

    pub(crate) fn by(&mut self, actor: Actor) -> Asking<'_> {
        Asking { bench: self, actor, origin: Origin::default(), fence: None }
    }

    pub(crate) fn lead(&mut self) -> Asking<'_> {
        self.member("lead")
    }

    pub(crate) fn member(&mut self, text: &str) -> Asking<'_> {
        self.by(Actor::agent(&name(text)))
    }

    pub(crate) fn person(&mut self) -> Asking<'_> {
        self.by(Actor::human("pat"))
    }

    pub(crate) fn system(&mut self) -> Asking<'_> {
        self.by(Actor::system())
    }

    /// Runs a tick.
    pub(crate) fn tick(&mut self) -> Vec<Event> {
        self.system().ok(Command::Tick)
    }

    pub(crate) fn task(&self, n: u32) -> &Task {
        self.state.tasks().get(number(n)).unwrap()
    }

    pub(crate) fn status(&self, n: u32) -> Status {
        self.state.tasks().status(number(n)).unwrap()
    }

    pub(crate) fn owner(&self, n: u32) -> Option<&str> {
        self.task(n).owner.as_ref().map(MemberName::as_str)
    }

    pub(crate) fn mailbox(&self) -> &Mailbox {
        self.state.mailbox()
    }

    /// The unread messages of a reader, oldest first.
    pub(crate) fn unread(&self, reader: &str) -> Vec<&str> {
        self.mailbox().unread_of(&party(reader)).map(|message| message.content.as_str()).collect()
    }

    /// Applies events that another process decided.
    pub(crate) fn apply(&mut self, events: &[Event]) {
        events.iter().for_each(|event| self.state.apply(event));
        self.log.extend_from_slice(events);
    }

    /// The context of the next command.
    pub(crate) fn context(&mut self, actor: Actor, origin: Origin) -> Context {
        self.n_operations += 1;
        // Far apart, because the ids of new items are derived from the operation.
        let operation = OperationId(Uuid::from_u128((0x0190 << 112) | (self.n_operations << 64)));
        Context { now: self.now, asker: Asker { actor, origin }, operation, fence: None }
    }
}

/// This state, restored from a snapshot.
pub(crate) fn reopened(state: &State) -> State {
    State { limits: state.limits, ..State::from_snapshot(state.to_snapshot()).unwrap() }
}

pub(crate) fn party(text: &str) -> Party {
    match text {
        "user" => Party::user(),
        "system" => Party::system(),
        member => Party::member(&name(member)),
    }
}

impl Asking<'_> {
    /// Issues the command from a conversation.
    pub(crate) fn from(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// Issues the command through a supervisor.
    pub(crate) fn fenced(mut self, fence: u64) -> Self {
        self.fence = Some(fence);
        self
    }

    pub(crate) fn decide(self, command: &Command) -> Result<Vec<Event>, Refusal> {
        let ctx = self.bench.context(self.actor, self.origin);
        let ctx = Context { fence: self.fence, ..ctx };
        let events = decide(&self.bench.state, command, &ctx)?;
        self.bench.apply(&events);
        self.bench.state.check();
        Ok(events)
    }

    /// Issues a command that must succeed.
    pub(crate) fn ok(self, command: impl Into<Command> + Debug) -> Vec<Event> {
        let command = command.into();
        self.decide(&command).unwrap_or_else(|refusal| panic!("{command:?} was refused: {refusal}"))
    }

    /// Issues a command that must be refused, and returns the text.
    pub(crate) fn refused(self, command: impl Into<Command> + Debug) -> String {
        self.refusal(command).to_string()
    }

    /// Issues a command that must be refused, and returns the refusal.
    pub(crate) fn refusal(self, command: impl Into<Command> + Debug) -> Refusal {
        let command = command.into();
        self.decide(&command).expect_err("this must be refused")
    }
}
