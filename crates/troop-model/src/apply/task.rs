//! How facts about tasks change the board.

use serde_json::json;

use crate::{
    Actor, ActorKind, Attachment, Comment, Event, Evidence, Fact, Member, MemberName, MergeRecord,
    Metadata, Provenance, Question, RefusedBy, RejectMode, Start, StartGate, State, Status, Talk,
    Task, TaskChange, TaskHold, TaskNumber, TaskProof, Time, TrailEntry, TrailKind, Usage,
    WorkspaceFolder, state::note_result, text,
};

/// How much of a result the board shows on a finished task.
const PREVIEW: usize = 100;

impl State {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "all others change a task that exists, in the table below"
    )]
    pub(super) fn apply_task(&mut self, number: TaskNumber, event: &Event) {
        match &event.fact {
            Fact::TaskCreated { .. } => self.apply_task_created(event),
            Fact::TaskDeleted { task } => {
                note_result(self, number, event);
                self.tasks.delete(*task);
            }
            fact => {
                note_result(self, number, event);
                let lease = self.settings_lease(event.at);
                let before = self.holder(number);
                let is_by_lead = is_by_lead(self, event);
                self.tasks.update(number, event.version, self.limits.finished, |task| {
                    change(task, fact, event, lease);
                    hold_back(task, event, is_by_lead);
                    task.provenance.updated_at = event.at;
                    if !matches!(fact, Fact::TaskRenewed { .. } | Fact::TaskStale { .. }) {
                        task.provenance.moved_at = event.at;
                    }
                    if let Some(entry) = trail_entry(event) {
                        task.trail.push(entry);
                    }
                });
                let after = self.holder(number);
                if before != after {
                    if let Some(member) =
                        before.filter(|it| self.tasks.held_by(it).next().is_none())
                    {
                        self.roster.note_idle(&member, event.at);
                    }
                    if let Some(member) = after.filter(|it| is_at_hand(self, it, fact)) {
                        self.roster.note_working(&member, event.at);
                    }
                }
            }
        }
    }

    fn holder(&self, number: TaskNumber) -> Option<MemberName> {
        let task = self.tasks.get(number).filter(|task| !task.status.is_terminal())?;
        task.owner.clone()
    }

    fn settings_lease(&self, at: Time) -> Time {
        at + self.team().map(|team| team.settings.lease()).unwrap_or_default()
    }

    fn apply_task_created(&mut self, event: &Event) {
        let Fact::TaskCreated {
            task,
            id,
            subject,
            description,
            priority,
            task_type,
            assignee,
            blocked_by,
            approve_start,
            checks,
            origin,
            metadata,
        } = &event.fact
        else {
            return;
        };
        if !origin.is_internal() && !self.origins.entries().contains_key(origin) {
            self.origins.insert(origin.clone(), ());
        }
        self.tasks.insert(Task {
            number: *task,
            id: *id,
            subject: subject.clone(),
            description: description.clone(),
            status: Status::Pending,
            priority: *priority,
            task_type: task_type.clone(),
            assignee: assignee.clone(),
            owner: None,
            attempts: 0,
            hold: TaskHold::default(),
            blocked_by: blocked_by.clone(),
            start: Start {
                gate: if *approve_start { StartGate::Waiting } else { StartGate::Open },
                not_before: None,
                is_held_back: assignee.is_some() && is_by_lead(self, event),
            },
            result: None,
            proof: TaskProof { checks: checks.clone(), ..TaskProof::default() },
            talk: Talk::default(),
            provenance: Provenance {
                created_by: event.actor.clone(),
                origin: origin.clone(),
                created_at: event.at,
                updated_at: event.at,
                moved_at: event.at,
                completed_at: None,
            },
            metadata: metadata.clone(),
            usage: Usage::default(),
            trail: trail_entry(event).into_iter().collect(),
        });
    }
}

/// Whether a member works once it holds a task: it took the task itself, runs, or is run by another program.
fn is_at_hand(state: &State, member: &MemberName, fact: &Fact) -> bool {
    let is_there = |it: &Member| it.is_running() || it.is_external();
    matches!(fact, Fact::TaskClaimed { .. }) || state.member(member).is_some_and(is_there)
}

