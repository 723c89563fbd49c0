//! Runs one hook: a shell in the project's folder, with its input and output, killed when its time is up.

use std::{
    ffi::OsString,
    future::pending,
    io,
    os::fd::AsFd,
    path::PathBuf,
    process::{ExitStatus, Stdio},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    join,
    process::Child,
    select,
    task::JoinError,
    time::timeout,
};
use troop_process::{Group, RUN, command};

use super::{Hook, HookContext, HookOptions};
use crate::Agreement;

/// How much of each output is kept.
const MAX_OUTPUT: usize = 64 * 1024;
/// How much is read from a pipe after its process ended: all that fits into any pipe. A process that still writes then was
/// left behind by the hook and may write for ever.
const MAX_LEFT: usize = 1024 * 1024;

/// The input of a hook.
#[derive(Debug)]
pub(super) struct HookCall {
    folder: PathBuf,
    environment: Vec<(OsString, OsString)>,
    agreement: Agreement,
    input: Vec<u8>,
}

/// How a hook ended.
#[derive(Debug)]
pub(super) enum HookOutcome {
    /// It ran to its end, with these outputs.
    Ended { status: ExitStatus, out: String, err: String },
    /// Its time was up.
    TimedOut,
    /// It could not be run.
    NotRun(io::Error),
    /// A bug in troop.
    Fault(String),
}

impl HookCall {
    pub(super) fn new(context: &HookContext, options: &HookOptions) -> Self {
        let folder = options.folder.clone();
        let agreement = options.agreement.clone();
        let mut environment = options.environment.clone();
        // Hooks that were written for Claude Code find their scripts by it.
        environment.push(("CLAUDE_PROJECT_DIR".into(), folder.clone().into()));
        // A hook runs for no member, even if a member started the lead.
        environment.retain(|(name, _)| name != RUN);
        // Processes that a hook leaves behind are found by it.
        environment.push(("TROOP_LEAD_SESSION".into(), context.session.clone().into()));
        let variables = context.variables().into_iter();
        environment.extend(variables.map(|(name, value)| (name.into(), value.into())));
        let input = format!("{}\n", context.json(&folder)).into_bytes();
        Self { folder, environment, agreement, input }
    }
}

impl HookOutcome {
    pub(super) fn of(joined: Result<Self, JoinError>) -> Self {
        joined.unwrap_or_else(|error| Self::Fault(error.to_string()))
    }
}

/// Runs a hook. If this is dropped, everything that it started is killed.
pub(super) async fn run(hook: &Hook, call: &HookCall) -> HookOutcome {
    if let Err(error) = call.agreement.check(&hook.command, &call.folder) {
        return HookOutcome::NotRun(error);
    }
    let mut shell = command("sh");
    shell
        .args(["-c", &hook.command])
        .current_dir(&call.folder)
        .env_clear()
        .envs(call.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let exchange = async { exchange(shell.spawn()?, &call.input).await };
    match timeout(hook.timeout, exchange).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => HookOutcome::NotRun(error),
        Err(_) => HookOutcome::TimedOut,
    }
}

/// Writes a child's input and reads its output until it ends. Its background processes are not waited for.
async fn exchange(mut child: Child, input: &[u8]) -> io::Result<HookOutcome> {
    let group = Group::led_by(&child);
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let (Some(mut stdin), Some(mut stdout), Some(mut stderr)) = (stdin, stdout, stderr) else {
        return Err(io::Error::other("a pipe is missing"));
    };
    let mut out = OutputHead::default();
    let mut err = OutputHead::default();
    let talk = async {
        let feed = async {
            // A hook need not read its input.
            drop(stdin.write_all(input).await);
            drop(stdin);
        };
        join!(feed, out.listen(&mut stdout), err.listen(&mut stderr));
        pending().await
    };
    let status = select! {
        status = child.wait() => status?,
        never = talk => never,
    };
    group.release();
    out.take_left(&stdout);
    err.take_left(&stderr);
    Ok(HookOutcome::Ended { status, out: out.text(), err: err.text() })
}

/// The beginning of an output.
#[derive(Debug, Default)]
struct OutputHead(Vec<u8>);

impl OutputHead {
    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_OUTPUT - self.0.len();
        self.0.extend(bytes.iter().take(room));
    }

    /// Reads to the end, and keeps the beginning.
    async fn listen(&mut self, pipe: &mut (impl AsyncRead + Unpin)) {
        let mut buffer = vec![0; 8 * 1024];
        while let Ok(n_read @ 1..) = pipe.read(&mut buffer).await {
            self.keep(buffer.get(..n_read).unwrap_or_default());
        }
    }

    /// Reads what is in the pipe now: everything that the ended process wrote, without waiting for others that hold the
    /// pipe. The runtime has made the pipe non-blocking.
    fn take_left(&mut self, pipe: &impl AsFd) {
        let mut buffer = vec![0; 8 * 1024];
        let mut n_left = 0;
        while n_left < MAX_LEFT
            && let Ok(n_read @ 1..) = rustix::io::read(pipe, &mut buffer)
        {
            self.keep(buffer.get(..n_read).unwrap_or_default());
            n_left += n_read;
        }
    }

    /// The output as text, without NUL.
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).replace('\0', "").trim().to_owned()
    }
}
