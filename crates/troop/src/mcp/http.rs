//! The same service over streamable HTTP, for clients that have the token.

use std::{convert::Infallible, fmt, sync::Arc, time::Duration};

use bytes::{Buf, Bytes};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::{
    Request, Response, StatusCode,
    body::{Body, Frame},
    header::{AUTHORIZATION, WWW_AUTHENTICATE},
};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService,
    session::local::{LocalSessionManager, SessionConfig},
};

use troop_app::token::Token;

use super::{TeamService, halves::HalfMender};

/// The path of the service.
pub(crate) const PATH: &str = "/mcp";

/// The longest request: the largest file of a workspace, as JSON.
const MAX_REQUEST: usize = 32 * 1024 * 1024;

/// How long a session may be silent before its client must initialize again. Agents wait for hours, people overnight.
const MAX_SILENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// The origins of pages on this machine. Any other page got here by DNS rebinding.
const ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

pub(crate) type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;

/// A member's service over HTTP, for requests that carry the token. It can be mounted at any path.
///
/// Clients of today have a session each; those of the protocol of 2026-07-28 have none. `Host` and `Origin` must name this
/// machine, so that no page in a browser reaches the service by DNS rebinding.
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

    /// Answers a request. The token is checked before anything else.
    pub(crate) async fn answer<B>(&self, request: Request<B>) -> HttpAnswer
    where
        B: Body + Send + 'static,
        B::Error: fmt::Display,
    {
        let header = request.headers().get(AUTHORIZATION).and_then(|it| it.to_str().ok());
        if !header.and_then(bearer).is_some_and(|text| self.token.is(text)) {
            let mut refused =
                plain(StatusCode::UNAUTHORIZED, "send the token: `Authorization: Bearer TOKEN`\n");
            refused
                .headers_mut()
                .insert(WWW_AUTHENTICATE, "Bearer".parse().expect("a word is a header"));
            return refused;
        }
        let mut mender = HalfMender::default();
        // The end of JSON is never half of a pair, so nothing is kept back.
        let mend = move |frame: Frame<B::Data>| frame.map_data(|data| mended(&mut mender, data));
        self.inner.handle(request.map(|body| body.map_frame(mend))).await
    }
}

/// The next piece of a body, without halves of surrogate pairs.
fn mended(mender: &mut HalfMender, piece: impl Buf) -> Bytes {
    let mut piece = piece;
    mender.mend(&piece.copy_to_bytes(piece.remaining())).into()
}

/// The token in the value of an `Authorization` header.
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// An answer of a few words.
pub(crate) fn plain(status: StatusCode, words: &'static str) -> HttpAnswer {
    let mut answer = Response::new(Full::from(words).boxed());
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    //! Reading the header.

    use super::bearer;

    #[test]
    fn only_a_bearer_token_is_taken_from_the_header() {
        assert_eq!(bearer("Bearer abc"), Some("abc"));
        assert_eq!(bearer("bearer  abc\n"), Some("abc"));
        for header in ["", "Bearer", "abc", "Basic abc"] {
            assert_eq!(bearer(header), None, "{header}");
        }
    }
}
