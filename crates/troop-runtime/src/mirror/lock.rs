//! The locks that programs agree on which share files: the system's own, or folders as Claude Code makes them.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{FlockOperation, flock};
use tokio::time::{Instant, sleep};
use troop_model::Time;

use super::{disk::Stamp, layout::Layout};
use crate::Clock;

/// How long somebody else is waited for. Then the file is looked at again later.
const PATIENCE: Duration = Duration::from_millis(250);
/// How often a lock that somebody else has is tried.
const AGAIN: Duration = Duration::from_millis(2);
/// How old a folder that is a lock must be for its maker to be dead.
const STALE: Duration = Duration::from_secs(10);

/// A lock that is held as long as this lives.
#[derive(Debug)]
pub(super) enum Lock {
    /// The system releases it with the file, however the holder ends.
    Files {
        _held: Vec<File>,
    },
    Folder(PathBuf),
}

impl Lock {
    /// Takes the lock of a file; none if somebody else keeps it for long.
    pub(super) async fn take(
        layout: Layout,
        path: &Path,
        clock: &Clock,
    ) -> io::Result<Option<Self>> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let taken = match layout {
                Layout::Seeds => files(path)?,
                Layout::Claude => folder(path, clock.now())?,
            };
            if taken.is_some() || Instant::now() >= deadline {
                return Ok(taken);
            }
            sleep(AGAIN).await;
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Self::Folder(path) = self {
            // Who took it away as stale has it now.
            drop(fs::remove_dir(path));
        }
    }
}

/// `task-7.lock` and `task-7.json.lock`: programs lock the one or the other.
fn files(path: &Path) -> io::Result<Option<Lock>> {
    let mut held = Vec::with_capacity(2);
    for name in [path.with_extension("lock"), beside(path)] {
        let file = File::options().create(true).truncate(false).write(true).open(name)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => held.push(file),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(Lock::Files { _held: held }))
}

/// `7.json.lock/`
fn folder(path: &Path, now: Time) -> io::Result<Option<Lock>> {
    let path = beside(path);
    match fs::create_dir(&path) {
        Ok(()) => Ok(Some(Lock::Folder(path))),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let is_stale = Stamp::of(&path)?.is_some_and(|it| now.since(it.at) > STALE);
            if is_stale {
                // Another may do the same at once; who makes it next has it.
                drop(fs::remove_dir(&path));
            }
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The path of a file's lock.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    path.with_file_name(name)
}

/// Removes the lock files of a file that is gone.
pub(super) fn clear(layout: Layout, path: &Path) {
    if layout == Layout::Seeds {
        // Nobody needs them any more; if one stays, it does no harm.
        drop(fs::remove_file(path.with_extension("lock")));
        drop(fs::remove_file(beside(path)));
    }
}
