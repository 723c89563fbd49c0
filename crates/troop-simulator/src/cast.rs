//! The processes of a history, and the team that they find.

use std::rc::Rc;

use troop_model::{
    Actor, Command, Context, EXTERNAL, MemberName, NewMember, NewTask, NewTeamCommand, Settings,
    TaskCommand, TeamId, decide,
};
use uuid::Uuid;

use crate::{
    board::SimulatedBoard,
    files, git,
    plan::Scenario,
    process::{ProcessSeat, Running},
    world::{N_MACHINES, World},
};

/// The role of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProcessRole {
    /// Claims and completes on a board without files, from some machine.
    Claimant(u16),
    Program(u16),
    CommandLine(u16),
    HastyMember(u16),
    Mirror(u16),
    Sender(u16),
    Reader(u16),
    Lead,
    Lander(u16),
    Person,
    /// The last process of a history: looks at everything once more.
    LastLook,
}

impl ProcessRole {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Claimant(nth) => format!("m{nth}"),
            Self::Program(nth) => format!("p{nth}"),
            Self::CommandLine(nth) => format!("c{nth}"),
            Self::HastyMember(nth) => format!("h{nth}"),
            Self::Mirror(nth) => format!("mirror{nth}"),
            Self::Sender(nth) => format!("c{nth}"),
            Self::Reader(nth) => format!("reader{nth}"),
            Self::Lead => "lead".to_owned(),
            Self::Lander(nth) => format!("team{nth}"),
            Self::Person => "person".to_owned(),
            Self::LastLook => "last".to_owned(),
        }
    }

    pub(crate) fn machine(&self) -> usize {
        match self {
            Self::Claimant(nth) => usize::from(*nth) % N_MACHINES,
            Self::Program(_)
            | Self::CommandLine(_)
            | Self::HastyMember(_)
            | Self::Mirror(_)
            | Self::Sender(_)
            | Self::Reader(_)
            | Self::Lead
            | Self::Lander(_)
            | Self::Person
            | Self::LastLook => 0,
        }
    }

    /// Whether it ends by itself when its work is done. Others end after them.
    pub(crate) fn is_worker(&self) -> bool {
        !matches!(self, Self::Mirror(_) | Self::Reader(_) | Self::LastLook)
    }

    pub(crate) fn start(&self, seat: ProcessSeat) -> Running {
        match self {
            Self::Claimant(_) => Box::pin(crate::claimant::claimant(seat)),
            Self::Program(_) => Box::pin(files::program(seat)),
            Self::CommandLine(_) => Box::pin(files::command_line(seat)),
            Self::HastyMember(_) => Box::pin(files::hasty_member(seat)),
            Self::Mirror(_) => Box::pin(files::run_mirror(seat)),
            Self::Sender(_) => Box::pin(files::sender(seat)),
            Self::Reader(_) => Box::pin(files::reader(seat)),
            Self::Lead => Box::pin(git::lead(seat)),
            Self::Lander(nth) => Box::pin(git::land(seat, *nth)),
            Self::Person => Box::pin(git::person(seat)),
            Self::LastLook => Box::pin(last_look(seat)),
        }
    }

    /// The system's work for a killed process, besides releasing its locks: nothing it made is undone.
    pub(crate) fn end(&self, seat: &ProcessSeat) {
        seat.world.repository.borrow_mut().clear_lock_of(seat.id);
    }
}

/// The processes that take part.
pub(crate) struct Cast {
    pub(crate) roles: Vec<ProcessRole>,
}

