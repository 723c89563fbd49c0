//! `troop-bench board`: the board on every backend, beside what the same disk or server can do at best.

mod callers;
mod files;
mod growth;
mod pgbench;
mod postgres;
mod seen;
mod sqlite;
mod start;

use std::time::Duration;

use anyhow::Result;

use crate::{
    ROUNDS,
    cli::{BenchBoardArgs, BenchPart},
    outcome::Comparison,
    output::BenchPrinter,
    report::WrongUse,
    workbench::Workbench,
};

/// The inputs of every measurement.
#[derive(Debug)]
struct BoardSetup {
    bench: Workbench,
    postgres: Option<String>,
    /// How long a contestant runs, over all rounds.
    span: Duration,
    n_tasks: usize,
    n_events: u64,
}

impl BoardSetup {
    /// How long a contestant runs in one round.
    fn slice(&self) -> Duration {
        self.span / ROUNDS
    }
}

pub(crate) async fn run(
    args: &BenchBoardArgs,
    bench: Workbench,
    printer: &BenchPrinter,
) -> Result<()> {
    let setup = BoardSetup {
        bench,
        postgres: args.postgres.clone(),
        span: Duration::from_secs(args.seconds),
        n_tasks: args.tasks.max(1) as usize,
        n_events: args.events,
    };
    setup.bench.warn_if_in_memory(printer);
    let mut outcomes = Vec::new();
    for part in parts(args)? {
        printer.announce(part.name());
        outcomes.extend(Box::pin(measure(part, &setup)).await?);
    }
    printer.outcomes(&outcomes, args.seconds)
}

fn parts(args: &BenchBoardArgs) -> Result<Vec<BenchPart>> {
    if args.postgres.is_none() && args.only.contains(&BenchPart::Postgres) {
        let hint = "say where it is: `--postgres postgres://localhost/postgres`";
        return Err(WrongUse::new("there is no PostgreSQL server to measure on", hint).into());
    }
    let is_meant = |part: &BenchPart| {
        let can_be_measured = *part != BenchPart::Postgres || args.postgres.is_some();
        can_be_measured && (args.only.is_empty() || args.only.contains(part))
    };
    Ok(BenchPart::ALL.into_iter().filter(is_meant).collect())
}

async fn measure(part: BenchPart, setup: &BoardSetup) -> Result<Vec<Comparison>> {
    match part {
        BenchPart::Sqlite => sqlite::measure(setup).await,
        BenchPart::Files => files::measure(setup).await,
        BenchPart::Postgres => postgres::measure(setup).await,
        BenchPart::Seen => seen::measure(setup).await,
        BenchPart::Open => growth::measure(setup).await,
        BenchPart::Start => start::measure(setup).await,
    }
}

impl BenchPart {
    const ALL: [Self; 6] =
        [Self::Sqlite, Self::Files, Self::Postgres, Self::Seen, Self::Open, Self::Start];

    fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Files => "files",
            Self::Postgres => "postgres",
            Self::Seen => "seen",
            Self::Open => "open",
            Self::Start => "start",
        }
    }
}
