//! The readable files beside a `files:` store: kept in step by whoever uses the store, since no daemon is there to do it.

use std::{path::PathBuf, time::Duration};

use anyhow::Result;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_model::{State, TeamStatus, Version};
use troop_runtime::{
    Board, Clock, Layout, Mirror, MirrorError, MirrorNotice, MirrorOptions, find_lead,
};

use crate::{output, render};

/// How soon files are kept in step again after the store could not be used.
const AGAIN: Duration = Duration::from_secs(2);

/// Where a store has its readable files, and whose they are.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) folder: PathBuf,
    pub(crate) layout: Layout,
}

/// The files of the team that a command is about.
#[derive(Debug)]
pub(super) struct Kept {
    options: MirrorOptions,
    keeper: Keeper,
}

#[derive(Debug)]
enum Keeper {
    /// They say what the log says up to there.
    Once(Box<Mirror>, UnboundedReceiver<MirrorNotice>, Version),
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
        let Self { folder, layout } = self.clone();
        let (board, clock, lead) = (board.clone(), clock.clone(), Some(lead));
        let options = MirrorOptions { board, clock, folder, layout, lead };
        match begin(&options).await {
            Ok(keeper) => Ok(Some(Kept { options, keeper })),
            Err(error) => {
                let error = anyhow::Error::from(error);
                output::warn(format!("the team's files are left unchanged: {error:#}"));
                Ok(None)
            }
        }
    }
}

async fn begin(options: &MirrorOptions) -> Result<Keeper, MirrorError> {
    let mut mirror = Mirror::open(options.clone()).await?;
    let notices = mirror.notices();
    mirror.pass().await?;
    let version = options.board.look(State::version).await?;
    Ok(Keeper::Once(Box::new(mirror), notices, version))
}

/// Keeps files and board in step until it is told to stop. While the store cannot be used that is not possible; then it is.
async fn keep(mut mirror: Mirror, options: MirrorOptions, stop: CancellationToken) {
    while mirror.run(stop.clone()).await.is_err() {
        mirror = loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(AGAIN) => {}
            }
            if let Ok(mirror) = Mirror::open(options.clone()).await {
                break mirror;
            }
        };
    }
}

/// Tells whoever types a command what others wrote that was refused. Those who wrote it are told by the team.
fn tell(notices: &mut UnboundedReceiver<MirrorNotice>) {
    while let Ok(notice) = notices.try_recv() {
        if let MirrorNotice::Refused { path, reason } = notice {
            let (path, reason) = (render::one_line(&path), render::one_line(&reason));
            output::warn(format!("what was written to `{path}` was refused: {reason}"));
        }
    }
}

impl Kept {
    /// Keeps files and board in step from now on.
    pub(super) fn keep(self) -> Self {
        let Self { options, keeper: Keeper::Once(mirror, mut notices, _) } = self else {
            return self;
        };
        tell(&mut notices);
        let (stop, tracker) = (CancellationToken::new(), TaskTracker::new());
        tracker.spawn(keep(*mirror, options.clone(), stop.clone()));
        tracker.close();
        Self { options, keeper: Keeper::Running(stop, tracker) }
    }

    /// Writes what a command changed; takes the files away with their team.
    pub(super) async fn finish(self) {
        match self.keeper {
            Keeper::Running(stop, tracker) => {
                stop.cancel();
                tracker.wait().await;
            }
            Keeper::Once(mut mirror, mut notices, known) => {
                let look = |state: &State| {
                    let status = state.team().map(|it| it.status);
                    (state.version(), status == Some(TeamStatus::Deleted))
                };
                match self.options.board.look(look).await {
                    Ok((_, true)) => drop(mirror.clear()),
                    Ok((version, false)) if version != known => drop(mirror.pass().await),
                    _ => {}
                }
                tell(&mut notices);
            }
        }
    }
}
