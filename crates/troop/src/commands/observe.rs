//! `troop observe`: reads the stream of another program, and shows the team in it and what happens there.

mod listen;
mod showing;

use std::{io, time::Duration};

use anyhow::{Context as _, Result};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use troop_app::observing::{
    Keeper, PieceReceiver, StreamPiece, follow_file, read_file, read_stream,
};
use troop_observe::StreamSource;
use troop_runtime::Clock;

use self::showing::{ObservedForm, Showing};
use crate::{
    cli::ObserveArgs,
    output::Printer,
    render,
    report::Stopped,
    signals::{Signals, StopSignal},
};

/// The most pieces of the stream that wait to be shown.
const MAX_WAITING: usize = 4;
/// How long reading may take to stop after the first signal.
const GRACE: Duration = Duration::from_secs(2);

/// How a signal stops the reading thread.
#[derive(Clone, Debug, Default)]
struct Stop {
    is_asked: CancellationToken,
    /// Reading has stopped. What is left is to show the result, which may take as long as its reader needs.
    is_done: CancellationToken,
}

pub(super) async fn run(args: &ObserveArgs, printer: &Printer) -> Result<()> {
    if args.capabilities {
        return capabilities(printer);
    }
    let signals = Signals::listen()?;
    let stop = Stop::default();
    let (tell, ended) = oneshot::channel();
    // Writing to a pipe that nobody reads blocks. It happens in another thread, so that this one still hears signals.
    let work = {
        let args = args.clone();
        let printer = printer.clone();
        let stop = stop.clone();
        move || -> Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(observe(&args, &printer, &stop))
        }
    };
    let working = std::thread::spawn(move || drop(tell.send(work())));
    tokio::select! {
        ended = ended => ended.unwrap_or_else(|_| match working.join() {
            Ok(()) => Ok(()),
            Err(panic) => std::panic::resume_unwind(panic),
        }),
        wanted = enough(signals, &stop) => Err(Stopped(wanted).into()),
    }
}

/// Asks to stop at the first signal. Returns the signal that ends the program if it has not stopped in time, or a second one.
async fn enough(mut signals: Signals, stop: &Stop) -> StopSignal {
    let first = signals.next().await;
    stop.is_asked.cancel();
    let is_stuck = async {
        tokio::time::sleep(GRACE).await;
        if stop.is_done.is_cancelled() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = is_stuck => first,
        second = signals.next() => second,
    }
}

async fn observe(args: &ObserveArgs, printer: &Printer, stop: &Stop) -> Result<()> {
    let (mut keeper, observer) = Keeper::open(args.state.as_deref(), args.file.as_deref())?;
    let mut showing = Showing::new(observer, ObservedForm::of(args, printer), printer);
    hear(args, &mut showing, &mut keeper, printer, stop).await?;
    stop.is_done.cancel();
    let now = Clock::system().now();
    if showing.take_last(now, keeper.has_a_place())? {
        keeper.advance_to_the_end();
    }
    let shown = showing.end(now);
    keeper.save(showing.observer())?;
    shown
}

async fn hear(
    args: &ObserveArgs,
    showing: &mut Showing<'_>,
    keeper: &mut Keeper,
    printer: &Printer,
    stop: &Stop,
) -> Result<()> {
    let (tell, pieces) = mpsc::channel(MAX_WAITING);
    match (&args.listen, &args.file) {
        (Some(address), _) => {
            let listener = listen::bind(*address).await?;
            listen::announce(&listener, printer)?;
            // Each ends when the other does.
            let consuming = consume(pieces, showing, keeper, stop);
            tokio::try_join!(consuming, listen::serve(listener, tell, printer)).map(|_| ())
        }
        (None, Some(file)) => {
            let position = keeper.position();
            if args.follow {
                follow_file(file, position.clone(), tell)?;
            } else {
                read_file(file, position, tell)?;
            }
            consume(pieces, showing, keeper, stop).await
        }
        (None, None) => {
            read_stream(io::stdin(), tell);
            consume(pieces, showing, keeper, stop).await
        }
    }
}

async fn consume(
    pieces: PieceReceiver,
    showing: &mut Showing<'_>,
    keeper: &mut Keeper,
    stop: &Stop,
) -> Result<()> {
    let taken = take_all(pieces, showing, keeper, stop).await;
    if taken.is_err() {
        // What was taken in is kept, even if its output could not be written.
        keeper.save(showing.observer())?;
    }
    taken
}

/// Shows the stream until it ends, or a signal asks to stop.
async fn take_all(
    mut pieces: PieceReceiver,
    showing: &mut Showing<'_>,
    keeper: &mut Keeper,
    stop: &Stop,
) -> Result<()> {
    let clock = Clock::system();
    loop {
        let piece = tokio::select! {
            piece = pieces.recv() => piece,
            () = stop.is_asked.cancelled() => return Ok(()),
        };
        match piece.transpose().context("the stream cannot be read")? {
            None => return Ok(()),
            Some(StreamPiece::Bytes(bytes)) => {
                showing.take(&bytes, clock.now())?;
                keeper.advance(&bytes);
            }
            Some(StreamPiece::Restarted(inode)) => {
                showing.restart();
                keeper.restart(inode);
            }
        }
        // Drawing and saving after every piece would slow a long stream down, so pieces that wait go first.
        let is_quiet = pieces.is_empty();
        showing.draw(is_quiet)?;
        if showing.take_changed() {
            keeper.save_soon(showing.observer(), is_quiet)?;
        }
    }
}

fn capabilities(printer: &Printer) -> Result<()> {
    if printer.json {
        let all =
            StreamSource::ALL.map(|it| json!({"source": it, "capabilities": it.capabilities()}));
        return printer.json(&all);
    }
    let word = |it: bool| if it { "yes" } else { "no" }.to_owned();
    let rows = StreamSource::ALL.map(|it| {
        let can = it.capabilities();
        vec![it.as_str().to_owned(), word(can.teams), word(can.live), word(can.history)]
    });
    printer.text(&render::table(&["SOURCE", "TEAMS", "LIVE", "HISTORY"], &rows, printer.width()))
}
