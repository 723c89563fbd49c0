//! What is said between us and a model, whichever API carries it.

use serde_json::{Map, Value};

/// One request: all that a model is told, since it remembers nothing.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// Who it is and how it is to work. Stays the same, so that APIs can keep it at hand.
    pub system: &'a str,
    /// What it may call.
    pub tools: &'a [ToolSpec],
    /// What was said so far, beginning and ending with a message of the user.
    pub messages: &'a [ChatMessage],
    /// How much it may say.
    pub max_tokens: u32,
}

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// What it is called by.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its input, an object.
    pub input: Map<String, Value>,
}

impl ToolSpec {
    /// How many bytes it is in a request, nearly.
    pub(crate) fn length(&self) -> usize {
        let input = serde_json::to_string(&self.input).unwrap_or_default();
        self.name.len() + self.description.len() + input.len()
    }
}

/// One message of a conversation. User and model take turns.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatMessage {
    /// What the model is told: first the results of all that it called, then text.
    User(Vec<UserPart>),
    /// What the model said.
    Model(Vec<ReplyPart>),
}

/// A part of what a model is told.
#[derive(Clone, Debug, PartialEq)]
pub enum UserPart {
    /// Text.
    Text(String),
    /// What came of a call.
    Result(ToolResult),
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// What came of it, or what is wrong.
    pub content: String,
    /// Whether it went wrong.
    pub is_error: bool,
}

/// A part of what a model said.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyPart {
    /// Text.
    Text(String),
    /// What it thought before it spoke. Some APIs want it back as it was, with its signature.
    Thinking {
        /// The thought.
        text: String,
        /// By which the API knows it again.
        signature: Option<String>,
    },
    /// A thought that the API does not show, and wants back as it was.
    Hidden {
        /// As it came.
        data: String,
    },
    /// It wants a tool to be used.
    Call(ToolCall),
}

/// A model wants a tool to be used.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// By which the result is known. Made by us where the API has none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its input; or what came instead, if that is no JSON object.
    pub input: Result<Map<String, Value>, String>,
    /// By which the API knows the thought behind it again.
    pub signature: Option<String>,
}

/// A whole answer of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// What it said.
    pub parts: Vec<ReplyPart>,
    /// Why it stopped.
    pub ending: StopReason,
    /// What it cost.
    pub usage: TokenUsage,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It has said what it had to say.
    Done,
    /// It waits for its calls.
    Calls,
    /// It may not say more.
    TooLong,
    /// It does not want to, or may not, answer.
    Refused,
    /// A reason that nobody here knows.
    Other(String),
}

/// Tokens that a request cost. No token is counted twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Read, and not kept at hand by the API.
    pub input: u64,
    /// Read from what the API kept at hand.
    pub cache_read: u64,
    /// Read, and kept at hand from now on.
    pub cache_write: u64,
    /// Said and thought.
    pub output: u64,
}

/// What can be shown while it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamUpdate<'a> {
    /// The next piece of text.
    Text(&'a str),
    /// The next piece of a thought.
    Thinking(&'a str),
    /// A tool is going to be called.
    Call(&'a str),
    /// What was shown of this answer does not count: it is asked for again.
    Again,
}

impl TokenUsage {
    /// All that was read, whatever it cost.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// All tokens together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.read().saturating_add(self.output)
    }
}

impl std::ops::Sub for TokenUsage {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_sub(other.input),
            cache_read: self.cache_read.saturating_sub(other.cache_read),
            cache_write: self.cache_write.saturating_sub(other.cache_write),
            output: self.output.saturating_sub(other.output),
        }
    }
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.output = self.output.saturating_add(other.output);
    }
}

impl Reply {
    /// All text of it.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            ReplyPart::Text(text) => Some(text.as_str()),
            ReplyPart::Thinking { .. } | ReplyPart::Hidden { .. } | ReplyPart::Call(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// All calls of it.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            ReplyPart::Call(call) => Some(call),
            ReplyPart::Text(_) | ReplyPart::Thinking { .. } | ReplyPart::Hidden { .. } => None,
        })
    }
}

impl ToolCall {
    /// Reads an input as it came: nothing at all is an empty object.
    pub(crate) fn input(text: &str) -> Result<Map<String, Value>, String> {
        if text.trim().is_empty() {
            return Ok(Map::new());
        }
        serde_json::from_str(text).map_err(|_| text.to_owned())
    }

    /// Takes an input that is JSON already.
    pub(crate) fn object(value: Value) -> Result<Map<String, Value>, String> {
        if let Value::Object(input) = value { Ok(input) } else { Err(value.to_string()) }
    }
}
