//! Idle teammates: how soon one is ready, its memory, and the CPU time of many.

use std::{fs, time::Duration};

use anyhow::{Context as _, Result};
use tokio::time::{Instant, sleep};

use super::{RunningTeam, TeamSetup};
use crate::{
    cli::BenchTeamPart,
    outcome::{Comparison, Subject, Target, Unit, median},
};

const MANY: usize = 100;
/// How many, if everything is done once.
const FEW: usize = 3;
/// Limits: microseconds until it is ready, resident megabytes, private megabytes, percent of a core for all of them.
const READY: f64 = 15_000.0;
const RESIDENT: f64 = 8.0;
const PRIVATE: f64 = 1.0;
const CPU: f64 = 2.0;
/// How long the team rests before we measure.
const REST: Duration = Duration::from_millis(500);

pub(crate) async fn measure(setup: &TeamSetup) -> Result<Vec<Comparison>> {
    let mut running = RunningTeam::start(setup, "idle").await?;
    let n_teammates = if setup.span.is_zero() { FEW } else { MANY };
    let mut pids = Vec::new();
    let mut ready = Vec::new();
    for nth in 0..n_teammates {
        let start = Instant::now();
        let name = running.spawn(nth, "command").await?;
        ready.push(start.elapsed().as_secs_f64() * 1e6);
        pids.push(running.pid(&name).await?);
    }
    sleep(REST).await;
    let memory = pids.iter().map(|pid| memory(*pid)).collect::<Result<Vec<_>>>()?;
    let all: Vec<_> = pids.iter().copied().chain([std::process::id()]).collect();
    let before = busy(&all)?;
    let start = Instant::now();
    sleep(setup.span).await;
    let seconds = busy(&all)?.saturating_sub(before) as f64 / 1e9;
    let percent = 100.0 * seconds / start.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
    running.stop().await?;
    let limit = |what, unit, ours, most| {
        let part = BenchTeamPart::Idle.name();
        let subject = Subject { part, what, against: "the limit", unit };
        Comparison::new(subject, ours, most, Target::AtMost(1.0))
    };
    let of = |look: fn(&ProcessMemory) -> f64| median(memory.iter().map(look).collect());
    Ok(vec![
        limit("from spawn to ready", Unit::Micros, median(ready), READY),
        limit("memory of one", Unit::Megabytes, of(|it| it.resident), RESIDENT),
        limit("memory of its own", Unit::Megabytes, of(|it| it.private), PRIVATE),
        limit("100 of them and their lead, of a core", Unit::Percent, percent, CPU),
    ])
}

/// In megabytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessMemory {
    pub(crate) resident: f64,
    private: f64,
}

pub(crate) fn memory(pid: u32) -> Result<ProcessMemory> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let megabytes = |field: &str| -> Result<f64> {
        let line = rollup.lines().find_map(|line| line.strip_prefix(field));
        let kilobytes = line.and_then(|line| line.split_whitespace().next());
        let kilobytes: f64 = kilobytes.context("the system does not tell")?.parse()?;
        Ok(kilobytes / 1024.0)
    };
    let private = megabytes("Private_Clean:")? + megabytes("Private_Dirty:")?;
    Ok(ProcessMemory { resident: megabytes("Rss:")?, private })
}

/// The CPU time of all threads of processes, in nanoseconds.
fn busy(pids: &[u32]) -> Result<u64> {
    let mut all = 0;
    for pid in pids {
        for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
            // A thread may end meanwhile.
            let Ok(said) = fs::read_to_string(thread?.path().join("schedstat")) else { continue };
            let ran = said.split_whitespace().next().context("the system does not tell")?;
            all += ran.parse::<u64>()?;
        }
    }
    Ok(all)
}
