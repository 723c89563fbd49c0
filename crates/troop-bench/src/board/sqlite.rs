//! Claiming and completing on SQLite, durably.

use anyhow::Result;

use super::{
    BoardSetup,
    callers::{Callers, MANY},
};
use crate::{
    ROUNDS,
    cli::BenchPart,
    outcome::{Comparison, Subject, Target, Throughput, Unit},
    raw_sqlite::RawSqlite,
};

pub(crate) async fn measure(setup: &BoardSetup) -> Result<Vec<Comparison>> {
    let raw = RawSqlite::new(&setup.bench.join("raw.db"), setup.n_tasks)?;
    let many = open(setup, "many.db", MANY).await?;
    let one = open(setup, "one.db", 1).await?;
    let slice = setup.slice();
    let [mut single, mut batched, mut by_many, mut by_one] = [Throughput::default(); 4];
    for _ in 0..ROUNDS {
        single += raw.run(slice, 1)?;
        by_many += many.run(slice).await?;
        by_one += one.run(slice).await?;
        batched += raw.run(slice, MANY)?;
    }
    many.close().await;
    one.close().await;
    let compare = |what, against, ours: Throughput, baseline: Throughput, target| {
        let subject =
            Subject { part: BenchPart::Sqlite.name(), what, against, unit: Unit::PerSecond };
        Comparison::new(subject, ours.rate(), baseline.rate(), target)
    };
    let per_operation = "raw, 1 operation per commit";
    let per_batch = "raw, 64 operations per commit";
    Ok(vec![
        compare("64 callers", per_operation, by_many, single, Target::AtLeast(5.0)),
        compare("64 callers", per_batch, by_many, batched, Target::AtLeast(0.4)),
        compare("1 caller", per_operation, by_one, single, Target::AtLeast(0.6)),
    ])
}

async fn open(setup: &BoardSetup, name: &str, n_callers: usize) -> Result<Callers> {
    let url = format!("sqlite:{}", setup.bench.join(name).display());
    Callers::new(&url, n_callers, setup.n_tasks).await
}
