//! Runs teams. Today: the board, which is the only writer of a team's log in a process, and hooks.

mod board;
mod clock;
mod error;
mod hooks;
pub mod process;
mod session;

pub use board::{Board, Done, Following, Given, Request, Signature, Subscription, TaskPage};
pub use clock::Clock;
pub use error::{BoardError, BoardResult};
pub use hooks::{
    Complaint, Fired, Hook, HookContext, HookEvent, HookOptions, HookTask, Hooks, HooksConfig,
    Mistake, MistakeKind, Occasion, Verdict,
};
pub use session::{Session, TeamSummary};
