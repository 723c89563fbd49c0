//! `troop bench`: what the board, a running team and the observer cost, beside what the same machine can do at best.

mod agent;
mod callers;
mod child;
mod files;
mod growth;
mod mate;
mod mcp;
mod observe;
mod outcome;
mod partner;
mod pgbench;
mod place;
mod postgres;
mod raw_sqlite;
mod running;
mod seen;
mod server;
mod shared;
mod sqlite;
mod start;
mod team;
mod work;

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use self::{outcome::Outcome, place::Place};
use crate::{
    cli::{BenchBoardArgs, BenchCommand, BenchPart},
    output::Printer,
    report::Usage,
};

/// Contestants take turns this often within one measurement, so that a slow moment of the machine hits them all.
const ROUNDS: u32 = 3;

/// What every measurement needs to know.
#[derive(Debug)]
struct Bench {
    place: Place,
    postgres: Option<String>,
    /// How long a contestant runs, over all rounds.
    span: Duration,
    n_tasks: usize,
    n_events: u64,
}

impl Bench {
    /// How long a contestant runs in one round.
    fn slice(&self) -> Duration {
        self.span / ROUNDS
    }
}

pub(super) async fn run(command: &BenchCommand, printer: &Printer) -> Result<()> {
    match command {
        BenchCommand::Board(args) => board(args, printer).await,
        BenchCommand::Team(args) => running::run(args, printer).await,
        BenchCommand::Mcp(args) => mcp::run(args, printer).await,
        BenchCommand::Agent(args) => Box::pin(agent::run(args, printer)).await,
        BenchCommand::Work(args) => work::run(args, printer).await,
        BenchCommand::Observe(args) => observe::run(args, printer),
        BenchCommand::Files(args) => shared::run(args, printer).await,
        BenchCommand::Child(command) => Box::pin(child::run(command, printer)).await,
    }
}

async fn board(args: &BenchBoardArgs, printer: &Printer) -> Result<()> {
    let bench = Bench {
        place: Place::new(args.folder.as_deref())?,
        postgres: args.postgres.clone(),
        span: Duration::from_secs(args.seconds),
        n_tasks: args.tasks.max(1) as usize,
        n_events: args.events,
    };
    bench.place.warn_if_in_memory(printer);
    let mut outcomes = Vec::new();
    for part in parts(args)? {
        announce(part.name(), printer);
        outcomes.extend(Box::pin(measure(part, &bench)).await?);
    }
    print(&outcomes, args.seconds, printer)
}

/// Tells people what they are waiting for.
fn announce(part: &str, printer: &Printer) {
    if printer.is_terminal() {
        printer.error_line(&format!("measuring: {part}"));
    }
}

fn print(outcomes: &[Outcome], seconds: u64, printer: &Printer) -> Result<()> {
    if printer.json {
        let n_cores = std::thread::available_parallelism().map_or(0, usize::from);
        return printer.json(&json!({"cores": n_cores, "seconds": seconds, "results": outcomes}));
    }
    printer.text(&outcome::table(outcomes))
}

fn parts(args: &BenchBoardArgs) -> Result<Vec<BenchPart>> {
    if args.postgres.is_none() && args.only.contains(&BenchPart::Postgres) {
        let hint = "say where it is: `--postgres postgres://localhost/postgres`";
        return Err(Usage::new("there is no PostgreSQL server to measure on", hint).into());
    }
    let is_meant = |part: &BenchPart| {
        let can_be_measured = *part != BenchPart::Postgres || args.postgres.is_some();
        can_be_measured && (args.only.is_empty() || args.only.contains(part))
    };
    Ok(BenchPart::ALL.into_iter().filter(is_meant).collect())
}

async fn measure(part: BenchPart, bench: &Bench) -> Result<Vec<Outcome>> {
    match part {
        BenchPart::Sqlite => sqlite::measure(bench).await,
        BenchPart::Files => files::measure(bench).await,
        BenchPart::Postgres => postgres::measure(bench).await,
        BenchPart::Seen => seen::measure(bench).await,
        BenchPart::Open => growth::measure(bench).await,
        BenchPart::Start => start::measure(bench).await,
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
