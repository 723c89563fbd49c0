//! The kinds of trials, and how a campaign mixes them.

use std::{fmt, str::FromStr};

use anyhow::bail;

use crate::plan::Backend;

/// What a trial is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrialKind {
    /// A team of processes works through a graph of tasks, without git.
    Team,
}

impl TrialKind {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::Team];

    /// Its name, for reports and for `--kind`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Team => "team",
        }
    }
}

impl fmt::Display for TrialKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for TrialKind {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match Self::ALL.into_iter().find(|it| it.name() == text) {
            Some(kind) => Ok(kind),
            None => {
                let names: Vec<_> = Self::ALL.iter().map(|it| it.name()).collect();
                bail!("there is no kind of trial `{text}`; the kinds are: {}", names.join(", "))
            }
        }
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
        for kind in TrialKind::ALL {
            assert_eq!(kind.name().parse::<TrialKind>().unwrap(), kind);
        }
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
