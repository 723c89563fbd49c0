//! Runs teams: the board, which is the only writer of a team's log in a process, and the lead, which runs its members.
//!
//! Read in this order: the [`Board`] of a team, the [`StoreSession`] that opens it, and [`relay`] through a lead; then the [`Lead`]
//! itself with what it runs, the git work behind [`Worktrees`], the [`Mirror`] of a team in files; then the rest. [`deciding`]
//! opens the pure halves of these to the simulator.

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
mod locks;

mod mirror;

mod export;
mod profile;

mod disk;
mod fault;

pub mod deciding;

pub use agreement::Agreement;
pub use answers::{Answers, LeadPresence, TranscriptFeed, TranscriptReader, list_teams};
pub use board::{
    Board, CommandEffect, CommandRequest, Following, PendingCommand, Signature, Subscription,
    TaskPage,
};
pub use checks::{CheckDemand, Checks, DemandProbe, LineSink, complaint};
pub use clock::Clock;
pub use error::{BoardError, BoardResult};
pub use export::{ExportError, ExportHeader, Moment, export, read_export, replay};
pub use git::GitError;
pub use hooks::{
    Complaint, Hook, HookContext, HookEvent, HookOptions, HookReport, HookTask, Hooks, HooksConfig,
    Mistake, MistakeKind, Occasion, Verdict,
};
pub use isolation::{
    Aim, AttemptName, Clash, Conflict, FolderFault, IgnoredFiles, IsolationOptions, IsolationStart,
    KeptFolder, Landing, LandingReport, LateCompletion, Leftover, LeftoverState, Merge,
    MergeOutcome, MergeRefusal, Rescue, StrayWork, TaskAttempt, TaskFolder, UnheardMerge,
    WatchReport, Watcher, WorkReport, Worktrees, elsewhere, git_locks, leftovers, orphans,
    recorded_branch, rescue,
};
pub use lead::{
    EndedLead, GUARD_WORD, InProcess, Launch, LaunchSpec, LaunchedAgent, Lead, LeadEnd, LeadEntry,
    LeadError, LeadHandle, LeadOptions, LeadThinks, LeadWork, Life, Programs, Timing,
    TranscriptEntry, TranscriptLine, TranscriptSource, Until, find_lead, is_to_start_again,
    last_project, lead_has_died, lead_held, silent_lead, was_cut_short,
};
pub use mirror::{
    FileDoor, Layout, Mirror, MirrorError, MirrorNotice, MirrorOptions, UnknownLayout,
};
pub use profile::{Language, Location, Profile, Severity, Signal, Structure, Suggestion, profile};
pub use relay::{RouteError, TeamRoute};
pub use session::StoreSession;
pub use troop_store::{BoxFuture, TeamEntry};
pub use workspace::{
    FilePath, FileRecord, FileRequest, FileStat, Listing, MAX_FILE, MAX_FILES, Workspace,
    WorkspaceError, WorkspaceFiles,
};