/// One arm for each fact about a task that exists.
#[expect(
    clippy::wildcard_enum_match_arm,
    clippy::too_many_lines,
    reason = "a flat table; the caller sends only facts about existing tasks here"
)]
fn change(task: &mut Task, fact: &Fact, event: &Event, lease: Time) {
    match fact {
        Fact::TaskUpdated { change, .. } => merge(task, change),
        Fact::TaskClaimed { owner, attempt, lease_until, .. }
        | Fact::TaskAssigned { owner, attempt, lease_until, .. } => {
            hold(task, owner, event.at);
            if task.assignee.as_ref().is_some_and(|assignee| assignee != owner) {
                // Giving it to another member also changes the assignee.
                task.assignee = Some(owner.clone());
            }
            task.attempts = *attempt;
            task.hold.lease_until = Some(*lease_until);
            task.hold.n_report_requests = 0;
            task.proof.n_refusals = 0;
            forget_proof(task);
        }
        Fact::TaskRenewed { lease_until, .. } => task.hold.lease_until = Some(*lease_until),
        Fact::TaskReleased { forgiven, .. } => {
            task.hold.forgiven += u32::from(*forgiven);
            let_go(task, Status::Pending);
            forget_proof(task);
        }
        Fact::TaskProgressed { progress, lease_until, .. } => {
            task.hold.progress = Some(progress.clone());
            task.hold.lease_until = Some(*lease_until);
            task.hold.n_report_requests = 0;
        }
        Fact::TaskSubmitted { result, .. } => {
            task.status = Status::InReview;
            task.hold.lease_until = None;
            if result.is_some() {
                task.result.clone_from(result);
            }
        }
        Fact::TaskCompleted { result, summary, .. } => {
            task.result = Some(result.clone());
            finish(task, Status::Completed, summary, event.at);
        }
        Fact::TaskApproved { summary, comment, .. } => {
            add_comment(task, &event.actor, comment.as_deref(), event.at);
            finish(task, Status::Completed, summary, event.at);
        }
        Fact::TaskStartApproved { .. } => task.start.gate = StartGate::Approved,
        Fact::TaskRejected { reason, mode: RejectMode::Cancel, .. }
        | Fact::TaskCancelled { reason, .. } => {
            task.result = Some(reason.clone());
            finish(task, Status::Cancelled, reason, event.at);
        }
        Fact::TaskRejected { reason, mode: RejectMode::Revise, .. } => {
            add_comment(task, &event.actor, Some(reason), event.at);
            forget_proof(task);
            task.status = Status::InProgress;
            task.hold.lease_until = Some(lease);
        }
        Fact::TaskFailed { reason, retry_at, .. } => {
            let_go(task, Status::Failed);
            task.result = Some(reason.clone());
            task.start.not_before = *retry_at;
        }
        Fact::TaskRetried { fresh, .. } => {
            let_go(task, Status::Pending);
            forget_proof(task);
            task.result = None;
            task.start.not_before = None;
            if *fresh {
                task.hold.forgiven = task.attempts;
            }
        }
        Fact::TaskStale { .. } => task.status = Status::Stale,
        Fact::TaskRecovered { .. } => task.status = Status::InProgress,
        Fact::TaskCommented { text, .. } => add_comment(task, &event.actor, Some(text), event.at),
        Fact::TaskAttached { path, .. } => {
            task.talk.attachments.push(Attachment {
                path: path.clone(),
                by: event.actor.clone(),
                at: event.at,
                size: None,
                folder: None,
            });
        }
        Fact::TaskChecked { evidence, waived, .. } => {
            task.proof.n_failed += u32::from(!evidence.iter().all(Evidence::is_good));
            task.proof.evidence.clone_from(evidence);
            task.proof.waived.clone_from(waived);
            // If the work conflicts still, a refusal follows.
            task.proof.conflict = None;
        }
        Fact::TaskMerged { into, commit, .. } => {
            task.proof.merged = Some(MergeRecord { into: into.clone(), commit: commit.clone() });
            task.proof.conflict = None;
        }
        Fact::TaskRefused { by, reason, attempt, .. } => {
            task.proof.n_refusals += u32::from(*attempt == Some(task.attempts));
            if *by == RefusedBy::Merge {
                task.proof.conflict = Some(reason.clone());
            }
        }
        Fact::FileWritten { folder, path, size, .. } => attach(task, event, folder, path, *size),
        Fact::TaskAsked { question, asked_by, next_at, .. } => {
            task.talk.question = Some(Question {
                text: question.clone(),
                asked_by: asked_by.clone(),
                next_at: *next_at,
                n_reminders: 0,
                is_escalated: false,
            });
        }
        Fact::TaskReminded { next_at, .. } => {
            if let Some(question) = &mut task.talk.question {
                question.n_reminders += 1;
                question.next_at = *next_at;
            }
        }
        Fact::TaskAskCleared { .. } => task.talk.question = None,
        Fact::TaskEscalated { is_unanswered, .. } => {
            if let Some(question) = &mut task.talk.question {
                question.is_escalated |= is_unanswered;
            }
        }
        _ => {}
    }
}

