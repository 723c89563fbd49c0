//! `troop bench work`: what happens around the work, beside the same done by plain tools.

mod merge;
mod profile;

use std::time::Duration;

use anyhow::Result;

use super::{announce, outcome::Outcome, place::Place};
use crate::{
    cli::{BenchWorkArgs, BenchWorkPart},
    output::Printer,
};

/// What every measurement needs to know.
#[derive(Debug)]
struct Work {
    place: Place,
    /// How long a contestant runs.
    span: Duration,
    n_files: u32,
}

pub(super) async fn run(args: &BenchWorkArgs, printer: &Printer) -> Result<()> {
    let work = Work {
        place: Place::new(args.folder.as_deref())?,
        span: Duration::from_secs(args.seconds),
        n_files: args.files.max(1),
    };
    let is_meant = |part: &BenchWorkPart| args.only.is_empty() || args.only.contains(part);
    let mut outcomes = Vec::new();
    for part in BenchWorkPart::ALL.into_iter().filter(is_meant) {
        announce(part.name(), printer);
        outcomes.extend(Box::pin(measure(part, &work)).await?);
    }
    super::print(&outcomes, args.seconds, printer)
}

async fn measure(part: BenchWorkPart, work: &Work) -> Result<Vec<Outcome>> {
    match part {
        BenchWorkPart::Merge => merge::measure(work).await,
        BenchWorkPart::Profile => profile::measure(work),
    }
}

impl BenchWorkPart {
    const ALL: [Self; 2] = [Self::Merge, Self::Profile];

    fn name(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Profile => "profile",
        }
    }
}
