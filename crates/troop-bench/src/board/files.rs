//! Claiming and completing on files, durably.

use anyhow::Result;

use super::{
    BoardSetup,
    callers::{Callers, MANY},
};
use crate::{
    ROUNDS,
    cli::BenchPart,
    outcome::{Comparison, Subject, Target, Throughput, Unit},
    raw_file::RawFile,
};

pub(crate) async fn measure(setup: &BoardSetup) -> Result<Vec<Comparison>> {
    let mut raw = RawFile::new(&setup.bench.join("raw.jsonl"))?;
    let many = open(setup, "many", MANY).await?;
    let one = open(setup, "one", 1).await?;
    let slice = setup.slice();
    let [mut single, mut by_many, mut by_one] = [Throughput::default(); 3];
    for _ in 0..ROUNDS {
        single += raw.run(slice)?;
        by_one += one.run(slice).await?;
        by_many += many.run(slice).await?;
    }
    many.close().await;
    one.close().await;
    let compare = |what, ours: Throughput, target| {
        let against = "raw append and fdatasync of such a line";
        let subject =
            Subject { part: BenchPart::Files.name(), what, against, unit: Unit::PerSecond };
        Comparison::new(subject, ours.rate(), single.rate(), target)
    };
    Ok(vec![
        compare("1 caller", by_one, Target::AtLeast(0.5)),
        compare("64 callers", by_many, Target::AtLeast(5.0)),
    ])
}

async fn open(setup: &BoardSetup, name: &str, n_callers: usize) -> Result<Callers> {
    let url = format!("files:{}", setup.bench.join(name).display());
    Callers::new(&url, n_callers, setup.n_tasks).await
}
