//! The one place that starts processes: each leads a group of its own, so that all it starts can be ended with it.

mod mark;
mod tree;

pub use mark::Mark;
pub(crate) use mark::RUN;
pub use tree::{Below, children};

use std::{ffi::OsStr, io, process::Stdio};

use rustix::{
    io::Errno,
    process::{Pid, kill_process_group},
};
use tokio::process::{Child, Command};

pub use rustix::process::Signal;

/// A program about to be started: in a process group of its own, with nothing to read, killed when nobody holds it
/// any more. What it starts itself is only killed through its [`Group`].
#[expect(clippy::disallowed_methods, reason = "this is the one place that starts processes")]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.process_group(0).stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Sends a signal to the group that a process leads. A group that is gone already is no error.
///
/// # Errors
///
/// If the group may not be signalled. The leader must not have been waited for, else its number may be somebody
/// else's by now.
pub fn kill_group(leader: u32, signal: Signal) -> io::Result<()> {
    let leader = i32::try_from(leader).ok().and_then(Pid::from_raw);
    let Some(leader) = leader else { return Err(Errno::SRCH.into()) };
    match kill_process_group(leader, signal) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a process was stopped, by Ctrl-Z or a signal, and does nothing until it is told to go on. Where the system does not
/// tell, no.
#[must_use]
pub fn is_stopped(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // What it is called stands in parentheses before its state, and may hold anything.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    matches!(state, Some('T' | 't'))
}

/// The group of a running child. Kills all of it when dropped: hold it after, and drop it before, the child itself.
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

    /// Lets the group live on. Due once its leader was waited for.
    pub fn release(mut self) {
        self.leader = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            // One that may not be killed, such as a program of another user, cannot be helped here.
            drop(kill_group(leader, Signal::KILL));
        }
    }
}

#[cfg(test)]
mod tests;
