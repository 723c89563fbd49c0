//! Who dials in: one agent is heard at a time, and who comes meanwhile is told so.

use std::{collections::VecDeque, pin::Pin, time::Duration};

use anyhow::{Context as _, Result};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    net::{TcpListener, TcpStream},
    time::{Instant, sleep_until, timeout},
};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async_with_config,
    tungstenite::{
        Error,
        handshake::server::{ErrorResponse, Request, Response},
        http::StatusCode,
        protocol::{CloseFrame, WebSocketConfig, frame::coding::CloseCode},
    },
};

use super::{GOOD_BYE, MAX_MESSAGE};

/// How long somebody may take to say hello.
const HELLO: Duration = Duration::from_secs(10);
/// How long who dials in waits for the place: an agent whose connection broke may be back before that is seen here.
const WAITS: Duration = Duration::from_secs(1);
/// How many may be at the door at once.
const MAX_AT_THE_DOOR: usize = 64;

/// A conversation with who dialled in.
pub(super) type AgentSocket = WebSocketStream<TcpStream>;

type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Lets agents in.
pub(super) struct Door {
    listener: TcpListener,
    /// Those who have not said hello yet.
    greeting: FuturesUnordered<Later<Option<AgentSocket>>>,
    /// Those who have, while somebody else is heard, and since when.
    waiting: VecDeque<(Instant, AgentSocket)>,
    leaving: FuturesUnordered<Later<()>>,
}

impl Door {
    pub(super) fn new(listener: TcpListener) -> Self {
        let greeting = FuturesUnordered::new();
        let leaving = FuturesUnordered::new();
        Self { listener, greeting, waiting: VecDeque::new(), leaving }
    }

    /// The next who says hello. May be given up and asked for again.
    pub(super) async fn next(&mut self) -> Result<AgentSocket> {
        if let Some((_, socket)) = self.waiting.pop_front() {
            return Ok(socket);
        }
        greeted(&self.listener, &mut self.greeting).await
    }

    /// Turns away who dials in; ends only where nobody can any more. May be given up and asked for again.
    pub(super) async fn turn_away(&mut self) -> anyhow::Error {
        let Self { listener, greeting, waiting, leaving } = self;
        loop {
            let due = waiting.front().map(|(since, _)| *since + WAITS);
            tokio::select! {
                next = greeted(listener, greeting) => match next {
                    Ok(socket) => waiting.push_back((Instant::now(), socket)),
                    Err(error) => return error,
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    let refused = waiting.pop_front().map(|(_, socket)| refuse(socket));
                    leaving.extend(refused.map(|it| -> Later<()> { Box::pin(it) }));
                }
                Some(()) = leaving.next() => {}
            }
        }
    }
}

async fn greeted(
    listener: &TcpListener,
    greeting: &mut FuturesUnordered<Later<Option<AgentSocket>>>,
) -> Result<AgentSocket> {
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted.context("nobody can dial in any more")?;
                if greeting.len() < MAX_AT_THE_DOOR {
                    greeting.push(Box::pin(async { timeout(HELLO, greet(stream)).await.ok()?.ok() }));
                }
            }
            Some(greeted) = greeting.next() => {
                if let Some(socket) = greeted {
                    return Ok(socket);
                }
            }
        }
    }
}

/// Tells somebody that another one is heard, and waits until it knows.
async fn refuse(mut socket: AgentSocket) {
    let reason = "another agent is heard now; dial again when it has ended";
    let frame = CloseFrame { code: CloseCode::Again, reason: reason.into() };
    let leave = async {
        if socket.close(Some(frame)).await.is_ok() {
            while let Some(Ok(_)) = socket.next().await {}
        }
    };
    // Who does not answer is left.
    timeout(GOOD_BYE, leave).await.unwrap_or_default();
}

async fn greet(stream: TcpStream) -> Result<WebSocketStream<TcpStream>, Error> {
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE));
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
