//! How each API spells our conversation: requests as bytes, and streams of events as replies. Nothing here does I/O.

mod anthropic;
mod fault;
mod gemini;
mod openai;

use std::{fmt, str::FromStr};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    chat::{ModelRequest, Reply, StreamUpdate, TokenUsage},
    model::ModelError,
    secret::Secret,
    sse::SseEvent,
};
pub(crate) use fault::{of_answer, of_error};

#[cfg(test)]
mod tests;

/// The APIs that troop knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's chat completions, which many others offer, too.
    OpenAi,
    Gemini,
}

pub(crate) trait Provider: Send + Sync {
    /// The path of a request, after the base URL.
    fn path(&self, model: &str) -> String;

    /// Authentication, and what else the API needs in headers.
    fn headers(&self, key: Option<&Secret>) -> Vec<(&'static str, String)>;

    /// The body of a request, as JSON. Takes linear time and copies no text twice.
    fn body(&self, options: &RequestOptions<'_>, asked: &ModelRequest<'_>) -> Vec<u8>;

    /// A reader for one reply.
    fn reader(&self) -> Box<dyn ReplyReader>;
}

/// The options that all requests to a model share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestOptions<'a> {
    pub(crate) model: &'a str,
    /// How many tokens it may think before it answers.
    pub(crate) thinking: Option<u32>,
    /// Whether this is the API's own server, and not another that speaks it.
    pub(crate) is_original: bool,
}

/// Reads one reply from its events.
pub(crate) trait ReplyReader: Send {
    /// Takes the next event, and shows what people may see at once.
    fn take(
        &mut self,
        event: &SseEvent,
        show: &mut dyn FnMut(StreamUpdate<'_>),
    ) -> Result<StreamProgress, ModelError>;

    /// The cost so far, as far as the API has reported it.
    fn usage(&self) -> TokenUsage;

    /// The reply, if it is complete. A stream that breaks off gives none.
    fn finish(self: Box<Self>) -> Option<Reply>;
}

/// Whether more events will come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamProgress {
    More,
    Over,
}

/// The content of an event, or the API's error in it.
fn said_in<T: DeserializeOwned>(event: &SseEvent) -> Result<T, ModelError> {
    let senseless = |_| ModelError::senseless(&event.data);
    let value: Value = serde_json::from_str(&event.data).map_err(senseless)?;
    match of_error(&value) {
        Some(error) => Err(error),
        None => serde_json::from_value(value).map_err(senseless),
    }
}

impl Api {
    pub(crate) fn provider(self) -> &'static dyn Provider {
        match self {
            Self::Anthropic => &anthropic::Anthropic,
            Self::OpenAi => &openai::OpenAi,
            Self::Gemini => &gemini::Gemini,
        }
    }

    /// The default address of the API.
    #[must_use]
    pub fn base_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com",
        }
    }

    /// The usual environment variable for its key.
    #[must_use]
    pub fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
        }
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
        }
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Api {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "anthropic" => Ok(Self::Anthropic),
            "openai" => Ok(Self::OpenAi),
            "gemini" => Ok(Self::Gemini),
            other => Err(format!(
                "there is no provider `{other}`; the providers are: anthropic, openai (also for others that speak its API, with a \
                 base URL), gemini"
            )),
        }
    }
}
