//! Runs checks: commands that decide whether a task is done. Their results are kept as evidence.

mod tail;

use std::{
    ffi::OsString, fmt, future::pending, io, os::unix::process::ExitStatusExt as _, path::Path,
    process::ExitStatus, sync::Arc, time::Duration,
};

use rustix::process::Signal;
use tokio::{
    net::unix::pipe,
    process::Child,
    select,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use troop_model::Evidence;
use troop_process::{Group, Mark, command};
use uuid::Uuid;

use crate::{Agreement, BoxFuture, Clock};
use tail::OutputTail;

/// Exit codes as shells use them: it took too long, it could not be run, a signal ended it.
const TOO_LONG: i32 = 124;
const NOT_RUN: i32 = 127;
const SIGNALLED: i32 = 128;
/// The signals by which others end a process: a person, another program, the system when memory is short. Programs end by the other
/// signals because of what they do themselves.
const FROM_OUTSIDE: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::KILL, Signal::TERM];
/// The signals among them that a shell's exit code tells without doubt.
const TOLD_BY_SHELL: [Signal; 2] = [Signal::KILL, Signal::TERM];
/// How often a check is run that somebody kills, and how long troop waits in between.
const N_TRIES: u32 = 3;
const BETWEEN: Duration = Duration::from_millis(500);
/// How long we wait for the last output of a check that has ended: a process that it left behind may hold its output open.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Takes a line that a check prints.
pub type LineSink = Arc<dyn Fn(&str) + Send + Sync>;

/// Asks whether the board would still accept the completion.
pub type DemandProbe = Arc<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

/// Whether the result of the checks is still wanted. By default it is.
#[derive(Clone, Default)]
pub struct CheckDemand {
    /// Ends running checks.
    pub over: CancellationToken,
    /// Asked once more before anything is changed.
    pub ask: Option<DemandProbe>,
}

impl CheckDemand {
    pub async fn is_still(&self) -> bool {
        if self.over.is_cancelled() {
            return false;
        }
        match &self.ask {
            Some(ask) => ask().await,
            None => true,
        }
    }
}

impl fmt::Debug for CheckDemand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckDemand").field("over", &self.over).finish_non_exhaustive()
    }
}

/// Commands that decide whether a task is done, and how they are run.
#[derive(Clone)]
pub struct Checks {
    /// Run one after the other, until one fails.
    pub commands: Vec<String>,
    /// How long each may take.
    pub timeout: Duration,
    /// Their environment.
    pub environment: Vec<(OsString, OsString)>,
    pub clock: Clock,
    /// The lead's session that they run for, so that leftover processes can be found.
    pub session: Uuid,
    /// Takes the lines that they print. Called often; it must not block.
    pub show: Option<LineSink>,
    /// Whether their result is still wanted.
    pub wanted: CheckDemand,
    /// The person's agreement to them.
    pub agreement: Agreement,
}

impl Checks {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Runs the checks in a folder, until one fails. If this is dropped, everything that they started is killed.
    pub async fn run(&self, folder: &Path, commit: Option<&str>) -> Vec<Evidence> {
        let mut all = Vec::new();
        for check in &self.commands {
            let at = self.clock.now();
            let since = Instant::now();
            self.say(&format!("check `{check}`"));
            let CheckEnd { exit_code, tail, .. } = self.run_through(check, folder).await;
            self.say(&format!("check `{check}` ended with exit code {exit_code}"));
            let took_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
            let command = check.clone();
            let commit = commit.map(str::to_owned);
            all.push(Evidence { command, exit_code, tail, commit, at, took_ms });
            if exit_code != 0 {
                break;
            }
        }
        all
    }

    /// Runs a check, again if somebody kills it: that says nothing about the work.
    async fn run_through(&self, check: &str, folder: &Path) -> CheckEnd {
        let mut n_tries = 1;
        loop {
            let mut ended = match self.run_one(check, folder).await {
                Ok(ended) => ended,
                Err(error) => CheckEnd::with(NOT_RUN, format!("it could not be run: {error}")),
            };
            let Some(signal) = ended.killed_by else { return ended };
            if self.wanted.over.is_cancelled() {
                return ended;
            }
            let killed = format!("killed by {signal}, and not by troop");
            if n_tries == N_TRIES {
                ended.tail = format!("{}\n[{killed}, in each of {N_TRIES} tries]", ended.tail);
                return ended;
            }
            self.say(&format!("check `{check}` was {killed}: it runs again"));
            n_tries += 1;
            sleep(BETWEEN).await;
        }
    }

