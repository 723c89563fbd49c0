//! The one place that starts processes. Each leads its own group, so that everything it starts can be ended with it.
//!
//! **When a group may be killed.** While its leader lives, or right after the wait for its leader, but not later. A group
//! keeps its number as long as a process is left in it, so the signal hits only processes that the leader left behind. The
//! number of an empty group is free, but the system goes through all numbers before it reuses one: right after the wait it
//! cannot belong to another group, some thousands of processes later it can.

use std::{ffi::OsStr, io, process::Stdio};

use rustix::{
    io::Errno,
    process::{Pid, kill_process_group},
};
use tokio::process::{Child, Command};

pub use rustix::process::Signal;

/// A program about to be started: in its own process group, without input, killed when its handle is dropped. Processes that
/// it starts itself are only killed through its [`Group`].
///
/// Nothing here needs code between fork and exec, so the fast `posix_spawn` is used.
#[expect(clippy::disallowed_methods, reason = "this is the one place that starts processes")]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.process_group(0).stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Sends a signal to the group that a process leads, or led until just now. A group that is gone already is not an error.
///
/// # Errors
///
/// If the group may not be signalled.
pub fn kill_group(leader: u32, signal: Signal) -> io::Result<()> {
    let leader = i32::try_from(leader).ok().and_then(Pid::from_raw);
    let Some(leader) = leader else { return Err(Errno::SRCH.into()) };
    match kill_process_group(leader, signal) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The group of a child. All of it is killed when this is dropped: drop it at the latest right after the child was waited
/// for. Made after the child, it is dropped before it.
#[derive(Debug)]
pub struct Group {
    leader: Option<u32>,
}

impl Group {
    /// The group that a child from [`command`] leads.
    #[must_use]
    pub fn led_by(child: &Child) -> Self {
        Self { leader: child.id() }
    }

    /// Asks the whole group to end.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Leaves the group alone.
    pub fn release(mut self) {
        self.leader = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // A process that we may not signal, such as another user's, stays.
            drop(kill_group(leader, signal));
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

#[cfg(test)]
mod tests;
