//! Facts: everything that can happen to a team, under the names that logs, streams and pages use.

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

/// Something that happened to a team. The name of each kind is fixed: logs, scripts and pages rely on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum Fact {
    /// The team was created.
    #[serde(rename = "team.created")]
    TeamCreated {
        /// Its id.
        team: TeamId,
        /// Its name.
        name: TeamName,
        /// Its purpose.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        /// What a person told the lead to do. Older logs have it as the description.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        goal: String,
        /// Its settings.
        settings: Box<Settings>,
    },
    /// The team's description or settings changed.
    #[serde(rename = "team.updated")]
    TeamUpdated {
        /// Its purpose.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        /// All settings as they are now.
        settings: Box<Settings>,
    },
    /// The team's work is done; the board stays.
    #[serde(rename = "team.completed")]
    TeamCompleted {},
    /// The team was deleted. Its links lose their team.
    #[serde(rename = "team.deleted")]
    TeamDeleted {},
    /// A session took the lead lease: it supervises the team from now on.
    #[serde(rename = "lead.taken")]
    LeadTaken {
        /// The troop session that supervises.
        session: Uuid,
        /// The session in words, for people.
        holder: String,
        /// Its fencing number, which its commands carry.
        fence: u64,
        /// When the lease ends unless it is renewed.
        until: Time,
        /// Checks that every task must pass while it supervises.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        checks: Vec<String>,
    },
    /// The lead lease was renewed.
    #[serde(rename = "lead.renewed")]
    LeadRenewed {
        /// When the lease ends unless it is renewed again.
        until: Time,
    },
    /// The lead lease was released.
    #[serde(rename = "lead.released")]
    LeadReleased {},
    /// The supervisor was asked to stop all processes of the team.
    #[serde(rename = "team.stop_requested")]
    TeamStopRequested {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A member joined.
    #[serde(rename = "member.added")]
    MemberAdded {
        /// Its name.
        member: MemberName,
        /// Its id.
        id: Uuid,
        role: Role,
        /// The key of its agent.
        agent: SmolStr,
        /// Its expertise, in words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        expertise: String,
        /// The model that its agent should use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<SmolStr>,
        /// Its permissions.
        permissions: Permissions,
    },
    /// A member left. Its links stay, disabled.
    #[serde(rename = "member.removed")]
    MemberRemoved {
        member: MemberName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The supervisor saw a member change its state.
    #[serde(rename = "member.state_changed")]
    MemberStateChanged {
        member: MemberName,
        /// Its new state.
        state: MemberState,
        /// Why, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Why, for programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<StateCause>,
        /// The id of its process, while it runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
    },
    /// A member's turn was interrupted.
    #[serde(rename = "member.interrupted")]
    MemberInterrupted {
        member: MemberName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A member reported its usage.
    #[serde(rename = "usage.reported")]
    UsageReported {
        member: MemberName,
        /// The task that it was for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskNumber>,
        /// The model that was used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<SmolStr>,
        /// The usage since the last report.
        usage: Usage,
    },
    /// The permissions of a member changed.
    #[serde(rename = "member.mode_changed")]
    MemberModeChanged {
        member: MemberName,
        /// Its new permissions.
        permissions: Permissions,
    },
    /// A link was created or changed.
    #[serde(rename = "link.set")]
    LinkSet {
        /// The new link.
        link: Link,
    },
    /// A link was purged.
    #[serde(rename = "link.purged")]
    LinkPurged {
        /// The member that delegated.
        from: MemberName,
        to: MemberName,
    },
    /// A task was created.
    #[serde(rename = "task.created")]
    TaskCreated {
        /// Its number.
        task: TaskNumber,
        /// Its id.
        id: Uuid,
        /// Its subject, on one line.
        subject: String,
        /// The work to do, in detail.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        /// Its priority; higher goes first.
        priority: i32,
        /// Its label.
        #[serde(rename = "type")]
        task_type: SmolStr,
        /// The member that it is reserved for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assignee: Option<MemberName>,
        /// The tasks that it waits for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        blocked_by: Vec<Dependency>,
        /// Whether its start needs approval.
        #[serde(default, skip_serializing_if = "is_false")]
        approve_start: bool,
        /// Commands that must pass before it is done, besides the team's.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        checks: Vec<String>,
        /// The conversation that caused it.
        #[serde(default, skip_serializing_if = "is_default")]
        origin: Origin,
        /// Free data.
        #[serde(default, skip_serializing_if = "is_default")]
        metadata: Metadata,
    },
    /// The contents of a task changed.
    #[serde(rename = "task.updated")]
    TaskUpdated {
        task: TaskNumber,
        /// The changes.
        change: Box<TaskChange>,
    },
    /// A member claimed a task.
    #[serde(rename = "task.claimed")]
    TaskClaimed {
        task: TaskNumber,
        /// The member that holds it now.
        owner: MemberName,
        /// The number of this attempt.
        attempt: u32,
        /// When the claim ends without a sign of life.
        lease_until: Time,
    },
    /// A task was assigned to a member.
    #[serde(rename = "task.assigned")]
    TaskAssigned {
        task: TaskNumber,
        /// The member that holds it now.
        owner: MemberName,
        /// The number of this attempt.
        attempt: u32,
        /// When the claim ends without a sign of life.
        lease_until: Time,
    },
    /// The holder gave a sign of life.
    #[serde(rename = "task.renewed")]
    TaskRenewed {
        task: TaskNumber,
        /// When the claim ends without another one.
        lease_until: Time,
    },
    /// The holder lost or released the task; it is pending again.
    #[serde(rename = "task.released")]
    TaskReleased {
        task: TaskNumber,
        /// The member that held it.
        owner: MemberName,
        reason: String,
        /// Whether this attempt does not count, because it ended for a reason unrelated to the task.
        #[serde(default, skip_serializing_if = "is_false")]
        forgiven: bool,
    },
    /// The holder reported progress.
    #[serde(rename = "task.progressed")]
    TaskProgressed {
        task: TaskNumber,
        /// The progress.
        progress: Progress,
        /// When the claim ends without a sign of life.
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
        /// The result.
        result: String,
        /// A one-line summary.
        summary: String,
    },
    /// The result was approved: the task is done.
    #[serde(rename = "task.approved")]
    TaskApproved {
        task: TaskNumber,
        /// A one-line summary of the result.
        summary: String,
        /// The approver's comment.
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
        /// Whether the task is cancelled or revised.
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
        /// When troop retries it; none means never.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Time>,
    },
    /// A failed or stale task is pending again.
    #[serde(rename = "task.retried")]
    TaskRetried {
        task: TaskNumber,
        /// Whether all attempts are available again, as after a manual retry.
        fresh: bool,
    },
    /// A held task has not moved for too long.
    #[serde(rename = "task.stale")]
    TaskStale { task: TaskNumber },
    /// A stale task moves again.
    #[serde(rename = "task.recovered")]
    TaskRecovered { task: TaskNumber },
    /// A task got a comment.
    #[serde(rename = "task.commented")]
    TaskCommented { task: TaskNumber, text: String },
    /// A file was attached to a task.
    #[serde(rename = "task.attached")]
    TaskAttached {
        task: TaskNumber,
        /// The file's path in the workspace.
        path: String,
    },
    /// The checks of a task ran, or a person waived them.
    #[serde(rename = "task.checked")]
    TaskChecked {
        task: TaskNumber,
        /// Their results.
        evidence: Vec<Evidence>,
        /// Why a person waived them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waived: Option<String>,
    },
    /// The work on a task was merged.
    #[serde(rename = "task.merged")]
    TaskMerged {
        task: TaskNumber,
        /// The branch that it was merged into.
        into: String,
        /// The commit of that branch.
        commit: String,
    },
    /// An action on a task, or the creation of one, was refused.
    #[serde(rename = "task.refused")]
    TaskRefused {
        /// The task; none if its creation was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskNumber>,
        /// The subject, if the creation was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
        /// The actor that was refused.
        who: Actor,
        /// The origin of the refusal.
        by: RefusedBy,
        reason: String,
        /// The attempt whose completion was refused; none for other refusals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
    },
    /// A member asks the user a question, until it is cleared.
    #[serde(rename = "task.asked")]
    TaskAsked {
        task: TaskNumber,
        question: String,
        /// The member that asks.
        asked_by: MemberName,
        /// When the user is reminded next.
        next_at: Time,
    },
    /// The user was reminded.
    #[serde(rename = "task.reminded")]
    TaskReminded {
        task: TaskNumber,
        /// When the user is reminded next.
        next_at: Time,
    },
    /// The question was cleared.
    #[serde(rename = "task.ask_cleared")]
    TaskAskCleared { task: TaskNumber },
    /// A task did not move, or its question stayed unanswered, for too long.
    #[serde(rename = "task.escalated")]
    TaskEscalated {
        task: TaskNumber,
        /// The reason in words.
        reason: String,
        /// Whether its question stayed unanswered; otherwise the task did not move.
        #[serde(default, skip_serializing_if = "is_false")]
        is_unanswered: bool,
    },
    /// The task was deleted.
    #[serde(rename = "task.deleted")]
    TaskDeleted { task: TaskNumber },
    /// A message was sent.
    #[serde(rename = "message.sent")]
    MessageSent {
        /// Its id.
        id: Uuid,
        /// The sender.
        from: Party,
        to: Party,
        #[serde(rename = "message_kind")]
        message_kind: MessageKind,
        content: String,
        /// A one-line summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// The notice that it carries, if any.
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
        /// Its readers.
        readers: Vec<Party>,
        /// The older notice of the same kind that it replaces.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        supersedes: Option<Uuid>,
        /// The conversation that it belongs to, where answers go.
        #[serde(default, skip_serializing_if = "is_default")]
        origin: Origin,
    },
    /// Messages were delivered to a reader.
    #[serde(rename = "message.delivered")]
    MessageDelivered { reader: Party, messages: Vec<Uuid> },
    /// A reader has read messages.
    #[serde(rename = "message.read")]
    MessageRead { reader: Party, messages: Vec<Uuid> },
    /// A file of the workspace was written.
    #[serde(rename = "workspace.written")]
    FileWritten {
        /// Its folder.
        #[serde(default, skip_serializing_if = "is_default")]
        folder: WorkspaceFolder,
        /// Its path in that folder.
        path: String,
        /// Its size in bytes.
        size: u64,
        /// The task that it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskNumber>,
    },
    /// A file of the workspace was deleted.
    #[serde(rename = "workspace.deleted")]
    FileDeleted {
        /// Its folder.
        #[serde(default, skip_serializing_if = "is_default")]
        folder: WorkspaceFolder,
        /// Its path in that folder.
        path: String,
    },
    /// The lead delegated a task to a member.
    #[serde(rename = "delegation.started")]
    DelegationStarted {
        /// Its id.
        delegation: Uuid,
        /// The member that delegated.
        from: MemberName,
        to: MemberName,
        /// The delegated task.
        task: TaskNumber,
        /// The trace that it runs under.
        trace_id: Uuid,
        /// The trace of the delegating member.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_trace_id: Option<Uuid>,
        /// The conversation that it began in.
        #[serde(default, skip_serializing_if = "is_default")]
        origin: Origin,
        /// What the member should know besides the task's description.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A delegation ended with a result.
    #[serde(rename = "delegation.completed")]
    DelegationCompleted {
        delegation: Uuid,
        /// The result.
        result: String,
    },
    /// A delegation failed.
    #[serde(rename = "delegation.failed")]
    DelegationFailed { delegation: Uuid, reason: String },
    /// A delegation was cancelled.
    #[serde(rename = "delegation.cancelled")]
    DelegationCancelled { delegation: Uuid, reason: String },
    /// The last of several related delegations has ended, and the lead was told all results.
    #[serde(rename = "delegation.announced")]
    DelegationsAnnounced {
        delegations: Vec<Uuid>,
        /// The announcement. None if the lead cancelled all of them itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Uuid>,
    },
}
