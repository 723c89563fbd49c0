//! `troop observe`: somebody else's stream in, a team and what happens in it out.

mod listen;
mod pieces;
mod showing;
mod state;

use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use troop_observe::StreamSource;
use troop_runtime::Clock;

use self::{
    pieces::{Piece, Pieces},
    showing::{ObservedForm, Showing},
    state::Keeper,
};
use crate::{
    cli::ObserveArgs,
    output::Printer,
    render,
    report::Stopped,
    signals::{Signals, StopSignal},
};

/// How many pieces of the stream wait at most.
const MAX_WAITING: usize = 4;
/// How long who was asked to stop may wait for others.
const GRACE: Duration = Duration::from_secs(2);

/// How the two who take part in a stop know of each other.
#[derive(Clone, Debug, Default)]
struct Stop {
    is_asked: CancellationToken,
    /// Nothing more is heard; what is left is to show what is known, which may take as long as somebody reads it.
    is_done: CancellationToken,
}

pub(super) async fn run(args: &ObserveArgs, printer: &Printer) -> Result<()> {
    if args.capabilities {
        return capabilities(printer);
    }
    let signals = Signals::listen()?;
    let stop = Stop::default();
    let (tell, ended) = oneshot::channel();
    // Who writes to somebody that does not read waits, and hears no signals meanwhile. So that is another thread, which ends
    // with the program.
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

/// Asks to stop when a signal says so; gives which signal it was when there is no more waiting.
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
            pieces::of_file(file, keeper.read_so_far(), args.follow, tell)?;
            consume(pieces, showing, keeper, stop).await
        }
        (None, None) => {
            pieces::of_stdin(tell);
            consume(pieces, showing, keeper, stop).await
        }
    }
}

async fn consume(
    pieces: Pieces,
    showing: &mut Showing<'_>,
    keeper: &mut Keeper,
    stop: &Stop,
) -> Result<()> {
    let taken = take_all(pieces, showing, keeper, stop).await;
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
    stop: &Stop,
) -> Result<()> {
    let clock = Clock::system();
    loop {
        let piece = tokio::select! {
            piece = pieces.recv() => piece,
            () = stop.is_asked.cancelled() => return Ok(()),
        };
        match piece.transpose()? {
            None => return Ok(()),
            Some(Piece::Bytes(bytes)) => {
                showing.take(&bytes, clock.now())?;
                keeper.advance(&bytes);
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
