//! Real teams of processes under random faults, and what must hold afterwards.
//!
//! Read in this order: a [`Mix`] says which kinds of trials there are, in turn; a [`TrialPlan`] is everything random about one;
//! [`run`] runs many at once; a [`CampaignTally`] is the report.
//!
//! - Trials of whole runs in a repository: `run.rs`. They use `troop` as a person does (`program.rs`).
//! - Trials of a board without members that troop runs: `board.rs`.
//! - Trials of teams without git: `plan.rs`, `trial.rs`; [`lead`] runs in the lead's process; `check.rs` checks the promises.

mod board;
mod check;
mod clock;
mod disk;
mod kind;
pub mod lead;
mod machine;
mod memory;
mod network;
mod plan;
mod program;
mod random;
mod run;
mod servers;
mod tally;
mod trial;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use anyhow::Result;
use tokio::{task::JoinSet, time::Instant};

pub use board::BoardPlan;
pub use kind::{Mix, TrialKind};
pub use machine::Machine;
pub use plan::{Backend, Plan, TrialPlan};
pub use run::{KillBoundary, RunPlan};
use tally::TrialOutcome;
pub use tally::{CampaignTally, TrialFinding, Violation, ViolationSeverity};

/// The inputs of a campaign.
#[derive(Clone, Debug)]
pub struct Options {
    /// The `troop` program.
    pub troop: PathBuf,
    /// The command of a lead that reads its orders from its standard input; see [`lead::run`].
    pub lead: Vec<OsString>,
    /// Decides what happens in every trial.
    pub seed: u64,
    /// The kinds of trials and their stores.
    pub mix: Mix,
    /// Where trials run. The remains of a trial with a violation are kept here.
    pub folder: PathBuf,
    /// How many trials run at once.
    pub n_at_once: usize,
    /// The number of the first trial.
    pub first: u64,
    /// When it ends.
    pub until: CampaignEnd,
}

/// When a campaign ends.
#[derive(Clone, Copy, Debug)]
pub enum CampaignEnd {
    /// After this time.
    Elapsed(Duration),
    /// After this many trials.
    Trials(u64),
}

/// Runs trials until the campaign ends. Violations are reported as soon as they are known.
///
/// # Errors
///
/// If a trial could not run at all.
pub async fn run(options: Options, tell: impl Fn(&Violation)) -> Result<CampaignTally> {
    let machine = Machine::look(&options.folder).await;
    let start = Instant::now();
    let mut tally = CampaignTally::default();
    let mut trials = JoinSet::new();
    let mut next = options.first;
    loop {
        let goes_on = match options.until {
            CampaignEnd::Elapsed(span) => start.elapsed() < span,
            CampaignEnd::Trials(n_trials) => next < options.first + n_trials,
        };
        if goes_on && trials.len() < options.n_at_once {
            let plan = TrialPlan::new(options.seed, next, &options.mix, machine);
            trials.spawn(hold(options.clone(), plan, next));
            next += 1;
            continue;
        }
        let Some(outcome) = trials.join_next().await else { break };
        let outcome = outcome??;
        outcome.violation.iter().for_each(&tell);
        tally.add(outcome);
    }
    tally.elapsed = start.elapsed();
    Ok(tally)
}

/// Runs a trial and checks the promises.
async fn hold(options: Options, plan: TrialPlan, nth: u64) -> Result<TrialOutcome> {
    match plan {
        TrialPlan::Team(plan) => trial::hold(options, plan, nth).await,
        TrialPlan::Run(plan) => run::hold(options, plan, nth).await,
        TrialPlan::Board(plan) => board::hold(options, plan, nth).await,
    }
}
