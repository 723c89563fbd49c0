//! The turn to land: teams of one repository land one after the other, whichever process leads them.

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

/// The turn to land in a repository, as long as this is held and this process lives.
#[derive(Debug)]
pub(super) struct RepositoryTurn(#[expect(dead_code, reason = "it is locked")] File);

/// Somebody else has the turn for longer than we wait.
#[derive(Debug)]
pub(super) struct TurnTaken {
    pub(super) why: String,
}

impl RepositoryTurn {
    /// Waits for the turn in the repository whose worktrees share a folder.
    pub(super) async fn take(shared: &Path) -> GitResult<Result<Self, TurnTaken>> {
        Self::take_within(shared, PATIENCE).await
    }

    pub(super) async fn take_within(
        shared: &Path,
        patience: Duration,
    ) -> GitResult<Result<Self, TurnTaken>> {
        // Git takes files that end with `.lock` for its own.
        let path = shared.join("troop-landing");
        let mut file = open(&path).map_err(GitError::file(&path))?;
        let since = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if since.elapsed() < patience => sleep(PAUSE).await,
                Err(TryLockError::WouldBlock) => return Ok(Err(taken(&path, patience))),
                Err(TryLockError::Error(error)) => return Err(GitError::file(&path)(error)),
            }
        }
        // It only tells people who has the turn.
        drop(file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())));
        Ok(Ok(Self(file)))
    }
}

/// Opens the file, also one that belongs to another user.
fn open(path: &PathBuf) -> io::Result<File> {
    let ours = OpenOptions::new().create(true).append(true).open(path);
    ours.or_else(|error| File::open(path).map_err(|_| error))
}

fn taken(path: &Path, patience: Duration) -> TurnTaken {
    let by = fs::read_to_string(path).unwrap_or_default();
    let by = if by.is_empty() { String::new() } else { format!(", process {by},") };
    let seconds = patience.as_secs();
    let why = format!("another team{by} has been landing in this repository for {seconds}s");
    TurnTaken { why }
}
