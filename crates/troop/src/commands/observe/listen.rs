//! The inverted connection: an agent dials in with `--sdk-url` and talks; what comes on standard input is said to it.

use std::{
    io::{self, BufRead as _},
    net::SocketAddr,
    time::Duration,
};

use anyhow::{Context as _, Result};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async_with_config,
    tungstenite::{
        Error, Message,
        handshake::server::{ErrorResponse, Request, Response},
        http::StatusCode,
        protocol::WebSocketConfig,
    },
};
use troop_observe::MAX_LINE;

use super::pieces::{Piece, Tell};
use crate::{output::Printer, report::Refused};

/// How long somebody may take to say hello.
const HELLO: Duration = Duration::from_secs(10);

/// How a conversation ended.
enum End {
    /// The agent said good-bye, or nobody listens any more.
    Over,
    /// The connection broke. The agent will dial again.
    Broken,
}

pub(super) async fn bind(address: SocketAddr) -> Result<TcpListener> {
    if !address.ip().is_loopback() {
        let hint = format!(
            "wait on this machine alone and let others in by a tunnel: `--listen 127.0.0.1:{port}`, \
             `ssh -R {port}:127.0.0.1:{port} HOST`",
            port = address.port()
        );
        let message = format!(
            "`{}` is open to other machines, and nobody is asked who they are",
            address.ip()
        );
        return Err(Refused::new(message, hint).into());
    }
    TcpListener::bind(address).await.with_context(|| format!("`{address}` cannot be listened on"))
}

pub(super) fn announce(listener: &TcpListener, printer: &Printer) -> Result<()> {
    let address = listener.local_addr()?;
    printer.error_line(&format!("waiting for an agent: --sdk-url ws://{address}"));
    Ok(())
}

/// Hears one agent, over as many connections as it needs.
pub(super) async fn serve(listener: TcpListener, tell: Tell) -> Result<()> {
    let mut input = input();
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => accepted.context("nobody can dial in any more")?,
            () = tell.closed() => return Ok(()),
        };
        let Ok(Ok(mut socket)) = tokio::time::timeout(HELLO, greet(stream)).await else { continue };
        if let End::Over = converse(&mut socket, &tell, &mut input).await {
            return Ok(());
        }
    }
}

async fn greet(stream: TcpStream) -> Result<WebSocketStream<TcpStream>, Error> {
    let config = WebSocketConfig::default()
        .max_message_size(Some(2 * MAX_LINE))
        .max_frame_size(Some(2 * MAX_LINE));
    accept_hdr_async_with_config(stream, refuse_browsers, Some(config)).await
}

/// A web page can dial to this machine too, but it cannot hide that it is one.
#[expect(clippy::result_large_err, reason = "this is what is asked for")]
fn refuse_browsers(request: &Request, response: Response) -> Result<Response, ErrorResponse> {
    if request.headers().contains_key("origin") {
        let mut refusal = ErrorResponse::new(Some("not for web pages".to_owned()));
        *refusal.status_mut() = StatusCode::FORBIDDEN;
        return Err(refusal);
    }
    Ok(response)
}

async fn converse(
    socket: &mut WebSocketStream<TcpStream>,
    tell: &Tell,
    input: &mut mpsc::Receiver<String>,
) -> End {
    loop {
        tokio::select! {
            heard = socket.next() => {
                let bytes = match heard {
                    Some(Ok(Message::Text(text))) => text.as_bytes().to_vec(),
                    Some(Ok(Message::Binary(bytes))) => bytes.to_vec(),
                    Some(Ok(Message::Close(_)) | Err(Error::ConnectionClosed)) => return End::Over,
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                    Some(Err(_)) | None => return End::Broken,
                };
                if tell.send(Ok(Piece::Bytes(whole_lines(bytes)))).await.is_err() {
                    return End::Over;
                }
            }
            Some(line) = input.recv() => {
                if socket.send(Message::text(line)).await.is_err() {
                    return End::Broken;
                }
            }
            () = tell.closed() => return End::Over,
        }
    }
}

/// What is one message here is at least one line elsewhere.
fn whole_lines(mut bytes: Vec<u8>) -> Vec<u8> {
    if !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    bytes
}

/// The lines of standard input, with their ends.
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
