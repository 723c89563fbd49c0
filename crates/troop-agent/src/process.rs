//! The one place of this crate that starts processes: each leads a group of its own, so that all it starts ends with it.

use std::{ffi::OsStr, process::Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// A program about to be started: in a process group of its own, with nothing to read.
///
/// Nothing here needs code to run between fork and exec, so the system's own fast way to start a program is used.
#[expect(clippy::disallowed_methods, reason = "this is the one place that starts processes")]
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.process_group(0).stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// The group that a child leads. Killed when dropped: nothing that the child started outlives this.
///
/// Killing it after the child was waited for is meant: what the child left behind ends with it. The number cannot be
/// somebody else's by then, because numbers go round and the next thousands of processes get others.
#[derive(Debug)]
pub(crate) struct Group {
    leader: Option<Pid>,
}

impl Group {
    pub(crate) fn led_by(child: &Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { leader }
    }

    /// Asks all of it to end.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // A group that is gone, or that belongs to another user by now, cannot be helped here.
            kill_process_group(leader, signal).unwrap_or_default();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
