//! Runs teams: the board, which is the only writer of a team's log in a process, and the lead, which runs its members.

mod board;
mod clock;
mod error;
mod hooks;
mod lead;
pub mod process;
mod session;

pub use board::{Board, Done, Following, Given, Request, Signature, Subscription, TaskPage};
pub use clock::Clock;
pub use error::{BoardError, BoardResult};
pub use hooks::{
    Complaint, Fired, Hook, HookContext, HookEvent, HookOptions, HookTask, Hooks, HooksConfig,
    Mistake, MistakeKind, Occasion, Verdict,
};
pub use lead::{
    Ended, Entry, InProcess, Launch, LaunchSpec, Launched, Lead, LeadEntry, LeadError, LeadHandle,
    LeadOptions, Life, Line, Programs, Source, Timing, Until, VETOED, WITH_TEAM, answer, find_lead,
    lead_has_died, read_transcript, was_cut_short,
};
pub use session::{Session, TeamSummary};

/// A future that can be passed around.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
