//! From the crash of a teammate until another has its task.

use anyhow::{Result, ensure};
use tokio::time::Instant;
use troop_model::{Event, Fact, MemberName, Metadata, NewTask, TaskNumber};
use troop_process::{Signal, kill_group};

use super::{RunningTeam, TeamSetup};
use crate::{
    cli::BenchTeamPart,
    outcome::{Comparison, Subject, Target, Unit, of_hundred},
};

/// One crashes, the others are idle.
const N_TEAMMATES: usize = 3;
/// How many crashes there are.
const N_CRASHES: usize = 100;
/// The limit, in microseconds.
const LIMIT: f64 = 50_000.0;

pub(crate) async fn measure(setup: &TeamSetup) -> Result<Vec<Comparison>> {
    let mut running = RunningTeam::start(setup, "crash").await?;
    for nth in 0..N_TEAMMATES {
        running.spawn(nth, "command").await?;
    }
    let n_crashes = if setup.span.is_zero() { 1 } else { N_CRASHES };
    let mut micros = Vec::new();
    for nth in 0..n_crashes {
        micros.push(crash(setup, &mut running, nth).await?);
    }
    running.stop().await?;
    let subject = Subject {
        part: BenchTeamPart::Crash.name(),
        what: "from a crash until another has the task, 99 of 100",
        against: "the limit",
        unit: Unit::Micros,
    };
    Ok(vec![Comparison::new(subject, of_hundred(99, micros), LIMIT, Target::AtMost(1.0))])
}

/// Kills the holder of a task; returns the time until another teammate has it. All are idle again afterwards.
async fn crash(setup: &TeamSetup, running: &mut RunningTeam, nth: usize) -> Result<f64> {
    // The second holder finds the first one's mark, and is done at once.
    let mark = setup.bench.join(&format!("begun-{nth}"));
    let script = format!("test -e {0} || {{ touch {0}; sleep 1000; }}", mark.display());
    let command = serde_json::json!(["sh", "-c", script]);
    let task = NewTask {
        subject: "Crash".to_owned(),
        metadata: Metadata([("command".to_owned(), command)].into_iter().collect()),
        ..NewTask::default()
    };
    running.add_task(task).await?;
    let (task, first) = assigned(running, None).await?;
    while !mark.exists() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let pid = running.pid(&first).await?;
    let start = Instant::now();
    kill_group(pid, Signal::KILL)?;
    let (_, second) = assigned(running, Some(task)).await?;
    let elapsed = start.elapsed();
    ensure!(second != first, "the task went to the same teammate");
    running.until_idle(&first).await?;
    // A teammate that completed something restarts without a delay after its next crash.
    let task = NewTask {
        subject: "Recover".to_owned(),
        description: "true".to_owned(),
        assignee: Some(first.clone()),
        ..NewTask::default()
    };
    running.add_task(task).await?;
    let is_done = |event: &Event| {
        let is_theirs = event.actor.name.as_str() == first.as_str();
        (is_theirs && matches!(event.fact, Fact::TaskCompleted { .. })).then_some(())
    };
    running.until(is_done).await?;
    Ok(elapsed.as_secs_f64() * 1e6)
}

/// Waits until a task is given to somebody.
async fn assigned(
    running: &mut RunningTeam,
    wanted: Option<TaskNumber>,
) -> Result<(TaskNumber, MemberName)> {
    running
        .until(|event| {
            let Fact::TaskAssigned { task, owner, .. } = &event.fact else { return None };
            wanted.is_none_or(|it| it == *task).then(|| (*task, owner.clone()))
        })
        .await
}
