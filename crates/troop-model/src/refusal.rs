//! Why a command is refused: a typed value whose text tells an agent what to do next.

mod name;

use smol_str::SmolStr;
use thiserror::Error;
use uuid::Uuid;

use crate::{
    MemberName, NameError, OperationId, Party, Permissions, Status, TaskAction, TaskNumber,
    TeamName, Time, UnknownWord,
};

/// The classes that callers branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The named thing does not exist.
    NotFound,
    /// Another actor was first, or the caller's view is outdated.
    Conflict,
    /// The actor may not do that.
    Forbidden,
    /// The input is invalid.
    Invalid,
    /// A limit is reached; it may work later.
    Limit,
    /// There is no work to take now.
    NoWork,
}

/// Why a command is refused. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    #[error("the team does not exist yet")]
    NoTeam,
    #[error("the team exists already")]
    TeamExists,
    #[error("the team was deleted")]
    TeamDeleted,
    #[error("teammate `{member}` is {state}; shut down all teammates before deleting the team")]
    TeammateActive { member: MemberName, state: crate::MemberState },
    #[error("there is no member `{name}`; the members are {}", list(members))]
    UnknownMember { name: String, members: Vec<MemberName> },
    #[error("`{name}` is not a member of this team, so it cannot act in it")]
    NotAMember { name: String },
    #[error("there is already a member `{member}`")]
    MemberExists { member: MemberName },
    #[error("`{member}` leads the team; the lead cannot be removed, replaced or added again")]
    LeadIsFixed { member: MemberName },
    #[error(
        "`{member}` cannot be added with mode {wanted}, which is wider than the lead's {lead}; widen it afterwards"
    )]
    WiderThanLead { member: MemberName, wanted: Permissions, lead: Permissions },
    #[error("the lead cannot allow `{member}` more than its own mode {own}; a person must decide")]
    WiderThanOwn { member: MemberName, own: Permissions },
    #[error(
        "{running} teammates are already running and the limit is {limit}; shut one down first, or raise `max_teammates`"
    )]
    TooManyTeammates { running: usize, limit: u32 },
    #[error("{n_members} members are to start, but at most {limit} may run at once")]
    TooManyToStart { n_members: usize, limit: u32 },
    #[error("the team's budget is spent: {told}; nothing new is started until it is raised")]
    BudgetSpent {
        /// The used part of the budget, in words.
        told: String,
        team: TeamName,
        /// The settings with which the team can continue.
        more: String,
    },
    #[error("teammate `{member}` is already running; it is {state}")]
    AlreadyRunning { member: MemberName, state: crate::MemberState },
    #[error("teammate `{member}` is not running; it is {state}")]
    NotRunning { member: MemberName, state: crate::MemberState },
    #[error("`{member}` is in plan mode; send its plan to the lead and wait for approval first")]
    PlanFirst { member: MemberName },
    #[error("{holder} has led the team since {}; wait, or stop it there", since.clock())]
    LeadHeld { holder: String, since: Time },
    #[error("another session leads the team now; this one must stop")]
    Superseded,
    #[error("nobody is running this team")]
    NobodyLeads,
    #[error("there is no link from `{from}` to `{to}`")]
    NoLink { from: MemberName, to: MemberName },
    #[error("`{member}` cannot delegate to itself")]
    SelfLink { member: MemberName },
    #[error("the link from `{from}` to `{to}` is disabled")]
    LinkDisabled { from: MemberName, to: MemberName },

    #[error("there is no task `{task}`{}", suggestion(pending))]
    UnknownTask { task: String, pending: Vec<TaskNumber> },
    #[error("`{task}` could be {}; give more of the id", list(matches))]
    AmbiguousTask { task: String, matches: Vec<TaskNumber> },
    #[error("`{}` does not name a task; use a number such as 7 or task-7, or an id", text.escape_debug())]
    NotATaskName { text: String },
    #[error("{task} was deleted")]
    TaskDeleted { task: TaskNumber },
    #[error("{task} is finished and archived; it no longer changes")]
    TaskArchived { task: TaskNumber },
    #[error("there is already a task with the id {id}: {task}")]
    DuplicateTask { id: Uuid, task: TaskNumber },
    #[error(
        "the board changed since you listed it: {} {} new; list again, then create what is still missing",
        list(tasks),
        if tasks.len() == 1 { "is" } else { "are" }
    )]
    BoardChanged { tasks: Vec<TaskNumber> },
    #[error("the team has used up its task numbers")]
    NoMoreNumbers,

    #[error("{task} is not available: {owner} has held it since {}; claim another or ask {owner}", since.clock())]
    TaskHeld { task: TaskNumber, owner: MemberName, since: Time },
    #[error("{task} cannot be given to `{to}`: {owner} has held it since {}; take it back first", since.clock())]
    TaskTaken { task: TaskNumber, to: MemberName, owner: MemberName, since: Time },
    #[error(
        "{task} is not available: it is blocked by {}; finish {} first or claim another",
        list(by),
        these(by)
    )]
    TaskBlocked { task: TaskNumber, by: Vec<TaskNumber> },
    #[error("{task} is blocked: dependency {} {}", list(by), ended(*how))]
    DependencyEnded { task: TaskNumber, by: Vec<TaskNumber>, how: Status },
    #[error(
        "{task} is not available: it is reserved for {assignee}; claim another or ask the lead to reassign it"
    )]
    TaskReserved { task: TaskNumber, assignee: MemberName },
    #[error(
        "{task} is not available: it is paused for {seconds} s after a failed attempt; claim another"
    )]
    TaskRests { task: TaskNumber, seconds: u64 },
    #[error("{task} is not available: its start needs approval")]
    AwaitsStart { task: TaskNumber },
    #[error(
        "nothing is available for `{member}` now: {n_blocked} blocked, {n_held} in progress, {n_reserved} reserved, paused or not approved"
    )]
    NothingAvailable { member: MemberName, n_blocked: usize, n_held: usize, n_reserved: usize },
    #[error("{task} is {status}, so it cannot be {}", participle(*action))]
    WrongStatus { task: TaskNumber, status: Status, action: TaskAction },
    #[error("{task} is {status}, so nobody holds it")]
    NotHeld { task: TaskNumber, status: Status },
    #[error("{task} is not held by `{member}`{}", holder(owner.as_ref()))]
    NotYours { task: TaskNumber, member: MemberName, owner: Option<MemberName> },
    #[error(
        "{task} has moved on: it is in attempt {now} and you hold attempt {held}; stop working on it"
    )]
    LateHolder { task: TaskNumber, held: u32, now: u32 },
    #[error(
        "{task} is not proved: {} must pass first; fix what is wrong and complete it again, and troop will run the checks",
        in_backticks(missing)
    )]
    NotProved { task: TaskNumber, missing: Vec<String> },
    #[error("work in this team is assigned, not claimed; wait for your next task")]
    AssignmentIsAutomatic,
    #[error("only a member can hold a task")]
    OnlyMembersHold,
    #[error("only a member that works on a task can ask the user about it")]
    OnlyMembersAsk { task: TaskNumber },
    #[error("in delegate mode the lead cannot hold tasks; delegate it to a teammate")]
    LeadDelegates,

    #[error("{} would wait for itself: {}", cycle.first().copied().unwrap_or_default(), arrows(cycle))]
    Cycle { cycle: Vec<TaskNumber> },
    #[error("{task} is still needed by {}", list(by))]
    StillNeeded { task: TaskNumber, by: Vec<TaskNumber> },
    #[error("action '{action}' requires team version 2 — upgrade in team settings")]
    NeedsVersion2 { action: TaskAction },
    #[error("{task} has no open question to the user")]
    NoQuestion { task: TaskNumber },

    #[error("`{who}` may not {what}; {may} may")]
    Forbidden { who: SmolStr, what: &'static str, may: &'static str },
    #[error("user `{user}` may not give this team work")]
    UserDenied { user: SmolStr },
    #[error("channel `{channel}` may not give this team work")]
    ChannelDenied { channel: SmolStr },
    #[error("user `{user}` may not cause delegations to `{to}`")]
    DelegationDenied { user: SmolStr, to: MemberName },

    #[error("a delegation needs a task; create one first, then delegate it{}", suggestion(pending))]
    DelegationNeedsTask { pending: Vec<TaskNumber> },
    #[error("there is no delegation {delegation}")]
    UnknownDelegation { delegation: Uuid },
    #[error("{task} is already delegated to `{to}`; wait for its result")]
    AlreadyDelegated { task: TaskNumber, to: MemberName },
    #[error("delegation {delegation} has already ended")]
    DelegationEnded { delegation: Uuid },
    #[error(
        "the link to `{to}` is at capacity ({used}/{limit}); wait for one to end, try a different agent or handle it yourself"
    )]
    LinkFull { to: MemberName, used: usize, limit: u32 },
    #[error(
        "agent `{to}` is at capacity ({used}/{limit}); try a different agent or handle it yourself"
    )]
    MemberFull { to: MemberName, used: usize, limit: u32 },

    #[error("you cannot send a message to yourself")]
    ToYourself,
    #[error("a {kind} cannot go to `{to}`; it is for one member")]
    WrongRecipient { kind: crate::MessageKind, to: Party },
    #[error("there is nobody else in the team")]
    NobodyElse,
    #[error(
        "the mailbox of `{reader}` is full: {n_unread} unread messages; wait until some are read"
    )]
    MailboxFull { reader: Party, n_unread: usize },
    #[error("there is no open request {request_id}; open requests: {}", open_requests(open))]
    UnknownRequest { request_id: String, open: Vec<Uuid> },
    #[error("request {request_id} is for `{to}` to answer")]
    NotYourRequest { request_id: Uuid, to: Party },
    #[error("request {request_id} is from `{from}`, so its answer must go to `{from}`")]
    AskedByAnother { request_id: Uuid, from: Party },
    #[error("a response needs the id of its request and whether you approve")]
    IncompleteResponse,
    #[error("messages of kind {kind} are sent by troop itself")]
    ReservedKind { kind: crate::MessageKind },

    #[error(
        "request {operation} is older than what the team remembers, so it may already have been done; check, and if not, send it again as a new request"
    )]
    ForgottenOperation { operation: OperationId },

    #[error("the {field} is empty")]
    Empty { field: &'static str },
    #[error("the {field} has {n_chars} characters; the limit is {limit}. Put the rest in a file")]
    TooLong { field: &'static str, n_chars: usize, limit: usize },
    #[error("a task takes at most {limit} {what}, not {n}")]
    TooMany { what: &'static str, n: usize, limit: usize },
    #[error("the {field} contains the unprintable character U+{:04X}", u32::from(*found))]
    Unprintable { field: &'static str, found: char },
    #[error("progress is 0 to 100 percent, not {percent}")]
    PercentOutOfRange { percent: i64 },
    #[error("{0}")]
    BadSetting(String),
    #[error("`{path}` is not a path inside the workspace")]
    BadPath { path: String },
    #[error("there is nothing to change")]
    NothingToChange,
    #[error("{0}")]
    BadName(#[from] NameError),
    #[error("{0}")]
    UnknownWord(#[from] UnknownWord),
}

impl Refusal {
    /// The class of a refusal.
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "one flat table of all refusals")]
    pub fn kind(&self) -> RefusalKind {
        match self {
            Self::NoTeam
            | Self::TeamDeleted
            | Self::UnknownMember { .. }
            | Self::NoLink { .. }
            | Self::UnknownTask { .. }
            | Self::TaskDeleted { .. }
            | Self::NoQuestion { .. }
            | Self::UnknownDelegation { .. }
            | Self::UnknownRequest { .. }
            | Self::NobodyElse
            | Self::NobodyLeads => RefusalKind::NotFound,
            Self::TeamExists
            | Self::TeammateActive { .. }
            | Self::MemberExists { .. }
            | Self::AlreadyRunning { .. }
            | Self::NotRunning { .. }
            | Self::LeadHeld { .. }
            | Self::Superseded
            | Self::LinkDisabled { .. }
            | Self::TaskArchived { .. }
            | Self::DuplicateTask { .. }
            | Self::BoardChanged { .. }
            | Self::TaskHeld { .. }
            | Self::TaskTaken { .. }
            | Self::TaskBlocked { .. }
            | Self::DependencyEnded { .. }
            | Self::TaskReserved { .. }
            | Self::TaskRests { .. }
            | Self::AwaitsStart { .. }
            | Self::WrongStatus { .. }
            | Self::NotHeld { .. }
            | Self::NotYours { .. }
            | Self::LateHolder { .. }
            | Self::NotProved { .. }
            | Self::StillNeeded { .. }
            | Self::AlreadyDelegated { .. }
            | Self::DelegationEnded { .. }
            | Self::ForgottenOperation { .. } => RefusalKind::Conflict,
            Self::NotAMember { .. }
            | Self::LeadIsFixed { .. }
            | Self::WiderThanLead { .. }
            | Self::WiderThanOwn { .. }
            | Self::AssignmentIsAutomatic
            | Self::PlanFirst { .. }
            | Self::OnlyMembersHold
            | Self::OnlyMembersAsk { .. }
            | Self::LeadDelegates
            | Self::NeedsVersion2 { .. }
            | Self::Forbidden { .. }
            | Self::UserDenied { .. }
            | Self::ChannelDenied { .. }
            | Self::DelegationDenied { .. }
            | Self::DelegationNeedsTask { .. }
            | Self::NotYourRequest { .. }
            | Self::ReservedKind { .. } => RefusalKind::Forbidden,
            Self::AmbiguousTask { .. }
            | Self::NotATaskName { .. }
            | Self::Cycle { .. }
            | Self::ToYourself
            | Self::SelfLink { .. }
            | Self::WrongRecipient { .. }
            | Self::IncompleteResponse
            | Self::AskedByAnother { .. }
            | Self::Empty { .. }
            | Self::TooLong { .. }
            | Self::TooMany { .. }
            | Self::Unprintable { .. }
            | Self::PercentOutOfRange { .. }
            | Self::BadSetting(_)
            | Self::BadPath { .. }
            | Self::NothingToChange
            | Self::BadName(_)
            | Self::UnknownWord(_) => RefusalKind::Invalid,
            Self::NothingAvailable { .. } => RefusalKind::NoWork,
            Self::NoMoreNumbers
            | Self::TooManyTeammates { .. }
            | Self::TooManyToStart { .. }
            | Self::BudgetSpent { .. }
            | Self::LinkFull { .. }
            | Self::MemberFull { .. }
            | Self::MailboxFull { .. } => RefusalKind::Limit,
        }
    }
}

fn list<T: std::fmt::Display>(items: &[T]) -> String {
    match items {
        [] => "none".to_owned(),
        items => items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn in_backticks(commands: &[String]) -> String {
    commands.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
}

fn suggestion(pending: &[TaskNumber]) -> String {
    if pending.is_empty() { String::new() } else { format!("; pending tasks: {}", list(pending)) }
}

fn open_requests(open: &[Uuid]) -> String {
    list(open)
}

fn these(by: &[TaskNumber]) -> &'static str {
    if by.len() == 1 { "it" } else { "these" }
}

fn ended(how: Status) -> &'static str {
    if how == Status::Failed { "failed; retry or replace it" } else { "was cancelled; replace it" }
}

fn holder(owner: Option<&MemberName>) -> String {
    owner.map_or_else(String::new, |owner| format!(" but by `{owner}`"))
}

/// Shortens a long cycle to its beginning and end.
fn arrows(cycle: &[TaskNumber]) -> String {
    let names = |tasks: &[TaskNumber]| {
        tasks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" → ")
    };
    match cycle.split_first_chunk::<6>() {
        Some((first, rest)) if rest.len() > 2 => {
            format!("{} → … → {}", names(first), names(rest.split_at(rest.len() - 2).1))
        }
        _ => names(cycle),
    }
}

/// The participle of an action, for "it cannot be …".
fn participle(action: TaskAction) -> &'static str {
    match action {
        TaskAction::Create => "created",
        TaskAction::Claim => "claimed",
        TaskAction::Complete => "completed",
        TaskAction::Cancel => "cancelled",
        TaskAction::Assign => "assigned",
        TaskAction::List => "listed",
        TaskAction::Get => "shown",
        TaskAction::Search => "found",
        TaskAction::Approve => "approved",
        TaskAction::Reject => "rejected",
        TaskAction::Review => "handed in for review",
        TaskAction::Comment => "commented on",
        TaskAction::Progress => "worked on",
        TaskAction::Attach => "given a file",
        TaskAction::Prove => "proved",
        TaskAction::Update => "changed",
        TaskAction::AskUser => "made to ask the user",
        TaskAction::ClearAskUser => "made to stop asking",
        TaskAction::Retry => "retried",
        TaskAction::Fail => "failed",
        TaskAction::Delete => "deleted",
        TaskAction::Release => "given back",
    }
}
