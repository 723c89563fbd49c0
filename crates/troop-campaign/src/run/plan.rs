//! Everything that is random about a trial of whole runs.

use std::time::Duration;

use super::boundary::{self, Strike};
use crate::{kind::TrialKind, plan::Backend, random::Random};

/// The course of a trial in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPlan {
    pub kind: TrialKind,
    /// Where the teams are kept.
    pub backend: Backend,
    /// They begin at once.
    pub teams: Vec<RunTeam>,
    /// The processes that are killed and stopped, and the pauses between.
    pub harm: Vec<(Duration, Harm)>,
    /// The deeds of a person meanwhile, and the pauses between.
    pub deeds: Vec<(Duration, PersonDeed)>,
    /// A fault at a git command, once.
    pub trap: Option<Trap>,
    /// Whether a person stops the team right after that.
    pub is_stopped: bool,
}

/// A team of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunTeam {
    pub name: &'static str,
    /// The agents of its members.
    pub minds: Vec<RunMind>,
    pub errands: Vec<Errand>,
    pub lease_seconds: u64,
    pub has_check: bool,
    pub has_hooks: bool,
}

/// The agent of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMind {
    /// The agent `command`.
    Command,
    /// A script that runs the command, and says that the task is done.
    Script,
}

/// A task. Each writes a line into a file of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    pub work: ErrandWork,
    /// How long it takes.
    pub takes: Duration,
    /// The errands that it waits for.
    pub waits_for: Vec<usize>,
}

/// Extra steps of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrandWork {
    Plain,
    /// It writes a line into a file that others write as well.
    Shared,
    /// It adds a file that other teams add as well.
    Same,
    /// Its first attempt fails.
    FailsFirst,
    /// It commits by itself.
    Commits,
    /// It leaves a process behind.
    LeavesProcess,
}

/// A fault of the processes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    KillLead,
    /// As when a container ends.
    KillAll,
    StopLead(Duration),
    EndLead,
    KillMember(usize),
    StopMember(usize, Duration),
    KillWork,
    /// The next git command of the lead is killed after so long.
    CutGit(Duration),
}

/// A deed of a person in the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonDeed {
    Commit,
    /// Rewrites the last commit, if it is the person's.
    Rebase,
    /// Puts everything that is not committed into the stash, and takes it out again after so long.
    Stash(Duration),
}

