//! Trivial tasks that wait for each other, beside `make` with the same graph.

use std::{collections::BTreeMap, fmt::Write as _, process::Stdio};

use anyhow::{Context as _, Result, ensure};
use tokio::time::Instant;
use troop_model::{Command, Fact, NewTask, TaskCommand, TaskNumber, Version};
use troop_runtime::CommandRequest;

use super::{RunningTeam, TeamSetup};
use crate::{
    cli::BenchTeamPart,
    {
        outcome::{Comparison, Subject, Target, Unit, median},
        team,
    },
};

const N_TASKS: u32 = 100;
/// How many tasks can be done at the same time.
const WIDTH: u32 = 10;
const N_TEAMMATES: usize = 5;
/// How often each contestant does the graph at least.
const N_ROUNDS: usize = 7;
/// The command of each task.
const TRIVIAL: &str = "/bin/true";

/// The tasks that a task waits for: two of the layer before its own.
fn waits_for(task: u32) -> Vec<u32> {
    let Some(above) = task.checked_sub(WIDTH) else { return Vec::new() };
    let first = above - above % WIDTH;
    vec![above, first + (above + 1) % WIDTH]
}

pub(crate) async fn measure(setup: &TeamSetup) -> Result<Vec<Comparison>> {
    let makefile = setup.bench.join("Makefile");
    std::fs::write(&makefile, written_for_make())?;
    let mut running = RunningTeam::start(setup, "graph").await?;
    for nth in 0..N_TEAMMATES {
        running.spawn(nth, "command").await?;
    }
    let mut ours = Vec::new();
    let mut makes = Vec::new();
    let start = Instant::now();
    while ours.len() < N_ROUNDS || start.elapsed() < setup.span {
        makes.push(make(setup).await?);
        ours.push(work_off(&mut running).await?);
        if setup.span.is_zero() {
            break;
        }
    }
    let n_twice = n_given_twice(&running).await?;
    running.stop().await?;
    let part = BenchTeamPart::Graph.name();
    let time = Subject {
        part,
        what: "time for a task of 100, 5 teammates",
        against: "make -j5",
        unit: Unit::Micros,
    };
    let twice = Subject { part, what: "tasks given twice", against: "none", unit: Unit::Count };
    Ok(vec![
        Comparison::new(time, median(ours), median(makes), Target::AtMost(2.0)),
        Comparison::new(twice, n_twice as f64, 1.0, Target::AtMost(0.0)),
    ])
}

fn written_for_make() -> String {
    let names = |tasks: Vec<u32>| {
        tasks.iter().fold(String::new(), |mut all, task| {
            write!(all, " t{task}").expect("writing to a text never fails");
            all
        })
    };
    let mut text = format!("all:{}\n.PHONY: all", names((0..N_TASKS).collect()));
    text += &names((0..N_TASKS).collect());
    text.push('\n');
    for task in 0..N_TASKS {
        let waits_for = names(waits_for(task));
        writeln!(text, "t{task}:{waits_for}\n\t@{TRIVIAL}").expect("writing to a text never fails");
    }
    text
}

/// Runs the graph with `make`; returns the microseconds per task.
async fn make(setup: &TeamSetup) -> Result<f64> {
    let mut make = troop_process::command("make");
    make.args(["-j5", "-f", "Makefile"]).current_dir(setup.bench.path()).stdout(Stdio::null());
    let start = Instant::now();
    let status = make.status().await.context("`make` is needed for the comparison")?;
    ensure!(status.success(), "`make` ended badly");
    Ok(micros_each(start))
}

/// Runs the graph with the team; returns the microseconds per task.
async fn work_off(running: &mut RunningTeam) -> Result<f64> {
    let before = running.board.look(|state| state.tasks().last().0).await?;
    let start = Instant::now();
    let mut given = Vec::new();
    for nth in 0..N_TASKS {
        let number = |task: u32| TaskNumber(before + 1 + task).into();
        let task = NewTask {
            subject: format!("Task {nth}"),
            description: TRIVIAL.to_owned(),
            blocked_by: waits_for(nth).into_iter().map(number).collect(),
            ..NewTask::default()
        };
        let command = Command::Task(TaskCommand::Create(task));
        given.push(running.board.give(CommandRequest::new(team::person(), command)).await?);
    }
    for given in given {
        given.done().await?;
    }
    let mut n_left = N_TASKS;
    running
        .until(|event| {
            n_left -= u32::from(matches!(event.fact, Fact::TaskCompleted { .. }));
            (n_left == 0).then_some(())
        })
        .await?;
    Ok(micros_each(start))
}

fn micros_each(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e6 / f64::from(N_TASKS)
}

/// How many tasks were given out more than once, according to the log.
async fn n_given_twice(running: &RunningTeam) -> Result<usize> {
    let mut log = running.board.subscribe(Version::ZERO);
    let mut n_given = BTreeMap::<TaskNumber, usize>::new();
    while let Some(event) = log.next_stored().await? {
        if let Fact::TaskAssigned { task, .. } | Fact::TaskClaimed { task, .. } = &event.fact {
            *n_given.entry(*task).or_default() += 1;
        }
    }
    Ok(n_given.values().filter(|n| **n > 1).count())
}
