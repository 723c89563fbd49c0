//! The agent `builtin`: thinks with a model that is asked over its API.
//!
//! Read in this order: `chat` what is said between us and a model; `provider` how each API says it; `sse`, `http` and `model` how
//! it is carried.

mod chat;
mod http;
mod model;
mod provider;
mod retry;
mod secret;
mod sse;

pub use chat::{
    Asked, Ending, Message, Part, Reply, Said, Shown, ToolCall, ToolResult, ToolSpec, Usage,
};
pub use model::{Endpoint, Model, ModelError, Patience, Watch};
pub use provider::Api;
pub use retry::Retries;
pub use secret::Secret;
