//! The report of a campaign: trials, faults and violations.

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf, time::Duration};

use crate::plan::{Backend, Fault, Plan, Weather};

/// A broken promise.
#[derive(Clone, Debug)]
pub struct Violation {
    pub trial: u64,
    /// One line for each broken promise.
    pub what: Vec<String>,
    /// The remains of the trial: its log and the output of its processes.
    pub folder: PathBuf,
}

/// How one trial went.
#[derive(Debug)]
pub(crate) struct TrialOutcome {
    pub(crate) plan: Plan,
    /// The faults that really happened.
    pub(crate) faults: Vec<Fault>,
    pub(crate) n_events: u64,
    pub(crate) violation: Option<Violation>,
}

/// How all trials went.
#[derive(Debug, Default)]
pub struct CampaignTally {
    /// How long it took.
    pub elapsed: Duration,
    /// The broken promises.
    pub violations: Vec<Violation>,
    trials: BTreeMap<Backend, u64>,
    faults: BTreeMap<&'static str, u64>,
    n_tasks: u64,
    n_events: u64,
}

impl CampaignTally {
    pub(crate) fn add(&mut self, outcome: TrialOutcome) {
        *self.trials.entry(outcome.plan.backend).or_default() += 1;
        let weather = match outcome.plan.weather {
            Weather::Fair => None,
            Weather::Slow(_) => Some("slow disk, for all of a trial"),
            Weather::LostAnswer(_) => Some("answer of the store lost"),
        };
        let n_foreign =
            outcome.plan.mates.iter().filter(|it| **it == crate::plan::MateMind::Foreign);
        let garbage = (n_foreign.count() > 0).then_some("garbage on the wire, for all of a trial");
        for name in outcome.faults.iter().map(|it| it.name()).chain(weather).chain(garbage) {
            *self.faults.entry(name).or_default() += 1;
        }
        self.n_tasks += outcome.plan.chores.len() as u64;
        self.n_events += outcome.n_events;
        self.violations.extend(outcome.violation);
    }

    /// How many trials there were.
    #[must_use]
    pub fn n_trials(&self) -> u64 {
        self.trials.values().sum()
    }

    /// All of it as two tables.
    #[must_use]
    pub fn tables(&self) -> String {
        let mut text = "| what | how often |\n|---|---|\n".to_owned();
        let mut row = |what: &str, n: u64| {
            writeln!(text, "| {what} | {n} |").expect("writing to a text never fails");
        };
        row("trials", self.n_trials());
        self.trials.iter().for_each(|(backend, n)| row(&format!("… on {backend}"), *n));
        row("tasks", self.n_tasks);
        row("events in the logs", self.n_events);
        row("**violations**", self.violations.len() as u64);
        text += "\n| fault | how often |\n|---|---|\n";
        for (fault, n) in &self.faults {
            writeln!(text, "| {fault} | {n} |").expect("writing to a text never fails");
        }
        text
    }
}
