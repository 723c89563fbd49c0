//! The agents that think for members.
//!
//! Read in this order: an [`Agent`] gets [`Work`] and reports how it went; a [`Turn`] is what it may do meanwhile,
//! with `prompt` and `context` for what it is told and `permit` for what it may do without asking; [`serve`] is the
//! loop between the lead's wire and the agent; then the agents themselves.

mod agent;
pub mod builtin;
mod teammate;
mod turn;
mod wire;

mod context;
mod permit;
mod prompt;

mod command;
mod definition;
mod files;
mod registry;
mod script;
mod text_pattern;

pub use agent::{Agent, BoxFuture, Thinking, TurnOutcome, Work};
pub use command::CommandAgent;
pub use context::ContextSources;
pub use definition::Definition;
pub use permit::{BadRule, Permit, Rule, Rules, ToolAction};
pub use registry::{Finder, RegistryError, agent as find_agent};
pub use script::{ScriptAgent, ScriptError};
pub use teammate::{ALIVE, Exit, TeammateOptions, serve};
pub use turn::{
    Authority, NoAnswer, PermissionAnswer, PermissionRequest, PlanDecision, Setback, Turn,
    permission_question,
};
pub use wire::Workplace;
