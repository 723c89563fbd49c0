//! `troop observe`: somebody else's stream in, a team and what happens in it out.

mod listen;
mod pieces;
mod showing;
mod state;

use anyhow::Result;
use serde_json::json;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};
use troop_observe::Source;
use troop_runtime::Clock;

use self::{
    pieces::{Piece, Pieces},
    showing::{Form, Showing},
    state::Keeper,
};
use crate::{cli::ObserveArgs, output::Printer, render};

/// How many pieces of the stream wait at most.
const MAX_WAITING: usize = 4;

pub(super) async fn run(args: &ObserveArgs, printer: &Printer) -> Result<()> {
    if args.capabilities {
        return capabilities(printer);
    }
    let (mut keeper, observer) = Keeper::open(args.state.as_deref(), args.file.as_deref())?;
    let mut showing = Showing::new(observer, Form::of(args, printer), printer);
    hear(args, &mut showing, &mut keeper, printer).await?;
    let shown = showing.end(Clock::system().now());
    keeper.save(showing.observer())?;
    shown
}

async fn hear(
    args: &ObserveArgs,
    showing: &mut Showing<'_>,
    keeper: &mut Keeper,
    printer: &Printer,
) -> Result<()> {
    let (tell, pieces) = mpsc::channel(MAX_WAITING);
    match (&args.listen, &args.file) {
        (Some(address), _) => {
            let listener = listen::bind(*address).await?;
            listen::announce(&listener, printer)?;
            // Each ends when the other does.
            let consuming = consume(pieces, showing, keeper);
            tokio::try_join!(consuming, listen::serve(listener, tell)).map(|_| ())
        }
        (None, Some(file)) => {
            pieces::of_file(file, keeper.offset(), args.follow, tell)?;
            consume(pieces, showing, keeper).await
        }
        (None, None) => {
            pieces::of_stdin(tell);
            consume(pieces, showing, keeper).await
        }
    }
}

async fn consume(pieces: Pieces, showing: &mut Showing<'_>, keeper: &mut Keeper) -> Result<()> {
    let taken = take_all(pieces, showing, keeper).await;
    if taken.is_err() {
        // What was seen is known, even if nobody reads on.
        keeper.save(showing.observer())?;
    }
    taken
}

/// Shows what comes until nothing more does, or somebody asks to stop.
async fn take_all(
    mut pieces: Pieces,
    showing: &mut Showing<'_>,
    keeper: &mut Keeper,
) -> Result<()> {
    let clock = Clock::system();
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    loop {
        let piece = tokio::select! {
            piece = pieces.recv() => piece,
            _ = interrupted.recv() => return Ok(()),
            _ = terminated.recv() => return Ok(()),
        };
        match piece.transpose()? {
            None => return Ok(()),
            Some(Piece::Bytes(bytes)) => {
                keeper.advance(showing.take(&bytes, clock.now())?);
            }
            Some(Piece::Restarted(inode)) => {
                showing.restart();
                keeper.restart(inode);
            }
        }
        // What waits is taken first; a screen or a file that is drawn for every piece would slow a long stream down.
        let is_quiet = pieces.is_empty();
        showing.draw(is_quiet)?;
        if showing.has_changed() {
            keeper.save_soon(showing.observer(), is_quiet)?;
        }
    }
}

fn capabilities(printer: &Printer) -> Result<()> {
    if printer.json {
        let all = Source::ALL.map(|it| json!({"source": it, "capabilities": it.capabilities()}));
        return printer.json(&all);
    }
    let word = |it: bool| if it { "yes" } else { "no" }.to_owned();
    let rows = Source::ALL.map(|it| {
        let can = it.capabilities();
        vec![it.as_str().to_owned(), word(can.teams), word(can.live), word(can.history)]
    });
    printer.text(&render::table(&["SOURCE", "TEAMS", "LIVE", "HISTORY"], &rows, printer.width()))
}
