//! The team for any agent that speaks MCP: tools, resources, prompts and news, for one member.
//!
//! Each service is made for one member. It never asks the transport's session who calls, so it also works over transports
//! without sessions.

mod halves;
pub(crate) mod http;
mod news;
mod prompts;
mod resources;
mod service;

pub(crate) use halves::MendedInput;
pub(crate) use service::TeamService;
