//! The JSON that people's programs see: the same on the command line, on REST and in streams.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::{
    Actor, Attachment, Comment, Delegation, DelegationStatus, Evidence, Link, Member, Merged,
    Message, Origin, Party, Progress, Question, Settings, Spending, State, Status, Task,
    TaskNumber, Team, TeamStatus, Time, TrailEntry, Usage, Version, WorkspaceFolder,
    query::MAX_SHOWN_RESULT, text,
};

/// A task as programs see it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskView<'a> {
    pub id: Uuid,
    pub number: TaskNumber,
    pub subject: &'a str,
    pub description: &'a str,
    pub status: Status,
    pub priority: i32,
    #[serde(rename = "type")]
    pub task_type: &'a str,
    pub assignee: Option<&'a str>,
    pub owner: Option<&'a str>,
    pub blocked_by: Vec<TaskNumber>,
    pub blocks: Vec<TaskNumber>,
    pub progress: Option<&'a Progress>,
    pub result: Option<String>,
    pub attempts: u32,
    pub lease_until: Option<Time>,
    pub not_before: Option<Time>,
    pub question: Option<&'a Question>,
    pub created_by: &'a str,
    pub created_at: Time,
    pub updated_at: Time,
    pub completed_at: Option<Time>,
    pub user_id: Option<&'a str>,
    pub channel: Option<&'a str>,
    pub chat_id: Option<&'a str>,
    pub peer_kind: Option<&'a str>,
    pub local_key: Option<&'a str>,
    pub checks: &'a [String],
    /// What its checks said, in short; all of it is in the detail.
    pub evidence: Vec<EvidenceView<'a>>,
    pub merged: Option<&'a Merged>,
    /// What was used for it.
    pub usage: &'a Usage,
    pub metadata: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<TaskDetail<'a>>,
}

/// What belongs to a task but not to a list of tasks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskDetail<'a> {
    pub comments: &'a [Comment],
    pub attachments: Vec<AttachmentView<'a>>,
    pub evidence: &'a [Evidence],
    pub failed_checks: u32,
    pub checks_waived: Option<&'a str>,
    pub events: &'a [TrailEntry],
}

/// What one check said, in short.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EvidenceView<'a> {
    pub command: &'a str,
    pub exit_code: i32,
    pub commit: Option<&'a str>,
}

impl<'a> EvidenceView<'a> {
    /// Without what was printed.
    #[must_use]
    pub fn new(evidence: &'a Evidence) -> Self {
        let Evidence { command, exit_code, commit, .. } = evidence;
        Self { command, exit_code: *exit_code, commit: commit.as_deref() }
    }
}

/// A file of a task as programs see it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AttachmentView<'a> {
    pub path: &'a str,
    pub by: &'a Actor,
    pub at: Time,
    pub size: Option<u64>,
    pub folder: Option<&'a WorkspaceFolder>,
    /// Whether it was deleted since.
    pub gone: bool,
}

impl<'a> TaskView<'a> {
    /// A task as a list shows it.
    #[must_use]
    pub fn brief(state: &State, task: &'a Task) -> Self {
        let names =
            |name: &'a Option<crate::MemberName>| name.as_ref().map(crate::MemberName::as_str);
        Self {
            id: task.id,
            number: task.number,
            subject: &task.subject,
            description: &task.description,
            status: state.tasks().status(task.number).unwrap_or(task.status),
            priority: task.priority,
            task_type: &task.task_type,
            assignee: names(&task.assignee),
            owner: names(&task.owner),
            blocked_by: task.blocked_by.iter().map(|dependency| dependency.task).collect(),
            blocks: state.tasks().dependents(task.number).collect(),
            progress: task.progress.as_ref(),
            result: task.result.as_deref().map(|result| text::preview(result, MAX_SHOWN_RESULT)),
            attempts: task.attempts,
            lease_until: task.lease_until,
            not_before: task.not_before,
            question: task.question.as_ref(),
            created_by: &task.created_by.name,
            created_at: task.created_at,
            updated_at: task.updated_at,
            completed_at: task.completed_at,
            user_id: task.origin.user_id.as_deref(),
            channel: task.origin.channel.as_deref(),
            chat_id: task.origin.chat_id.as_deref(),
            peer_kind: task.origin.peer_kind.as_deref(),
            local_key: task.origin.local_key.as_deref(),
            checks: &task.checks,
            evidence: task.evidence.iter().map(EvidenceView::new).collect(),
            merged: task.merged.as_ref(),
            usage: &task.usage,
            metadata: &task.metadata.0,
            detail: None,
        }
    }

