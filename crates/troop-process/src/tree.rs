//! The descendants of a process, as the system knows them. This also finds processes that removed their mark.

use rustix::process::Signal;

use crate::system::{ProcessHandle, children};

/// The most descendants that we look at.
const MAX_BELOW: usize = 10_000;

/// The descendants of a process at one moment. Pids may be reused; the handles here stay valid.
#[derive(Debug)]
pub struct Below(Vec<ProcessHandle>);

impl Below {
    /// The current descendants of a process.
    #[must_use]
    pub fn of(id: u32) -> Self {
        let mut found = vec![id];
        let mut held = Vec::new();
        let mut nth = 0;
        while let Some(above) = found.get(nth).copied().filter(|_| nth < MAX_BELOW) {
            nth += 1;
            for child in children(above) {
                let Ok(process) = ProcessHandle::open(child) else { continue };
                // From here on its pid cannot belong to another process.
                if children(above).contains(&child) {
                    found.push(child);
                    held.push(process);
                }
            }
        }
        Self(held)
    }

    /// Kills all of them.
    pub fn kill(&self) {
        for process in &self.0 {
            // It may have ended already.
            drop(process.signal(Signal::KILL));
        }
    }
}
