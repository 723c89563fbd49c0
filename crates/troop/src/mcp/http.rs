//! The same service over streamable HTTP, for whoever has the token.

mod token;

use std::{convert::Infallible, fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::{
    Request, Response, StatusCode,
    body::Body,
    header::{AUTHORIZATION, WWW_AUTHENTICATE},
};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService,
    session::local::{LocalSessionManager, SessionConfig},
};

use super::TeamService;
pub(crate) use token::Token;

/// Where the service is.
pub(crate) const PATH: &str = "/mcp";

/// The longest request: the biggest file of a workspace, as JSON.
const MAX_REQUEST: usize = 32 * 1024 * 1024;

/// How long a client may be silent before it must say hello again. Agents wait for hours, people for a night.
const MAX_SILENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// Pages of this machine; any other page got here by a name that leads here.
const ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

/// What is answered.
pub(crate) type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;

/// A member's service over HTTP, to be mounted where HTTP is served: requests with the token, at any path.
///
/// Clients of today say hello and have a session each; those of the protocol of 2026-07-28 have none. The `Host` and the
/// `Origin` must be of this machine, so that no page in a browser reaches it by a name that leads here.
#[derive(Clone)]
pub(crate) struct HttpService {
    inner: StreamableHttpService<TeamService, LocalSessionManager>,
    token: Token,
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").finish_non_exhaustive()
    }
}

impl HttpService {
    pub(crate) fn new(service: TeamService, token: Token) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_allowed_origins(ORIGINS)
            .with_max_request_body_bytes(MAX_REQUEST);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = SessionConfig::default();
        sessions.session_config.keep_alive = Some(MAX_SILENCE);
        let another = move || Ok(service.for_another());
        Self { inner: StreamableHttpService::new(another, Arc::new(sessions), config), token }
    }

    /// Answers a request. Nothing else of it is looked at before the token.
    pub(crate) async fn answer<B>(&self, request: Request<B>) -> HttpAnswer
    where
        B: Body + Send + 'static,
        B::Error: fmt::Display,
    {
        let shown = request.headers().get(AUTHORIZATION).and_then(|it| it.to_str().ok());
        if !shown.is_some_and(|shown| self.token.is_shown_in(shown)) {
            let mut refused =
                plain(StatusCode::UNAUTHORIZED, "send the token: `Authorization: Bearer TOKEN`\n");
            refused
                .headers_mut()
                .insert(WWW_AUTHENTICATE, "Bearer".parse().expect("a word is a header"));
            return refused;
        }
        self.inner.handle(request).await
    }
}

/// An answer of a few words.
pub(crate) fn plain(status: StatusCode, words: &'static str) -> HttpAnswer {
    let mut answer = Response::new(Full::from(words).boxed());
    *answer.status_mut() = status;
    answer
}
