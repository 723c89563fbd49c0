//! A model's API on loopback that gives scripted replies, in the form of the API that the client uses.
//!
//! One script serves Anthropic's Messages, OpenAI's chat completions and Gemini. It can also imitate
//! the faults of real ones: see [`Answer`] and [`Way`].

mod form;
mod request;
mod serve;

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_model::lock;

use crate::wait_for;
pub use request::{Api, MockRequest};

/// The answer to one request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A reply.
    Reply(Reply),
    /// An error.
    Status {
        /// Such as 429.
        status: u16,
        /// Such as `retry-after`.
        headers: Vec<(String, String)>,
        /// The message.
        body: String,
    },
    /// These bytes instead of a stream of events.
    Garbage(Vec<u8>),
    /// The connection is closed without an answer.
    Close,
    /// No answer, for ever.
    Hang,
}

/// A reply: its parts, and how it is sent.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// The parts, in order.
    pub said: Vec<MockPart>,
    /// How many tokens were read, read from the cache, and written.
    pub tokens: (u64, u64, u64),
    /// The stop reason, if it is not the usual one.
    pub ending: Option<String>,
    /// How it is sent.
    pub way: Way,
}

/// A part of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum MockPart {
    /// Text.
    Text(String),
    /// A thought.
    Thinking(String),
    /// A call.
    Call {
        /// The tool.
        name: String,
        /// Its input, as text: it need not be JSON.
        input: String,
    },
}

/// How a reply is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Cut into pieces of this many bytes; in the middle of characters, lines and words.
    pub pieces: Option<usize>,
    /// How long to wait between pieces.
    pub pause: Option<Duration>,
    /// After how many bytes it is cut off, and how.
    pub broken: Option<(usize, Break)>,
}

/// How a reply is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// The connection is cut.
    Cut,
    /// The response ends as if it were complete.
    End,
    /// Nothing more is sent, for ever.
    Hang,
}

type Script = Box<dyn FnMut(&MockRequest) -> Answer + Send>;

/// A model's API. Ends when it is dropped.
pub struct MockModel {
    address: SocketAddr,
    told: Arc<MockState>,
    stopped: CancellationToken,
}

/// The state that all connections share.
struct MockState {
    script: Mutex<Script>,
    seen: Mutex<Vec<MockRequest>>,
}

impl MockModel {
    /// Answers each request with the function's result.
    pub async fn start(script: impl FnMut(&MockRequest) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let told = MockState { script: Mutex::new(Box::new(script)), seen: Mutex::default() };
        let told = Arc::new(told);
        let stopped = CancellationToken::new();
        let serving = serve::serve(listener, Arc::clone(&told));
        TaskTracker::new().spawn(stopped.clone().run_until_cancelled_owned(serving));
        Self { address, told, stopped }
    }

    /// Gives these answers, one after another. More requests get an error, which tests notice.
    pub async fn with(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut answers: VecDeque<_> = answers.into_iter().collect();
        Self::start(move |_| {
            answers
                .pop_front()
                .unwrap_or_else(|| Answer::status(400, "this request was not expected"))
        })
        .await
    }

    /// The base URL, for any of the APIs.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<MockRequest> {
        lock(&self.told.seen).clone()
    }

    /// Waits until there were this many requests.
    pub async fn is_asked(&self, n_times: usize) {
        let what = format!("request {n_times} to the model");
        wait_for(&what, async || (self.requests().len() >= n_times).then_some(())).await;
    }
}

impl Drop for MockModel {
    fn drop(&mut self) {
        self.stopped.cancel();
    }
}

impl std::fmt::Debug for MockModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MockModel").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Answer {
    /// A reply of one text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Reply(Reply::text(text))
    }

    /// A reply of one call.
    #[must_use]
    pub fn call(name: &str, input: &Value) -> Self {
        Self::calls([(name, input.clone())])
    }

    /// A reply of several calls.
    #[must_use]
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let said = calls.into_iter().map(|(name, input)| MockPart::Call {
            name: name.to_owned(),
            input: input.to_string(),
        });
        Self::Reply(Reply { said: said.collect(), tokens: (10, 0, 5), ..Reply::default() })
    }

    /// An error in the form that all APIs share.
    #[must_use]
    pub fn status(status: u16, message: &str) -> Self {
        let body = serde_json::json!({"error": {"type": "test", "message": message}});
        Self::Status { status, headers: Vec::new(), body: body.to_string() }
    }

    /// This reply, sent in another way.
    #[must_use]
    pub fn by(self, way: Way) -> Self {
        match self {
            Self::Reply(reply) => Self::Reply(Reply { way, ..reply }),
            other @ (Self::Status { .. } | Self::Garbage(_) | Self::Close | Self::Hang) => other,
        }
    }
}

impl Reply {
    /// One text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self { said: vec![MockPart::Text(text.to_owned())], tokens: (10, 0, 5), ..Self::default() }
    }
}
