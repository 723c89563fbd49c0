//! Everything that is random about a trial.

use std::{fmt, str::FromStr, time::Duration};

use anyhow::bail;
use troop_testkit::postgres::ServerEnd;

use crate::{
    board::BoardPlan,
    kind::{Mix, TrialKind},
    machine::Machine,
    random::Random,
    run::RunPlan,
};

/// Where a team is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Backend {
    /// A SQLite database.
    Sqlite,
    /// A folder of files.
    Files,
    /// A PostgreSQL server.
    Postgres,
}

impl Backend {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sqlite, Self::Files, Self::Postgres];

    fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Files => "files",
            Self::Postgres => "postgres",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Backend {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match Self::ALL.into_iter().find(|it| it.name() == text) {
            Some(backend) => Ok(backend),
            None => bail!("there is no store `{text}`; the stores are: sqlite, files, postgres"),
        }
    }
}

/// Which PostgreSQL server a trial has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostgresPlace {
    /// The one that all share. It is not restarted.
    Shared,
    /// One of its own.
    Own,
    /// One of its own behind `PgBouncer` in transaction mode.
    Pooled,
    /// A primary and its synchronous standby.
    Pair,
    /// One of its own, on another machine than each lead.
    Remote,
}

/// The agent of a teammate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MateMind {
    /// The agent `command` of `troop`.
    Command,
    /// A shell script that speaks the wire protocol and mixes garbage into it.
    Foreign,
}

/// A task of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chore {
    /// How long it takes.
    pub takes: Duration,
    /// Whether its first attempt fails.
    pub fails_first: bool,
    /// The chores that it waits for.
    pub waits_for: Vec<usize>,
}

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A teammate is killed.
    KillMate(usize),
    /// The lead is killed, and another takes over.
    KillLead,
    /// A teammate is stopped (SIGSTOP) for a while.
    StopMate(usize, Duration),
    /// The lead is stopped (SIGSTOP) for a while.
    StopLead(Duration),
    /// The disk is full for a while.
    FullDisk(Duration),
    /// The database server closes all connections.
    HangUp,
    /// The database server ends in this way and is started again after a while.
    Restart(ServerEnd, Duration),
    /// The primary server is killed; after a while its standby is promoted, and later the old one comes back.
    FailOver(Duration),
    /// The clock of the lead and its members jumps by some hours, and back after a while.
    ClockJump(i64, Duration),
    /// The kernel kills a teammate or its command, because the memory that it may use is limited for a while.
    LimitMemory(usize, Duration),
    /// The machine of the lead is cut off from the database, until a lead on another machine has taken over.
    CutOff,
}

impl Fault {
    /// Its name in a report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::KillMate(_) => "teammate killed",
            Self::KillLead => "lead killed, another takes over",
            Self::StopMate(..) => "teammate stopped and continued",
            Self::StopLead(_) => "lead stopped and continued",
            Self::FullDisk(_) => "disk full for a while",
            Self::HangUp => "database connections cut",
            Self::Restart(ServerEnd::Fast, _) => "database restarted (fast)",
            Self::Restart(ServerEnd::Immediate, _) => "database restarted (immediate)",
            Self::Restart(ServerEnd::Killed, _) => "database killed and restarted",
            Self::FailOver(_) => "primary killed, standby promoted, old primary comes back",
            Self::ClockJump(..) => "clock jumped by hours, and back",
            Self::LimitMemory(..) => "teammate's memory limited",
            Self::CutOff => "machine of the lead cut off until another leads",
        }
    }
}

/// A permanent fault of the store, as the lead sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// Nothing.
    Fair,
    /// Every call takes this long.
    Slow(Duration),
    /// The answer to this call is lost, although it was done.
    LostAnswer(usize),
}

/// The plan of a trial of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialPlan {
    Team(Plan),
    Run(RunPlan),
    Board(BoardPlan),
}

