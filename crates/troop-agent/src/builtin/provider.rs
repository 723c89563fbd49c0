//! How each API says what we say: a request as bytes, and a stream of events as a reply. Nothing here waits for anything.

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

/// The APIs that models are asked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's chat completions, which many others speak too.
    OpenAi,
    /// Google's Gemini.
    Gemini,
}

/// One API.
pub(crate) trait Provider: Send + Sync {
    /// What is asked for, behind the base URL.
    fn path(&self, model: &str) -> String;

    /// By what the API knows who asks, and what else it wants to hear first.
    fn headers(&self, key: Option<&Secret>) -> Vec<(&'static str, String)>;

    /// The request itself, as JSON. Takes time in proportion to what is said, and copies none of it twice.
    fn body(&self, options: &RequestOptions<'_>, asked: &ModelRequest<'_>) -> Vec<u8>;

    /// Who reads one reply.
    fn reader(&self) -> Box<dyn ReplyReader>;
}

/// What is the same in all requests to a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestOptions<'a> {
    pub(crate) model: &'a str,
    /// How many tokens it may think, if it is to think before it speaks.
    pub(crate) thinking: Option<u32>,
    /// Whether this is where the API was invented, and not somebody else who speaks it.
    pub(crate) is_original: bool,
}

/// Reads one reply from its events.
pub(crate) trait ReplyReader: Send {
    /// Takes the next event; shows what people can see at once.
    fn take(
        &mut self,
        event: &SseEvent,
        show: &mut dyn FnMut(StreamUpdate<'_>),
    ) -> Result<StreamProgress, ModelError>;

    /// What it has cost, as far as the API has said so.
    fn usage(&self) -> TokenUsage;

    /// The reply, if its end has come: a stream that breaks off before is none.
    fn finish(self: Box<Self>) -> Option<Reply>;
}

/// Whether more is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamProgress {
    More,
    Over,
}

/// What an event says, unless that is an error of the API.
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

    /// Where the API is, unless somebody says otherwise.
    #[must_use]
    pub fn base_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com",
        }
    }

    /// The variable of the environment that its key is usually in.
    #[must_use]
    pub fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
        }
    }

    /// The word for it.
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
                "there is no provider `{other}`; there is: anthropic, openai (also for others that speak its API, with a \
                 base URL), gemini"
            )),
        }
    }
}
