//! Runs checks: commands that say whether a task is done. What they say is kept as evidence.

mod tail;

use std::{
    ffi::OsString, fmt, future::pending, io, os::unix::process::ExitStatusExt as _, path::Path,
    process::ExitStatus, sync::Arc, time::Duration,
};

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

/// As shells have it: it took too long, it could not be run, it was ended by a signal.
const TOO_LONG: i32 = 124;
const NOT_RUN: i32 = 127;
const SIGNALLED: i32 = 128;
/// How long what a check printed last is waited for after its end: something that it left behind may hold its output open.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Takes a line that a check prints.
pub type LineSink = Arc<dyn Fn(&str) + Send + Sync>;

/// Asks whether the board would still take it.
pub type DemandProbe = Arc<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

/// Whether anybody still wants to know whether a task is done. By default somebody does.
#[derive(Clone, Default)]
pub struct CheckDemand {
    /// Ends what is running.
    pub over: CancellationToken,
    /// Looks once more before anything is changed.
    pub ask: Option<DemandProbe>,
}

impl CheckDemand {
    /// Whether it is wanted now.
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
        f.debug_struct("Wanted").field("over", &self.over).finish_non_exhaustive()
    }
}

/// Commands that say whether a task is done, and how they are run.
#[derive(Clone)]
pub struct Checks {
    /// What is run, one after the other; the first that is not content ends it.
    pub commands: Vec<String>,
    /// How long each may take.
    pub timeout: Duration,
    /// What they find in their environment.
    pub environment: Vec<(OsString, OsString)>,
    /// What time it is.
    pub clock: Clock,
    /// For which session of a lead they run, so that what they leave behind is found.
    pub session: Uuid,
    /// Where the lines go that they print. Called often; it must not wait.
    pub show: Option<LineSink>,
    /// Whether anybody still wants to know.
    pub wanted: CheckDemand,
    /// Whether they are what a person agreed to.
    pub agreement: Agreement,
}

impl Checks {
    /// Whether there is nothing to run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Runs the checks in a folder, up to the first that is not content. If this is dropped, all that they started is killed.
    pub async fn run(&self, folder: &Path, commit: Option<&str>) -> Vec<Evidence> {
        let mut all = Vec::new();
        for check in &self.commands {
            let at = self.clock.now();
            let since = Instant::now();
            self.say(&format!("check `{check}`"));
            let (exit_code, tail) = match self.run_one(check, folder).await {
                Ok(ended) => ended,
                Err(error) => (NOT_RUN, format!("it could not be run: {error}")),
            };
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

    async fn run_one(&self, check: &str, folder: &Path) -> io::Result<(i32, String)> {
        self.agreement.check(check, folder)?;
        // One pipe for both, so that what is printed stays in its order.
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
        // What it left in another group is found by its mark.
        drop(tokio::task::spawn_blocking(move || mark.kill_all()).await);
        ended
    }

    /// Listens to a check until it ends or its time is up.
    async fn attend(&self, mut child: Child, reader: pipe::Receiver) -> io::Result<(i32, String)> {
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
            return Ok((
                TOO_LONG,
                format!("{tail}\n[killed, because it took longer than {seconds}s]"),
            ));
        };
        // What it left running is not waited for.
        drop(group);
        let rest = tokio::time::timeout(LAST_WORDS, tail.listen(&reader));
        drop(rest.await);
        Ok((code(status), tail.into_text()))
    }

    fn say(&self, line: &str) {
        if let Some(show) = &self.show {
            show(line);
        }
    }
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

/// What is wrong, for whoever has to repair it: the first check that is not content, and the end of what it printed.
#[must_use]
pub fn complaint(evidence: &[Evidence]) -> Option<String> {
    let bad = evidence.iter().find(|it| !it.is_good())?;
    let tail = bad.tail.trim_end();
    let says = if tail.is_empty() { "it printed nothing".to_owned() } else { tail.to_owned() };
    Some(format!("the check `{}` ended with exit code {}:\n{says}", bad.command, bad.exit_code))
}

#[cfg(test)]
pub(crate) mod tests;
