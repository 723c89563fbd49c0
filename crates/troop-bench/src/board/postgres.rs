//! Claiming and completing on PostgreSQL, durably: by one process, and by several on one team.

use std::{path::PathBuf, process::Command, time::Duration};

use anyhow::{Context as _, Result};
use troop_model::{Settings, TeamId};
use troop_runtime::{Board, Lead, find_lead};

use super::{
    BoardSetup,
    callers::{Callers, MANY},
    pgbench::Pgbench,
};
use crate::{
    ROUNDS,
    child::Waits,
    cli::BenchPart,
    outcome::{Comparison, Subject, Target, Throughput, Unit, median},
    partner::{Partner, team_args},
    running,
    server::BenchDatabase,
    team,
    workbench::Workbench,
};

/// How many processes share a team.
const PROCESSES: usize = 8;

pub(crate) async fn measure(setup: &BoardSetup) -> Result<Vec<Comparison>> {
    let url = setup.postgres.as_deref().context("this part is measured only with a server")?;
    let database = BenchDatabase::create(url).await?;
    let outcomes = measure_on(setup, database.url()).await;
    database.remove().await?;
    outcomes
}

async fn measure_on(setup: &BoardSetup, url: &str) -> Result<Vec<Comparison>> {
    // `pgbench` counts whole seconds.
    let slice = Duration::from_secs(setup.slice().as_secs_f64().ceil() as u64);
    let raw = Pgbench::new(url, &setup.bench, slice).await?;
    let many = Callers::new(url, MANY, setup.n_tasks).await?;
    let led = LedTeam::start(url, &setup.bench).await?;
    let mut raw_rate = 0.0;
    let mut by_many = Throughput::default();
    let [mut by_socket, mut direct] = [ProcessCrowd::default(), ProcessCrowd::default()];
    for _ in 0..ROUNDS {
        raw_rate += raw.run(slice).await? / f64::from(ROUNDS);
        by_many += many.run(slice).await?;
        team::top_up(&led.board, setup.n_tasks).await?;
        by_socket.run(led.processes(&setup.bench, slice)).await?;
        // This board stays open meanwhile, as a lead's would, but does no work.
        many.board().catch_up().await?;
        team::top_up(many.board(), setup.n_tasks).await?;
        direct.run(processes(&setup.bench, url, many.board().team(), slice)).await?;
        many.board().catch_up().await?;
    }
    many.close().await;
    led.stop().await?;
    let subject =
        |what, against, unit| Subject { part: BenchPart::Postgres.name(), what, against, unit };
    let raw_is = "raw SKIP LOCKED by pgbench, 1 operation per commit";
    let rate = |what, ours, target: Option<Target>| {
        Comparison::new(subject(what, raw_is, Unit::PerSecond), ours, raw_rate, target)
    };
    let longest = |what, several: ProcessCrowd, target: Option<Target>| {
        let (longest, median) = several.waits();
        Comparison::new(subject(what, "their median wait", Unit::Micros), longest, median, target)
    };
    let longest_wait = Some(Target::AtMost(20.0));
    Ok(vec![
        rate("64 callers", by_many.rate(), Some(Target::AtLeast(4.0))),
        rate("8 processes, by their lead", by_socket.rate(), Some(Target::AtLeast(0.5))),
        longest("8 processes, by their lead, longest wait", by_socket, longest_wait),
        rate("8 processes without a lead", direct.rate(), None),
        longest("8 processes without a lead, longest wait", direct, None),
    ])
}

/// A team that is led from this process.
struct LedTeam {
    board: Board,
    lead: Lead,
    socket: PathBuf,
}

impl LedTeam {
    async fn start(url: &str, bench: &Workbench) -> Result<Self> {
        let store = team::open_store(url).await?;
        let board = team::create_to_lead(store, PROCESSES, Settings::default()).await?;
        let lead = running::lead(&board, bench, "led").await?;
        let socket = find_lead(&bench.join("led")).and_then(|entry| entry.socket);
        Ok(Self { board, lead, socket: socket.context("a lead has a socket")? })
    }

    /// Processes that send their commands to the lead.
    fn processes(&self, bench: &Workbench, span: Duration) -> Vec<Command> {
        (0..PROCESSES)
            .map(|nth| {
                let args = ["ask".to_owned(), self.socket.display().to_string()];
                bench.child_command(&with_share(args.to_vec(), nth, span))
            })
            .collect()
    }

    async fn stop(self) -> Result<()> {
        self.lead.stop("it was measured").await?;
        self.lead.ended().await;
        self.board.close().await;
        Ok(())
    }
}

/// Processes that each write to the server.
fn processes(bench: &Workbench, url: &str, team: TeamId, span: Duration) -> Vec<Command> {
    (0..PROCESSES)
        .map(|nth| bench.child_command(&with_share(team_args("work", team, url), nth, span)))
        .collect()
}

fn with_share(mut args: Vec<String>, nth: usize, span: Duration) -> Vec<String> {
    let nth = nth.to_string();
    let seconds = span.as_secs().to_string();
    args.extend(["--nth", &nth, "--seconds", &seconds].map(str::to_owned));
    args
}

/// The work of several processes at once.
#[derive(Default)]
struct ProcessCrowd {
    /// Operations per second, one for each round.
    rates: Vec<f64>,
    /// How long each operation took, in microseconds.
    micros: Vec<f64>,
}

impl ProcessCrowd {
    /// Runs them. Their lead may be in this process, so a separate thread waits for them.
    async fn run(&mut self, commands: Vec<Command>) -> Result<()> {
        let all = tokio::task::spawn_blocking(move || work(commands)).await??;
        let rate = |it: &Waits| {
            Throughput { n_operations: it.micros.len() as u64, elapsed: it.elapsed }.rate()
        };
        self.rates.push(all.iter().map(rate).sum());
        self.micros.extend(all.into_iter().flat_map(|it| it.micros).map(|wait| wait as f64));
        Ok(())
    }

    fn rate(&self) -> f64 {
        self.rates.iter().sum::<f64>() / self.rates.len().max(1) as f64
    }

    /// The longest and the median.
    fn waits(self) -> (f64, f64) {
        (self.micros.iter().copied().fold(0.0, f64::max), median(self.micros))
    }
}

fn work(commands: Vec<Command>) -> Result<Vec<Waits>> {
    let partners = commands.into_iter().map(|mut command| Partner::spawn(&mut command));
    let mut partners = partners.collect::<Result<Vec<_>>>()?;
    partners.iter_mut().try_for_each(Partner::prompt)?;
    partners.iter_mut().map(Partner::hear_json).collect()
}
