//! The folders of a team belong to one process at a time, from before it takes the lead until the team's work has landed.
//!
//! The lead ends before that, and its lock with it: without this one, the next lead would work in folders that are just being
//! removed.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use troop_process::has_ended;
use troop_runtime::find_lead;

/// How often we check whether the folders are free.
const PAUSE: Duration = Duration::from_millis(50);

/// The right to a team's folders, as long as this is held and this process lives.
#[derive(Debug)]
pub struct Folders(#[expect(dead_code, reason = "it is locked")] File);

impl Folders {
    /// Waits until a lead that has ended has left them: a program that it was just starting when it was killed may hold them
    /// for a moment. None if somebody leads the team.
    pub(super) async fn take(team: &Path) -> io::Result<Option<Self>> {
        fs::create_dir_all(team)?;
        let file = OpenOptions::new().create(true).append(true).open(lock(team))?;
        let is_led = || find_lead(team).is_some_and(|lead| !has_ended(lead.pid));
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self(file))),
                Err(TryLockError::WouldBlock) if is_led() => return Ok(None),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Whether a process on this machine has them.
    #[must_use]
    pub fn are_taken(team: &Path) -> bool {
        let file = File::open(lock(team));
        file.is_ok_and(|it| matches!(it.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Waits until no process on this machine has them.
    pub async fn left(team: &Path) {
        while Self::are_taken(team) {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn lock(team: &Path) -> PathBuf {
    team.join("folders.lock")
}

#[cfg(test)]
mod tests;
