//! Whether a long log costs more than a short one: in commands, and when a team is opened.

use std::time::Duration;

use anyhow::Result;
use tokio::{task::JoinSet, time::Instant};
use troop_model::{Actor, State, TeamId};
use troop_runtime::{Board, Following};

use super::{BoardSetup, callers::Callers};
use crate::{
    ROUNDS,
    cli::BenchPart,
    outcome::{Comparison, Subject, Target, Throughput, Unit, median},
    team,
};

/// How many events a short log has.
const SHORT: u64 = 10_000;
/// How many tasks are live in either.
const N_LIVE: usize = 1_000;
/// How many write a log at once.
const N_WRITERS: usize = 256;
/// How often a team is opened at least, and at most.
const N_OPENS: std::ops::Range<usize> = 5..200;

pub(crate) async fn measure(setup: &BoardSetup) -> Result<Vec<Comparison>> {
    let short = GrownLog::new(setup, "short", SHORT.min(setup.n_events)).await?;
    let long = GrownLog::new(setup, "long", setup.n_events).await?;
    let (short_open, long_open) = open_both(setup.span, &short, &long).await?;
    let mut short_work = Throughput::default();
    let mut long_work = Throughput::default();
    for _ in 0..ROUNDS {
        short_work += short.work(setup.slice()).await?;
        long_work += long.work(setup.slice()).await?;
    }
    let subject =
        |what, against| Subject { part: BenchPart::Open.name(), what, against, unit: Unit::Micros };
    let micros = |tally: Throughput| 1e6 / tally.rate();
    Ok(vec![
        Comparison::new(
            subject("1 command, 1 caller, 1M events", "with 10k events"),
            micros(long_work),
            micros(short_work),
            Target::AtMost(1.3),
        ),
        Comparison::new(
            subject("opening a team, 1M events", "with 10k events"),
            long_open,
            short_open,
            Target::AtMost(2.0),
        ),
    ])
}

/// A team with a log of some length.
#[derive(Debug)]
struct GrownLog {
    url: String,
    team: TeamId,
}

impl GrownLog {
    async fn new(setup: &BoardSetup, name: &str, n_events: u64) -> Result<Self> {
        let url = format!("sqlite:{}", setup.bench.join(name).with_extension("db").display());
        let board = team::create(team::open_store(&url).await?, N_WRITERS).await?;
        let team = board.team();
        team::add_tasks(&board, N_LIVE, Some(&team::member(N_WRITERS - 1)?)).await?;
        let mut writers = JoinSet::new();
        for nth in 0..N_WRITERS - 1 {
            writers.spawn(write(board.clone(), nth, n_events));
        }
        while let Some(done) = writers.join_next().await {
            done??;
        }
        board.close().await;
        Ok(Self { url, team })
    }

    async fn open(&self) -> Result<Board> {
        let store = team::open_store(&self.url).await?;
        team::open(store, self.team, Following::WhenAsked).await
    }

    async fn work(&self, span: Duration) -> Result<Throughput> {
        // The reserved tasks stay; this caller completes additional ones.
        let callers = Callers::of(self.open().await?, 1, N_LIVE);
        let tally = callers.run(span).await?;
        callers.close().await;
        Ok(tally)
    }
}

/// Creates, claims and completes tasks until the log is long enough.
async fn write(board: Board, nth: usize, n_events: u64) -> Result<()> {
    let actor = Actor::agent(&team::member(nth)?);
    loop {
        team::add_task(&board).await?;
        let task = team::claim(&board, &actor).await?;
        let done = team::complete(&board, &actor, task).await?;
        if done.version.0 >= n_events {
            return Ok(());
        }
    }
}

async fn open_both(span: Duration, short: &GrownLog, long: &GrownLog) -> Result<(f64, f64)> {
    let start = Instant::now();
    let mut micros = [Vec::new(), Vec::new()];
    for nth in 0..N_OPENS.end {
        for (log, micros) in [short, long].into_iter().zip(&mut micros) {
            micros.push(time_to_open(log).await?);
        }
        let is_enough = nth + 1 >= N_OPENS.start || span.is_zero();
        if is_enough && start.elapsed() >= span {
            break;
        }
    }
    let [short, long] = micros.map(median);
    Ok((short, long))
}

async fn time_to_open(log: &GrownLog) -> Result<f64> {
    let start = Instant::now();
    let board = log.open().await?;
    board.look(State::version).await?;
    let elapsed = start.elapsed();
    board.close().await;
    Ok(elapsed.as_secs_f64() * 1e6)
}
