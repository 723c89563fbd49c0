//! The agent `builtin`: thinks with a model that is asked over its API.
//!
//! Read in this order: `chat` what is said between us and a model; `provider` how each API says it; `sse`, `http` and `model` how
//! it is carried; `history` what is remembered; `think` the loop, with `hands` and `tools` that do what the model calls for,
//! `permit` that says what it may, and `compact` that makes room; `context` and `servers` what a project has for agents; `team` the tools of a team; `member` the agent, with `long` for what it says at length.

mod chat;
mod compact;
mod context;
mod hands;
mod history;
mod http;
mod key;
mod limits;
mod long;
mod member;
mod model;
mod options;
mod permit;
mod prompt;
mod provider;
mod retry;
mod secret;
mod servers;
mod sse;
mod team;
mod think;
mod tools;

pub use chat::{
    ChatMessage, ModelRequest, Reply, ReplyPart, StopReason, StreamUpdate, TokenUsage, ToolCall,
    ToolResult, ToolSpec, UserPart,
};
pub use context::ContextSources;
pub use limits::{Price, WorkLimits};
pub use member::BuiltinAgent;
pub use model::{Endpoint, HttpTimeouts, Model, ModelError, ReplyObserver};
pub use options::BuiltinOptions;
pub use permit::{BadRule, Rule, Rules};
pub use provider::Api;
pub use retry::Retries;
pub use secret::Secret;
pub use servers::{CommandConsent, McpServer, McpTimeouts, McpTransport};
