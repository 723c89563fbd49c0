//! Facts: what has happened to a team, in the words that every log, stream and page uses.

mod about;
mod absent;
mod change;
mod kind;
mod record;

pub use change::{RejectMode, TaskChange};
pub use kind::Surface;
pub use record::Event;

pub(crate) use change::nullable;

use absent::{is_default, is_false};

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use uuid::Uuid;

use crate::{
    Actor, Dependency, Evidence, Link, MemberName, MemberState, MessageKind, Metadata, Notice,
    Origin, Party, Permissions, Progress, RefusedBy, Role, Settings, StateCause, TaskNumber,
    TeamId, TeamName, Time, Usage, WorkspaceFolder,
};

/// What can happen to a team. The name of each kind is fixed: logs, scripts and pages rely on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum Fact {
    /// The team exists.
    #[serde(rename = "team.created")]
    TeamCreated {
        /// Its identity.
        team: TeamId,
        /// Its name.
        name: TeamName,
        /// What it is for.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        /// Its settings.
        settings: Box<Settings>,
    },
    /// Its description or settings changed.
    #[serde(rename = "team.updated")]
    TeamUpdated {
        /// What it is for.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        /// All settings as they are now.
        settings: Box<Settings>,
    },
    /// Its work is over; the board stays.
    #[serde(rename = "team.completed")]
    TeamCompleted {},
    /// It is gone. Its links lose their team.
    #[serde(rename = "team.deleted")]
    TeamDeleted {},
    /// Somebody supervises it from now on.
    #[serde(rename = "lead.taken")]
    LeadTaken {
        /// Which session of troop.
        session: Uuid,
        /// Who that is, for people.
        holder: String,
        /// What its commands are known by.
        fence: u64,
        /// Until when, unless it is renewed.
        until: Time,
        /// What must pass before a task is done, as long as it supervises.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        checks: Vec<String>,
    },
    /// It goes on supervising.
    #[serde(rename = "lead.renewed")]
    LeadRenewed {
        /// Until when, unless it is renewed again.
        until: Time,
    },
    /// Nobody supervises it any more.
    #[serde(rename = "lead.released")]
    LeadReleased {},
    /// Whoever supervises it is asked to stop all its processes.
    #[serde(rename = "team.stop_requested")]
    TeamStopRequested {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Somebody joined.
    #[serde(rename = "member.added")]
    MemberAdded {
        /// Its name.
        member: MemberName,
        /// Its identity.
        id: Uuid,
        role: Role,
        /// What thinks for it.
        agent: SmolStr,
        /// What it is good at.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        expertise: String,
        /// The model it asks for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<SmolStr>,
        /// What it may do without asking.
        permissions: Permissions,
    },
    /// Somebody left. Its links stay, disabled.
    #[serde(rename = "member.removed")]
    MemberRemoved {
        member: MemberName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The supervisor saw something else of a member.
    #[serde(rename = "member.state_changed")]
    MemberStateChanged {
        member: MemberName,
        /// What it is now.
        state: MemberState,
        /// Why, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Why, for programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<StateCause>,
        /// Its process, while it runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
    },
    /// What a member did was broken off.
    #[serde(rename = "member.interrupted")]
    MemberInterrupted {
        member: MemberName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A member has used something.
    #[serde(rename = "usage.reported")]
    UsageReported {
        member: MemberName,
        /// For which task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskNumber>,
        /// The model that was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<SmolStr>,
        /// How much, since it was reported last.
        usage: Usage,
    },
    /// A member may do other things without asking than before.
    #[serde(rename = "member.mode_changed")]
    MemberModeChanged {
        member: MemberName,
        /// What it may do now.
        permissions: Permissions,
    },
    /// A link was made or changed.
    #[serde(rename = "link.set")]
    LinkSet {
        /// As it is now.
        link: Link,
    },
    /// A link was purged.
    #[serde(rename = "link.purged")]
    LinkPurged {
        /// Who delegated.
        from: MemberName,
        to: MemberName,
    },
    /// A task is on the board.
    #[serde(rename = "task.created")]
    TaskCreated {
        /// Its number.
        task: TaskNumber,
        /// Its identity.
        id: Uuid,
        /// What it is about.
        subject: String,
        /// What is to be done.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        /// Higher goes first.
        priority: i32,
        /// Its label.
        #[serde(rename = "type")]
        task_type: SmolStr,
        /// For whom it is reserved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assignee: Option<MemberName>,
        /// What it waits for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        blocked_by: Vec<Dependency>,
        /// Whether it may start only after somebody approved.
        #[serde(default, skip_serializing_if = "is_false")]
        approve_start: bool,
        /// Commands that must pass before it is done, besides the team's.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        checks: Vec<String>,
        /// The conversation that set it off.
        #[serde(default, skip_serializing_if = "is_default")]
        origin: Origin,
        /// Free data.
        #[serde(default, skip_serializing_if = "is_default")]
        metadata: Metadata,
    },
    /// What is known about a task changed; only what is given.
    #[serde(rename = "task.updated")]
    TaskUpdated {
        task: TaskNumber,
        /// What is different now.
        change: Box<TaskChange>,
    },
    /// Somebody took a task.
    #[serde(rename = "task.claimed")]
    TaskClaimed {
        task: TaskNumber,
        /// Who holds it.
        owner: MemberName,
        /// Which attempt this is.
        attempt: u32,
        /// Until when the holder need not say that it is alive.
        lease_until: Time,
    },
    /// A task was given to somebody.
    #[serde(rename = "task.assigned")]
    TaskAssigned {
        task: TaskNumber,
        /// Who holds it.
        owner: MemberName,
        /// Which attempt this is.
        attempt: u32,
        /// Until when the holder need not say that it is alive.
        lease_until: Time,
    },
    /// The holder is alive.
    #[serde(rename = "task.renewed")]
    TaskRenewed {
        task: TaskNumber,
        /// Until when it need not say so again.
        lease_until: Time,
    },
    /// Nobody holds the task any more; it is pending again.
    #[serde(rename = "task.released")]
    TaskReleased {
        task: TaskNumber,
        /// Who held it.
        owner: MemberName,
        reason: String,
        /// Whether this attempt does not count, because it was ended for a reason that has nothing to do with the task.
        #[serde(default, skip_serializing_if = "is_false")]
        forgiven: bool,
    },
    /// The holder has come further.
    #[serde(rename = "task.progressed")]
    TaskProgressed {
        task: TaskNumber,
        /// How far.
        progress: Progress,
        /// Until when the holder need not say that it is alive.
        lease_until: Time,
    },
    /// The result waits for approval.
    #[serde(rename = "task.submitted")]
    TaskSubmitted {
        task: TaskNumber,
        /// The result so far.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    /// The task is done.
    #[serde(rename = "task.completed")]
    TaskCompleted {
        task: TaskNumber,
        /// What came of it.
        result: String,
        /// The same in a few words.
        summary: String,
    },
    /// The result was approved: the task is done.
    #[serde(rename = "task.approved")]
    TaskApproved {
        task: TaskNumber,
        /// The result in a few words.
        summary: String,
        /// What the approver said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
    /// The task may start.
    #[serde(rename = "task.start_approved")]
    TaskStartApproved { task: TaskNumber },
    /// The result was rejected.
    #[serde(rename = "task.rejected")]
    TaskRejected {
        task: TaskNumber,
        reason: String,
        /// Whether the task is over or goes on.
        mode: RejectMode,
    },
    /// The task will not be done.
    #[serde(rename = "task.cancelled")]
    TaskCancelled { task: TaskNumber, reason: String },
    /// The task could not be done.
    #[serde(rename = "task.failed")]
    TaskFailed {
        task: TaskNumber,
        reason: String,
        /// When it is tried again; never, if this is missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Time>,
    },
    /// A failed or stale task is pending again.
    #[serde(rename = "task.retried")]
    TaskRetried {
        task: TaskNumber,
        /// Whether it has all its attempts again, as after a retry by hand.
        fresh: bool,
    },
    /// A held task has not moved for long.
    #[serde(rename = "task.stale")]
    TaskStale { task: TaskNumber },
    /// A stale task moves again.
    #[serde(rename = "task.recovered")]
    TaskRecovered { task: TaskNumber },
    /// Somebody said something about a task.
    #[serde(rename = "task.commented")]
    TaskCommented { task: TaskNumber, text: String },
    /// A file belongs to a task.
    #[serde(rename = "task.attached")]
    TaskAttached {
        task: TaskNumber,
        /// The file's path in the workspace.
        path: String,
    },
    /// The checks of a task ran, or a person does without them.
    #[serde(rename = "task.checked")]
    TaskChecked {
        task: TaskNumber,
        /// What they said.
        evidence: Vec<Evidence>,
        /// Why a person does without them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waived: Option<String>,
    },
    /// The work on a task was merged.
    #[serde(rename = "task.merged")]
    TaskMerged {
        task: TaskNumber,
        /// Into which branch.
        into: String,
        /// The commit of that branch.
        commit: String,
    },
    /// Something that somebody wanted to do with a task was refused: it was not done, or the task is not on the board.
    #[serde(rename = "task.refused")]
    TaskRefused {
        /// Which; none if it was to be put on the board.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskNumber>,
        /// What it was to be about, if it was to be put on the board.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
        /// Who wanted it.
        who: Actor,
        /// What refused it.
        by: RefusedBy,
        reason: String,
        /// The attempt that its holder called done, if that was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
    },
    /// The user is asked something, until it is cleared.
    #[serde(rename = "task.asked")]
    TaskAsked {
        task: TaskNumber,
        question: String,
        /// Who asks.
        asked_by: MemberName,
        /// When the user is reminded.
        next_at: Time,
    },
    /// The user was reminded.
    #[serde(rename = "task.reminded")]
    TaskReminded {
        task: TaskNumber,
        /// When again.
        next_at: Time,
    },
    /// The question is no longer asked.
    #[serde(rename = "task.ask_cleared")]
    TaskAskCleared { task: TaskNumber },
    /// Nobody moved for too long, and somebody above was told.
    #[serde(rename = "task.escalated")]
    TaskEscalated {
        task: TaskNumber,
        /// What nobody did.
        reason: String,
        /// Whether that was to answer its question; else it was to move it.
        #[serde(default, skip_serializing_if = "is_false")]
        is_unanswered: bool,
    },
    /// The task is gone from the board.
    #[serde(rename = "task.deleted")]
    TaskDeleted { task: TaskNumber },
    /// Something was said.
    #[serde(rename = "message.sent")]
    MessageSent {
        /// Its identity.
        id: Uuid,
        /// Who said it.
        from: Party,
        to: Party,
        #[serde(rename = "message_kind")]
        message_kind: MessageKind,
        content: String,
        /// The same in a few words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// What troop gives notice of, if it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notice: Option<Notice>,
        /// The request that it makes or answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<Uuid>,
        /// The answer to that request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approve: Option<bool>,
        /// The task that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskNumber>,
        /// Whom it must reach.
        readers: Vec<Party>,
        /// The message that it takes the place of, as a newer notice of the same does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        supersedes: Option<Uuid>,
        /// The conversation that it belongs to, where an answer is expected.
        #[serde(default, skip_serializing_if = "is_default")]
        origin: Origin,
    },
    /// Messages were handed to a reader.
    #[serde(rename = "message.delivered")]
    MessageDelivered { reader: Party, messages: Vec<Uuid> },
    /// A reader has read messages.
    #[serde(rename = "message.read")]
    MessageRead { reader: Party, messages: Vec<Uuid> },
    /// A file of the workspace was written.
    #[serde(rename = "workspace.written")]
    FileWritten {
        /// In which folder.
        #[serde(default, skip_serializing_if = "is_default")]
        folder: WorkspaceFolder,
        /// Its path in that folder.
        path: String,
        /// How many bytes it has.
        size: u64,
        /// The task that it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskNumber>,
    },
    /// A file of the workspace was deleted.
    #[serde(rename = "workspace.deleted")]
    FileDeleted {
        /// From which folder.
        #[serde(default, skip_serializing_if = "is_default")]
        folder: WorkspaceFolder,
        /// Its path in that folder.
        path: String,
    },
    /// A member begins to work on a task for the lead.
    #[serde(rename = "delegation.started")]
    DelegationStarted {
        /// Its identity.
        delegation: Uuid,
        /// Who delegated.
        from: MemberName,
        to: MemberName,
        /// Which task.
        task: TaskNumber,
        /// The trace that it runs under.
        trace_id: Uuid,
        /// The trace of who delegated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_trace_id: Option<Uuid>,
        /// The conversation that it began in.
        #[serde(default, skip_serializing_if = "is_default")]
        origin: Origin,
    },
    /// It ended with a result.
    #[serde(rename = "delegation.completed")]
    DelegationCompleted {
        delegation: Uuid,
        /// What came of it.
        result: String,
    },
    /// It ended without a result.
    #[serde(rename = "delegation.failed")]
    DelegationFailed { delegation: Uuid, reason: String },
    /// It was called off.
    #[serde(rename = "delegation.cancelled")]
    DelegationCancelled { delegation: Uuid, reason: String },
    /// The last of several that belong together has ended, and who delegated knows what came of them.
    #[serde(rename = "delegation.announced")]
    DelegationsAnnounced {
        delegations: Vec<Uuid>,
        /// The message that says it. None if who delegated called them all off itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Uuid>,
    },
}
