//! Runs one command and keeps its output. The command and everything it started end with the turn.

use std::{fmt, io, os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Duration};

use tokio::{
    net::unix::pipe,
    process::Child,
    time::{sleep, timeout},
};
use troop_process::{Group, Tail};
use troop_protocol::WireTask;

use super::{
    CommandLine,
    output::{MAX_TAIL, OutputLog, told},
};
use crate::Turn;

/// How long an interrupted command may take to end by itself.
const GRACE: Duration = Duration::from_secs(1);
const CHUNK: usize = 8 * 1024;
/// How many chunks are read before other tasks run. More than a pipe holds.
const MAX_CHUNKS: usize = 64;

/// For whom and how a command runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandRun<'a> {
    pub(crate) task: Option<&'a WireTask>,
    pub(crate) turn: &'a Turn,
    /// Whether people see the output while the command runs.
    pub(crate) shows_output: bool,
    pub(crate) limit: Option<Duration>,
    /// Environment variables that it does not get.
    pub(crate) hidden: &'a [String],
}

impl<'a> CommandRun<'a> {
    /// Runs without a time limit, and shows the output.
    pub(crate) fn shown(task: Option<&'a WireTask>, turn: &'a Turn) -> Self {
        Self { task, turn, shows_output: true, limit: None, hidden: &[] }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandEnd {
    Exited(i32),
    Killed(i32),
    Interrupted,
    TookTooLong(Duration),
}

impl fmt::Display for CommandEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Killed(signal) => write!(f, "killed by signal {signal}"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::TookTooLong(limit) => write!(f, "killed after {} seconds", limit.as_secs_f32()),
        }
    }
}

impl From<ExitStatus> for CommandEnd {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, signal) => Self::Killed(signal.unwrap_or_default()),
        }
    }
}

/// Runs a command in the working folder. Returns how it ended, and the end of its output.
pub(crate) async fn run(
    line: &CommandLine,
    run: CommandRun<'_>,
) -> io::Result<(CommandEnd, String)> {
    // One pipe for both, so that the output stays in order.
    let (reader, writer) = io::pipe()?;
    let place = run.turn.place();
    let mut command = troop_process::command(&line.program);
    command
        .args(&line.arguments)
        .current_dir(&place.path)
        .envs(place.environment.iter().map(|(name, value)| (name, value)))
        .env("TROOP_TEAM", &place.team)
        .env("TROOP_MEMBER", &place.name)
        .stdout(writer.try_clone()?)
        .stderr(writer);
    for (name, value) in context_of(run.task) {
        match value {
            Some(value) => command.env(name, value),
            // A value from the lead of our own process is not about this task.
            None => command.env_remove(name),
        };
    }
    for name in run.hidden {
        command.env_remove(name);
    }
    let mut child = command.spawn()?;
    // Otherwise this process would keep the write end open.
    drop(command);
    let group = Group::led_by(&child);
    let mut output = CommandOutput {
        tail: Tail::of(MAX_TAIL),
        shown: run.shows_output.then(|| OutputLog::new(run.turn)),
    };
    let reader = pipe::Receiver::from_owned_fd(reader.into())?;
    let watched = watch(&mut child, &reader, &mut output);
    let ended = tokio::select! {
        ended = watched => Ok(ended?),
        () = run.turn.interrupted().cancelled() => Err(CommandEnd::Interrupted),
        limit = over(run.limit) => Err(CommandEnd::TookTooLong(limit)),
    };
    let ended = match ended {
        Ok(ended) => ended,
        Err(ended) => {
            group.terminate();
            drop(timeout(GRACE, child.wait()).await);
            // Keep what was printed before the end.
            output.drain(&reader)?;
            ended
        }
    };
    drop(group);
    if let Some(shown) = output.shown {
        shown.finish();
    }
    Ok((ended, told(&output.tail)))
}

/// Waits until the time limit, if there is one.
async fn over(limit: Option<Duration>) -> Duration {
    let Some(limit) = limit else { return std::future::pending().await };
    sleep(limit).await;
    limit
}

/// Environment variables that tell the command about its task, as far as the lead sent them.
fn context_of(task: Option<&WireTask>) -> [(&'static str, Option<String>); 7] {
    let run = task.and_then(|task| task.run.as_deref()).cloned().unwrap_or_default();
    [
        ("TROOP_TASK", task.map(|task| task.id.to_string())),
        ("TROOP_TEAM_ID", run.team_id.map(|id| id.to_string())),
        ("TROOP_SESSION", run.session),
        ("TROOP_NOTE", run.note),
        ("TROOP_WORKSPACE", run.workspace),
        ("TROOP_CHANNEL", run.channel),
        ("TROOP_CHAT", run.chat_id),
    ]
}

struct CommandOutput<'a> {
    tail: Tail,
    shown: Option<OutputLog<'a>>,
}

/// Reads until the command has ended, and then what is left in the pipe: a background process may keep the pipe open
/// for ever.
async fn watch(
    child: &mut Child,
    reader: &pipe::Receiver,
    output: &mut CommandOutput<'_>,
) -> io::Result<CommandEnd> {
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            ready = reader.readable() => {
                ready?;
                if output.drain(reader)? {
                    break child.wait().await?;
                }
            }
        }
    };
    output.drain(reader)?;
    Ok(status.into())
}

impl CommandOutput<'_> {
    /// Reads what is there, but not without end from a command that never stops printing. True at the end of the
    /// pipe.
    fn drain(&mut self, reader: &pipe::Receiver) -> io::Result<bool> {
        let mut chunk = [0; CHUNK];
        for _ in 0..MAX_CHUNKS {
            match reader.try_read(&mut chunk) {
                Ok(0) => return Ok(true),
                Ok(n) => {
                    let bytes = chunk.get(..n).unwrap_or_default();
                    self.tail.push(bytes);
                    if let Some(shown) = &mut self.shown {
                        shown.push(bytes);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}
