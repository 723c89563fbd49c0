//! The readable files beside a `files:` store: kept in step by whoever uses the store, since no daemon is there to do it.

use std::path::PathBuf;

use anyhow::Result;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_model::{State, TeamStatus, Version};
use troop_runtime::{Board, Clock, Layout, Mirror, MirrorOptions, find_lead};

/// Where a store has its readable files, and whose they are.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) folder: PathBuf,
    pub(crate) layout: Layout,
}

/// The files of the team that a command is about.
#[derive(Debug)]
pub(super) struct Kept {
    board: Board,
    keeper: Keeper,
}

#[derive(Debug)]
enum Keeper {
    /// They say what the log says up to there.
    Once(Box<Mirror>, Version),
    /// They are kept in step meanwhile.
    Running(CancellationToken, TaskTracker),
}

impl Shared {
    /// Takes in what others wrote, and writes what the board says. Files that cannot be used are no reason not to do what
    /// was asked: the log is the truth.
    ///
    /// Where a lead runs, it keeps them in step already.
    pub(super) async fn catch_up(
        &self,
        board: &Board,
        clock: &Clock,
        lead: PathBuf,
    ) -> Result<Option<Kept>> {
        if find_lead(&lead).is_some() {
            return Ok(None);
        }
        let is_gone =
            |state: &State| state.team().is_none_or(|it| it.status == TeamStatus::Deleted);
        if board.look(is_gone).await? {
            return Ok(None);
        }
        let Some(mut mirror) = self.open(board, clock, lead).await else { return Ok(None) };
        if mirror.pass().await.is_err() {
            return Ok(None);
        }
        let version = board.look(State::version).await?;
        let keeper = Keeper::Once(Box::new(mirror), version);
        Ok(Some(Kept { board: board.clone(), keeper }))
    }

    async fn open(&self, board: &Board, clock: &Clock, lead: PathBuf) -> Option<Mirror> {
        let Self { folder, layout } = self.clone();
        let (board, clock, lead) = (board.clone(), clock.clone(), Some(lead));
        let options = MirrorOptions { board, clock, folder, layout, lead };
        Mirror::open(options).await.ok()
    }
}

impl Kept {
    /// Keeps files and board in step from now on.
    pub(super) fn keep(self) -> Self {
        let Self { board, keeper: Keeper::Once(mirror, _) } = self else { return self };
        let (stop, tracker) = (CancellationToken::new(), TaskTracker::new());
        let token = stop.clone();
        tracker.spawn(async move { drop(mirror.run(token).await) });
        tracker.close();
        Self { board, keeper: Keeper::Running(stop, tracker) }
    }

    /// Writes what a command changed; takes the files away with their team.
    pub(super) async fn finish(self) {
        match self.keeper {
            Keeper::Running(stop, tracker) => {
                stop.cancel();
                tracker.wait().await;
            }
            Keeper::Once(mut mirror, known) => {
                let look = |state: &State| {
                    let status = state.team().map(|it| it.status);
                    (state.version(), status == Some(TeamStatus::Deleted))
                };
                match self.board.look(look).await {
                    Ok((_, true)) => drop(mirror.clear()),
                    Ok((version, false)) if version != known => drop(mirror.pass().await),
                    _ => {}
                }
            }
        }
    }
}
