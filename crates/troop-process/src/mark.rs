//! Marks: a process that runs for a member carries a mark in its environment, and so does everything that it starts, even in
//! another group or session. With the mark we find processes that were left behind.

use std::io;

use rustix::process::Signal;
use uuid::Uuid;

use crate::system::{ProcessHandle, environment_of, processes};

/// How often we look again for processes that were started while others were being killed.
const ROUNDS: usize = 10;

/// The variable that separates a member's processes from those of hooks.
pub const RUN: &str = "TROOP_RUN";

/// The mark of processes that run for one session of a lead, or for one run of a member in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub session: Uuid,
    /// The run; `None` for the whole session.
    pub run: Option<Uuid>,
}

impl Mark {
    /// The variables that carry the mark.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        let mut variables = vec![("TROOP_LEAD_SESSION".to_owned(), self.session.to_string())];
        variables.extend(self.run.map(|run| (RUN.to_owned(), run.to_string())));
        variables
    }

    /// The processes that carry the mark; none if the system does not tell.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        processes_with(&self.written())
    }

    /// Kills all processes that carry the mark, and those that they start meanwhile; returns how many.
    pub fn kill_all(&self) -> usize {
        kill_with(&self.written())
    }

    /// Kills processes that members of the session left running, in any run, but none of hooks.
    pub fn kill_members(&self) -> usize {
        let mut wanted = self.written();
        wanted.push(format!("{RUN}=").into_bytes());
        kill_with(&wanted)
    }

    /// Sends a signal to a process, unless its pid now belongs to another.
    ///
    /// # Errors
    ///
    /// If the process is gone, or does not carry the mark.
    pub fn signal(&self, id: u32, signal: Signal) -> io::Result<()> {
        signal_with(id, &self.written(), signal)
    }

    fn written(&self) -> Vec<Vec<u8>> {
        let write = |(name, value): (String, String)| format!("{name}={value}").into_bytes();
        self.variables().into_iter().map(write).collect()
    }
}

fn processes_with(wanted: &[Vec<u8>]) -> Vec<u32> {
    let own = std::process::id();
    let ids = processes().unwrap_or_default().into_iter();
    ids.filter(|id| *id != own && is_on(*id, wanted)).collect()
}

fn kill_with(wanted: &[Vec<u8>]) -> usize {
    let mut n_killed = 0;
    for _ in 0..ROUNDS {
        let found = processes_with(wanted);
        if found.is_empty() {
            break;
        }
        let is_killed = |id: &&u32| signal_with(**id, wanted, Signal::KILL).is_ok();
        n_killed += found.iter().filter(is_killed).count();
    }
    n_killed
}

fn signal_with(id: u32, wanted: &[Vec<u8>], signal: Signal) -> io::Result<()> {
    let process = ProcessHandle::open(id)?;
    if !is_on(id, wanted) {
        return Err(io::ErrorKind::NotFound.into());
    }
    process.signal(signal)
}

/// Whether a process has variables with all of these prefixes. A dead process has none.
fn is_on(id: u32, wanted: &[Vec<u8>]) -> bool {
    // We cannot read the environment of other users' processes, so they are not ours.
    let Some(environment) = environment_of(id) else { return false };
    wanted
        .iter()
        .all(|wanted| environment.split(|byte| *byte == 0).any(|it| it.starts_with(wanted)))
}