impl TrialPlan {
    /// The course of a trial; the same for the same numbers.
    #[must_use]
    pub fn new(seed: u64, trial: u64, mix: &Mix, machine: Machine) -> Self {
        let backend = mix.backend(trial);
        match mix.kind(trial) {
            TrialKind::Team => Self::Team(Plan::new(seed, trial, backend, machine)),
            TrialKind::Board => Self::Board(BoardPlan::new(seed, trial, backend)),
            TrialKind::CutOff if machine.can_connect_machines && mix.has_postgres() => {
                Self::Team(Plan::cut_off(seed, trial, machine))
            }
            TrialKind::CutOff => Self::Team(Plan::new(seed, trial, backend, machine)),
            // Without a small disk there is nothing to fill.
            TrialKind::Disk if !machine.can_mount => {
                Self::Run(RunPlan::new(seed, trial, TrialKind::Run, backend))
            }
            kind @ (TrialKind::Run
            | TrialKind::Landing
            | TrialKind::Person
            | TrialKind::Git
            | TrialKind::Disk
            | TrialKind::Killed(_)) => Self::Run(RunPlan::new(seed, trial, kind, backend)),
        }
    }
}

/// The course of a team without git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where the team is kept.
    pub backend: Backend,
    /// The teammates.
    pub mates: Vec<MateMind>,
    /// The tasks.
    pub chores: Vec<Chore>,
    /// When a person writes to which teammate.
    pub letters: Vec<(Duration, usize)>,
    /// The faults, and when they happen.
    pub faults: Vec<(Duration, Fault)>,
    /// The permanent fault.
    pub weather: Weather,
    /// Whether the store is on a separate small disk.
    pub has_small_disk: bool,
    /// The server, if the team is kept in PostgreSQL.
    pub place: PostgresPlace,
    /// Whether the lead and its members have a clock that jumps.
    pub has_shifted_clock: bool,
}

/// Faults and messages happen within this time.
const SPAN: u64 = 1_500;

impl Plan {
    /// The plan of a trial; the same for the same numbers.
    #[must_use]
    pub fn new(seed: u64, trial: u64, backend: Backend, machine: Machine) -> Self {
        let mut random = Random::of_trial(seed, trial);
        let n_mates = random.within(2..6) as usize;
        let mates = (0..n_mates).map(|nth| mind(nth, &mut random)).collect();
        let chores = (0..random.within(5..31)).map(|nth| chore(nth as usize, &mut random));
        let chores = chores.collect();
        let letter = |random: &mut Random| (moment(random), random.within(0..n_mates as u64));
        let letters = (0..random.within(2..12)).map(|_| letter(&mut random));
        let letters = letters.map(|(at, to)| (at, to as usize)).collect();
        let has_small_disk = machine.can_mount && backend != Backend::Postgres && random.one_in(3);
        let place = place(&mut random, backend);
        let has_shifted_clock = machine.can_shift_clocks && random.one_in(3);
        let n_faults = random.within(1..7);
        let can_limit_memory = machine.can_limit_memory;
        let harm = FaultChoice {
            n_mates,
            backend,
            place,
            has_small_disk,
            has_shifted_clock,
            can_limit_memory,
        };
        let mut faults: Vec<_> =
            (0..n_faults).map(|_| (moment(&mut random), harm.draw(&mut random))).collect();
        faults.sort();
        let weather = match random.within(0..6) {
            0 => Weather::Slow(Duration::from_millis(random.within(1..20))),
            1 => Weather::LostAnswer(random.within(5..80) as usize),
            _ => Weather::Fair,
        };
        Self {
            backend,
            mates,
            chores,
            letters,
            faults,
            weather,
            has_small_disk,
            place,
            has_shifted_clock,
        }
    }

    /// The plan of a trial whose lead is cut off from its database, and which is otherwise undisturbed but for its teammates.
    fn cut_off(seed: u64, trial: u64, machine: Machine) -> Self {
        let calm = Machine { can_shift_clocks: false, ..machine };
        let mut plan = Self::new(seed, trial, Backend::Postgres, calm);
        let is_of_mate = |it: &(Duration, Fault)| {
            matches!(it.1, Fault::KillMate(_) | Fault::StopMate(..) | Fault::LimitMemory(..))
        };
        plan.faults.retain(is_of_mate);
        plan.faults.push((moment(&mut Random::of_trial(seed, trial)), Fault::CutOff));
        plan.faults.sort();
        Self { place: PostgresPlace::Remote, weather: Weather::Fair, ..plan }
    }

    /// The kind of this trial.
    #[must_use]
    pub fn kind(&self) -> TrialKind {
        if self.place == PostgresPlace::Remote { TrialKind::CutOff } else { TrialKind::Team }
    }

