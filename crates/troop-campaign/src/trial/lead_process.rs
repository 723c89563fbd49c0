//! The lead's process: started, restarted when it has ended, and killed.

use std::{ffi::OsString, fs::OpenOptions, os::fd::OwnedFd, path::PathBuf, process::Stdio};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::{
    io::AsyncWriteExt as _,
    process::Child,
    time::{Duration, Instant},
};

use crate::lead::Orders;

/// How long to wait before starting the next lead.
const PAUSE: Duration = Duration::from_millis(30);

pub(super) struct LeadProcess {
    command: Vec<OsString>,
    /// Extra environment variables for it and its members.
    environment: Vec<(OsString, OsString)>,
    orders: Orders,
    /// The file for its standard error.
    log: PathBuf,
    child: Option<Child>,
    pause: Duration,
    next_start: Instant,
    pub(super) is_told_to_stop: bool,
}

impl LeadProcess {
    pub(super) fn new(
        command: Vec<OsString>,
        environment: Vec<(OsString, OsString)>,
        orders: Orders,
        log: PathBuf,
    ) -> Self {
        let next_start = Instant::now();
        Self {
            command,
            environment,
            orders,
            log,
            child: None,
            pause: PAUSE,
            next_start,
            is_told_to_stop: false,
        }
    }

    /// Waits so long before it starts the next lead.
    pub(super) fn with_pause(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }

    pub(super) async fn start(&mut self) -> Result<()> {
        let (program, arguments) = self.command.split_first().context("a lead is a program")?;
        let log = OpenOptions::new().create(true).append(true).open(&self.log)?;
        let mut command = troop_process::command(program);
        command.envs(self.environment.iter().cloned());
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        let mut child = command.spawn()?;
        let mut input = child.stdin.take().context("a lead has an input")?;
        let line = format!("{}\n", serde_json::to_string(&self.orders)?);
        // A lead that is already dead is replaced.
        drop(input.write_all(line.as_bytes()).await);
        // An answer is lost only once.
        self.orders.lost = 0;
        self.child = Some(child);
        Ok(())
    }

    /// Starts another lead if the last one has ended.
    pub(super) async fn see_to(&mut self) -> Result<()> {
        if self.check_running()? {
            self.next_start = Instant::now() + self.pause;
        } else if Instant::now() >= self.next_start {
            self.start().await?;
        }
        Ok(())
    }

    pub(super) fn check_running(&mut self) -> Result<bool> {
        let Some(child) = &mut self.child else { return Ok(false) };
        Ok(child.try_wait()?.is_none())
    }

    pub(super) fn kill(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended just now.
            drop(child.start_kill());
        }
    }

    /// Kills it, if it still runs, and waits for its end.
    pub(super) async fn end(&mut self) {
        self.kill();
        if let Some(child) = &mut self.child {
            drop(child.wait().await);
        }
    }

    /// The current process, by a handle that never refers to another one.
    pub(super) fn process(&self) -> Option<OwnedFd> {
        let id = self.child.as_ref().and_then(Child::id)?;
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw)?;
        pidfd_open(pid, PidfdFlags::empty()).ok()
    }
}
