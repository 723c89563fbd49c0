//! The child processes of the benchmark.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::{fs::FileExt, net::UnixStream},
    path::Path,
    time::Duration,
};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use troop_model::{
    Actor, Asker, Command, OperationId, Origin, TaskCommand, TaskNumber, TaskRef, TeamId,
};
use troop_protocol::Client;
use troop_runtime::{Board, Clock, CommandRequest, Following};
use uuid::Uuid;

use crate::{
    cli::{BenchChildCommand, BenchTeam},
    mate,
    output::BenchPrinter,
    partner::READY,
    server, team,
};

/// The task that a child updates in order to change the board.
pub(crate) const CHANGED: TaskNumber = TaskNumber(1);
/// The channel on which a child notifies.
pub(crate) const CHANNEL: &str = "troop_bench";

/// How long each operation of a process took.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Waits {
    pub(crate) elapsed: Duration,
    pub(crate) micros: Vec<u64>,
}

/// The memory of a process, in kilobytes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BoardMemory {
    /// Once the board was open.
    pub(crate) opened: u64,
    /// After all of it was read.
    pub(crate) used: u64,
}

pub(crate) async fn run(command: &BenchChildCommand, printer: &BenchPrinter) -> Result<()> {
    match command {
        BenchChildCommand::Work { team, nth, seconds } => {
            let board = open(team, Following::WhenAsked).await?;
            let actor = Actor::agent(&team::member(*nth)?);
            let give = async |command| {
                Ok(board.submit(CommandRequest::new(actor.clone(), command)).await?.task())
            };
            work(give, Duration::from_secs(*seconds), printer).await
        }
        BenchChildCommand::Ask { socket, nth, seconds } => {
            let client = Client::connect(socket, &TaskTracker::new()).await?;
            let actor = Actor::agent(&team::member(*nth)?);
            let origin = Origin::default();
            client.open(&Asker { actor, origin }).await?;
            let give = async |command| {
                let answer = client.call(command, OperationId(Uuid::now_v7())).await?;
                Ok(answer.events.iter().find_map(|event| event.fact.task()))
            };
            work(give, Duration::from_secs(*seconds), printer).await
        }
        BenchChildCommand::Change { team } => {
            let board = open(team, Following::WhenAsked).await?;
            change(&board, printer).await?;
            board.close().await;
            Ok(())
        }
        BenchChildCommand::Touch { file } => touch(file, printer),
        BenchChildCommand::Notify { url } => notify(url, printer).await,
        BenchChildCommand::Mate { rest } => mate::run(rest).await,
        BenchChildCommand::Echo { socket } => echo(socket),
        BenchChildCommand::McpEcho => super::mcp::echo().await,
        BenchChildCommand::Hold { team } => {
            let board = open(team, Following::Always).await?;
            hold(&board, printer).await
        }
    }
}

async fn open(team: &BenchTeam, following: Following) -> Result<Board> {
    let store = team::open_store(&team.at).await?;
    team::open(store, TeamId(team.id), following).await
}

/// Waits for a line on standard input; false at its end.
fn wait_for_prompt() -> Result<bool> {
    Ok(io::stdin().read_line(&mut String::new())? > 0)
}

/// Claims and completes alternately; `give` returns the task that a command was about.
async fn work(
    give: impl AsyncFn(Command) -> Result<Option<TaskNumber>>,
    span: Duration,
    printer: &BenchPrinter,
) -> Result<()> {
    printer.line(READY)?;
    if !wait_for_prompt()? {
        return Ok(());
    }
    let start = Instant::now();
    let mut micros = Vec::new();
    loop {
        let before = start.elapsed();
        let task = give(team::claiming()).await?.context("a claim names no task")?;
        let between = start.elapsed();
        give(team::completing(task)).await?;
        let elapsed = start.elapsed();
        micros.extend([between - before, elapsed - between].map(|wait| wait.as_micros() as u64));
        if elapsed >= span {
            return printer.json(&Waits { elapsed, micros });
        }
    }
}

async fn change(board: &Board, printer: &BenchPrinter) -> Result<()> {
    let clock = Clock::system();
    let actor = Actor::agent(&team::member(0)?);
    printer.line(READY)?;
    while wait_for_prompt()? {
        let command = Command::Task(TaskCommand::Progress {
            task: TaskRef::Number(CHANGED),
            percent: 1,
            step: clock.now().as_micros().to_string(),
        });
        board.submit(CommandRequest::new(actor.clone(), command)).await?;
    }
    Ok(())
}

fn touch(path: &Path, printer: &BenchPrinter) -> Result<()> {
    let clock = Clock::system();
    let file = File::create(path)?;
    printer.line(READY)?;
    while wait_for_prompt()? {
        file.write_all_at(&clock.now().as_micros().to_le_bytes(), 0)?;
    }
    Ok(())
}

async fn notify(url: &str, printer: &BenchPrinter) -> Result<()> {
    let clock = Clock::system();
    let session = server::ServerSession::open(url, |_| ()).await?;
    printer.line(READY)?;
    while wait_for_prompt()? {
        let now = clock.now().as_micros();
        session.execute(&format!("NOTIFY {CHANNEL}, '{now}'")).await?;
    }
    Ok(())
}

fn echo(socket: &Path) -> Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    let mut lines = BufReader::new(stream.try_clone()?);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        stream.write_all(&line)?;
        line.clear();
    }
    Ok(())
}

async fn hold(board: &Board, printer: &BenchPrinter) -> Result<()> {
    printer.line(READY)?;
    board.look(|state| state.tasks().len()).await?;
    let opened = resident()?;
    let n_bytes = board.look(|state| {
        let subjects = state.tasks().iter().map(|task| task.subject.len());
        subjects.chain(state.mailbox().iter().map(|message| message.content.len())).sum::<usize>()
    });
    n_bytes.await?;
    printer.json(&BoardMemory { opened, used: resident()? })
}

/// How many kilobytes of this process are in memory.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    Ok(kilobytes.context("the system does not tell how much memory is used")?.parse()?)
}
