//! Claiming and completing on files, durably.

use std::{fs::File, io::Write, path::Path, time::Duration};

use anyhow::Result;
use tokio::time::Instant;

use super::{
    Bench, ROUNDS,
    callers::{Callers, MANY},
    outcome::{Outcome, Subject, Tally, Target, Unit},
    team,
};
use crate::cli::BenchPart;

pub(super) async fn measure(bench: &Bench) -> Result<Vec<Outcome>> {
    let mut raw = RawFile::new(&bench.place.join("raw.jsonl"))?;
    let many = open(bench, "many", MANY).await?;
    let one = open(bench, "one", 1).await?;
    let slice = bench.slice();
    let [mut single, mut by_many, mut by_one] = [Tally::default(); 3];
    for _ in 0..ROUNDS {
        single += raw.run(slice)?;
        by_one += one.run(slice).await?;
        by_many += many.run(slice).await?;
    }
    many.close().await;
    one.close().await;
    let compare = |what, ours: Tally, target| {
        let against = "raw append and fdatasync of such a line";
        let subject =
            Subject { part: BenchPart::Files.name(), what, against, unit: Unit::PerSecond };
        Outcome::new(subject, ours.rate(), single.rate(), target)
    };
    Ok(vec![
        compare("1 caller", by_one, Target::AtLeast(0.5)),
        compare("64 callers", by_many, Target::AtLeast(5.0)),
    ])
}

async fn open(bench: &Bench, name: &str, n_callers: usize) -> Result<Callers> {
    let url = format!("files:{}", bench.place.join(name).display());
    Callers::new(&url, n_callers, bench.n_tasks).await
}

/// A file to which lines are added, each durable before the next.
#[derive(Debug)]
pub(super) struct RawFile {
    file: File,
    line: String,
}

impl RawFile {
    pub(super) fn new(path: &Path) -> Result<Self> {
        let around = "{\"v\":123456,\"n\":1,\"op\":\"01a1e136-9eb3-77cd-a6f6-7edc75a6f611\",\
                      \"crc\":\"12345678\",\"events\":[]}\n";
        let line = format!("{}{around}", team::sample_line()?);
        Ok(Self { file: File::create(path)?, line })
    }

    /// Adds a line, durably.
    pub(super) fn append(&mut self) -> Result<()> {
        self.file.write_all(self.line.as_bytes())?;
        Ok(self.file.sync_data()?)
    }

    fn run(&mut self, span: Duration) -> Result<Tally> {
        let start = Instant::now();
        let mut n_operations = 0;
        loop {
            self.append()?;
            n_operations += 1;
            if start.elapsed() >= span {
                return Ok(Tally { n_operations, elapsed: start.elapsed() });
            }
        }
    }
}