fn is_by_lead(state: &State, event: &Event) -> bool {
    let is_member = event.actor.kind == ActorKind::Agent;
    is_member && state.lead().is_some_and(|lead| *lead.name.as_str() == *event.actor.name)
}

/// Notes whether troop gives a reserved task to its assignee by itself, as it does with what people and members reserve.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other fact reserves a task or frees it")]
fn hold_back(task: &mut Task, event: &Event, is_by_lead: bool) {
    let is_by = |kind: ActorKind| event.actor.kind == kind;
    match &event.fact {
        Fact::TaskUpdated { change, .. } if change.assignee.is_some() => {
            task.start.is_held_back = is_by_lead && task.assignee.is_some();
        }
        Fact::TaskAssigned { .. } if is_by(ActorKind::Human) => task.start.is_held_back = false,
        Fact::TaskReleased { .. } if !is_by(ActorKind::System) => task.start.is_held_back = true,
        Fact::TaskRetried { fresh: true, .. } => task.start.is_held_back = is_by_lead,
        _ => {}
    }
}

/// Forgets the proof of an earlier attempt.
fn forget_proof(task: &mut Task) {
    task.proof.evidence.clear();
    task.proof.waived = None;
    task.proof.merged = None;
    task.proof.conflict = None;
}

fn merge(task: &mut Task, change: &TaskChange) {
    let TaskChange {
        subject,
        description,
        priority,
        task_type,
        assignee,
        blocked_by,
        checks,
        metadata,
    } = change;
    if let Some(subject) = subject {
        task.subject.clone_from(subject);
    }
    if let Some(description) = description {
        task.description.clone_from(description);
    }
    if let Some(priority) = priority {
        task.priority = *priority;
    }
    if let Some(task_type) = task_type {
        task.task_type.clone_from(task_type);
    }
    if let Some(assignee) = assignee {
        task.assignee.clone_from(assignee);
    }
    if let Some(blocked_by) = blocked_by {
        task.blocked_by.clone_from(blocked_by);
    }
    if let Some(checks) = checks {
        task.proof.checks.clone_from(checks);
    }
    for (key, value) in metadata.iter().flat_map(|Metadata(map)| map) {
        if value.is_null() {
            task.metadata.0.remove(key);
        } else {
            task.metadata.0.insert(key.clone(), value.clone());
        }
    }
}

fn hold(task: &mut Task, owner: &MemberName, at: Time) {
    task.status = Status::InProgress;
    task.owner = Some(owner.clone());
    task.hold.since = Some(at);
    task.start.not_before = None;
}

fn let_go(task: &mut Task, status: Status) {
    task.status = status;
    task.owner = None;
    task.hold.since = None;
    task.hold.lease_until = None;
    task.hold.progress = None;
    task.talk.question = None;
}

/// Finishes a task. It keeps its owner, which shows who did it.
fn finish(task: &mut Task, status: Status, summary: &str, at: Time) {
    task.status = status;
    task.hold.lease_until = None;
    task.hold.progress = None;
    task.talk.question = None;
    if status == Status::Completed {
        task.provenance.completed_at = Some(at);
    }
    let snapshot = json!({
        "completed_at": at,
        "result_preview": text::preview(task.result.as_deref().unwrap_or_default(), PREVIEW),
        "final_status": status,
        "ai_summary": summary,
    });
    task.metadata.0.insert("snapshot".to_owned(), snapshot);
}

fn add_comment(task: &mut Task, author: &Actor, text: Option<&str>, at: Time) {
    if let Some(text) = text {
        task.talk.comments.push(Comment { author: author.clone(), at, text: text.to_owned() });
    }
}

/// Attaches a file that was written for the task, or updates its attachment.
fn attach(task: &mut Task, event: &Event, folder: &WorkspaceFolder, path: &str, size: u64) {
    let attachment = Attachment {
        path: path.to_owned(),
        by: event.actor.clone(),
        at: event.at,
        size: Some(size),
        folder: Some(folder.clone()),
    };
    let is_same =
        |it: &&mut Attachment| it.path == path && it.folder.as_ref().is_none_or(|it| it == folder);
    match task.talk.attachments.iter_mut().find(is_same) {
        Some(known) => *known = attachment,
        None => {
            task.talk.attachments.push(attachment);
            task.trail.push(TrailEntry {
                version: event.version,
                what: TrailKind::Attached,
                actor: event.actor.clone(),
                at: event.at,
                note: Some(path.to_owned()),
            });
        }
    }
}

