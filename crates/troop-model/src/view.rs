//! The JSON that other programs see: the same on the command line, in REST and in streams.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use uuid::Uuid;

use crate::{
    Actor, Attachment, Comment, Delegation, DelegationStatus, Evidence, LeadLease, Link, MailMark,
    Member, MemberName, MergeRecord, Message, MessageKind, Metadata, Origin, Party, Progress,
    Question, Receipt, Settings, Spending, State, Status, Task, TaskNumber, Team, TeamId, TeamName,
    TeamStatus, Time, TrailEntry, Usage, Version, WorkspaceFolder, query::MAX_SHOWN_RESULT,
};

/// A task as programs see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskView {
    pub id: Uuid,
    pub number: TaskNumber,
    pub subject: String,
    pub description: String,
    pub status: Status,
    pub priority: i32,
    #[serde(rename = "type")]
    pub task_type: SmolStr,
    pub assignee: Option<MemberName>,
    pub owner: Option<MemberName>,
    pub blocked_by: Vec<TaskNumber>,
    pub blocks: Vec<TaskNumber>,
    pub progress: Option<Progress>,
    /// The result, or a part of it.
    pub result: Option<String>,
    /// The character with which the rest of the result begins, if only a part is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_next_offset: Option<usize>,
    pub attempts: u32,
    pub lease_until: Option<Time>,
    pub not_before: Option<Time>,
    pub question: Option<Question>,
    pub created_by: SmolStr,
    pub created_at: Time,
    pub updated_at: Time,
    pub completed_at: Option<Time>,
    pub user_id: Option<SmolStr>,
    pub channel: Option<SmolStr>,
    pub chat_id: Option<SmolStr>,
    pub peer_kind: Option<SmolStr>,
    pub local_key: Option<SmolStr>,
    pub checks: Vec<String>,
    /// The results of its checks in short; the detail has all of them.
    pub evidence: Vec<EvidenceView>,
    pub merged: Option<MergeRecord>,
    /// The usage of its holders.
    pub usage: Usage,
    pub metadata: Metadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<TaskDetail>,
}

/// The parts of a task that lists leave out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskDetail {
    pub comments: Vec<Comment>,
    pub attachments: Vec<AttachmentView>,
    pub evidence: Vec<Evidence>,
    pub failed_checks: u32,
    pub checks_waived: Option<String>,
    pub events: Vec<TrailEntry>,
}

/// The result of one check, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceView {
    pub command: String,
    pub exit_code: i32,
    pub commit: Option<String>,
}

impl EvidenceView {
    /// The evidence without its output.
    #[must_use]
    pub fn new(evidence: &Evidence) -> Self {
        Self {
            command: evidence.command.clone(),
            exit_code: evidence.exit_code,
            commit: evidence.commit.clone(),
        }
    }
}

/// A file of a task as programs see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttachmentView {
    pub path: String,
    pub by: Actor,
    pub at: Time,
    pub size: Option<u64>,
    pub folder: Option<WorkspaceFolder>,
    /// Whether it was deleted since.
    pub gone: bool,
}

impl TaskView {
    /// A task as a list shows it.
    #[must_use]
    pub fn brief(state: &State, task: &Task) -> Self {
        Self {
            id: task.id,
            number: task.number,
            subject: task.subject.clone(),
            description: task.description.clone(),
            status: state.tasks().status(task.number).unwrap_or(task.status),
            priority: task.priority,
            task_type: task.task_type.clone(),
            assignee: task.assignee.clone(),
            owner: task.owner.clone(),
            blocked_by: task.blocked_by.iter().map(|dependency| dependency.task).collect(),
            blocks: state.tasks().dependents(task.number).collect(),
            progress: task.hold.progress.clone(),
            result: result_from(task, 0),
            result_next_offset: next_offset(task, 0),
            attempts: task.attempts,
            lease_until: task.hold.lease_until,
            not_before: task.start.not_before,
            question: task.talk.question.clone(),
            created_by: task.provenance.created_by.name.clone(),
            created_at: task.provenance.created_at,
            updated_at: task.provenance.updated_at,
            completed_at: task.provenance.completed_at,
            user_id: task.provenance.origin.user_id.clone(),
            channel: task.provenance.origin.channel.clone(),
            chat_id: task.provenance.origin.chat_id.clone(),
            peer_kind: task.provenance.origin.peer_kind.clone(),
            local_key: task.provenance.origin.local_key.clone(),
            checks: task.proof.checks.clone(),
            evidence: task.proof.evidence.iter().map(EvidenceView::new).collect(),
            merged: task.proof.merged.clone(),
            usage: task.usage,
            metadata: task.metadata.clone(),
            detail: None,
        }
    }

    /// A task with everything that belongs to it, and its result from this character on.
    #[must_use]
    pub fn full(state: &State, task: &Task, offset: usize) -> Self {
        let detail = TaskDetail {
            comments: task.talk.comments.clone(),
            evidence: task.proof.evidence.clone(),
            failed_checks: task.proof.n_failed,
            checks_waived: task.proof.waived.clone(),
            attachments: task.talk.attachments.iter().map(|it| attachment(state, it)).collect(),
            events: task.trail.clone(),
        };
        Self {
            result: result_from(task, offset),
            result_next_offset: next_offset(task, offset),
            detail: Some(detail),
            ..Self::brief(state, task)
        }
    }
}

