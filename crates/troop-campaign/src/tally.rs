//! The report of a campaign: trials, faults and violations.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    path::PathBuf,
    time::Duration,
};

use crate::{kind::TrialKind, plan::Backend};

/// How bad a broken promise is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ViolationSeverity {
    /// Work, mail or a person's files are lost, doubled or told wrongly.
    Critical,
    /// A team or a command does not come to its end, or ends with a bug.
    High,
    /// Something is in a person's way.
    Medium,
    /// Something is untidy.
    Low,
}

impl fmt::Display for ViolationSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        })
    }
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialFinding {
    pub severity: ViolationSeverity,
    pub what: String,
}

impl TrialFinding {
    pub(crate) fn new(severity: ViolationSeverity, what: impl Into<String>) -> Self {
        Self { severity, what: what.into() }
    }
}

impl fmt::Display for TrialFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.severity, self.what)
    }
}

/// A trial that broke promises.
#[derive(Clone, Debug)]
pub struct Violation {
    pub trial: u64,
    pub kind: TrialKind,
    /// The broken promises.
    pub what: Vec<TrialFinding>,
    /// The remains of the trial: its log and the output of its processes.
    pub folder: PathBuf,
}

impl Violation {
    /// None if no promise was broken.
    pub(crate) fn of(
        trial: u64,
        kind: TrialKind,
        what: Vec<TrialFinding>,
        folder: PathBuf,
    ) -> Option<Self> {
        (!what.is_empty()).then_some(Self { trial, kind, what, folder })
    }
}

/// How one trial went.
#[derive(Debug)]
pub(crate) struct TrialOutcome {
    pub(crate) kind: TrialKind,
    pub(crate) backend: Backend,
    /// The faults that really happened, by name.
    pub(crate) faults: Vec<&'static str>,
    pub(crate) n_tasks: u64,
    pub(crate) n_events: u64,
    pub(crate) violation: Option<Violation>,
}

/// How all trials went.
#[derive(Debug, Default)]
pub struct CampaignTally {
    /// How long it took.
    pub elapsed: Duration,
    /// The trials that broke promises.
    pub violations: Vec<Violation>,
    trials: BTreeMap<TrialKind, BTreeMap<Backend, u64>>,
    faults: BTreeMap<(TrialKind, &'static str), u64>,
    n_tasks: u64,
    n_events: u64,
}

impl CampaignTally {
    pub(crate) fn add(&mut self, outcome: TrialOutcome) {
        let by_store = self.trials.entry(outcome.kind).or_default();
        *by_store.entry(outcome.backend).or_default() += 1;
        for name in outcome.faults {
            *self.faults.entry((outcome.kind, name)).or_default() += 1;
        }
        self.n_tasks += outcome.n_tasks;
        self.n_events += outcome.n_events;
        self.violations.extend(outcome.violation);
    }

    /// How often a fault really happened.
    #[must_use]
    pub fn n_faults(&self, name: &str) -> u64 {
        self.faults.iter().filter(|((_, it), _)| *it == name).map(|(_, n)| n).sum()
    }

    /// How many trials there were.
    #[must_use]
    pub fn n_trials(&self) -> u64 {
        self.trials.values().flat_map(BTreeMap::values).sum()
    }

    /// All of it as tables.
    #[must_use]
    pub fn tables(&self) -> String {
        let mut text = "| what | how often |\n|---|---|\n".to_owned();
        row(&mut text, &["trials"], self.n_trials());
        let mut by_store = BTreeMap::<Backend, u64>::new();
        for (backend, n) in self.trials.values().flatten() {
            *by_store.entry(*backend).or_default() += n;
        }
        by_store.iter().for_each(|(it, n)| row(&mut text, &[&format!("… on {it}")], *n));
        row(&mut text, &["tasks"], self.n_tasks);
        row(&mut text, &["events in the logs"], self.n_events);
        row(&mut text, &["**trials with violations**"], self.violations.len() as u64);
        text += "\n| kind | trials |\n|---|---|\n";
        for (kind, stores) in &self.trials {
            row(&mut text, &[kind.name()], stores.values().sum());
        }
        text += "\n| kind | fault | how often |\n|---|---|---|\n";
        for ((kind, fault), n) in &self.faults {
            row(&mut text, &[kind.name(), fault], *n);
        }
        self.add_violations(&mut text);
        text
    }

    fn add_violations(&self, text: &mut String) {
        if self.violations.is_empty() {
            return;
        }
        *text += "\n| kind | severity | violations |\n|---|---|---|\n";
        let mut counts = BTreeMap::<(TrialKind, ViolationSeverity), u64>::new();
        for violation in &self.violations {
            for finding in &violation.what {
                *counts.entry((violation.kind, finding.severity)).or_default() += 1;
            }
        }
        for ((kind, severity), n) in counts {
            row(text, &[kind.name(), &severity.to_string()], n);
        }
    }
}

fn row(text: &mut String, cells: &[&str], n: u64) {
    writeln!(text, "| {} | {n} |", cells.join(" | ")).expect("writing to a text never fails");
}
