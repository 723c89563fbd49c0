//! The conversation with a model, independent of its API.

use serde_json::{Map, Value};

/// One request. A model remembers nothing, so it holds the whole conversation.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The instructions. They stay the same, so that APIs can cache them.
    pub system: &'a str,
    pub tools: &'a [ToolSpec],
    /// The conversation so far. It begins and ends with a message of the user.
    pub messages: &'a [ChatMessage],
    pub max_tokens: u32,
}

/// A tool, as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// The JSON Schema of its input, an object.
    pub input: Map<String, Value>,
}

impl ToolSpec {
    /// Roughly how many bytes it takes in a request.
    pub(crate) fn length(&self) -> usize {
        let input = serde_json::to_string(&self.input).unwrap_or_default();
        self.name.len() + self.description.len() + input.len()
    }
}

/// One message of a conversation. User and model alternate.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatMessage {
    /// A message to the model: first the results of all its calls, then text.
    User(Vec<UserPart>),
    Model(Vec<ReplyPart>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum UserPart {
    Text(String),
    Result(ToolResult),
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    pub content: String,
    pub is_error: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ReplyPart {
    Text(String),
    /// A thought before the answer. Some APIs want it back unchanged, with its signature.
    Thinking {
        text: String,
        signature: Option<String>,
    },
    /// A thought that the API hides, and wants back unchanged.
    Hidden {
        data: String,
    },
    Call(ToolCall),
}

/// A tool call of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Links the result to the call. We make one if the API has none.
    pub id: String,
    pub name: String,
    /// The input, or the text that came instead of a JSON object.
    pub input: Result<Map<String, Value>, String>,
    /// Some APIs want it back with the call.
    pub signature: Option<String>,
}

/// A whole reply of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub parts: Vec<ReplyPart>,
    pub ending: StopReason,
    pub usage: TokenUsage,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    Done,
    /// It waits for the results of its calls.
    Calls,
    /// It reached the limit of one reply.
    TooLong,
    /// It refuses to answer, or may not.
    Refused,
    Other(String),
}

/// The tokens of a request. No token is counted twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Read without the cache.
    pub input: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Read, and written to the cache.
    pub cache_write: u64,
    /// Answers and thoughts.
    pub output: u64,
}

/// A part of a reply, while it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamUpdate<'a> {
    Text(&'a str),
    Thinking(&'a str),
    /// The name of a tool that is about to be called.
    Call(&'a str),
    /// The reply so far does not count: the model is asked again.
    Again,
}

impl TokenUsage {
    /// All tokens that were read, cached or not.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

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
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            ReplyPart::Text(text) => Some(text.as_str()),
            ReplyPart::Thinking { .. } | ReplyPart::Hidden { .. } | ReplyPart::Call(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            ReplyPart::Call(call) => Some(call),
            ReplyPart::Text(_) | ReplyPart::Thinking { .. } | ReplyPart::Hidden { .. } => None,
        })
    }
}

impl ToolCall {
    /// Parses an input. An empty text is an empty object.
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
