//! The agent `builtin`: thinks with a model, which it asks over the model's API.
//!
//! Read in this order: `chat` is what we and a model say to each other; `provider` how each API spells it; `sse`,
//! `http` and `model` carry it; `history` is what the agent remembers, and `compact` makes room in it; `think` is the
//! loop; `hands` and `tools` run what the model calls, `servers` and `team` are the tools of MCP servers and of the
//! team; `member` is the agent itself.

mod chat;
mod compact;
mod hands;
mod history;
mod http;
mod key;
mod limits;
mod long;
mod member;
mod model;
mod options;
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
pub use limits::{Price, WorkLimits};
pub use member::BuiltinAgent;
pub use model::{Endpoint, HttpTimeouts, Model, ModelError, ReplyObserver, RequestPolicy};
pub use options::{BuiltinOptions, KeySource, ModelSize, ToolRights};
pub use provider::Api;
pub use retry::Retries;
pub use secret::Secret;
pub use servers::{CommandConsent, McpServer, McpTimeouts, McpTransport};
