//! Lets agents connect, one at a time. Others are told to come back later.

use std::{collections::VecDeque, net::IpAddr, pin::Pin, time::Duration};

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
        http::{HeaderValue, StatusCode, uri::Authority},
        protocol::{CloseFrame, WebSocketConfig, frame::coding::CloseCode},
    },
};

use super::{CLOSING, MAX_MESSAGE};

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a second agent waits before it is refused: an agent may reconnect before we see that its connection broke.
const PATIENCE: Duration = Duration::from_secs(1);
/// The most handshakes at once.
const MAX_HANDSHAKES: usize = 64;

/// The connection of an agent.
pub(super) type AgentSocket = WebSocketStream<TcpStream>;

type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Lets agents in.
pub(super) struct Door {
    listener: TcpListener,
    /// Handshakes under way.
    greeting: FuturesUnordered<Later<Option<AgentSocket>>>,
    /// Agents that wait while another one is connected, and since when.
    waiting: VecDeque<(Instant, AgentSocket)>,
    leaving: FuturesUnordered<Later<()>>,
}

impl Door {
    pub(super) fn new(listener: TcpListener) -> Self {
        let greeting = FuturesUnordered::new();
        let leaving = FuturesUnordered::new();
        Self { listener, greeting, waiting: VecDeque::new(), leaving }
    }

    /// The next agent. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<AgentSocket> {
        if let Some((_, socket)) = self.waiting.pop_front() {
            return Ok(socket);
        }
        greeted(&self.listener, &mut self.greeting).await
    }

    /// Refuses other agents. Ends only with an error, if connections can no longer be accepted. Cancel safe.
    pub(super) async fn turn_away(&mut self) -> anyhow::Error {
        let Self { listener, greeting, waiting, leaving } = self;
        loop {
            let due = waiting.front().map(|(since, _)| *since + PATIENCE);
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
                let (stream, _) = accepted.context("no agent can connect any more")?;
                if greeting.len() < MAX_HANDSHAKES {
                    greeting.push(Box::pin(async { timeout(HANDSHAKE, greet(stream)).await.ok()?.ok() }));
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

/// Refuses an agent, and waits until it has closed the connection.
async fn refuse(mut socket: AgentSocket) {
    let reason = "another agent is connected; try again when it has ended";
    let frame = CloseFrame { code: CloseCode::Again, reason: reason.into() };
    let leave = async {
        if socket.close(Some(frame)).await.is_ok() {
            while let Some(Ok(_)) = socket.next().await {}
        }
    };
    // An agent that does not answer is left.
    timeout(CLOSING, leave).await.unwrap_or_default();
}

async fn greet(stream: TcpStream) -> Result<WebSocketStream<TcpStream>, Error> {
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE));
    accept_hdr_async_with_config(stream, refuse_browsers, Some(config)).await
}

/// A web page can connect to this machine too. Its browser adds an `Origin`, and a `Host` that names where the page came from,
/// even if that name was made to mean this machine (DNS rebinding).
#[expect(clippy::result_large_err, reason = "this is what is asked for")]
fn refuse_browsers(request: &Request, response: Response) -> Result<Response, ErrorResponse> {
    let refuse = |words: &str| {
        let mut refusal = ErrorResponse::new(Some(words.to_owned()));
        *refusal.status_mut() = StatusCode::FORBIDDEN;
        Err(refusal)
    };
    if request.headers().contains_key("origin") {
        return refuse("not for web pages");
    }
    let mut hosts = request.headers().get_all("host").iter();
    let names_us = |host: Option<&HeaderValue>| {
        host.and_then(|it| it.to_str().ok()).is_some_and(is_this_machine)
    };
    if !names_us(hosts.next()) || hosts.next().is_some() {
        return refuse("the Host must name this machine: 127.0.0.1, [::1] or localhost");
    }
    Ok(response)
}

/// Whether the value of a `Host` header names this machine by a name that only this machine has.
fn is_this_machine(host: &str) -> bool {
    let parsed = host.parse::<Authority>().ok().filter(|_| !host.contains('@'));
    let Some(authority) = parsed else { return false };
    let name = authority.host();
    let name = name.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(name);
    let is_address = name.parse::<IpAddr>().is_ok_and(|it| it.is_loopback());
    is_address || name.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    //! Which names mean this machine.

    use super::is_this_machine;

    #[test]
    fn only_names_of_this_machine_may_be_in_the_host_header() {
        for host in
            ["127.0.0.1", "127.0.0.1:8765", "127.9.9.9:1", "[::1]:8765", "localhost", "LocalHost:1"]
        {
            assert!(is_this_machine(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8765",
            "localhost.evil.example",
            "127.0.0.1.evil.example:8765",
            "10.0.0.1",
            "[::2]:1",
            "0.0.0.0",
            "127.0.0.1:80@evil.example",
            "evil.example@127.0.0.1",
        ] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
