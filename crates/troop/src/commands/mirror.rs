//! `troop team mirror`: a team in files that other programs read and write.

use std::path::Path;

use anyhow::Result;
use serde_json::json;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc::UnboundedReceiver,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_app::team::TeamDesk;
use troop_runtime::{Layout, Mirror, MirrorError, MirrorNotice, MirrorOptions};

use crate::{output::Printer, render};

pub(super) async fn run(
    folder: &Path,
    layout: Layout,
    once: bool,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let board = desk.team(None).await?;
    let clock = desk.clock.clone();
    let lead = Some(desk.folder(board.team()));
    let options = MirrorOptions { board, clock, folder: folder.to_owned(), layout, lead };
    let mut mirror = Mirror::open(options).await.map_err(plain)?;
    let mut notices = mirror.notices();
    if once {
        mirror.pass().await.map_err(plain)?;
        while let Ok(notice) = notices.try_recv() {
            tell(&notice, printer)?;
        }
        return Ok(());
    }
    // We listen before we tell anybody that Ctrl-C ends it.
    let signals = [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?];
    if !printer.json {
        printer.line(&format!("mirroring to {}; stop with Ctrl-C", folder.display()))?;
    }
    keep(mirror, notices, signals, printer).await
}

/// Keeps the files in step until a signal comes.
async fn keep(
    mirror: Mirror,
    mut notices: UnboundedReceiver<MirrorNotice>,
    [mut interrupted, mut terminated]: [Signal; 2],
    printer: &Printer,
) -> Result<()> {
    let stop = CancellationToken::new();
    let tracker = TaskTracker::new();
    let mut kept = tracker.spawn(mirror.run(stop.clone()));
    tracker.close();
    let ended = loop {
        tokio::select! {
            ended = &mut kept => break ended,
            Some(notice) = notices.recv() => tell(&notice, printer)?,
            _ = interrupted.recv() => stop.cancel(),
            _ = terminated.recv() => stop.cancel(),
        }
    };
    while let Ok(notice) = notices.try_recv() {
        tell(&notice, printer)?;
    }
    ended?.map_err(plain)
}

fn tell(notice: &MirrorNotice, printer: &Printer) -> Result<()> {
    let (kind, path, what) = match notice {
        MirrorNotice::Taken { path, what } => ("taken", path, what),
        MirrorNotice::Refused { path, reason } => ("refused", path, reason),
    };
    if printer.json {
        return printer.line(&json!({"kind": kind, "path": path, "what": what}).to_string());
    }
    printer.line(&format!("{kind}: {}: {}", render::one_line(path), render::one_line(what)))
}

/// A refusal of the board is reported as one.
pub(crate) fn plain(error: MirrorError) -> anyhow::Error {
    match error {
        MirrorError::Board(error) => error.into(),
        other @ (MirrorError::File { .. } | _) => other.into(),
    }
}
