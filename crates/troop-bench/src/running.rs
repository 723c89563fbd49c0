//! `troop-bench team`: what a running team costs, with real teammate processes and a durable store.

mod crash;
mod graph;
mod idle;
mod mail;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, anyhow};
use smol_str::SmolStr;
use tokio::sync::watch;
use troop_model::{
    Command, Event, Fact, MemberName, MemberState, NewMember, NewTask, Settings, Spawn, TaskCommand,
};
use troop_runtime::{
    Agreement, Board, Clock, CommandEffect, CommandRequest, Hooks, InProcess, Lead, LeadOptions,
    LeadThinks, LeadWork, Programs, Subscription, Timing, Until, silent_lead,
};

pub(crate) use idle::memory;

use crate::{
    cli::{BenchTeamArgs, BenchTeamPart},
    outcome::Comparison,
    output::BenchPrinter,
    team,
    workbench::Workbench,
};

/// The agent of teammates that play ball: a child of this benchmark.
const MATE: &str = "mate";

/// The inputs of every measurement.
#[derive(Debug)]
struct TeamSetup {
    bench: Workbench,
    /// How long a measurement runs; zero if everything is done once.
    span: Duration,
}

pub(crate) async fn run(
    args: &BenchTeamArgs,
    bench: Workbench,
    printer: &BenchPrinter,
) -> Result<()> {
    let span = Duration::from_secs(args.seconds);
    let setup = TeamSetup { bench, span };
    setup.bench.warn_if_in_memory(printer);
    let mut outcomes = Vec::new();
    for part in BenchTeamPart::ALL {
        if args.only.is_empty() || args.only.contains(&part) {
            printer.announce(part.name());
            outcomes.extend(Box::pin(measure(part, &setup)).await?);
        }
    }
    printer.outcomes(&outcomes, args.seconds)
}

async fn measure(part: BenchTeamPart, setup: &TeamSetup) -> Result<Vec<Comparison>> {
    match part {
        BenchTeamPart::Graph => graph::measure(setup).await,
        BenchTeamPart::Idle => idle::measure(setup).await,
        BenchTeamPart::Mail => mail::measure(setup).await,
        BenchTeamPart::Crash => crash::measure(setup).await,
    }
}

impl BenchTeamPart {
    const ALL: [Self; 4] = [Self::Graph, Self::Idle, Self::Mail, Self::Crash];

    fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Idle => "idle",
            Self::Mail => "mail",
            Self::Crash => "crash",
        }
    }
}

/// A running team on SQLite: the lead in this process, each teammate in a separate one.
struct RunningTeam {
    board: Board,
    lead: Lead,
    news: Subscription,
}

impl RunningTeam {
    async fn start(setup: &TeamSetup, name: &str) -> Result<Self> {
        let bench = &setup.bench;
        let url = format!("sqlite:{}", bench.join(name).with_extension("db").display());
        let settings = Settings { max_teammates: 1_000, ..Settings::default() };
        let board = team::create_to_lead(team::open_store(&url).await?, 0, settings).await?;
        let lead = lead(&board, bench, name).await?;
        let news = board.subscribe(board.look(troop_model::State::version).await?);
        Ok(Self { board, lead, news })
    }

    /// Spawns a teammate and waits until it is idle.
    async fn spawn(&mut self, nth: usize, agent: &'static str) -> Result<MemberName> {
        let name = team::member(nth)?;
        let member = NewMember::new(name.clone(), agent);
        self.submit(Command::SpawnMember(Spawn { member, prompt: None })).await?;
        self.until_idle(&name).await?;
        Ok(name)
    }

    async fn submit(&self, command: Command) -> Result<CommandEffect> {
        Ok(self.board.submit(CommandRequest::new(team::person(), command)).await?)
    }

    async fn add_task(&self, task: NewTask) -> Result<CommandEffect> {
        self.submit(Command::Task(TaskCommand::Create(task))).await
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the end of the wait matters")]
    async fn until_idle(&mut self, name: &MemberName) -> Result<()> {
        self.until(|event| match &event.fact {
            Fact::MemberStateChanged { member, state: MemberState::Idle, .. } if member == name => {
                Some(Ok(()))
            }
            Fact::MemberRemoved { member, reason } if member == name => {
                Some(Err(anyhow!("{}", reason.as_deref().unwrap_or("a teammate did not start"))))
            }
            _ => None,
        })
        .await?
    }

    /// Waits for an event in the log.
    async fn until<T>(&mut self, mut look: impl FnMut(&Event) -> Option<T>) -> Result<T> {
        loop {
            let event = self.news.next().await?.context("the board was closed")?;
            if let Some(found) = look(&event) {
                return Ok(found);
            }
        }
    }

    async fn pid(&self, member: &MemberName) -> Result<u32> {
        let name = member.clone();
        let pid = self.board.look(move |state| state.member(&name).and_then(|it| it.pid)).await?;
        pid.context("a teammate that runs has a process")
    }

    async fn stop(self) -> Result<()> {
        let Self { board, lead, news } = self;
        drop(news);
        lead.stop("it was measured").await?;
        lead.ended().await;
        board.close().await;
        Ok(())
    }
}

/// Leads a team whose lead has no agent.
pub(crate) async fn lead(board: &Board, bench: &Workbench, name: &str) -> Result<Lead> {
    let child = [bench.own().into(), "child".into(), "mate".into()];
    let environment = vec![("TROOP_HOME".into(), bench.path().into())];
    let own = BTreeMap::from([(SmolStr::new_static(MATE), child.to_vec())]);
    let others = Arc::new(Programs { troop: bench.troop().to_owned(), own, environment });
    let lead = Lead::start(LeadOptions {
        board: board.clone(),
        clock: Clock::system(),
        folder: bench.join(name),
        project: bench.path().to_owned(),
        holder: "bench".to_owned(),
        thinks: LeadThinks::Here,
        launch: Arc::new(InProcess { run: silent_lead, others }),
        hooks: Hooks::none(),
        isolation: None,
        checks: Vec::new(),
        agreement: Agreement::default(),
        environment: Vec::new(),
        timing: Timing { restart: Duration::from_millis(1), ..Timing::default() },
        until: Until::Stopped,
        work: watch::channel(LeadWork::Done).1,
        warnings: None,
    });
    Ok(lead.await?)
}
