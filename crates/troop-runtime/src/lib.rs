//! Runs teams: the board, which is the only writer of a team's log in a process, and the lead, which runs its members.
//!
//! Read in this order: the [`Board`] of a team, the [`Session`] of who works with it, and [`relay`] by way of a lead; then the
//! [`Lead`] itself with what it runs, the git work behind [`Isolation`], the [`Mirror`] of a team in files; then what stands alone.

mod answers;
mod board;
mod clock;
mod error;
mod relay;
mod session;

mod agreement;
mod checks;
mod hooks;
mod lead;
mod workspace;

mod git;
mod isolation;

mod mirror;

mod export;
mod profile;

mod disk;
mod fault;

pub use agreement::Agreement;
pub use answers::{Answers, LeadPresence};
pub use board::{Board, Done, Following, Given, Request, Signature, Subscription, TaskPage};
pub use checks::{Ask, Checks, Show, Wanted, complaint};
pub use clock::Clock;
pub use error::{BoardError, BoardResult};
pub use export::{ExportError, ExportHeader, Moment, export, read_export, replay};
pub use git::GitError;
pub use hooks::{
    Complaint, Fired, Hook, HookContext, HookEvent, HookOptions, HookTask, Hooks, HooksConfig,
    Mistake, MistakeKind, Occasion, Verdict,
};
pub use isolation::{
    Aim, Begun, Clash, Conflict, Elsewhere, Ending, Finished, Ignored, Isolation, IsolationOptions,
    Kept, Landed, LateDone, Leftover, LeftoverState, Merge, NotMerged, Opened, Outcome, Rescued,
    Sight, Torn, Watcher, Work, elsewhere, leftovers, orphans, rescue,
};
pub use lead::{
    InProcess, Launch, LaunchSpec, LaunchedAgent, Lead, LeadEnd, LeadEntry, LeadError, LeadHandle,
    LeadOptions, LeadThinks, LeadWork, Life, Programs, Timing, TranscriptEntry, TranscriptLine,
    TranscriptSource, Until, find_lead, is_to_start_again, last_project, lead_has_died,
    read_transcript, silent_lead, was_cut_short,
};
pub use mirror::{Layout, Mirror, MirrorError, MirrorOptions, Notice, UnknownLayout};
pub use profile::{Language, Location, Profile, Severity, Signal, Structure, Suggestion, profile};
pub use relay::{LeadClient, relay};
pub use session::{Session, TeamSummary};
pub use workspace::{
    FilePath, FileRequest, FileStat, Files, Listing, MAX_FILE, MAX_FILES, Noted, Workspace,
    WorkspaceError,
};

/// A future that can be passed around.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