/// As much of a result as is shown at once.
fn result_from(task: &Task, offset: usize) -> Option<String> {
    let result = task.result.as_deref()?;
    Some(result.chars().skip(offset).take(MAX_SHOWN_RESULT).collect())
}

/// Where the next part of a result begins.
fn next_offset(task: &Task, offset: usize) -> Option<usize> {
    let end = offset.saturating_add(MAX_SHOWN_RESULT);
    task.result.as_deref()?.chars().nth(end).map(|_| end)
}

fn attachment(state: &State, it: &Attachment) -> AttachmentView {
    AttachmentView {
        path: it.path.clone(),
        by: it.by.clone(),
        at: it.at,
        size: it.size,
        folder: it.folder.clone(),
        gone: state.is_gone(it),
    }
}

/// A message as one reader's programs see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageView {
    pub id: Uuid,
    pub from: Party,
    pub to: Party,
    pub kind: MessageKind,
    pub content: String,
    pub summary: Option<String>,
    pub sent_at: Time,
    pub delivered_at: Option<Time>,
    pub read_at: Option<Time>,
    pub request_id: Option<Uuid>,
    pub approve: Option<bool>,
    pub task: Option<TaskNumber>,
    pub origin: Origin,
}

impl MessageView {
    /// A message as this reader has it; without a reader, as its slowest reader has it.
    #[must_use]
    pub fn new(message: &Message, reader: Option<&Party>) -> Self {
        let receipts = || {
            message.receipts.iter().filter(|it| reader.is_none_or(|reader| it.reader == *reader))
        };
        let all_have = |moment: fn(&Receipt) -> Option<Time>| {
            receipts().map(moment).collect::<Option<Vec<_>>>()?.into_iter().max()
        };
        Self {
            id: message.id,
            from: message.from.clone(),
            to: message.to.clone(),
            kind: message.kind,
            content: message.content.clone(),
            summary: message.summary.clone(),
            sent_at: message.sent_at,
            delivered_at: all_have(|receipt| receipt.delivered_at),
            read_at: all_have(|receipt| receipt.read_at),
            request_id: message.request_id,
            approve: message.approve,
            task: message.task,
            origin: message.origin.clone(),
        }
    }
}

impl MessageView {
    /// What it says about the conversation that it belongs to.
    #[must_use]
    pub fn mark(&self) -> MailMark<'_> {
        MailMark { id: self.id, from: &self.from, kind: self.kind, origin: &self.origin }
    }
}

/// A delegation as programs see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DelegationView {
    pub id: Uuid,
    pub team: Option<TeamId>,
    pub from: MemberName,
    pub to: MemberName,
    pub task: TaskNumber,
    /// The id of the task, while it is on the board.
    pub task_id: Option<Uuid>,
    pub status: DelegationStatus,
    pub session: String,
    pub trace_id: Uuid,
    pub parent_trace_id: Option<Uuid>,
    pub started_at: Time,
    pub ended_at: Option<Time>,
    pub result: Option<String>,
    pub announced: bool,
    pub origin: Origin,
}

impl DelegationView {
    /// A delegation of the team that a state is about.
    #[must_use]
    pub fn new(state: &State, delegation: &Delegation) -> Self {
        Self {
            id: delegation.id,
            team: state.team().map(|team| team.id),
            from: delegation.from.clone(),
            to: delegation.to.clone(),
            task: delegation.task,
            task_id: state.tasks().get(delegation.task).map(|task| task.id),
            status: delegation.status,
            session: delegation.session().to_string(),
            trace_id: delegation.trace_id,
            parent_trace_id: delegation.parent_trace_id,
            started_at: delegation.started_at,
            ended_at: delegation.ended_at,
            result: delegation.result.clone(),
            announced: delegation.is_announced,
            origin: delegation.origin.clone(),
        }
    }
}

/// A team as programs see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TeamView {
    pub id: TeamId,
    pub name: TeamName,
    pub description: String,
    /// What a person told the lead to do; only for the lead and people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    pub status: TeamStatus,
    pub lead: Option<MemberName>,
    pub version: Version,
    pub created_by: SmolStr,
    pub created_at: Time,
    pub lead_lease: Option<LeadLease>,
    pub settings: Settings,
    /// The usage of all members so far.
    pub usage: Usage,
    pub spending: Spending,
    pub members: Vec<Member>,
    pub links: Vec<Link>,
}

impl TeamView {
    /// The team that a state is about.
    #[must_use]
    pub fn new(state: &State, team: &Team) -> Self {
        Self {
            id: team.id,
            name: team.name.clone(),
            description: team.description.clone(),
            goal: Some(team.goal.clone()).filter(|it| !it.is_empty()),
            status: team.status,
            lead: team.lead.clone(),
            version: state.version(),
            created_by: team.created_by.name.clone(),
            created_at: team.created_at,
            lead_lease: team.lead_lease.clone(),
            settings: team.settings.clone(),
            usage: team.usage,
            spending: state.spending(),
            members: state.members().cloned().collect(),
            links: state.links().cloned().collect(),
        }
    }
}
