//! The cost of starting the program for one command, and of holding a full board open.

use std::{process::Stdio, time::Duration};

use anyhow::{Result, ensure};
use tokio::time::Instant;
use troop_model::{Command, Outgoing};
use troop_runtime::Board;

use super::BoardSetup;
use crate::{
    child::BoardMemory,
    cli::BenchPart,
    outcome::{Comparison, Subject, Target, Unit, median},
    partner::{Partner, team_args},
    team,
    workbench::Workbench,
};

/// How often each command is run at least, and at most.
const N_RUNS: std::ops::Range<usize> = 50..2_000;
/// How many members the messages are for.
const N_READERS: usize = 8;
/// How much memory a full board may take, in megabytes.
const LIMIT: f64 = 60.0;

pub(crate) async fn measure(setup: &BoardSetup) -> Result<Vec<Comparison>> {
    let url = format!("sqlite:{}", setup.bench.join("start.db").display());
    let board = team::create(team::open_store(&url).await?, N_READERS).await?;
    let id = board.team();
    team::add_tasks(&board, setup.n_tasks, None).await?;
    board.close().await;
    let next = ["task", "next", "--as", "member-0", "--store", &url];
    let (version, next) = run_both(&setup.bench, setup.span, &["--version"], &next)?;

    let board = team::open(team::open_store(&url).await?, id, troop_runtime::Following::WhenAsked);
    let board = board.await?;
    add_messages(&board, setup.n_tasks).await?;
    board.close().await;
    let memory: BoardMemory =
        Partner::start(&setup.bench, &team_args("hold", id, &url))?.hear_json()?;

    let subject =
        |what, against, unit| Subject { part: BenchPart::Start.name(), what, against, unit };
    let held = |what, kilobytes: u64| {
        let subject = subject(what, "the limit", Unit::Megabytes);
        Comparison::new(subject, kilobytes as f64 / 1024.0, LIMIT, Target::AtMost(1.0))
    };
    let started = subject("troop task next", "troop --version", Unit::Micros);
    Ok(vec![
        Comparison::new(started, next, version, Target::AtMost(3.0)),
        held("memory, a full board open", memory.opened),
        held("memory, all of it looked at", memory.used),
    ])
}

async fn add_messages(board: &Board, n_messages: usize) -> Result<()> {
    let message = |nth: usize| {
        Command::Send(Outgoing::message(
            format!("member-{}", nth % N_READERS),
            "A message of a usual length: somebody says what came of something, and what \
                      that means for the one who is told."
                .to_owned(),
        ))
    };
    team::submit_many(board, n_messages, message).await
}

/// Runs two commands alternately and returns the median time of each, from start to end of the process.
fn run_both(bench: &Workbench, span: Duration, one: &[&str], other: &[&str]) -> Result<(f64, f64)> {
    let start = Instant::now();
    let mut micros = [Vec::new(), Vec::new()];
    for nth in 0..N_RUNS.end {
        for (args, micros) in [one, other].into_iter().zip(&mut micros) {
            micros.push(time_to_run(bench, args)?);
        }
        let is_enough = nth + 1 >= N_RUNS.start || span.is_zero();
        if is_enough && start.elapsed() >= span {
            break;
        }
    }
    let [one, other] = micros.map(median);
    Ok((one, other))
}

fn time_to_run(bench: &Workbench, args: &[&str]) -> Result<f64> {
    let mut command = bench.troop_command();
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status()?;
    let elapsed = start.elapsed();
    ensure!(status.success(), "`troop {}` ended badly", args.join(" "));
    Ok(elapsed.as_secs_f64() * 1e6)
}
