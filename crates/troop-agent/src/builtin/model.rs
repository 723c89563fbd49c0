//! Asks a model, and asks again when that may help.

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

/// How much of an answer is read that is an error.
const MAX_ERROR: usize = 64 * 1024;

/// Which model is asked, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// How it is spoken to.
    pub api: Api,
    /// Where it is: [`Api::base_url`], or whoever else speaks that API.
    pub base_url: String,
    /// Its name there.
    pub model: String,
    /// Who pays. Models at home want none.
    pub key: Option<Secret>,
    /// How many tokens it may think before it speaks, if it is to.
    pub thinking: Option<u32>,
}

/// Why a model did not answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The address makes no sense.
    #[error("{what}")]
    BadUrl {
        /// What is wrong with it.
        what: String,
    },
    /// The key is missing or wrong, or may not do this.
    #[error("the model's API turns the key away ({status}): {message}")]
    Key {
        /// As it answered.
        status: u16,
        /// What it said.
        message: String,
    },
    /// It will never take this request.
    #[error("the model's API refuses ({status}): {message}")]
    Refused {
        /// As it answered.
        status: u16,
        /// What it said.
        message: String,
    },
    /// It was told more than it can take in.
    #[error("that is more than the model can take in: {message}")]
    TooLong {
        /// What it said.
        message: String,
    },
    /// It cannot answer now.
    #[error("the model's API cannot answer now ({status}): {message}")]
    Busy {
        /// As it answered.
        status: u16,
        /// What it said.
        message: String,
        /// When to ask again, if it said so.
        retry_after: Option<Duration>,
    },
    /// The connection could not be made, or broke.
    #[error("the model's API is out of reach: {what}")]
    Lost {
        /// What happened.
        what: String,
    },
    /// Who answers speaks another language: it is no API of this kind.
    #[error(
        "what answers is no API of this kind: it sends `{kind}` that begins with `{beginning}`"
    )]
    Foreign {
        /// What it says that it sends.
        kind: String,
        /// How that begins.
        beginning: String,
    },
    /// The answer broke off or makes no sense.
    #[error("the model's answer makes no sense: {what}")]
    Senseless {
        /// What is wrong with it.
        what: String,
    },
}

/// Who sees what a model says while it says it.
pub trait ReplyObserver: Send {
    /// Something can be shown.
    fn shown(&mut self, shown: StreamUpdate<'_>);

    /// It is asked again after a while.
    fn waits(&mut self, error: &ModelError, wait: Duration);

    /// What this reply has cost so far. What is broken off is paid for, too.
    fn counted(&mut self, usage: TokenUsage);

    /// All that has come was told, and nothing more is there yet.
    fn quiet(&mut self);
}

/// A model that can be asked.
#[derive(Debug)]
pub struct Model {
    endpoint: Endpoint,
    http: Http,
    retries: Retries,
    seed: u64,
}

impl Model {
    /// A model at this endpoint. The seed spreads the waits of many.
    pub fn new(
        endpoint: Endpoint,
        retries: Retries,
        patience: HttpTimeouts,
        seed: u64,
    ) -> Result<Self, ModelError> {
        let target = HttpTarget::parse(&endpoint.base_url)?;
        Ok(Self { endpoint, http: Http::new(target, patience), retries, seed })
    }

    /// Which model it is.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Uses another key from now on.
    pub(crate) fn set_key(&mut self, key: Secret) {
        self.endpoint.key = Some(key);
    }

    /// Whether a connection is at hand that nobody uses.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.http.is_connected()
    }

    /// Asks until there is a whole answer, or it is clear that there will be none. Dropped, it breaks off.
    pub async fn ask(
        &self,
        asked: &ModelRequest<'_>,
        watch: &mut dyn ReplyObserver,
    ) -> Result<Reply, ModelError> {
        let Endpoint { api, base_url, model, thinking, .. } = &self.endpoint;
        let is_original = base_url.trim_end_matches('/') == api.base_url();
        let options = RequestOptions { model, thinking: *thinking, is_original };
        let body = Bytes::from(api.provider().body(&options, asked));
        let (mut waits, mut n_times) = (RetryWaits::new(self.retries, self.seed), 0);
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

    /// What others answer may repeat what they were told.
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
    // A moment, by the clock of who says it.
    let moment = |name: &str| seconds_of_date(headers.get(name)?.to_str().ok()?);
    let seconds = moment("retry-after")?.saturating_sub(moment("date")?);
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()))
}

impl ModelError {
    pub(crate) fn senseless(text: &str) -> Self {
        Self::Senseless { what: troop_model::preview(text, 200) }
    }

    /// The same, after so many times.
    fn after(self, n_times: u32) -> Self {
        if n_times < 2 {
            return self;
        }
        self.with_text(|text| format!("{text} (it was asked {n_times} times)"))
    }

    /// The same with another text.
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

    /// Whether it may be gone the next time.
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
