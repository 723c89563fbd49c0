//! The readable files beside a `files:` store: kept in step by whoever uses the store, since no daemon is there to do it.

use std::path::PathBuf;

use anyhow::Result;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_model::{State, TeamStatus, Version};
use troop_runtime::{Board, Clock, Layout, Mirror, MirrorOptions};

/// Where a store has its readable files, and whose they are.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) folder: PathBuf,
    pub(crate) layout: Layout,
}

/// The files of the team that a command is about.
#[derive(Debug)]
pub(super) struct Kept {
    mirror: Mirror,
    board: Board,
    /// What of the log they say.
    version: Version,
}

/// Files that are kept in step meanwhile.
pub(crate) struct Keeping {
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl Shared {
    /// Takes in what others wrote, and writes what the board says. Files that cannot be used are no reason not to do what
    /// was asked: the log is the truth.
    pub(super) async fn catch_up(&self, board: &Board, clock: &Clock) -> Result<Option<Kept>> {
        let is_gone =
            |state: &State| state.team().is_none_or(|it| it.status == TeamStatus::Deleted);
        if board.look(is_gone).await? {
            return Ok(None);
        }
        let Some(mut mirror) = self.open(board, clock).await else { return Ok(None) };
        if mirror.pass().await.is_err() {
            return Ok(None);
        }
        let version = board.look(State::version).await?;
        Ok(Some(Kept { mirror, board: board.clone(), version }))
    }

    /// Keeps files and board in step until that is ended.
    pub(crate) async fn keep(&self, board: &Board, clock: &Clock) -> Option<Keeping> {
        let mirror = self.open(board, clock).await?;
        let (stop, tracker) = (CancellationToken::new(), TaskTracker::new());
        let token = stop.clone();
        tracker.spawn(async move { drop(mirror.run(token).await) });
        tracker.close();
        Some(Keeping { stop, tracker })
    }

    async fn open(&self, board: &Board, clock: &Clock) -> Option<Mirror> {
        let Self { folder, layout } = self.clone();
        let options = MirrorOptions { board: board.clone(), clock: clock.clone(), folder, layout };
        Mirror::open(options).await.ok()
    }
}

impl Kept {
    /// Writes what a command changed; takes the files away with their team.
    pub(super) async fn finish(mut self) {
        let look = |state: &State| {
            let is_gone = state.team().is_none_or(|it| it.status == TeamStatus::Deleted);
            (state.version(), is_gone)
        };
        match self.board.look(look).await {
            Ok((_, true)) => drop(self.mirror.clear()),
            Ok((version, false)) if version != self.version => drop(self.mirror.pass().await),
            _ => {}
        }
    }
}

impl Keeping {
    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.tracker.wait().await;
    }
}