    async fn run_one(&self, check: &str, folder: &Path) -> io::Result<CheckEnd> {
        self.agreement.check(check, folder)?;
        // One pipe for both outputs, so that lines stay in order.
        let (reader, writer) = io::pipe()?;
        let mark = Mark { session: self.session, run: Some(Uuid::now_v7()) };
        let mut shell = command("sh");
        shell.args(["-c", check]).current_dir(folder).env_clear();
        shell.envs(self.environment.iter().map(|(name, value)| (name, value)));
        shell.envs(mark.variables()).stdout(writer.try_clone()?).stderr(writer);
        let child = shell.spawn()?;
        // The shell's own ends of the pipe must not stay open here.
        drop(shell);
        let reader = pipe::Receiver::from_owned_fd(reader.into())?;
        let ended = self.attend(child, reader).await;
        // Processes that it left in another group are found by their mark.
        drop(tokio::task::spawn_blocking(move || mark.kill_all()).await);
        ended
    }

    /// Reads the output of a check until it ends or its time is up.
    async fn attend(&self, mut child: Child, reader: pipe::Receiver) -> io::Result<CheckEnd> {
        let group = Group::led_by(&child);
        let mut tail = OutputTail::new(self.show.clone());
        let status = select! {
            status = child.wait() => Some(status?),
            () = sleep(self.timeout) => None,
            () = self.wanted.over.cancelled() => None,
            never = async {
                tail.listen(&reader).await;
                pending().await
            } => never,
        };
        let Some(status) = status else {
            drop(group);
            drop(child.wait().await);
            let tail = tail.into_text();
            let seconds = self.timeout.as_secs();
            let tail = format!("{tail}\n[killed, because it took longer than {seconds}s]");
            return Ok(CheckEnd::with(TOO_LONG, tail));
        };
        // Processes that it left running are not waited for.
        drop(group);
        let rest = tokio::time::timeout(LAST_WORDS, tail.listen(&reader));
        drop(rest.await);
        let killed_by = killer(status);
        Ok(CheckEnd { killed_by, ..CheckEnd::with(code(status), tail.into_text()) })
    }

    fn say(&self, line: &str) {
        if let Some(show) = &self.show {
            show(line);
        }
    }
}

/// How one run of a check ended.
struct CheckEnd {
    exit_code: i32,
    tail: String,
    /// The signal of somebody else that ended it, as people know it.
    killed_by: Option<&'static str>,
}

impl CheckEnd {
    fn with(exit_code: i32, tail: String) -> Self {
        Self { exit_code, tail, killed_by: None }
    }
}

/// The signal by which somebody ended a check, or the command of a shell that waited for it.
fn killer(status: ExitStatus) -> Option<&'static str> {
    let is_of = |signal: &Signal| match (status.signal(), status.code()) {
        (Some(own), _) => own == signal.as_raw(),
        (None, Some(code)) => TOLD_BY_SHELL.contains(signal) && code == SIGNALLED + signal.as_raw(),
        (None, None) => false,
    };
    FROM_OUTSIDE.into_iter().find(is_of).map(|signal| match signal {
        Signal::HUP => "SIGHUP",
        Signal::INT => "SIGINT",
        Signal::TERM => "SIGTERM",
        _ => "SIGKILL",
    })
}

fn code(status: ExitStatus) -> i32 {
    let signalled = status.signal().map(|signal| SIGNALLED + signal);
    status.code().or(signalled).unwrap_or(SIGNALLED)
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checks").field("commands", &self.commands).finish_non_exhaustive()
    }
}

/// The complaint about failed checks: the first one, and the end of its output.
#[must_use]
pub fn complaint(evidence: &[Evidence]) -> Option<String> {
    let bad = evidence.iter().find(|it| !it.is_good())?;
    let tail = bad.tail.trim_end();
    let says = if tail.is_empty() { "it printed nothing".to_owned() } else { tail.to_owned() };
    Some(format!("the check `{}` ended with exit code {}:\n{says}", bad.command, bad.exit_code))
}

#[cfg(test)]
pub(crate) mod tests;
