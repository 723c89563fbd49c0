//! A small team for table tests of the policy: its state comes from the rules, and the facts about its crew are set by hand.

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use tokio::time::Instant;
use troop_model::{
    Actor, Asker, Command, Context, EXTERNAL, Event, MemberName, MemberState, NewMember, NewTask,
    NewTeamCommand, OperationId, Outgoing, Settings, Spawn, State, StateCause, TaskCommand,
    TaskNumber, TaskRef, TeamId, Time, decide,
};
use uuid::Uuid;

use crate::{
    CommandRequest, Signature,
    lead::{
        LeadWork, Until,
        crew::{
            facts::MemberFacts,
            lifecycle::{Account, Boot, Lifecycle, StopOrder},
        },
        policy::{ending::Outlook, restart::Restarts},
    },
};

/// Ten o'clock.
const TEN: Time = Time::from_micros(1_767_261_600_000_000);

/// A team with the lead `lead` and the members `ann` and `bob`, which all run and have nothing to do.
#[derive(Debug)]
pub(super) struct SmallTeam {
    pub(super) state: State,
    pub(super) crew: BTreeMap<MemberName, MemberFacts>,
    pub(super) restarts: Restarts,
    pub(super) lead_work: LeadWork,
    pub(super) is_spent: bool,
    pub(super) n_under_way: usize,
    pub(super) awaits_last_words: bool,
    pub(super) until: Until,
    /// The time for the rules.
    pub(super) time: Time,
    /// The time for timers.
    pub(super) now: Instant,
    n_operations: u128,
}

pub(super) fn name(text: &str) -> MemberName {
    text.parse().unwrap()
}

pub(super) fn task(number: u32) -> TaskNumber {
    TaskNumber(number)
}

pub(super) fn task_ref(number: u32) -> TaskRef {
    TaskNumber(number).into()
}

fn newcomer(text: &str, agent: &str) -> NewMember {
    NewMember::new(name(text), agent)
}

/// An order to stop.
pub(super) fn stop_order(is_forced: bool) -> StopOrder {
    StopOrder { reason: "enough".to_owned(), request: None, is_forced }
}

/// The account of a run that was ready.
pub(super) fn account(stop: Option<StopOrder>) -> Account {
    Account { boot: Boot::Complete, stop, is_let_go: false }
}

/// The facts about a member that is ready and has nothing to do.
pub(super) fn ready_facts(now: Instant) -> MemberFacts {
    let mut facts = MemberFacts::new(false, now);
    facts.life = Lifecycle::Ready;
    facts.wire.tells_end = true;
    facts.wire.acknowledges = true;
    facts
}