impl Cast {
    /// Makes the team, its tasks and its repository, and says who takes part.
    pub(crate) fn of(world: &Rc<World>) -> Self {
        let plan = world.plan;
        let first = |n: u16, role: fn(u16) -> ProcessRole| (1..=n).map(role);
        let roles: Vec<ProcessRole> = match plan.scenario {
            Scenario::Board => {
                first(plan.n_programs + plan.n_commands, ProcessRole::Claimant).collect()
            }
            Scenario::Files => first(plan.n_programs, ProcessRole::Program)
                .chain(first(plan.n_commands, ProcessRole::CommandLine))
                .chain(first(plan.n_hasty, ProcessRole::HastyMember))
                .chain(first(plan.n_mirrors, ProcessRole::Mirror))
                .collect(),
            Scenario::Mail => first(plan.n_commands, ProcessRole::Sender)
                .chain(first(plan.n_programs, ProcessRole::Reader))
                .chain(first(plan.n_mirrors, ProcessRole::Mirror))
                .collect(),
            Scenario::Lead => vec![ProcessRole::Lead],
            Scenario::Landing => first(plan.n_programs, ProcessRole::Lander)
                .chain(first(plan.n_mirrors.min(1), |_| ProcessRole::Person))
                .collect(),
        };
        SimulatedSetup { world }.make(&roles);
        Self { roles }
    }
}

/// The world before any process begins.
struct SimulatedSetup<'a> {
    world: &'a Rc<World>,
}

impl SimulatedSetup<'_> {
    fn make(&self, roles: &[ProcessRole]) {
        let plan = self.world.plan;
        match plan.scenario {
            Scenario::Landing => git::prepare_landing(self.world),
            Scenario::Board | Scenario::Files | Scenario::Mail | Scenario::Lead => {
                self.make_team(roles);
                if plan.scenario != Scenario::Mail {
                    (0..plan.n_tasks).for_each(|nth| self.make_task(nth));
                }
            }
        }
        if plan.scenario == Scenario::Lead {
            git::prepare_team(self.world);
        }
    }

    fn give(&self, command: &Command) {
        let operation = self.world.operation(0);
        let asker = Actor::human("pat").into();
        let ctx = Context { now: self.world.clock(0), asker, operation, fence: None };
        let mut store = self.world.store.borrow_mut();
        let Ok(events) = decide(store.state(), command, &ctx) else { return };
        let after = store.version();
        store.append(operation.0, after, &events);
        let mut judge = self.world.judge.borrow_mut();
        events.iter().for_each(|event| judge.see(event));
    }

    fn make_team(&self, roles: &[ProcessRole]) {
        let Ok(name) = "crew".parse() else { return };
        let scenario = self.world.plan.scenario;
        let mut names: Vec<String> = match scenario {
            Scenario::Lead => {
                (1..=self.world.plan.n_programs).map(|nth| format!("m{nth}")).collect()
            }
            Scenario::Board | Scenario::Files | Scenario::Mail | Scenario::Landing => {
                roles.iter().map(ProcessRole::name).collect()
            }
        };
        if scenario == Scenario::Mail {
            names.push(files::RECIPIENT.to_owned());
        }
        let agent = if scenario == Scenario::Lead { "command" } else { EXTERNAL };
        let names = names.into_iter().filter_map(|it| it.parse::<MemberName>().ok());
        let settings = Settings {
            // A lease ends in the scenarios whose members have clocks of their own.
            lease_seconds: if scenario == Scenario::Board { 1 } else { 86_400 },
            max_attempts: 50,
            retry_backoff_seconds: 0,
            max_teammates: 16,
            ..Settings::default()
        };
        self.give(&Command::CreateTeam(NewTeamCommand {
            team: TeamId(Uuid::from_u128(1)),
            name,
            description: String::new(),
            goal: String::new(),
            settings,
            lead: NewMember::new(MemberName::lead(), EXTERNAL),
            members: names.map(|it| NewMember::new(it, agent)).collect(),
        }));
    }

    fn make_task(&self, nth: u16) {
        let subject = format!("task {}", nth + 1);
        let new = NewTask { subject, ..NewTask::default() };
        self.give(&Command::Task(TaskCommand::Create(new)));
    }
}

/// Brings files and board in step once more, so that they can be compared.
async fn last_look(seat: ProcessSeat) {
    let board = SimulatedBoard::open(&seat).await;
    if matches!(seat.world.plan.scenario, Scenario::Files | Scenario::Mail) {
        let mut mirror = files::SimulatedMirror::new(&seat, board);
        mirror.pass().await;
        mirror.pass().await;
    }
}
