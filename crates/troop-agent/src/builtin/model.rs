//! Asks a model, and retries where that may help.

mod read;

use std::time::Duration;

use hyper::{body::Bytes, header::HeaderMap};
use thiserror::Error;
use tokio::time::sleep;

pub use super::http::HttpTimeouts;
use super::{
    chat::{ModelRequest, Reply, StreamUpdate, TokenUsage},
    http::{Http, HttpError, HttpTarget},
    provider::{Api, RequestOptions, of_answer},
    retry::{Retries, RetryWaits, seconds_of_date},
    secret::Secret,
};

/// How much of an error response is read.
const MAX_ERROR: usize = 64 * 1024;

/// A model and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub api: Api,
    /// [`Api::base_url`], or another server that speaks this API.
    pub base_url: String,
    pub model: String,
    /// Local models need none.
    pub key: Option<Secret>,
    /// How many tokens it may think before it answers; none if it should not.
    pub thinking: Option<u32>,
}

/// How patiently a model is asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestPolicy {
    pub retries: Retries,
    pub timeouts: HttpTimeouts,
    /// Spreads the retries of many members over time.
    pub seed: u64,
}

/// Why a model did not answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ModelError {
    #[error("{what}")]
    BadUrl { what: String },
    /// The key is missing, wrong, or not allowed to do this.
    #[error("the model's API rejects the key ({status}): {message}")]
    Key { status: u16, message: String },
    /// The API will never accept this request.
    #[error("the model's API refuses the request ({status}): {message}")]
    Refused { status: u16, message: String },
    /// The request exceeds the model's window.
    #[error("the request is too long for the model: {message}")]
    TooLong { message: String },
    /// The API cannot answer now.
    #[error("the model's API cannot answer now ({status}): {message}")]
    Busy {
        status: u16,
        message: String,
        /// When to ask again, if the API says so.
        retry_after: Option<Duration>,
    },
    /// The connection failed or broke.
    #[error("the connection to the model's API failed: {what}")]
    Lost { what: String },
    /// The server does not speak this API.
    #[error("the server does not speak this API: it sends `{kind}` that begins with `{beginning}`")]
    Foreign {
        /// The content type that it declares.
        kind: String,
        /// The beginning of what it sends.
        beginning: String,
    },
    /// The reply broke off or is malformed.
    #[error("the model's reply is malformed: {what}")]
    Senseless { what: String },
}

/// Watches a reply while it arrives.
pub trait ReplyObserver: Send {
    fn shown(&mut self, shown: StreamUpdate<'_>);

    /// The model is asked again after this time.
    fn waits(&mut self, error: &ModelError, wait: Duration);

    /// The cost of this reply so far. Replies that break off cost money, too.
    fn counted(&mut self, usage: TokenUsage);

    /// Nothing more has arrived for the moment.
    fn quiet(&mut self);
}

#[derive(Debug)]
pub struct Model {
    endpoint: Endpoint,
    http: Http,
    policy: RequestPolicy,
}

impl Model {
    pub fn new(endpoint: Endpoint, policy: RequestPolicy) -> Result<Self, ModelError> {
        let target = HttpTarget::parse(&endpoint.base_url)?;
        Ok(Self { endpoint, http: Http::new(target, policy.timeouts), policy })
    }

    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) fn set_key(&mut self, key: Secret) {
        self.endpoint.key = Some(key);
    }

