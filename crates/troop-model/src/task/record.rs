//! A task in archives and snapshots: flat, in a fixed order. Archives are kept for ever, so names never change.

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct};
use smol_str::SmolStr;
use uuid::Uuid;

use super::{
    Attachment, Comment, Dependency, Metadata, Progress, Provenance, Question, Start, StartGate,
    Status, Talk, Task, TaskHold, TaskProof, TrailEntry,
};
use crate::{Actor, Evidence, MemberName, MergeRecord, Origin, TaskNumber, Time, Usage};

const N_FIELDS: usize = 39;

#[derive(Deserialize)]
struct TaskRecord {
    number: TaskNumber,
    id: Uuid,
    subject: String,
    description: String,
    status: Status,
    priority: i32,
    task_type: SmolStr,
    assignee: Option<MemberName>,
    owner: Option<MemberName>,
    held_since: Option<Time>,
    lease_until: Option<Time>,
    blocked_by: Vec<Dependency>,
    progress: Option<Progress>,
    result: Option<String>,
    attempts: u32,
    forgiven: u32,
    not_before: Option<Time>,
    start: StartGate,
    question: Option<Question>,
    created_by: Actor,
    created_at: Time,
    updated_at: Time,
    moved_at: Time,
    completed_at: Option<Time>,
    origin: Origin,
    metadata: Metadata,
    comments: Vec<Comment>,
    attachments: Vec<Attachment>,
    checks: Vec<String>,
    evidence: Vec<Evidence>,
    n_failed_checks: u32,
    waived: Option<String>,
    merged: Option<MergeRecord>,
    usage: Usage,
    trail: Vec<TrailEntry>,
    // Older archives do not have these.
    #[serde(default)]
    n_report_requests: u32,
    #[serde(default)]
    n_refusals: u32,
    #[serde(default)]
    conflict: Option<String>,
    #[serde(default)]
    is_held_back: bool,
}

impl From<TaskRecord> for Task {
    fn from(record: TaskRecord) -> Self {
        Self {
            number: record.number,
            id: record.id,
            subject: record.subject,
            description: record.description,
            status: record.status,
            priority: record.priority,
            task_type: record.task_type,
            assignee: record.assignee,
            owner: record.owner,
            blocked_by: record.blocked_by,
            result: record.result,
            attempts: record.attempts,
            metadata: record.metadata,
            usage: record.usage,
            trail: record.trail,
            hold: TaskHold {
                since: record.held_since,
                lease_until: record.lease_until,
                progress: record.progress,
                forgiven: record.forgiven,
                n_report_requests: record.n_report_requests,
            },
            start: Start {
                gate: record.start,
                not_before: record.not_before,
                is_held_back: record.is_held_back,
            },
            proof: TaskProof {
                checks: record.checks,
                evidence: record.evidence,
                n_failed: record.n_failed_checks,
                waived: record.waived,
                merged: record.merged,
                conflict: record.conflict,
                n_refusals: record.n_refusals,
            },
            provenance: Provenance {
                created_by: record.created_by,
                origin: record.origin,
                created_at: record.created_at,
                updated_at: record.updated_at,
                moved_at: record.moved_at,
                completed_at: record.completed_at,
            },
            talk: Talk {
                question: record.question,
                comments: record.comments,
                attachments: record.attachments,
            },
        }
    }
}

impl<'de> Deserialize<'de> for Task {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        TaskRecord::deserialize(deserializer).map(Self::from)
    }
}

impl Serialize for Task {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Task", N_FIELDS)?;
        fields.serialize_field("number", &self.number)?;
        fields.serialize_field("id", &self.id)?;
        fields.serialize_field("subject", &self.subject)?;
        fields.serialize_field("description", &self.description)?;
        fields.serialize_field("status", &self.status)?;
        fields.serialize_field("priority", &self.priority)?;
        fields.serialize_field("task_type", &self.task_type)?;
        fields.serialize_field("assignee", &self.assignee)?;
        fields.serialize_field("owner", &self.owner)?;
        fields.serialize_field("held_since", &self.hold.since)?;
        fields.serialize_field("lease_until", &self.hold.lease_until)?;
        fields.serialize_field("blocked_by", &self.blocked_by)?;
        fields.serialize_field("progress", &self.hold.progress)?;
        fields.serialize_field("result", &self.result)?;
        fields.serialize_field("attempts", &self.attempts)?;
        fields.serialize_field("forgiven", &self.hold.forgiven)?;
        fields.serialize_field("not_before", &self.start.not_before)?;
        fields.serialize_field("start", &self.start.gate)?;
        fields.serialize_field("question", &self.talk.question)?;
        fields.serialize_field("created_by", &self.provenance.created_by)?;
        fields.serialize_field("created_at", &self.provenance.created_at)?;
        fields.serialize_field("updated_at", &self.provenance.updated_at)?;
        fields.serialize_field("moved_at", &self.provenance.moved_at)?;
        fields.serialize_field("completed_at", &self.provenance.completed_at)?;
        fields.serialize_field("origin", &self.provenance.origin)?;
        fields.serialize_field("metadata", &self.metadata)?;
        fields.serialize_field("comments", &self.talk.comments)?;
        fields.serialize_field("attachments", &self.talk.attachments)?;
        fields.serialize_field("checks", &self.proof.checks)?;
        fields.serialize_field("evidence", &self.proof.evidence)?;
        fields.serialize_field("n_failed_checks", &self.proof.n_failed)?;
        fields.serialize_field("waived", &self.proof.waived)?;
        fields.serialize_field("merged", &self.proof.merged)?;
        fields.serialize_field("usage", &self.usage)?;
        fields.serialize_field("trail", &self.trail)?;
        fields.serialize_field("n_report_requests", &self.hold.n_report_requests)?;
        fields.serialize_field("n_refusals", &self.proof.n_refusals)?;
        fields.serialize_field("conflict", &self.proof.conflict)?;
        fields.serialize_field("is_held_back", &self.start.is_held_back)?;
        fields.end()
    }
}
