//! `troop mcp --listen`: serves a member over HTTP until a signal ends it.

use std::{convert::Infallible, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use anyhow::Result;
use hyper::{Request, StatusCode, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::task::TaskTracker;
use troop_app::token::Token;

use crate::{
    mcp::{
        TeamService,
        http::{self, HttpAnswer, HttpService, PATH},
    },
    output::Printer,
    report::Error,
    signals::Signals,
};

/// The most connections at once; later ones wait. One client has two or three.
const MAX_CONNECTIONS: usize = 256;

pub(super) async fn serve(
    service: TeamService,
    address: SocketAddr,
    token: &Path,
    printer: &Printer,
) -> Result<()> {
    if !address.ip().is_loopback() {
        let message = format!("`{address}` can be reached from other machines");
        let hint = "listen on a loopback address: `--listen 127.0.0.1:7007`; from other machines use a tunnel: `ssh -L`";
        return Err(Error::misuse(message, hint).into());
    }
    let mut signals = Signals::listen()?;
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let message = format!("cannot listen on `{address}`: {error}");
        Error::refused(message, "let the system choose a port: `--listen 127.0.0.1:0`")
    })?;
    let service = HttpService::new(service, Token::keep(token)?);
    announce(&listener, token, printer)?;
    tokio::select! {
        () = accept(&listener, &service) => {}
        // A request without an answer may have been carried out, as after a broken connection.
        _ = signals.next() => {}
    }
    Ok(())
}

/// Prints the address and where the token is.
fn announce(listener: &TcpListener, token: &Path, printer: &Printer) -> Result<()> {
    let url = format!("http://{}{PATH}", listener.local_addr()?);
    if printer.json {
        return printer.json(&json!({"url": url, "token_file": token}));
    }
    let token = token.display();
    printer
        .text(&format!("{url}\nclients send the token in {token}: `Authorization: Bearer TOKEN`\n"))
}

/// Accepts connections for ever.
async fn accept(listener: &TcpListener, service: &HttpService) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let tracker = TaskTracker::new();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let talk = converse(stream, service.clone());
                tracker.spawn(async move {
                    talk.await;
                    drop(place);
                });
            }
            // One failed connection is no reason to end. The process may have too many open files for a moment.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Serves one connection.
async fn converse(stream: TcpStream, service: HttpService) {
    let answer = service_fn(move |request| {
        let service = service.clone();
        async move { Ok::<_, Infallible>(route(&service, request).await) }
    });
    // Without Nagle's algorithm: a piece of an answer would wait up to 40 ms for the acknowledgement of the one before it.
    drop(stream.set_nodelay(true));
    // The timer closes connections that send nothing. How a connection ends concerns only its client.
    let mut talk = http1::Builder::new();
    drop(talk.timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), answer).await);
}

async fn route(service: &HttpService, request: Request<Incoming>) -> HttpAnswer {
    if request.uri().path() != PATH {
        return http::plain(StatusCode::NOT_FOUND, "the service is at `/mcp`\n");
    }
    service.answer(request).await
}
