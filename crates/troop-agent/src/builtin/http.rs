//! HTTP requests with streamed responses. Keeps one idle connection for the next request.

mod connect;
mod target;

use std::{
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request,
    body::{Bytes, Incoming},
    client::conn::http1::SendRequest,
    header::{CONTENT_TYPE, HOST, HeaderMap, USER_AGENT},
};
use rustls::ClientConfig;
use thiserror::Error;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use troop_model::{lock, with_causes};

pub(crate) use target::HttpTarget;

/// How long the rest of a response may take, so that its connection can be reused.
const REST: Duration = Duration::from_secs(1);

#[derive(Debug, Error)]
pub(crate) enum HttpError {
    #[error("`{0}` is not the URL of an API; it must begin with `https://` or `http://`")]
    BadUrl(String),
    #[error("`{host}` cannot be reached: {why}")]
    Unreachable { host: String, why: String },
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("nothing arrived for {} seconds", .0.as_secs_f32())]
    Silent(Duration),
}

/// How long to wait for each step of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpTimeouts {
    pub connect: Duration,
    /// For the beginning of a response. Local models may have to load first.
    pub answer: Duration,
    /// For the next piece of a response.
    pub piece: Duration,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(15), answer: seconds(600), piece: seconds(180) }
    }
}

type HttpSender = SendRequest<Full<Bytes>>;

/// An HTTP client for one API.
#[derive(Debug)]
pub(crate) struct Http {
    target: HttpTarget,
    patience: HttpTimeouts,
    idle: Arc<Mutex<Option<HttpSender>>>,
    /// Made on first use: certificates take memory that idle members do not need.
    tls: OnceLock<Arc<ClientConfig>>,
    tracker: TaskTracker,
}

/// A response whose body is still to come.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    sender: HttpSender,
    idle: Arc<Mutex<Option<HttpSender>>>,
    tracker: TaskTracker,
    patience: Duration,
}

impl Http {
    pub(crate) fn new(target: HttpTarget, patience: HttpTimeouts) -> Self {
        Self {
            target,
            patience,
            idle: Arc::default(),
            tls: OnceLock::new(),
            tracker: TaskTracker::new(),
        }
    }

    /// Whether there is an idle connection.
    pub(crate) fn is_connected(&self) -> bool {
        let idle = lock(&self.idle);
        idle.as_ref().is_some_and(HttpSender::is_ready)
    }

    /// Posts JSON, and waits until the response begins.
    pub(crate) async fn post(
        &self,
        path: &str,
        headers: &[(&str, String)],
        body: &Bytes,
    ) -> Result<HttpResponse, HttpError> {
        let request = self.request(path, headers, body.clone())?;
        let kept = lock(&self.idle).take();
        let sent = async {
            let Some(mut sender) = kept.filter(|sender| !sender.is_closed()) else {
                return self.send(self.connect().await?, request).await;
            };
            match sender.try_send_request(request).await {
                Ok(answer) => Ok((sender, answer)),
                // The server closed the connection meanwhile. A request that was not sent can use another one.
                Err(mut error) => match error.take_message() {
                    Some(request) => self.send(self.connect().await?, request).await,
                    None => Err(HttpError::Broken(with_causes(error.error()))),
                },
            }
        };
        let sent = timeout(self.patience.answer, sent).await;
        let (sender, answer) = sent.map_err(|_| HttpError::Silent(self.patience.answer))??;
        let (parts, body) = answer.into_parts();
        Ok(HttpResponse {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
            sender,
            idle: Arc::clone(&self.idle),
            tracker: self.tracker.clone(),
            patience: self.patience.piece,
        })
    }

    async fn send(
        &self,
        mut sender: HttpSender,
        request: Request<Full<Bytes>>,
    ) -> Result<(HttpSender, hyper::Response<Incoming>), HttpError> {
        let answer = sender.send_request(request).await;
        Ok((sender, answer.map_err(|error| HttpError::Broken(with_causes(&error)))?))
    }

    fn request(
        &self,
        path: &str,
        headers: &[(&str, String)],
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, HttpError> {
        let path = self.target.path(path);
        let mut request = Request::post(&path)
            .header(HOST, self.target.authority())
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("troop/", env!("CARGO_PKG_VERSION")));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        // The error may hold a key, so only the path is shown.
        request.body(Full::new(body)).map_err(|_| HttpError::BadUrl(path))
    }
}

impl HttpResponse {
    /// The next piece of the body; none at its end.
    pub(crate) async fn piece(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            let frame = timeout(self.patience, self.body.frame()).await;
            let frame = frame.map_err(|_| HttpError::Silent(self.patience))?;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(HttpError::Broken(with_causes(&error))),
                // Frames without data are trailers.
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }

    /// The beginning of the body, up to this length.
    pub(crate) async fn text(&mut self, most: usize) -> Vec<u8> {
        let mut text = Vec::new();
        while let Ok(Some(piece)) = self.piece().await
            && text.len() < most
        {
            text.extend_from_slice(&piece);
        }
        text.truncate(most);
        text
    }

    /// Reads the rest, and keeps the connection for the next request.
    pub(crate) fn put_back(self) {
        let Self { mut body, sender, idle, tracker, .. } = self;
        tracker.spawn(async move {
            let rest = async { while let Some(Ok(_)) = body.frame().await {} };
            if timeout(REST, rest).await.is_ok() {
                *lock(&idle) = Some(sender);
            }
        });
    }
}
