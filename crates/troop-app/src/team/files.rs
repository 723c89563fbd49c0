//! The readable files beside a `files:` store. Each process that uses the store keeps them in step; there is no daemon.

use std::{path::PathBuf, time::Duration};

use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_model::{State, TeamStatus, Version, with_causes};
use troop_runtime::{
    Board, Clock, FileDoor, Mirror, MirrorError, MirrorNotice, MirrorOptions, find_lead,
};

use super::desk::{DeskNotice, NoticeSink};
use crate::{Result, surroundings::ReadableFiles, text::one_line};

/// How long we wait after the store could not be used before we try again.
const AGAIN: Duration = Duration::from_secs(2);

/// Keeps the files of one team in step with its board.
#[derive(Debug)]
pub(super) struct FileSync {
    options: MirrorOptions,
    mode: SyncMode,
    notices: NoticeSink,
    /// Commands of this process about tasks are given under the locks of their files.
    door: FileDoor,
}

#[derive(Debug)]
enum SyncMode {
    /// A lead keeps them in step. If it ends, this process still gives its own commands under the locks.
    ByLead,
    /// The files match the log up to this version.
    Once(Box<Mirror>, UnboundedReceiver<MirrorNotice>, Version),
    /// A task keeps them in step.
    Running(CancellationToken, TaskTracker),
}

/// Takes in what others wrote, and writes what the board says. A command goes on if the files cannot be used, because the log
/// is the truth. A running lead keeps the files in step itself.
pub(super) async fn catch_up(
    files: &ReadableFiles,
    board: &Board,
    clock: &Clock,
    lead: PathBuf,
    notices: &NoticeSink,
) -> Result<Option<FileSync>> {
    let is_led = find_lead(&lead).is_some();
    let is_gone = |state: &State| state.team().is_none_or(|it| it.status == TeamStatus::Deleted);
    if board.look(is_gone).await? {
        return Ok(None);
    }
    let ReadableFiles { folder, layout } = files.clone();
    let board = board.clone();
    let clock = clock.clone();
    let options = MirrorOptions { board, clock, folder, layout, lead: Some(lead) };
    let begun = if is_led { Ok(SyncMode::ByLead) } else { begin(&options).await };
    match begun {
        Ok(mode) => {
            let door = FileDoor::guard(options.clone());
            Ok(Some(FileSync { options, mode, notices: notices.clone(), door }))
        }
        Err(error) => {
            notices.tell(&DeskNotice::FilesUnchanged { reason: with_causes(&error) });
            Ok(None)
        }
    }
}

async fn begin(options: &MirrorOptions) -> Result<SyncMode, MirrorError> {
    let mut mirror = Mirror::open(options.clone()).await?;
    let notices = mirror.notices();
    mirror.pass().await?;
    let version = options.board.look(State::version).await?;
    Ok(SyncMode::Once(Box::new(mirror), notices, version))
}

/// Keeps files and board in step until it is stopped. While the store cannot be used, it tries again now and then.
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

/// Reports what others wrote and the board refused. The team itself tells those who wrote it.
fn report(refused: &mut UnboundedReceiver<MirrorNotice>, notices: &NoticeSink) {
    while let Ok(notice) = refused.try_recv() {
        if let MirrorNotice::Refused { path, reason } = notice {
            let path = one_line(&path);
            notices.tell(&DeskNotice::FileRefused { path, reason: one_line(&reason) });
        }
    }
}

impl FileSync {
    /// Keeps files and board in step from now on.
    pub(super) fn keep(self) -> Self {
        let Self { options, mode, notices, door } = self;
        let SyncMode::Once(mirror, mut refused, _) = mode else {
            return Self { options, mode, notices, door };
        };
        report(&mut refused, &notices);
        let stop = CancellationToken::new();
        let tracker = TaskTracker::new();
        tracker.spawn(keep(*mirror, options.clone(), stop.clone()));
        tracker.close();
        Self { options, mode: SyncMode::Running(stop, tracker), notices, door }
    }

    /// Writes what a command changed, and removes the files of a deleted team.
    pub(super) async fn finish(self) {
        self.door.close().await;
        match self.mode {
            SyncMode::ByLead => {}
            SyncMode::Running(stop, tracker) => {
                stop.cancel();
                tracker.wait().await;
            }
            SyncMode::Once(mut mirror, mut refused, known) => {
                let look = |state: &State| {
                    let status = state.team().map(|it| it.status);
                    (state.version(), status == Some(TeamStatus::Deleted))
                };
                match self.options.board.look(look).await {
                    Ok((_, true)) => drop(mirror.clear()),
                    Ok((version, false)) if version != known => drop(mirror.pass().await),
                    _ => {}
                }
                report(&mut refused, &self.notices);
            }
        }
    }
}
