//! The descendants of a process, as the system knows them. This also finds processes that removed their mark.

use std::{fs, os::fd::OwnedFd};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The most descendants that we look at.
const MAX_BELOW: usize = 10_000;

/// The children of a process; none if the system does not tell.
#[must_use]
pub fn children(id: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let of_thread = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).ok();
    let all: Vec<String> = threads.filter_map(of_thread).collect();
    all.iter().flat_map(|it| it.split_whitespace()).filter_map(|it| it.parse().ok()).collect()
}

/// The descendants of a process at one moment. Pids may be reused; the handles here stay valid.
#[derive(Debug)]
pub struct Below(Vec<OwnedFd>);

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
                let Some(process) = open(child) else { continue };
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
            let (Ok(()) | Err(_)) = pidfd_send_signal(process, Signal::KILL);
        }
    }
}

fn open(id: u32) -> Option<OwnedFd> {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw)?;
    pidfd_open(id, PidfdFlags::empty()).ok()
}
