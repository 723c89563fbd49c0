//! The team for any agent that speaks MCP: tools, resources, prompts, and news, for one member.
//!
//! The service knows by construction for whom it acts, never by a session of the transport, so that it can be served over
//! any transport, also one without sessions.

pub(crate) mod http;
pub(crate) mod install;
mod mail;
mod news;
mod prompts;
mod resources;
mod service;

pub(crate) use service::TeamService;