impl SmallTeam {
    /// A team with the usual settings: members are given work, and may take it.
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    /// A team with other settings.
    pub(super) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::default();
        change(&mut settings);
        let now = Instant::now();
        let mut scene = Self {
            state: State::default(),
            crew: BTreeMap::new(),
            restarts: Restarts::default(),
            lead_work: LeadWork::Done,
            is_spent: false,
            n_under_way: 0,
            awaits_last_words: false,
            until: Until::Quiet,
            time: TEN,
            now,
            n_operations: 0,
        };
        let members = ["ann", "bob"].iter().map(|it| newcomer(it, "script")).collect();
        scene.give(
            Actor::human("pat"),
            Command::CreateTeam(NewTeamCommand {
                goal: String::new(),
                team: TeamId(Uuid::from_u128(7)),
                name: "alpha".parse().unwrap(),
                description: String::new(),
                settings,
                lead: newcomer("lead", "script"),
                members,
            }),
        );
        let session = Uuid::from_u128(1);
        let holder = "pat".to_owned();
        scene.system(Command::TakeLead { session, holder, over: None, checks: Vec::new() });
        for member in ["lead", "ann", "bob"] {
            scene.runs(member);
        }
        scene
    }

    /// Gives a command that the rules must accept.
    pub(super) fn give(&mut self, actor: Actor, command: impl Into<Command> + Debug) -> Vec<Event> {
        self.asks(actor.into(), command)
    }

    /// The same from a conversation.
    pub(super) fn asks(&mut self, asker: Asker, command: impl Into<Command> + Debug) -> Vec<Event> {
        let command = command.into();
        let events = self.judge(asker, &command);
        events.iter().for_each(|event| self.state.apply(event));
        events
    }

    /// The events of a command, which are not applied.
    pub(super) fn decide(&mut self, actor: Actor, command: &Command) -> Vec<Event> {
        self.judge(actor.into(), command)
    }

    fn judge(&mut self, asker: Asker, command: &Command) -> Vec<Event> {
        self.n_operations += 1;
        let operation = OperationId(Uuid::from_u128((0x0190 << 112) | (self.n_operations << 64)));
        let ctx = Context { now: self.time, asker, operation, fence: None };
        decide(&self.state, command, &ctx)
            .unwrap_or_else(|refusal| panic!("{command:?} was refused: {refusal}"))
    }

    pub(super) fn system(&mut self, command: impl Into<Command> + Debug) -> Vec<Event> {
        self.give(Actor::system(), command)
    }

    pub(super) fn person(&mut self, command: impl Into<Command> + Debug) -> Vec<Event> {
        self.give(Actor::human("pat"), command)
    }

    pub(super) fn member(&mut self, who: &str, command: TaskCommand) -> Vec<Event> {
        self.give(Actor::agent(&name(who)), Command::Task(command))
    }

    /// A member runs and has nothing to do.
    pub(super) fn runs(&mut self, member: &str) {
        self.sets(member, MemberState::Idle, None);
        self.crew.insert(name(member), ready_facts(self.now));
    }

    /// Sets the state of a member in the log.
    pub(super) fn sets(&mut self, member: &str, state: MemberState, cause: Option<StateCause>) {
        let is_running =
            !matches!(state, MemberState::Spawning | MemberState::Stopped | MemberState::Crashed);
        let pid = is_running.then_some(42);
        let reason = cause.map(|it| it.in_words().to_owned());
        let member = name(member);
        self.system(Command::SetMemberState { member, state, reason, cause, pid });
    }

    /// An external member joins.
    pub(super) fn joins_from_elsewhere(&mut self, member: &str) {
        let member = newcomer(member, EXTERNAL);
        self.person(Command::SpawnMember(Spawn { member, prompt: None }));
    }

    /// A task is put on the board.
    pub(super) fn adds(&mut self, change: impl FnOnce(&mut NewTask)) {
        let mut new = NewTask { subject: "work".to_owned(), ..NewTask::default() };
        change(&mut new);
        self.person(Command::Task(TaskCommand::Create(new)));
    }

    pub(super) fn claims(&mut self, member: &str, number: u32) {
        self.member(member, TaskCommand::Claim { task: Some(task_ref(number)) });
    }

    pub(super) fn completes(&mut self, member: &str, number: u32) -> Vec<Event> {
        self.member(member, complete(number))
    }

    pub(super) fn fails(&mut self, member: &str, number: u32) -> Vec<Event> {
        self.member(
            member,
            TaskCommand::Fail {
                task: task_ref(number),
                reason: "no".to_owned(),
                attempt: None,
                for_good: false,
            },
        )
    }

    /// A person sends a member a message.
    pub(super) fn mails(&mut self, member: &str) {
        self.person(Command::Send(Outgoing::message(member, "hello")));
    }

    pub(super) fn facts(&mut self, member: &str) -> &mut MemberFacts {
        self.crew.get_mut(member).unwrap()
    }

    /// Time passes for the rules.
    pub(super) fn passes(&mut self, time: Duration) {
        self.time = self.time + time;
    }

    /// Time passes for timers.
    pub(super) fn waits(&mut self, time: Duration) {
        self.now += time;
    }

    pub(super) fn list(&self) -> Vec<(&MemberName, &MemberFacts)> {
        self.crew.iter().collect()
    }

    pub(super) fn look<T>(&self, decide: impl FnOnce(&Outlook<'_>) -> T) -> T {
        let crew = self.list();
        decide(&Outlook {
            state: &self.state,
            crew: &crew,
            restarts: &self.restarts,
            lead_work: self.lead_work,
            is_spent: self.is_spent,
            n_under_way: self.n_under_way,
            awaits_last_words: self.awaits_last_words,
            until: self.until,
        })
    }
}

pub(super) fn complete(number: u32) -> TaskCommand {
    TaskCommand::Complete {
        task: task_ref(number),
        result: "done".to_owned(),
        summary: None,
        attempt: None,
    }
}

/// A command of an actor.
pub(super) fn request(actor: Actor, command: Command) -> CommandRequest {
    Signature::new(actor).on(command)
}

pub(super) fn by_agent(member: &str, command: TaskCommand) -> CommandRequest {
    request(Actor::agent(&name(member)), Command::Task(command))
}

pub(super) fn by_person(command: TaskCommand) -> CommandRequest {
    request(Actor::human("pat"), Command::Task(command))
}

/// Checks every row of a table, and names the one that fails.
pub(super) fn check<Row, Outcome>(rows: Vec<(&str, Row, Outcome)>, decide: impl Fn(Row) -> Outcome)
where
    Outcome: PartialEq + Debug,
{
    for (title, row, expected) in rows {
        assert_eq!(decide(row), expected, "{title}");
    }
}
