//! Everything that is random about a trial.

use std::{fmt, str::FromStr, time::Duration};

use anyhow::bail;

use crate::{
    board::BoardPlan,
    kind::{Mix, TrialKind},
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

/// What happens in a trial of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialPlan {
    Team(Plan),
    Run(RunPlan),
    Board(BoardPlan),
}

impl TrialPlan {
    /// The course of a trial; the same for the same numbers.
    #[must_use]
    pub fn new(seed: u64, trial: u64, mix: &Mix, can_mount: bool) -> Self {
        let backend = mix.backend(trial);
        match mix.kind(trial) {
            TrialKind::Team => Self::Team(Plan::new(seed, trial, backend, can_mount)),
            TrialKind::Board => Self::Board(BoardPlan::new(seed, trial, backend)),
            // Without a small disk there is nothing to fill.
            TrialKind::Disk if !can_mount => {
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
}

/// Faults and messages happen within this time.
const SPAN: u64 = 1_500;

impl Plan {
    /// The plan of a trial; the same for the same numbers.
    #[must_use]
    pub fn new(seed: u64, trial: u64, backend: Backend, can_mount: bool) -> Self {
        let mut random = Random::of_trial(seed, trial);
        let n_mates = random.within(2..6) as usize;
        let mates = (0..n_mates).map(|nth| mind(nth, &mut random)).collect();
        let chores = (0..random.within(5..31)).map(|nth| chore(nth as usize, &mut random));
        let chores = chores.collect();
        let letter = |random: &mut Random| (moment(random), random.within(0..n_mates as u64));
        let letters = (0..random.within(2..12)).map(|_| letter(&mut random));
        let letters = letters.map(|(at, to)| (at, to as usize)).collect();
        let has_small_disk = can_mount && backend != Backend::Postgres && random.one_in(3);
        let n_faults = random.within(1..7);
        let mut faults: Vec<_> = (0..n_faults)
            .map(|_| (moment(&mut random), fault(&mut random, n_mates, backend, has_small_disk)))
            .collect();
        faults.sort();
        let weather = match random.within(0..6) {
            0 => Weather::Slow(Duration::from_millis(random.within(1..20))),
            1 => Weather::LostAnswer(random.within(5..80) as usize),
            _ => Weather::Fair,
        };
        Self { backend, mates, chores, letters, faults, weather, has_small_disk }
    }

    /// The names of what is wrong all the time.
    pub(crate) fn lasting_faults(&self) -> impl Iterator<Item = &'static str> + use<> {
        let weather = match self.weather {
            Weather::Fair => None,
            Weather::Slow(_) => Some("slow disk, for all of a trial"),
            Weather::LostAnswer(_) => Some("answer of the store lost"),
        };
        let has_foreign = self.mates.contains(&MateMind::Foreign);
        weather.into_iter().chain(has_foreign.then_some("garbage on the wire, for all of a trial"))
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

fn fault(random: &mut Random, n_mates: usize, backend: Backend, has_small_disk: bool) -> Fault {
    let mate = random.within(0..n_mates as u64) as usize;
    let pause = Duration::from_millis(random.within(50..1_800));
    match random.within(0..12) {
        0..=3 => Fault::KillMate(mate),
        4 | 5 => Fault::KillLead,
        6 | 7 => Fault::StopMate(mate, pause),
        8 => Fault::StopLead(pause),
        _ if has_small_disk => Fault::FullDisk(pause / 2),
        _ if backend == Backend::Postgres => Fault::HangUp,
        9 => Fault::StopLead(pause),
        10 => Fault::KillLead,
        _ => Fault::KillMate(mate),
    }
}