/// Something that happens once, at a git command of a lead or at another named place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    pub spring: Spring,
    /// At which of the commands, from 1.
    pub nth: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spring {
    /// The lead is killed.
    Kill(Strike),
    /// Git is killed and leaves a lock.
    Lock { words: &'static str, lock: LockPlace, with_lead: bool },
    /// Git is killed in the middle.
    Cut { words: &'static str, after: Duration, with_lead: bool },
    /// Every lead waits there a moment, until so many have come.
    Gather { words: &'static str },
    /// The disk of the repository is full from here on.
    Full { words: &'static str, end: FullEnd },
}

/// The lock that a killed git leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPlace {
    Index,
    Head,
    /// Of the branch that it moves.
    Branch,
    PackedRefs,
}

/// How a disk is no longer full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullEnd {
    /// After so long, by itself.
    Freed(Duration),
    /// A person stops the team, and makes room then.
    Stopped,
}

const TEAMS: [&str; 3] = ["red", "green", "blue"];

/// The commands under which git is killed, with the locks that they have.
const LOCKS: [(&str, LockPlace); 10] = [
    (boundary::STAGE, LockPlace::Index),
    (boundary::COMMIT, LockPlace::Index),
    (boundary::COMMIT, LockPlace::Branch),
    (boundary::COMMIT, LockPlace::Head),
    (boundary::MOVE, LockPlace::Branch),
    (boundary::CHECKOUT, LockPlace::Index),
    (boundary::CHECKOUT, LockPlace::Head),
    (boundary::LANDING, LockPlace::Index),
    (boundary::LANDING, LockPlace::Branch),
    (boundary::FORGET, LockPlace::PackedRefs),
];

/// The commands that are cut in the middle.
const CUT: [&str; 8] = [
    boundary::STAGE,
    boundary::COMMIT,
    boundary::MERGE,
    boundary::MOVE,
    boundary::CHECKOUT,
    boundary::FOLDER,
    boundary::LANDING,
    boundary::TIDY,
];

/// The commands before which the disk is full.
const FULL: [&str; 6] = [
    boundary::STAGE,
    boundary::COMMIT,
    boundary::MERGE,
    boundary::MOVE,
    boundary::LANDING,
    boundary::FORGET,
];

impl RunPlan {
    /// The plan of a trial; the same for the same numbers.
    #[must_use]
    pub fn new(seed: u64, trial: u64, kind: TrialKind, backend: Backend) -> Self {
        let mut random = Random::of_trial(seed, trial);
        let is_of = |wanted: TrialKind, n: u64| if kind == wanted { n } else { 0 };
        let n_more = is_of(TrialKind::Landing, random.within(1..3));
        let n_more = n_more + is_of(TrialKind::Person, random.within(0..2));
        let n_teams = 1 + n_more;
        let names = TEAMS.into_iter().take(n_teams as usize);
        let mut teams: Vec<_> = names.map(|name| team(name, kind, &mut random)).collect();
        if kind == TrialKind::Landing {
            end_at_once(&mut teams);
        }
        let trap = trap(kind, &mut random);
        for team in &mut teams {
            let strike = trap.and_then(|it| it.spring.strike());
            team.has_check |= strike.is_some_and(Strike::needs_check);
            team.has_hooks |= strike == Some(Strike::InHook);
        }
        let n_harm = is_of(TrialKind::Run, random.within(2..9));
        let harm = (0..n_harm).map(|_| harm(&mut random)).collect();
        let n_deeds = is_of(TrialKind::Person, random.within(6..14));
        let deeds = (0..n_deeds).map(|_| deed(&mut random)).collect();
        let is_stopped = kind == TrialKind::Git && random.one_in(3);
        Self { kind, backend, teams, harm, deeds, trap, is_stopped }
    }

    /// Whether the project lies on a separate small disk.
    #[must_use]
    pub fn has_small_disk(&self) -> bool {
        self.kind == TrialKind::Disk
    }

    /// Whether a landing may fail by what this trial does.
    pub(crate) fn may_wait(&self) -> bool {
        let cuts_git = self.harm.iter().any(|(_, it)| matches!(it, Harm::CutGit(_)));
        self.trap.is_some() || cuts_git
    }

    /// The name of a member.
    #[must_use]
    pub fn member(nth: usize) -> String {
        format!("w{nth}")
    }
}

impl Spring {
    fn strike(self) -> Option<Strike> {
        match self {
            Self::Kill(strike) => Some(strike),
            Self::Lock { .. } | Self::Cut { .. } | Self::Gather { .. } | Self::Full { .. } => None,
        }
    }
}

impl Strike {
    /// A folder is put on the merged commit only to be checked.
    fn needs_check(self) -> bool {
        self == Self::InCheck || self == Self::AfterGit(boundary::FORWARD)
    }
}

fn milliseconds(random: &mut Random, from: u64, to: u64) -> Duration {
    Duration::from_millis(random.within(from..to))
}

fn team(name: &'static str, kind: TrialKind, random: &mut Random) -> RunTeam {
    let mind = |random: &mut Random| match random.one_in(3) {
        true => RunMind::Script,
        false => RunMind::Command,
    };
    let minds = (0..random.within(2..4)).map(|_| mind(random)).collect();
    let n_errands = match kind {
        TrialKind::Run => random.within(4..11),
        TrialKind::Landing | TrialKind::Person => random.within(1..4),
        TrialKind::Team
        | TrialKind::Git
        | TrialKind::Disk
        | TrialKind::Board
        | TrialKind::CutOff
        | TrialKind::Killed(_) => random.within(2..6),
    };
    let errands = (0..n_errands as usize).map(|nth| errand(nth, random)).collect();
    let lease_seconds = [2, 5, 900].get(random.within(0..3) as usize).copied().unwrap_or(900);
    let has_check = random.within(0..5) < 2;
    let has_hooks = random.within(0..5) < 2;
    RunTeam { name, minds, errands, lease_seconds, has_check, has_hooks }
}

/// Teams with the same work come to their ends at once, and add the same file.
fn end_at_once(teams: &mut [RunTeam]) {
    let Some((first, others)) = teams.split_first_mut() else { return };
    first.errands.iter_mut().take(1).for_each(|it| it.work = ErrandWork::Same);
    for team in others {
        *team = RunTeam { name: team.name, ..first.clone() };
    }
}

fn errand(nth: usize, random: &mut Random) -> Errand {
    let mut waits_for = Vec::new();
    if nth > 0 && random.one_in(2) {
        waits_for.push(random.within(0..nth as u64) as usize);
    }
    let work = match random.within(0..8) {
        0 | 1 => ErrandWork::Shared,
        2 => ErrandWork::FailsFirst,
        3 => ErrandWork::Commits,
        4 => ErrandWork::LeavesProcess,
        _ => ErrandWork::Plain,
    };
    Errand { work, takes: milliseconds(random, 0, 200), waits_for }
}

fn trap(kind: TrialKind, random: &mut Random) -> Option<Trap> {
    let spring = match kind {
        TrialKind::Killed(boundary) => Spring::Kill(boundary.strike()),
        TrialKind::Git => git_trap(random),
        TrialKind::Disk => {
            let words = pick(&FULL, random).unwrap_or(boundary::STAGE);
            let end = match random.one_in(2) {
                true => FullEnd::Stopped,
                false => FullEnd::Freed(milliseconds(random, 200, 2_500)),
            };
            Spring::Full { words, end }
        }
        TrialKind::Landing if !random.one_in(3) => Spring::Gather { words: boundary::LANDING },
        TrialKind::Team
        | TrialKind::Run
        | TrialKind::Landing
        | TrialKind::Person
        | TrialKind::Board
        | TrialKind::CutOff => return None,
    };
    // There are at least two tasks.
    let is_of_task = matches!(kind, TrialKind::Killed(boundary) if boundary.is_of_task());
    let nth = if is_of_task { random.within(1..3) } else { 1 };
    Some(Trap { spring, nth })
}

fn git_trap(random: &mut Random) -> Spring {
    let with_lead = random.one_in(2);
    if random.one_in(2) {
        let words = pick(&CUT, random).unwrap_or(boundary::STAGE);
        return Spring::Cut { words, after: milliseconds(random, 0, 8), with_lead };
    }
    let none = (boundary::STAGE, LockPlace::Index);
    let (words, lock) = pick(&LOCKS, random).unwrap_or(none);
    Spring::Lock { words, lock, with_lead }
}

fn pick<T: Copy>(all: &[T], random: &mut Random) -> Option<T> {
    all.get(random.within(0..all.len() as u64) as usize).copied()
}

fn harm(random: &mut Random) -> (Duration, Harm) {
    let member = random.within(0..3) as usize;
    let pause = milliseconds(random, 200, 2_500);
    let harm = match random.within(0..20) {
        0..=4 => Harm::KillLead,
        5 => Harm::KillAll,
        6 | 7 => Harm::StopLead(pause),
        8 => Harm::EndLead,
        9..=12 => Harm::KillMember(member),
        13 | 14 => Harm::StopMember(member, pause),
        15 | 16 => Harm::KillWork,
        _ => Harm::CutGit(milliseconds(random, 0, 6)),
    };
    (milliseconds(random, 0, 600), harm)
}

fn deed(random: &mut Random) -> (Duration, PersonDeed) {
    let deed = match random.within(0..5) {
        0 => PersonDeed::Rebase,
        1 | 2 => PersonDeed::Stash(milliseconds(random, 0, 300)),
        _ => PersonDeed::Commit,
    };
    (milliseconds(random, 0, 250), deed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::KillBoundary;

    #[test]
    fn a_plan_is_the_same_for_the_same_numbers() {
        for kind in TrialKind::mix() {
            let plan = RunPlan::new(7, 12, kind, Backend::Files);
            assert_eq!(plan, RunPlan::new(7, 12, kind, Backend::Files));
        }
    }

    #[test]
    fn a_boundary_is_met_in_every_plan() {
        for boundary in KillBoundary::ALL {
            for trial in 0..50 {
                let kind = TrialKind::Killed(boundary);
                let plan = RunPlan::new(1, trial, kind, Backend::Sqlite);
                let team = &plan.teams[0];
                let trap = plan.trap.unwrap();
                assert!(trap.nth <= team.errands.len() as u64, "{plan:?}");
                let needs_check =
                    [KillBoundary::InCheck, KillBoundary::AfterForward].contains(&boundary);
                assert!(team.has_check || !needs_check, "{plan:?}");
                assert!(team.has_hooks || boundary != KillBoundary::InHook, "{plan:?}");
            }
        }
    }
}
