//! What thinks for a member.
//!
//! Read in this order: an [`Agent`] gets [`Work`] and says how it went; a [`Turn`] is what it may do meanwhile;
//! [`serve`] is the loop between the lead's wire and the agent; then the agents themselves.

mod agent;
pub mod builtin;
mod teammate;
mod turn;
mod wire;

mod command;
mod definition;
mod files;
mod registry;
mod script;
mod text_pattern;

pub use agent::{Agent, BoxFuture, Thinking, TurnOutcome, Work};
pub use command::CommandAgent;
pub use definition::Definition;
pub use registry::{Finder, RegistryError, agent as find_agent};
pub use script::{ScriptAgent, ScriptError};
pub use teammate::{ALIVE, Exit, TeammateOptions, serve};
pub use turn::Turn;
pub use wire::{RawWrite, Workplace};
