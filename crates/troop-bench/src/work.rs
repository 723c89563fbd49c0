//! `troop-bench work`: what happens around the work, beside the same done by plain tools.

mod merge;
mod profile;

use std::time::Duration;

use anyhow::Result;

use crate::{
    cli::{BenchWorkArgs, BenchWorkPart},
    outcome::Comparison,
    output::BenchPrinter,
    workbench::Workbench,
};

/// The inputs of every measurement.
#[derive(Debug)]
struct WorkSetup {
    bench: Workbench,
    /// How long a contestant runs.
    span: Duration,
    n_files: u32,
}

pub(crate) async fn run(
    args: &BenchWorkArgs,
    bench: Workbench,
    printer: &BenchPrinter,
) -> Result<()> {
    let setup =
        WorkSetup { bench, span: Duration::from_secs(args.seconds), n_files: args.files.max(1) };
    let is_meant = |part: &BenchWorkPart| args.only.is_empty() || args.only.contains(part);
    let mut outcomes = Vec::new();
    for part in BenchWorkPart::ALL.into_iter().filter(is_meant) {
        printer.announce(part.name());
        outcomes.extend(Box::pin(measure(part, &setup)).await?);
    }
    printer.outcomes(&outcomes, args.seconds)
}

async fn measure(part: BenchWorkPart, setup: &WorkSetup) -> Result<Vec<Comparison>> {
    match part {
        BenchWorkPart::Merge => merge::measure(setup).await,
        BenchWorkPart::Profile => profile::measure(setup),
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
