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

/// What `/proc` says about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Whether it has ended and nobody has waited for it (a zombie).
    pub is_dead: bool,
    /// Its parent, which started or adopted it.
    pub above: u32,
    pub group: u32,
    pub session: u32,
    /// When it started, in clock ticks since the machine did: with it, a process cannot be mistaken for a later one with its id.
    pub started: u64,
}

impl ProcessStat {
    #[must_use]
    pub fn read(id: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The program's name can contain anything, but it ends with the last bracket.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut words = rest.split_whitespace();
        let is_dead = words.next()? == "Z";
        let mut number = || words.next()?.parse().ok();
        let above = number()?;
        let group = number()?;
        let session = number()?;
        // Sixteen words follow that nobody here needs: the start is the 22nd of all.
        let started = words.nth(15)?.parse().ok()?;
        Some(Self { is_dead, above, group, session, started })
    }
}
