//! The landing lock: teams of one repository land one after the other, whichever process leads them.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use crate::git::{GitError, GitResult};

/// How long we wait for another team, and how often we look.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// The landing lock of a repository, for as long as this value and this process live.
#[derive(Debug)]
pub(super) struct LandingLock(#[expect(dead_code, reason = "it is locked")] File);

/// Another team held the lock until our timeout.
#[derive(Debug)]
pub(super) struct LandingLockHeld {
    pub(super) why: String,
}

impl LandingLock {
    /// Waits for the lock of the repository whose worktrees share this folder.
    pub(super) async fn take(shared: &Path) -> GitResult<Result<Self, LandingLockHeld>> {
        Self::take_within(shared, PATIENCE).await
    }

    pub(super) async fn take_within(
        shared: &Path,
        patience: Duration,
    ) -> GitResult<Result<Self, LandingLockHeld>> {
        // Git takes files that end with `.lock` for its own.
        let path = shared.join("troop-landing");
        let mut file = open(&path).map_err(GitError::file(&path))?;
        let since = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if since.elapsed() < patience => sleep(PAUSE).await,
                Err(TryLockError::WouldBlock) => return Ok(Err(held(&path, patience))),
                Err(TryLockError::Error(error)) => return Err(GitError::file(&path)(error)),
            }
        }
        // It only tells people who holds the lock.
        drop(file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())));
        Ok(Ok(Self(file)))
    }
}

/// Opens the file, also one that belongs to another user.
fn open(path: &PathBuf) -> io::Result<File> {
    let ours = OpenOptions::new().create(true).append(true).open(path);
    ours.or_else(|error| File::open(path).map_err(|_| error))
}

fn held(path: &Path, patience: Duration) -> LandingLockHeld {
    let by = fs::read_to_string(path).unwrap_or_default();
    let by = if by.is_empty() { String::new() } else { format!(", process {by},") };
    let seconds = patience.as_secs();
    let why = format!("another team{by} has been landing in this repository for {seconds}s");
    LandingLockHeld { why }
}
