//! What the system tells about processes, and holding one so that its id cannot come to mean another. What only Linux can is in
//! `linux`; `portable` is what troop does elsewhere. There, nothing is known of other processes.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
#[cfg_attr(target_os = "linux", expect(dead_code, reason = "on Linux only its tests use it"))]
mod portable;

use std::{ffi::OsString, io, path::PathBuf};

use rustix::process::{Pid, Signal};

#[cfg(target_os = "linux")]
use linux as here;
#[cfg(not(target_os = "linux"))]
use portable as here;

/// All processes; none if the system does not tell.
#[must_use]
pub(crate) fn processes() -> Option<Vec<u32>> {
    here::processes()
}

/// The children of a process; none if the system does not tell.
#[must_use]
pub fn children(id: u32) -> Vec<u32> {
    here::children(id)
}

/// The environment with which a process was started: `NAME=value`, each ended by a zero byte. None if the system does not
/// tell, as for the processes of other users.
#[must_use]
pub fn environment_of(id: u32) -> Option<Vec<u8>> {
    here::environment_of(id)
}

/// The program that a process runs; none if the system does not tell.
#[must_use]
pub fn program_of(id: u32) -> Option<PathBuf> {
    here::program_of(id)
}

/// The arguments with which a process was started, its own name first; none if the system does not tell.
#[must_use]
pub fn arguments_of(id: u32) -> Vec<OsString> {
    here::arguments_of(id)
}

/// The short name of a process; empty if the system does not tell.
pub(crate) fn name_of(id: u32) -> String {
    here::name_of(id)
}

/// The folder in which a process works; none if the system does not tell.
pub(crate) fn folder_of(id: u32) -> Option<PathBuf> {
    here::folder_of(id)
}

/// From now on this process adopts what its children leave behind. False if the system cannot do that.
pub(crate) fn adopts_orphans() -> bool {
    here::adopts_orphans()
}

/// Whether a process is stopped, by Ctrl-Z or a signal, until it is continued. False if the system does not tell.
#[must_use]
pub fn is_stopped(process: u32) -> bool {
    ProcessStat::read(process).is_some_and(|stat| stat.is_stopped())
}

/// The system's information about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// A letter, as in the list of `ps`.
    state: char,
    /// Its parent, which started or adopted it.
    pub above: u32,
    pub group: u32,
    pub session: u32,
    /// When it started, in clock ticks since the machine did: with it, a process cannot be mistaken for a later one with its id.
    pub started: u64,
}

impl ProcessStat {
    /// None if the process is gone, or the system does not tell.
    #[must_use]
    pub fn read(id: u32) -> Option<Self> {
        Self::parse(&here::stat_of(id)?)
    }

    fn parse(stat: &str) -> Option<Self> {
        // The program's name can contain anything, but it ends with the last bracket.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut words = rest.split_whitespace();
        let state = words.next()?.chars().next()?;
        let mut number = || words.next()?.parse().ok();
        let above = number()?;
        let group = number()?;
        let session = number()?;
        // Sixteen words follow that nobody here needs: the start is the 22nd of all.
        let started = words.nth(15)?.parse().ok()?;
        Some(Self { state, above, group, session, started })
    }

    /// Whether it has ended and nobody has waited for it (a zombie).
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.state == 'Z'
    }

    /// Whether it is stopped until it is continued.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }
}

/// A process that is held: its id may be given to another process, and this still means the same.
#[derive(Debug)]
pub(crate) struct ProcessHandle(here::Held);

impl ProcessHandle {
    /// # Errors
    ///
    /// If there is no such process.
    pub(crate) fn open(id: u32) -> io::Result<Self> {
        let id = i32::try_from(id).ok().and_then(Pid::from_raw);
        here::hold(id.ok_or(io::ErrorKind::NotFound)?).map(Self)
    }

    /// # Errors
    ///
    /// If the process is gone, or may not be signalled.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        here::signal(&self.0, signal)
    }
}

#[cfg(test)]
mod tests;
