//! `troop observe`: reads the stream of another program, and shows the team in it and what happens there.

mod listen;
mod showing;

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use troop_app::observing::{
    Keeper, PieceReceiver, SessionFolder, StreamPiece, follow_file, follow_sessions, read_file,
    read_stream,
};
use troop_observe::StreamSource;
use troop_runtime::Clock;

use self::showing::{ObservedForm, Showing};
use crate::{
    cli::ObserveArgs,
    output::Printer,
    render,
    report::SignalExit,
    signals::{Signals, StopSignal},
};

/// The most pieces of the stream that wait to be shown.
const MAX_WAITING: usize = 4;
/// How long reading may take to stop after the first signal.
const GRACE: Duration = Duration::from_secs(2);

/// How often we look for the first session of a folder.
const LOOK: Duration = Duration::from_secs(1);

/// Where the stream comes from.
enum ObservedSource {
    /// Standard input.
    Stream,
    File(PathBuf),
    /// The newest session of a folder, and those that begin later.
    Sessions {
        folder: SessionFolder,
        newest: PathBuf,
    },
    Listen(SocketAddr),
}

/// How a signal stops the reading thread.
#[derive(Clone, Debug, Default)]
struct Stop {
    is_asked: CancellationToken,
    /// Reading has stopped. What is left is to show the result, which may take as long as its reader needs.
    is_done: CancellationToken,
}

pub(crate) async fn run(args: &ObserveArgs, printer: &Printer) -> Result<()> {
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
        wanted = enough(signals, &stop) => Err(SignalExit(wanted).into()),
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
    let Some(source) = find_source(args, printer, stop).await? else { return Ok(()) };
    let state = args.state.as_deref();
    let (mut keeper, observer) = match &source {
        ObservedSource::Sessions { newest, .. } => Keeper::open_session(state, newest)?,
        ObservedSource::File(_) | ObservedSource::Stream | ObservedSource::Listen(_) => {
            Keeper::open(state, args.file.as_deref())?
        }
    };
    let mut showing = Showing::new(observer, ObservedForm::of(args, printer), printer);
    hear(source, args.follow, &mut showing, &mut keeper, printer, stop).await?;
    stop.is_done.cancel();
    let now = Clock::system().now();
    if showing.take_last(now, keeper.has_a_place())? {
        keeper.advance_to_the_end();
    }
    let shown = showing.end(now);
    keeper.save(showing.observer())?;
    shown
}

/// Finds out what to read. Waits for the first session of a folder; none if a signal came first.
async fn find_source(
    args: &ObserveArgs,
    printer: &Printer,
    stop: &Stop,
) -> Result<Option<ObservedSource>> {
    let file = match (&args.listen, &args.file) {
        (Some(address), _) => return Ok(Some(ObservedSource::Listen(*address))),
        (None, None) => return Ok(Some(ObservedSource::Stream)),
        (None, Some(file)) => file,
    };
    if !(args.follow && file.is_dir()) {
        return Ok(Some(ObservedSource::File(file.clone())));
    }
    let mut is_told = false;
    loop {
        let (folder, newest) = SessionFolder::open(file)?;
        if let Some(newest) = newest {
            printer.error_line(&format!("reading {}", shown(&newest)));
            return Ok(Some(ObservedSource::Sessions { folder, newest }));
        }
        if !std::mem::replace(&mut is_told, true) {
            printer.error_line(&format!("waiting for a session in {}", shown(file)));
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = stop.is_asked.cancelled() => return Ok(None),
        }
    }
}

fn shown(path: &Path) -> String {
    format!("`{}`", render::one_line(&path.display().to_string()))
}

async fn hear(
    source: ObservedSource,
    follows: bool,
    showing: &mut Showing<'_>,
    keeper: &mut Keeper,
    printer: &Printer,
    stop: &Stop,
) -> Result<()> {
    let (tell, pieces) = mpsc::channel(MAX_WAITING);
    match source {
        ObservedSource::Listen(address) => {
            let listener = listen::bind(address).await?;
            listen::announce(&listener, printer)?;
            // Each ends when the other does.
            let consuming = consume(pieces, showing, keeper, stop);
            tokio::try_join!(consuming, listen::serve(listener, tell, printer)).map(|_| ())
        }
        ObservedSource::Sessions { folder, newest } => {
            follow_sessions(&newest, keeper.position().clone(), folder, tell)?;
            consume(pieces, showing, keeper, stop).await
        }
        ObservedSource::File(file) => {
            let position = keeper.position();
            if follows {
                follow_file(&file, position.clone(), tell)?;
            } else {
                read_file(&file, position, tell)?;
            }
            consume(pieces, showing, keeper, stop).await
        }
        ObservedSource::Stream => {
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
        // Lines that were taken in are kept, even if their output could not be written.
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
            Some(StreamPiece::Switched(path)) => {
                showing.switch(&shown(&path), clock.now())?;
                keeper.switch(&path);
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