    /// The names of all that goes wrong, for a while or all the time.
    #[must_use]
    pub fn fault_names(&self) -> Vec<&'static str> {
        self.faults.iter().map(|(_, it)| it.name()).chain(self.lasting_faults()).collect()
    }

    /// The names of what is wrong all the time.
    pub(crate) fn lasting_faults(&self) -> impl Iterator<Item = &'static str> + use<> {
        let weather = match self.weather {
            Weather::Fair => None,
            Weather::Slow(_) => Some("slow disk, for all of a trial"),
            Weather::LostAnswer(_) => Some("answer of the store lost"),
        };
        let pooled = (self.place == PostgresPlace::Pooled)
            .then_some("PgBouncer in transaction mode, for all of a trial");
        let has_foreign = self.mates.contains(&MateMind::Foreign);
        weather
            .into_iter()
            .chain(pooled)
            .chain(has_foreign.then_some("garbage on the wire, for all of a trial"))
    }

    /// The name of a teammate.
    #[must_use]
    pub fn mate(nth: usize) -> String {
        format!("mate-{nth}")
    }
}

fn moment(random: &mut Random) -> Duration {
    Duration::from_millis(random.within(0..SPAN))
}

/// The first one runs commands, so that every team has such a teammate.
fn mind(nth: usize, random: &mut Random) -> MateMind {
    if nth > 0 && random.one_in(2) { MateMind::Foreign } else { MateMind::Command }
}

fn chore(nth: usize, random: &mut Random) -> Chore {
    let mut waits_for = Vec::new();
    for _ in 0..random.within(0..3) {
        if nth > 0 {
            waits_for.push(random.within(0..nth as u64) as usize);
        }
    }
    waits_for.sort_unstable();
    waits_for.dedup();
    let takes = Duration::from_millis(random.within(0..120));
    Chore { takes, fails_first: random.one_in(6), waits_for }
}

fn place(random: &mut Random, backend: Backend) -> PostgresPlace {
    if backend != Backend::Postgres {
        return PostgresPlace::Shared;
    }
    match random.within(0..5) {
        0 => PostgresPlace::Own,
        1 => PostgresPlace::Pooled,
        2 => PostgresPlace::Pair,
        _ => PostgresPlace::Shared,
    }
}

/// The conditions that decide which faults a trial can have.
struct FaultChoice {
    n_mates: usize,
    backend: Backend,
    place: PostgresPlace,
    has_small_disk: bool,
    has_shifted_clock: bool,
    can_limit_memory: bool,
}

impl FaultChoice {
    fn draw(&self, random: &mut Random) -> Fault {
        let mate = random.within(0..self.n_mates as u64) as usize;
        let pause = Duration::from_millis(random.within(50..1_800));
        match random.within(0..16) {
            0..=3 => Fault::KillMate(mate),
            4 | 5 => Fault::KillLead,
            6 | 7 => Fault::StopMate(mate, pause),
            8 => Fault::StopLead(pause),
            9 | 10 if self.has_shifted_clock => {
                let hours = i64::try_from(random.within(1..13)).unwrap_or(1);
                Fault::ClockJump(if random.one_in(2) { hours } else { -hours }, pause)
            }
            11 | 12 if self.can_limit_memory => Fault::LimitMemory(mate, pause / 4),
            _ if self.has_small_disk => Fault::FullDisk(pause / 2),
            _ if self.backend == Backend::Postgres => self.of_server(random, pause),
            9 => Fault::StopLead(pause),
            10 => Fault::KillLead,
            _ => Fault::KillMate(mate),
        }
    }

    fn of_server(&self, random: &mut Random, pause: Duration) -> Fault {
        let how = match random.within(0..3) {
            0 => ServerEnd::Fast,
            1 => ServerEnd::Immediate,
            _ => ServerEnd::Killed,
        };
        match self.place {
            PostgresPlace::Shared => Fault::HangUp,
            PostgresPlace::Own | PostgresPlace::Pooled => Fault::Restart(how, pause / 2),
            PostgresPlace::Pair => Fault::FailOver(pause / 2),
            // Only its network is hurt.
            PostgresPlace::Remote => Fault::HangUp,
        }
    }
}
