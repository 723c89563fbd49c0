//! Claiming and completing on PostgreSQL, durably: by one process, and by several on one team.

use std::time::Duration;

use anyhow::{Context as _, Result};
use troop_model::TeamId;

use super::{
    Bench, ROUNDS,
    callers::{Callers, MANY},
    child::Waits,
    outcome::{Outcome, Subject, Tally, Target, Unit, median},
    partner::{Partner, team_args},
    pgbench::Pgbench,
    place::Place,
    server::Database,
    team,
};
use crate::cli::BenchPart;

/// How many processes share a team.
const PROCESSES: usize = 8;

pub(super) async fn measure(bench: &Bench) -> Result<Vec<Outcome>> {
    let url = bench.postgres.as_deref().context("this part is measured only with a server")?;
    let database = Database::create(url).await?;
    let outcomes = measure_on(bench, database.url()).await;
    database.remove().await?;
    outcomes
}

async fn measure_on(bench: &Bench, url: &str) -> Result<Vec<Outcome>> {
    // `pgbench` counts whole seconds.
    let slice = Duration::from_secs(bench.slice().as_secs_f64().ceil() as u64);
    let raw = Pgbench::new(url, &bench.place, slice).await?;
    let many = Callers::new(url, MANY, bench.n_tasks).await?;
    let shared = many.board().team();
    let (mut raw_rate, mut by_processes, mut waits) = (0.0, 0.0, Vec::new());
    let mut by_many = Tally::default();
    for _ in 0..ROUNDS {
        raw_rate += raw.run(slice).await? / f64::from(ROUNDS);
        by_many += many.run(slice).await?;
        // Nobody else is at work meanwhile, but this board is open too, as a lead's would be.
        many.board().catch_up().await?;
        team::top_up(many.board(), bench.n_tasks).await?;
        let (rate, micros) = by_several(&bench.place, url, shared, slice)?;
        by_processes += rate / f64::from(ROUNDS);
        waits.extend(micros);
        many.board().catch_up().await?;
    }
    many.close().await;
    let subject =
        |what, against, unit| Subject { part: BenchPart::Postgres.name(), what, against, unit };
    let raw_is = "raw SKIP LOCKED by pgbench, 1 operation per commit";
    let longest = waits.iter().copied().fold(0.0, f64::max);
    Ok(vec![
        Outcome::new(
            subject("64 callers", raw_is, Unit::PerSecond),
            by_many.rate(),
            raw_rate,
            Target::AtLeast(4.0),
        ),
        Outcome::new(
            subject("8 processes", raw_is, Unit::PerSecond),
            by_processes,
            raw_rate,
            Target::AtLeast(0.5),
        ),
        Outcome::new(
            subject("8 processes, longest wait", "their median wait", Unit::Micros),
            longest,
            median(waits),
            Target::AtMost(20.0),
        ),
    ])
}

/// Lets several processes work on one team at once: how much they got done in a second, and how long each step took.
fn by_several(place: &Place, url: &str, team: TeamId, span: Duration) -> Result<(f64, Vec<f64>)> {
    let mut partners = Vec::new();
    for nth in 0..PROCESSES {
        let mut args = team_args("work", team, url);
        args.extend(["--nth", &nth.to_string()].map(str::to_owned));
        args.extend(["--seconds", &span.as_secs().to_string()].map(str::to_owned));
        partners.push(Partner::start(place, &args)?);
    }
    partners.iter_mut().try_for_each(Partner::prompt)?;
    let (mut rate, mut micros) = (0.0, Vec::new());
    for partner in &mut partners {
        let waits: Waits = partner.hear_json()?;
        let n_operations = waits.micros.len() as u64;
        rate += Tally { n_operations, elapsed: waits.elapsed }.rate();
        micros.extend(waits.micros.into_iter().map(|wait| wait as f64));
    }
    Ok((rate, micros))
}
