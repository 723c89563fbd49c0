//! The kinds of trials, and how a campaign mixes them.

use std::fmt;

use anyhow::{Result, bail};

use crate::{plan::Backend, run::KillBoundary};

/// The kind of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrialKind {
    /// A team of processes works through a graph of tasks, without git.
    Team,
    /// A team works in a repository, and everything that runs is killed and stopped at random.
    Run,
    /// Two or three teams of one repository end and land at once.
    Landing,
    /// A team works in a repository while a person commits, rebases and stashes.
    Person,
    /// Git is killed under the lead, alone or with it, and leaves locks.
    Git,
    /// The disk of the repository is full for a while.
    Disk,
    /// Commands and programs that know only the files work on one board.
    Board,
    /// A team of processes whose lead is on another machine than its database, and is cut off from it until another leads.
    CutOff,
    /// The lead is killed at a boundary of a completion.
    Killed(KillBoundary),
}

/// The name of all boundaries together.
const KILLED: &str = "killed";

impl TrialKind {
    /// Kinds of which a campaign has many.
    const FREQUENT: [Self; 7] =
        [Self::Team, Self::Run, Self::Landing, Self::Person, Self::Git, Self::Disk, Self::Board];

    /// All kinds, as often as a campaign has them: a boundary is only one of many, and who is cut off waits for a minute.
    #[must_use]
    pub fn mix() -> Vec<Self> {
        let rounds = KillBoundary::ALL.map(|it| {
            let frequent = Self::FREQUENT.into_iter();
            frequent.chain([Self::Team, Self::Killed(it)])
        });
        rounds.into_iter().flatten().chain([Self::CutOff]).collect()
    }

    /// Its name, for reports and for `--kind`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Team => "team",
            Self::Run => "run",
            Self::Landing => "landing",
            Self::Person => "person",
            Self::Git => "git",
            Self::Disk => "disk",
            Self::Board => "board",
            Self::CutOff => "cut-off",
            Self::Killed(boundary) => boundary.name(),
        }
    }

    /// The kinds of a list of names, separated by commas.
    ///
    /// # Errors
    ///
    /// If a name is unknown.
    pub fn parse(list: &str) -> Result<Vec<Self>> {
        let mut kinds = Vec::new();
        for name in list.split(',') {
            let killed = KillBoundary::ALL.map(Self::Killed);
            let others = Self::FREQUENT.iter().chain(&[Self::CutOff]);
            let found = |it: &&Self| it.name() == name;
            match others.clone().chain(&killed).find(found) {
                Some(kind) => kinds.push(*kind),
                None if name == KILLED => kinds.extend(killed),
                None => {
                    let names: Vec<_> = others.map(|it| it.name()).collect();
                    bail!(
                        "there is no kind of trial `{name}`; the kinds are: {}, {KILLED} (all of: {})",
                        names.join(", "),
                        KillBoundary::ALL.map(KillBoundary::name).join(", ")
                    )
                }
            }
        }
        Ok(kinds)
    }
}

impl fmt::Display for TrialKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Which kinds of trials a campaign has, on which stores, in turn.
#[derive(Clone, Debug)]
pub struct Mix {
    pub kinds: Vec<TrialKind>,
    pub backends: Vec<Backend>,
}

impl Mix {
    /// The kind of a trial. They take turns.
    #[must_use]
    pub fn kind(&self, trial: u64) -> TrialKind {
        let nth = trial as usize % self.kinds.len().max(1);
        self.kinds.get(nth).copied().unwrap_or(TrialKind::Team)
    }

    /// Whether it has trials on PostgreSQL.
    pub(crate) fn has_postgres(&self) -> bool {
        self.backends.contains(&Backend::Postgres)
    }

    /// The store of a trial. Each kind meets each of them in turn.
    #[must_use]
    pub fn backend(&self, trial: u64) -> Backend {
        let n_kinds = self.kinds.len().max(1);
        let nth = trial as usize % n_kinds + trial as usize / n_kinds;
        let found = self.backends.get(nth % self.backends.len().max(1));
        found.copied().unwrap_or(Backend::Sqlite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_name() {
        for kind in TrialKind::mix() {
            assert_eq!(TrialKind::parse(kind.name()).unwrap(), [kind]);
        }
        assert_eq!(TrialKind::parse("team,killed").unwrap().len(), 1 + KillBoundary::ALL.len());
        let unknown = TrialKind::parse("team,tame").unwrap_err().to_string();
        assert!(unknown.contains("`tame`") && unknown.contains("killed-after-move"), "{unknown}");
    }

    #[test]
    fn every_kind_meets_every_store() {
        for n_kinds in 1..12 {
            let kinds = vec![TrialKind::Team; n_kinds];
            let mix = Mix { kinds, backends: Backend::ALL.to_vec() };
            for place in 0..n_kinds as u64 {
                let mut met: Vec<_> =
                    (0..3).map(|round| mix.backend(round * n_kinds as u64 + place)).collect();
                met.sort();
                assert_eq!(met, Backend::ALL, "{place} of {n_kinds}");
            }
        }
    }
}
