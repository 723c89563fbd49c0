//! What stands below a process, as the system tells it: by that also those are found who have laid down their mark.

use std::{fs, os::fd::OwnedFd};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How many processes below one are looked at. More than anybody has.
const MAX_BELOW: usize = 10_000;

/// The processes right below one. Where the system does not tell, none.
#[must_use]
pub fn children(id: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let of_thread = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).ok();
    let all: Vec<String> = threads.filter_map(of_thread).collect();
    all.iter().flat_map(|it| it.split_whitespace()).filter_map(|it| it.parse().ok()).collect()
}

/// All that stood below a process when it was looked at. Their numbers may become others', what is held here does not.
#[derive(Debug)]
pub struct Below(Vec<OwnedFd>);

impl Below {
    /// What stands below a process now.
    #[must_use]
    pub fn of(id: u32) -> Self {
        let mut found = vec![id];
        let mut held = Vec::new();
        let mut nth = 0;
        while let Some(above) = found.get(nth).copied().filter(|_| nth < MAX_BELOW) {
            nth += 1;
            for child in children(above) {
                let Some(process) = open(child) else { continue };
                // Only now its number cannot have become another's.
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
            // One that is gone already is as it should be.
            let (Ok(()) | Err(_)) = pidfd_send_signal(process, Signal::KILL);
        }
    }
}

fn open(id: u32) -> Option<OwnedFd> {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw)?;
    pidfd_open(id, PidfdFlags::empty()).ok()
}
