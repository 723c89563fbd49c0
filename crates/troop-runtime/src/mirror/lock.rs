//! The locks of programs that share files: those of the system, or folders as Claude Code makes them.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{FlockOperation, OFlags, flock};
use tokio::time::Instant;
use troop_model::Time;
use uuid::Uuid;

use super::{ages::Ages, disk::Stamp, layout::Layout};

/// How old a lock folder must be before we assume that its maker is dead.
const STALE: Duration = Duration::from_secs(10);

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub(super) enum FileLock {
    /// The system releases it with the file, however the holder ends.
    Files { _held: Vec<File> },
    Folder {
        path: PathBuf,
        /// To recognise the folder: another may have taken its place.
        stamp: Stamp,
    },
}

impl FileLock {
    /// Takes the lock of a file; none if somebody else has it.
    pub(super) fn take(
        layout: Layout,
        path: &Path,
        ages: &mut Ages,
        now: Time,
    ) -> io::Result<Option<Self>> {
        match layout {
            Layout::Seeds => files(path, ages, now),
            Layout::Claude => folder(path, ages, now),
        }
    }
}

impl FileLock {
    /// Takes a lock that only mirrors know.
    pub(super) fn take_own(path: &Path) -> io::Result<Option<Self>> {
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self::Files { _held: vec![file] })),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if let Self::Folder { path, stamp } = self
            && matches!(Stamp::of(path), Ok(Some(found)) if found == *stamp)
        {
            // Another process that found it stale may have made its own there.
            drop(fs::remove_dir(path));
        }
    }
}

/// The lock of a file that somebody else has. The question makes a lock file where there is none, so it is not asked where locks
/// are folders: the file would keep all programs out.
pub(super) fn held(layout: Layout, path: &Path) -> PathBuf {
    let beside = beside(path);
    let other = path.with_extension("lock");
    let is_held = || matches!(FileLock::take_own(&other), Ok(None));
    if layout == Layout::Seeds && (other.is_dir() || is_held()) { other } else { beside }
}

/// `task-7.lock` and `task-7.json.lock`: programs lock the one or the other.
fn files(path: &Path, ages: &mut Ages, now: Time) -> io::Result<Option<FileLock>> {
    let mut held = Vec::with_capacity(2);
    // Opening a pipe must not block.
    let flags = OFlags::NONBLOCK.bits() as i32;
    for path in [path.with_extension("lock"), beside(path)] {
        let mut options = File::options();
        options.create(true).truncate(false).write(true).custom_flags(flags);
        let file = match options.open(&path) {
            Ok(file) => file,
            // Another layout's.
            Err(_) if path.is_dir() => return clear_stale(&path, ages, now),
            Err(error) => return Err(error),
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => held.push(file),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(FileLock::Files { _held: held }))
}

/// `7.json.lock/`
fn folder(path: &Path, ages: &mut Ages, now: Time) -> io::Result<Option<FileLock>> {
    let path = beside(path);
    match fs::create_dir(&path) {
        Ok(()) => Ok(Stamp::of(&path)?.map(|stamp| FileLock::Folder { path, stamp })),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => clear_stale(&path, ages, now),
        Err(error) => Err(error),
    }
}

/// Removes a lock whose maker is dead; the next attempt gets it.
fn clear_stale(path: &Path, ages: &mut Ages, now: Time) -> io::Result<Option<FileLock>> {
    if let Some(stamp) = Stamp::of(path)?
        && ages.age(path, stamp, now, Instant::now()) > STALE
    {
        remove(path, stamp)?;
    }
    Ok(None)
}

/// Removes the lock that was seen, and no newer one in its place: others may find it stale at the same time.
fn remove(path: &Path, seen: Stamp) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = path.with_file_name(format!(".{name}.stale.{}", Uuid::now_v7().simple()));
    match fs::rename(path, &aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        moved => moved?,
    }
    if Stamp::of(&aside)? != Some(seen) {
        return fs::rename(&aside, path);
    }
    // In the other layout it is a file.
    fs::remove_dir(&aside).or_else(|_| fs::remove_file(&aside))
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
        // A lock file that stays does no harm.
        drop(fs::remove_file(path.with_extension("lock")));
        drop(fs::remove_file(beside(path)));
    }
}

#[cfg(test)]
mod tests;
