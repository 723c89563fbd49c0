//! Mail from one teammate's output to another's input, beside a bare hop over a socket and one write that lasts.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::{UnixListener, UnixStream},
};

use anyhow::{Context as _, Result};
use tokio::time::Instant;
use troop_model::{Fact, MemberName, NewTask};

use super::{MATE, RunningTeam, TeamSetup};
use crate::{
    cli::BenchTeamPart,
    {
        mate::Game,
        outcome::{Comparison, Subject, Target, Unit, median, of_hundred},
        raw_file::RawFile,
    },
};

/// How many round trips there are in a round.
const N_RALLIES: usize = 100;
/// How many rounds there are at least.
const N_ROUNDS: usize = 5;
/// The limit of the slowest of a hundred, in microseconds.
const SLOWEST: f64 = 20_000.0;

pub(crate) async fn measure(setup: &TeamSetup) -> Result<Vec<Comparison>> {
    let mut hop = Hop::new(setup)?;
    let mut running = RunningTeam::start(setup, "mail").await?;
    let players = [running.spawn(0, MATE).await?, running.spawn(1, MATE).await?];
    let n_rallies = if setup.span.is_zero() { 1 } else { N_RALLIES };
    let mut ours = Vec::new();
    let mut bare = Vec::new();
    let mut n_rounds = 0;
    let start = Instant::now();
    while n_rounds < N_ROUNDS || start.elapsed() < setup.span {
        for _ in 0..n_rallies {
            bare.push(hop.once()?);
        }
        ours.extend(play(&mut running, &players, n_rallies).await?);
        n_rounds += 1;
        if setup.span.is_zero() {
            break;
        }
    }
    running.stop().await?;
    let subject = |what, against| {
        let part = BenchTeamPart::Mail.name();
        Subject { part, what, against, unit: Unit::Micros }
    };
    let middle = subject("teammate to teammate, median", "a hop over a socket, and fdatasync");
    let slowest = subject("teammate to teammate, 99 of 100", "the limit");
    let slowest_of_ours = of_hundred(99, ours.clone());
    Ok(vec![
        Comparison::new(middle, median(ours), median(bare), Target::AtMost(5.0)),
        Comparison::new(slowest, slowest_of_ours, SLOWEST, Target::AtMost(1.0)),
    ])
}

/// Lets two teammates exchange messages; returns the latency of each.
async fn play(
    running: &mut RunningTeam,
    [one, other]: &[MemberName; 2],
    n_rallies: usize,
) -> Result<Vec<f64>> {
    let game = |who: &MemberName, with: &MemberName, begins| -> Result<NewTask> {
        let game = Game { with: with.to_string(), n_catches: n_rallies, begins };
        Ok(NewTask {
            subject: "Play".to_owned(),
            description: serde_json::to_string(&game)?,
            assignee: Some(who.clone()),
            ..NewTask::default()
        })
    };
    // The player that receives first must be ready first.
    running.add_task(game(other, one, false)?).await?;
    running.until(|event| matches!(event.fact, Fact::TaskAssigned { .. }).then_some(())).await?;
    running.add_task(game(one, other, true)?).await?;
    let mut micros = Vec::new();
    let mut n_left = 2;
    let ended = running.until(|event| {
        if let Fact::TaskCompleted { result, .. } = &event.fact {
            micros.push(serde_json::from_str::<Vec<f64>>(result));
            n_left -= 1;
        }
        (n_left == 0).then_some(())
    });
    ended.await?;
    Ok(micros.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
}

/// Another process at the other end of a socket, and a file.
struct Hop {
    stream: UnixStream,
    lines: BufReader<UnixStream>,
    file: RawFile,
    _echo: tokio::process::Child,
}

impl Hop {
    fn new(setup: &TeamSetup) -> Result<Self> {
        let path = setup.bench.join("echo.sock");
        let listener = UnixListener::bind(&path)?;
        let mut echo = troop_process::command(setup.bench.own());
        echo.args(["child", "echo"]).arg(&path);
        let echo = echo.spawn()?;
        let (stream, _) = listener.accept().context("the echo did not connect")?;
        let lines = BufReader::new(stream.try_clone()?);
        let file = RawFile::new(&setup.bench.join("mail-raw.jsonl"))?;
        Ok(Self { stream, lines, file, _echo: echo })
    }

    /// Half of a round trip, and one durable line.
    fn once(&mut self) -> Result<f64> {
        let start = Instant::now();
        self.stream.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"team.message\"}\n")?;
        self.lines.read_line(&mut String::new())?;
        let hop = start.elapsed() / 2;
        let start = Instant::now();
        self.file.append()?;
        Ok((hop + start.elapsed()).as_secs_f64() * 1e6)
    }
}