    /// Whether there is an idle connection.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.http.is_connected()
    }

    /// Asks until there is a whole reply, or no hope of one. Dropping the future cancels the request.
    pub async fn ask(
        &self,
        asked: &ModelRequest<'_>,
        watch: &mut dyn ReplyObserver,
    ) -> Result<Reply, ModelError> {
        let Endpoint { api, base_url, model, thinking, .. } = &self.endpoint;
        let is_original = base_url.trim_end_matches('/') == api.base_url();
        let options = RequestOptions { model, thinking: *thinking, is_original };
        let body = Bytes::from(api.provider().body(&options, asked));
        let mut waits = RetryWaits::new(self.policy.retries, self.policy.seed);
        let mut n_times = 0;
        loop {
            n_times += 1;
            let error = match self.once(&body, watch).await {
                Ok(reply) => return Ok(reply),
                Err(error) => self.without_key(error),
            };
            let wait = error.is_passing().then(|| waits.next(error.retry_after())).flatten();
            let Some(wait) = wait else { return Err(error.after(n_times)) };
            watch.shown(StreamUpdate::Again);
            watch.waits(&error, wait);
            sleep(wait).await;
        }
    }

    async fn once(&self, body: &Bytes, watch: &mut dyn ReplyObserver) -> Result<Reply, ModelError> {
        let provider = self.endpoint.api.provider();
        let headers = provider.headers(self.endpoint.key.as_ref());
        let path = provider.path(&self.endpoint.model);
        let mut answer = self.http.post(&path, &headers, body).await?;
        if answer.status != 200 {
            let retry_after = retry_after(&answer.headers);
            let text = answer.text(MAX_ERROR).await;
            return Err(of_answer(answer.status, retry_after, &text));
        }
        let reply = read::reply(self.endpoint.api, &mut answer, watch).await?;
        answer.put_back();
        Ok(reply)
    }

    /// Error messages of others may repeat what they were sent.
    fn without_key(&self, error: ModelError) -> ModelError {
        let Some(key) = &self.endpoint.key else { return error };
        error.with_text(|text| key.hidden_in(&text))
    }
}

/// How long the API asks us to wait.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|it| it / 1000.0).or_else(|| number("retry-after"));
    if let Some(seconds) = seconds {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    // A point in time, by the server's own clock.
    let moment = |name: &str| seconds_of_date(headers.get(name)?.to_str().ok()?);
    let seconds = moment("retry-after")?.saturating_sub(moment("date")?);
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()))
}

impl ModelError {
    pub(crate) fn senseless(text: &str) -> Self {
        Self::Senseless { what: troop_model::preview(text, 200) }
    }

    /// This error, with the number of attempts.
    fn after(self, n_times: u32) -> Self {
        if n_times < 2 {
            return self;
        }
        self.with_text(|text| format!("{text} (it was asked {n_times} times)"))
    }

    /// This error with another text.
    fn with_text(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Key { status, message } => Self::Key { status, message: change(message) },
            Self::Refused { status, message } => Self::Refused { status, message: change(message) },
            Self::TooLong { message } => Self::TooLong { message: change(message) },
            Self::Busy { status, message, retry_after } => {
                Self::Busy { status, message: change(message), retry_after }
            }
            Self::Senseless { what } => Self::Senseless { what: change(what) },
            Self::Foreign { kind, beginning } => {
                Self::Foreign { kind, beginning: change(beginning) }
            }
            Self::Lost { what } => Self::Lost { what: change(what) },
            Self::BadUrl { what } => Self::BadUrl { what: change(what) },
        }
    }

    /// Whether trying again may help.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Busy { .. } | Self::Lost { .. } | Self::Senseless { .. } => true,
            Self::BadUrl { .. }
            | Self::Key { .. }
            | Self::Refused { .. }
            | Self::Foreign { .. }
            | Self::TooLong { .. } => false,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } => *retry_after,
            Self::BadUrl { .. }
            | Self::Key { .. }
            | Self::Refused { .. }
            | Self::TooLong { .. }
            | Self::Foreign { .. }
            | Self::Lost { .. }
            | Self::Senseless { .. } => None,
        }
    }
}

impl From<HttpError> for ModelError {
    fn from(error: HttpError) -> Self {
        let what = error.to_string();
        match error {
            HttpError::BadUrl(_) => Self::BadUrl { what },
            HttpError::Unreachable { .. } | HttpError::Broken(_) | HttpError::Silent(_) => {
                Self::Lost { what }
            }
        }
    }
}