    /// A task with everything that belongs to it.
    #[must_use]
    pub fn full(state: &State, task: &'a Task) -> Self {
        let detail = TaskDetail {
            comments: &task.comments,
            evidence: &task.evidence,
            failed_checks: task.n_failed_checks,
            checks_waived: task.waived.as_deref(),
            attachments: task.attachments.iter().map(|it| attachment(state, it)).collect(),
            events: &task.trail,
        };
        Self { detail: Some(detail), ..Self::brief(state, task) }
    }
}

fn attachment<'a>(state: &State, it: &'a Attachment) -> AttachmentView<'a> {
    AttachmentView {
        path: &it.path,
        by: &it.by,
        at: it.at,
        size: it.size,
        folder: it.folder.as_ref(),
        gone: state.is_gone(it),
    }
}

/// A message as one reader's programs see it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MessageView<'a> {
    pub id: Uuid,
    pub from: &'a str,
    pub to: &'a str,
    pub kind: crate::MessageKind,
    pub content: &'a str,
    pub summary: Option<&'a str>,
    pub sent_at: Time,
    pub delivered_at: Option<Time>,
    pub read_at: Option<Time>,
    pub request_id: Option<Uuid>,
    pub approve: Option<bool>,
    pub task: Option<TaskNumber>,
    pub origin: &'a Origin,
}

impl<'a> MessageView<'a> {
    /// A message as this reader has it; without a reader, as its slowest reader has it.
    #[must_use]
    pub fn new(message: &'a Message, reader: Option<&Party>) -> Self {
        let receipts = || {
            message.receipts.iter().filter(|it| reader.is_none_or(|reader| it.reader == *reader))
        };
        let all_have = |moment: fn(&crate::Receipt) -> Option<Time>| {
            receipts().map(moment).collect::<Option<Vec<_>>>()?.into_iter().max()
        };
        Self {
            id: message.id,
            from: message.from.as_str(),
            to: message.to.as_str(),
            kind: message.kind,
            content: &message.content,
            summary: message.summary.as_deref(),
            sent_at: message.sent_at,
            delivered_at: all_have(|receipt| receipt.delivered_at),
            read_at: all_have(|receipt| receipt.read_at),
            request_id: message.request_id,
            approve: message.approve,
            task: message.task,
            origin: &message.origin,
        }
    }
}

/// A delegation as programs see it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DelegationView<'a> {
    pub id: Uuid,
    pub team: Option<crate::TeamId>,
    pub from: &'a str,
    pub to: &'a str,
    pub task: TaskNumber,
    /// The identity of that task, as long as it is on the board.
    pub task_id: Option<Uuid>,
    pub status: DelegationStatus,
    pub session: String,
    pub trace_id: Uuid,
    pub parent_trace_id: Option<Uuid>,
    pub started_at: Time,
    pub ended_at: Option<Time>,
    pub result: Option<&'a str>,
    pub announced: bool,
    pub origin: &'a Origin,
}

impl<'a> DelegationView<'a> {
    /// A delegation of the team that a state is about.
    #[must_use]
    pub fn new(state: &State, delegation: &'a Delegation) -> Self {
        Self {
            id: delegation.id,
            team: state.team().map(|team| team.id),
            from: delegation.from.as_str(),
            to: delegation.to.as_str(),
            task: delegation.task,
            task_id: state.tasks().get(delegation.task).map(|task| task.id),
            status: delegation.status,
            session: delegation.session().to_string(),
            trace_id: delegation.trace_id,
            parent_trace_id: delegation.parent_trace_id,
            started_at: delegation.started_at,
            ended_at: delegation.ended_at,
            result: delegation.result.as_deref(),
            announced: delegation.is_announced,
            origin: &delegation.origin,
        }
    }
}

/// A team as programs see it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TeamView<'a> {
    pub id: crate::TeamId,
    pub name: &'a str,
    pub description: &'a str,
    pub status: TeamStatus,
    pub lead: Option<&'a str>,
    pub version: Version,
    pub created_by: &'a str,
    pub created_at: Time,
    pub lead_lease: Option<&'a crate::LeadLease>,
    pub settings: &'a Settings,
    /// What all its members have used so far, and how it stands with its budget.
    pub usage: &'a Usage,
    pub spending: Spending,
    pub members: Vec<&'a Member>,
    pub links: Vec<&'a Link>,
}

impl<'a> TeamView<'a> {
    /// The team that a state is about.
    #[must_use]
    pub fn new(state: &'a State, team: &'a Team) -> Self {
        Self {
            id: team.id,
            name: team.name.as_str(),
            description: &team.description,
            status: team.status,
            lead: team.lead.as_ref().map(crate::MemberName::as_str),
            version: state.version(),
            created_by: &team.created_by.name,
            created_at: team.created_at,
            lead_lease: team.lead_lease.as_ref(),
            settings: &team.settings,
            usage: &team.usage,
            spending: state.spending(),
            members: state.members().collect(),
            links: state.links().collect(),
        }
    }
}