/// The entry of an event in the audit trail. Heartbeats, progress and reminders have none.
fn trail_entry(event: &Event) -> Option<TrailEntry> {
    Some(TrailEntry {
        version: event.version,
        what: trail_kind(&event.fact)?,
        actor: event.actor.clone(),
        at: event.at,
        note: trail_note(&event.fact),
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "other facts leave no trace on a task")]
fn trail_kind(fact: &Fact) -> Option<TrailKind> {
    match fact {
        Fact::TaskCreated { .. } => Some(TrailKind::Created),
        Fact::TaskUpdated { .. } => Some(TrailKind::Updated),
        Fact::TaskClaimed { .. } => Some(TrailKind::Claimed),
        Fact::TaskAssigned { .. } => Some(TrailKind::Assigned),
        Fact::TaskReleased { .. } => Some(TrailKind::Released),
        Fact::TaskSubmitted { .. } => Some(TrailKind::Submitted),
        Fact::TaskCompleted { .. } => Some(TrailKind::Completed),
        Fact::TaskApproved { .. } => Some(TrailKind::Approved),
        Fact::TaskStartApproved { .. } => Some(TrailKind::StartApproved),
        Fact::TaskRejected { .. } => Some(TrailKind::Rejected),
        Fact::TaskCancelled { .. } => Some(TrailKind::Cancelled),
        Fact::TaskFailed { .. } => Some(TrailKind::Failed),
        Fact::TaskRetried { .. } => Some(TrailKind::Retried),
        Fact::TaskStale { .. } => Some(TrailKind::Stale),
        Fact::TaskRecovered { .. } => Some(TrailKind::Recovered),
        Fact::TaskCommented { .. } => Some(TrailKind::Commented),
        Fact::TaskAttached { .. } => Some(TrailKind::Attached),
        Fact::TaskChecked { .. } => Some(TrailKind::Checked),
        Fact::TaskMerged { .. } => Some(TrailKind::Merged),
        // The evidence of the checks has its own entry.
        Fact::TaskRefused { by: RefusedBy::Checks, .. } => None,
        Fact::TaskRefused { .. } => Some(TrailKind::Refused),
        Fact::TaskAsked { .. } => Some(TrailKind::Asked),
        Fact::TaskAskCleared { .. } => Some(TrailKind::AskCleared),
        Fact::TaskEscalated { .. } => Some(TrailKind::Escalated),
        _ => None,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "most facts need no note")]
fn trail_note(fact: &Fact) -> Option<String> {
    match fact {
        Fact::TaskAssigned { owner, .. } => Some(owner.to_string()),
        Fact::TaskAsked { question, .. } => Some(question.clone()),
        Fact::TaskSubmitted { result, .. } => result.clone(),
        Fact::TaskApproved { summary, comment, .. } => {
            Some(comment.clone().unwrap_or_else(|| summary.clone()))
        }
        Fact::TaskReleased { reason, .. }
        | Fact::TaskRejected { reason, .. }
        | Fact::TaskCancelled { reason, .. }
        | Fact::TaskFailed { reason, .. }
        | Fact::TaskEscalated { reason, .. } => Some(reason.clone()),
        Fact::TaskRefused { who, by: RefusedBy::Hook, reason, .. } => {
            Some(format!("{} by a hook: {reason}", who.name))
        }
        Fact::TaskRefused { who, reason, .. } => Some(format!("{}: {reason}", who.name)),
        Fact::TaskCompleted { summary, .. } => Some(summary.clone()),
        Fact::TaskAttached { path, .. } => Some(path.clone()),
        Fact::TaskChecked { evidence, waived, .. } => Some(checked(evidence, waived.as_deref())),
        Fact::TaskMerged { into, commit, .. } => Some(format!("{into} {commit}")),
        _ => None,
    }
}

fn checked(evidence: &[Evidence], waived: Option<&str>) -> String {
    let failed = evidence.iter().find(|it| !it.is_good());
    match (waived, failed) {
        (Some(reason), _) => format!("not checked: {reason}"),
        (None, Some(it)) => format!("`{}` ended with {}", it.command, it.exit_code),
        (None, None) => format!("{} passed", evidence.len()),
    }
}
