//! The inverted connection: an agent connects with `--sdk-url` and sends its stream; standard input is sent to it.

mod door;

use std::{
    convert::Infallible,
    io::{self, BufRead as _},
    net::SocketAddr,
    time::Duration,
};

use anyhow::{Context as _, Result};
use futures_util::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_tungstenite::tungstenite::{Error, Message};
use troop_app::observing::{PieceSender, StreamPiece};
use troop_model::{Hint, HintCommand, HintOption};
use troop_observe::MAX_LINE;

use self::door::{AgentSocket, Door};
use crate::{output::Printer, report};

/// The longest message, which must fit in memory. It is longer than any line that we parse, because it may be passed on.
const MAX_MESSAGE: usize = 32 * MAX_LINE;
/// The size of the pieces in which a message is passed on.
const PIECE: usize = 1 << 20;
/// How long an agent may take to close its connection.
const CLOSING: Duration = Duration::from_secs(1);

/// How a connection ended.
enum ConnectionEnd {
    /// The agent closed it, or there is no receiver left.
    Over,
    /// It broke. The agent will connect again.
    Broken,
    /// A message was too long.
    TooLong,
}

pub(super) async fn bind(address: SocketAddr) -> Result<TcpListener> {
    if !address.ip().is_loopback() {
        let port = address.port();
        let tunnel = HintCommand::other("ssh").word("-R").word(format!("{port}:127.0.0.1:{port}"));
        let hint = Hint::from("listen on this machine only and let others in by a tunnel: ")
            .and_option(HintOption::new("listen", format!("127.0.0.1:{port}")))
            .and(", ")
            .and_run(tunnel.blank("HOST"));
        let message = format!(
            "`{}` is open to other machines, and connections are not authenticated",
            address.ip()
        );
        return Err(report::Error::refused(message, hint).into());
    }
    TcpListener::bind(address).await.with_context(|| format!("`{address}` cannot be listened on"))
}

pub(super) fn announce(listener: &TcpListener, printer: &Printer) -> Result<()> {
    let address = listener.local_addr()?;
    printer.error_line(&format!("waiting for an agent: --sdk-url ws://{address}"));
    Ok(())
}

/// Reads one agent's stream, over as many connections as it needs. Other agents are turned away meanwhile.
pub(super) async fn serve(
    listener: TcpListener,
    tell: PieceSender,
    printer: &Printer,
) -> Result<()> {
    let mut input = input();
    let mut door = Door::new(listener);
    loop {
        let socket = tokio::select! {
            socket = door.next() => socket?,
            () = tell.closed() => return Ok(()),
        };
        let end = tokio::select! {
            end = attend(socket, &tell, &mut input) => end,
            error = door.turn_away() => return Err(error),
            () = tell.closed() => return Ok(()),
        };
        match end {
            ConnectionEnd::Over => return Ok(()),
            ConnectionEnd::Broken => {}
            ConnectionEnd::TooLong => printer.warn(format!(
                "the agent sent a message of more than {} MiB, so its connection was closed",
                MAX_MESSAGE >> 20
            )),
        }
    }
}

/// Reads from an agent until the connection ends, and sends it the input.
async fn attend(
    socket: AgentSocket,
    tell: &PieceSender,
    input: &mut mpsc::Receiver<String>,
) -> ConnectionEnd {
    let (says, hears) = socket.split();
    // At the same time: an agent may send first and read later.
    tokio::select! {
        end = hear(hears, tell) => end,
        never = say(says, input) => match never {},
    }
}

async fn hear(mut agent: SplitStream<AgentSocket>, tell: &PieceSender) -> ConnectionEnd {
    loop {
        let bytes = match agent.next().await {
            Some(Ok(Message::Text(text))) => text.into(),
            Some(Ok(Message::Binary(bytes))) => bytes,
            Some(Ok(Message::Close(_))) => {
                // Reading on answers the close frame.
                drop(tokio::time::timeout(CLOSING, agent.next()).await);
                return ConnectionEnd::Over;
            }
            Some(Err(Error::ConnectionClosed)) => return ConnectionEnd::Over,
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
            Some(Err(Error::Capacity(_))) => return ConnectionEnd::TooLong,
            Some(Err(_)) | None => return ConnectionEnd::Broken,
        };
        let n_pieces = bytes.len().div_ceil(PIECE);
        for (nth, piece) in bytes.chunks(PIECE).enumerate() {
            let mut piece = piece.to_vec();
            // A message is at least one line.
            if nth + 1 == n_pieces && !piece.ends_with(b"\n") {
                piece.push(b'\n');
            }
            if tell.send(Ok(StreamPiece::Bytes(piece))).await.is_err() {
                return ConnectionEnd::Over;
            }
        }
    }
}

/// Sends the input. Never ends, because only the reading side sees how the connection ends.
async fn say(
    mut agent: SplitSink<AgentSocket, Message>,
    input: &mut mpsc::Receiver<String>,
) -> Infallible {
    while let Some(line) = input.recv().await {
        if agent.send(Message::text(line)).await.is_err() {
            break;
        }
    }
    std::future::pending().await
}

/// The lines of standard input, with their line breaks.
fn input() -> mpsc::Receiver<String> {
    let (tell, lines) = mpsc::channel(16);
    std::thread::spawn(move || {
        let mut from = io::stdin().lock();
        let mut line = String::new();
        while from.read_line(&mut line).is_ok_and(|n| n > 0) {
            if tell.blocking_send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    lines
}
