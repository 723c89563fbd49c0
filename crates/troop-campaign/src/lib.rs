//! Real teams of processes under random faults, and what must hold afterwards.
//!
//! Read in this order: a [`Plan`] is everything random about a trial; [`run`] runs many trials at once; [`lead`] runs in the
//! lead's process; `check.rs` checks the promises; a [`CampaignTally`] is the report.

mod check;
mod disk;
pub mod lead;
mod plan;
mod random;
mod tally;
mod trial;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use anyhow::Result;
use tokio::{task::JoinSet, time::Instant};

pub use disk::can_mount;
pub use plan::{Backend, Plan};
pub use tally::{CampaignTally, Violation};

/// The inputs of a campaign.
#[derive(Clone, Debug)]
pub struct Options {
    /// The `troop` program.
    pub troop: PathBuf,
    /// The command of a lead that reads its orders from its standard input; see [`lead::run`].
    pub lead: Vec<OsString>,
    /// Decides what happens in every trial.
    pub seed: u64,
    /// The stores, which trials alternate between.
    pub backends: Vec<Backend>,
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
    let can_mount = can_mount(&options.folder).await;
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
            let plan = Plan::new(options.seed, next, &options.backends, can_mount);
            trials.spawn(trial::hold(options.clone(), plan, next));
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
