//! Marks: what runs for somebody carries a mark in its environment, and so does all that it starts, whatever group or
//! session that moves to. By it, what was left behind is found.

use std::{fs, io};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use uuid::Uuid;

/// How often is looked again for processes that were being started while others were ended.
const ROUNDS: usize = 10;

/// The mark of what runs for one session of a lead, and in it for one run of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The session.
    pub session: Uuid,
    /// The run, if one is meant.
    pub run: Option<Uuid>,
}

impl Mark {
    /// The variables that carry the mark.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        let mut variables = vec![("TROOP_LEAD_SESSION".to_owned(), self.session.to_string())];
        variables.extend(self.run.map(|run| ("TROOP_RUN".to_owned(), run.to_string())));
        variables
    }

    /// The processes that carry the mark. Where the system does not tell, none.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        let (own, wanted) = (std::process::id(), self.written());
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter(|id| *id != own && is_on(*id, &wanted)).collect()
    }

    /// Kills all processes that carry the mark, and those that they start meanwhile. How many there were.
    pub fn kill_all(&self) -> usize {
        let mut n_killed = 0;
        for _ in 0..ROUNDS {
            let found = self.processes();
            if found.is_empty() {
                break;
            }
            n_killed += found.iter().filter(|id| self.signal(**id, Signal::KILL).is_ok()).count();
        }
        n_killed
    }

    /// Sends a signal to one process, unless its number has become another's meanwhile.
    ///
    /// # Errors
    ///
    /// If the process is gone, or does not carry the mark.
    pub fn signal(&self, id: u32, signal: Signal) -> io::Result<()> {
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
        let process = pidfd_open(pid.ok_or(io::ErrorKind::NotFound)?, PidfdFlags::empty())?;
        if !is_on(id, &self.written()) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(pidfd_send_signal(process, signal)?)
    }

    fn written(&self) -> Vec<Vec<u8>> {
        let write = |(name, value): (String, String)| format!("{name}={value}").into_bytes();
        self.variables().into_iter().map(write).collect()
    }
}

/// Whether a process carries all of these. One that is dead already carries nothing.
fn is_on(id: u32, wanted: &[Vec<u8>]) -> bool {
    // Other people's processes are not ours to read, and so not ours.
    let Ok(environment) = fs::read(format!("/proc/{id}/environ")) else { return false };
    wanted.iter().all(|wanted| environment.split(|byte| *byte == 0).any(|it| it == wanted))
}
