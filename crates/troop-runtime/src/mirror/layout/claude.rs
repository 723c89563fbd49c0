//! Claude Code's own files, as the real client writes and reads them.

use serde_json::{Map, Value, json};
use troop_model::{Member, MessageKind, Party, Role, State, Status, Task, Team, Time};

use super::{
    FileStatus, InboxLetter, Names, OutgoingLetter, TaskFile, TaskIds, Unreadable, status_of,
    value::{at, object, read_data, read_text, read_texts, read_words, result},
};

/// The client's name for the lead.
const LEAD: &str = "team-lead";
/// The client's agent type for a teammate without a speciality.
const AGENT_TYPE: &str = "general-purpose";
/// The field with the session of the client that leads. Such a session writes it itself.
pub(super) const LEAD_SESSION: &str = "leadSessionId";
/// The field that the client shows while somebody works on a task.
const ACTIVE_FORM: &str = "activeForm";

pub(super) fn task(state: &State, task: &Task, ids: &dyn TaskIds) -> Map<String, Value> {
    let status = status_of(state, task);
    let word = match status {
        Status::Pending | Status::Blocked => "pending",
        Status::InProgress | Status::InReview | Status::Stale => "in_progress",
        // The client has no word for it. The lead is its owner until it can be retried, so that nobody claims it in vain.
        Status::Failed => "in_progress",
        Status::Completed | Status::Cancelled => "completed",
    };
    // The client has one field for both the assignee and the owner.
    let owner = task.owner.as_ref().or(task.assignee.as_ref());
    let owner = owner.map(|it| client_name(state, it.as_str()));
    let owner = if status == Status::Failed { Some(LEAD.to_owned()) } else { owner };
    let blocked_by: Vec<_> = task.blocked_by.iter().map(|it| ids.id_of(it.task)).collect();
    let blocks: Vec<_> = state.tasks().dependents(task.number).map(|it| ids.id_of(it)).collect();
    let mut metadata = task.metadata.0.clone();
    let active_form = metadata.shift_remove(ACTIVE_FORM).unwrap_or(Value::Null);
    metadata.insert("troop".to_owned(), json!({"id": task.id, "status": status.as_str()}));
    object(json!({
        "id": ids.id_of(task.number),
        "subject": task.subject,
        "description": task.description,
        ACTIVE_FORM: active_form,
        "owner": owner,
        "status": word,
        "blocks": blocks,
        "blockedBy": blocked_by,
        "metadata": metadata,
    }))
}

pub(super) fn read_task(file: &Map<String, Value>) -> Result<TaskFile, Unreadable> {
    let status = FileStatus::read(file)?;
    let name = file.get("owner").map(|it| read_text("owner", it)).transpose()?;
    let owner = name.flatten();
    let was_failed = was_failed(file) && owner.as_deref() == Some(LEAD);
    let status =
        if was_failed && status == FileStatus::InProgress { FileStatus::Failed } else { status };
    let mut metadata = read_data(file, "metadata")?;
    if let Some(active_form) = read_words(file, ACTIVE_FORM)? {
        metadata.get_or_insert_default().insert(ACTIVE_FORM.to_owned(), active_form.into());
    }
    if let Some(metadata) = &mut metadata {
        metadata.shift_remove("troop");
    }
    // The owner of a task that nobody has begun is its assignee.
    let (owner, assignee) = match (status, was_failed) {
        // The lead is its owner only because it failed.
        (FileStatus::Pending | FileStatus::Failed, true) => (Some(None), None),
        (FileStatus::Pending, false) => (Some(None), Some(owner)),
        _ => (Some(owner), None),
    };
    let ids = |key: &str| file.get(key).map(|it| read_texts(key, it)).transpose();
    Ok(TaskFile {
        subject: read_words(file, "subject")?.filter(|it| !it.is_empty()),
        description: read_words(file, "description")?,
        status,
        owner,
        assignee,
        waits_for: ids("blockedBy")?,
        blocks: ids("blocks")?,
        created_by: None,
        result: metadata.as_ref().and_then(|it| it.get("result")).and_then(result),
        metadata,
    })
}

/// Whether a file was written about a task that had failed.
fn was_failed(file: &Map<String, Value>) -> bool {
    let status = file.get("metadata").and_then(|it| it.get("troop")?.get("status")?.as_str());
    status == Some(Status::Failed.as_str())
}

/// 2.1.47 keeps such a file for every teammate.
pub(super) fn is_internal(file: &Map<String, Value>) -> bool {
    file.get("metadata").and_then(|it| it.get("_internal")) == Some(&Value::Bool(true))
}

pub(super) fn is_of(file: &Map<String, Value>, task: &Task) -> bool {
    let id = file.get("metadata").and_then(|it| it.get("troop")).and_then(|it| it.get("id"));
    id.and_then(Value::as_str) == Some(task.id.to_string().as_str())
}

pub(super) fn letter(
    posted: &OutgoingLetter,
    names: &Names,
    ids: &dyn TaskIds,
) -> Map<String, Value> {
    let message = &posted.message;
    let is_lead = |party: &Party| names.lead().is_some_and(|lead| *party == *lead);
    // To the client, the lead assigns all work.
    let is_by_lead = message.kind == MessageKind::TaskAssignment || is_lead(&message.from);
    let from = if is_by_lead { LEAD } else { message.from.as_str() };
    let body = body(posted, from, ids);
    let mut letter = object(json!({
        "from": from,
        "text": body.map_or_else(|| message.content.clone(), |it| it.to_string()),
        "timestamp": millis(message.sent_at),
        "read": false,
        "summary": message.summary,
        "msg_id": message.id,
    }));
    letter.retain(|_, value| !value.is_null());
    letter
}

/// The JSON in the text of a message that is more than words.
fn body(posted: &OutgoingLetter, from: &str, ids: &dyn TaskIds) -> Option<Value> {
    let OutgoingLetter { message, request_id: id, task } = posted;
    let said = &message.content;
    let at = millis(message.sent_at);
    Some(match message.kind {
        MessageKind::ShutdownRequest => {
            json!({"type": "shutdown_request", "requestId": id, "from": from, "reason": said, "timestamp": at})
        }
        MessageKind::ShutdownResponse if message.approve == Some(true) => {
            json!({"type": "shutdown_approved", "requestId": id, "from": from, "timestamp": at})
        }
        MessageKind::ShutdownResponse => {
            json!({"type": "shutdown_rejected", "requestId": id, "from": from, "reason": said, "timestamp": at})
        }
        MessageKind::PlanApprovalRequest => {
            json!({"type": "plan_approval_request", "from": from, "planContent": said, "requestId": id, "timestamp": at})
        }
        MessageKind::PlanApprovalResponse => {
            json!({"type": "plan_approval_response", "requestId": id, "approved": message.approve, "feedback": said, "timestamp": at})
        }
        MessageKind::PermissionRequest => {
            json!({"type": "permission_request", "request_id": id, "agent_id": from, "description": said, "timestamp": at})
        }
        MessageKind::PermissionResponse => {
            let subtype = if message.approve == Some(true) { "success" } else { "error" };
            json!({"type": "permission_response", "request_id": id, "subtype": subtype, "error": said, "timestamp": at})
        }
        MessageKind::Idle => {
            json!({"type": "idle_notification", "from": from, "timestamp": at, "result": said})
        }
        MessageKind::TaskAssignment => {
            // A task that is gone has only the text of the message.
            let subject = task.as_ref().map_or(said, |it| &it.subject);
            let description = task.as_ref().map_or(said, |it| &it.description);
            let task = message.task.map(|it| ids.id_of(it));
            json!({"type": "task_assignment", "taskId": task, "subject": subject, "description": description, "assignedBy": from, "timestamp": at})
        }
        MessageKind::Message | MessageKind::Broadcast | MessageKind::System => return None,
    })
}

pub(super) fn read_letter(file: &Map<String, Value>) -> Result<InboxLetter, Unreadable> {
    let missing = |key: &str| Unreadable::Shape(format!("the message has no `{key}`"));
    let text = at(file, "text").ok_or_else(|| missing("text"))?;
    let mut letter = InboxLetter {
        from: at(file, "from").ok_or_else(|| missing("from"))?,
        kind: MessageKind::Message,
        content: text.clone(),
        summary: at(file, "summary"),
        request_id: None,
        approve: None,
        text,
    };
    let body =
        letter.content.trim_start().starts_with('{').then(|| {
            serde_json::from_str::<Map<String, Value>>(&letter.content).unwrap_or_default()
        });
    if let Some(body) = body {
        read_body(&mut letter, &body);
    }
    Ok(letter)
}

fn read_body(letter: &mut InboxLetter, body: &Map<String, Value>) {
    let request_id = at(body, "requestId").or_else(|| at(body, "request_id"));
    let reason = || at(body, "reason").or_else(|| at(body, "feedback")).unwrap_or_default();
    match at(body, "type").as_deref() {
        Some("shutdown_request") => {
            (letter.kind, letter.content) = (MessageKind::ShutdownRequest, reason());
        }
        Some(kind @ ("shutdown_approved" | "shutdown_rejected")) if request_id.is_some() => {
            letter.approve = Some(kind == "shutdown_approved");
            (letter.kind, letter.content) = (MessageKind::ShutdownResponse, reason());
        }
        Some("plan_approval_request") => {
            let plan = at(body, "planContent").unwrap_or_else(|| letter.content.clone());
            (letter.kind, letter.content) = (MessageKind::PlanApprovalRequest, plan);
        }
        Some("plan_approval_response") if request_id.is_some() => {
            letter.approve = body.get("approved").and_then(Value::as_bool);
            (letter.kind, letter.content) = (MessageKind::PlanApprovalResponse, reason());
        }
        Some("permission_response") if request_id.is_some() => {
            letter.approve = at(body, "subtype").map(|it| it == "success");
            let said = at(body, "error").unwrap_or_default();
            (letter.kind, letter.content) = (MessageKind::PermissionResponse, said);
        }
        Some("idle_notification") => {
            let result = at(body, "result").or_else(|| at(body, "idleReason"));
            (letter.kind, letter.content) = (MessageKind::Idle, result.unwrap_or_default());
        }
        // Anything else is passed on unchanged.
        _ => return,
    }
    letter.request_id = request_id;
}

pub(super) fn config(team: &Team) -> Map<String, Value> {
    object(json!({
        "name": team.name,
        "description": team.description,
        "createdAt": team.created_at.as_micros() / 1_000,
        "leadAgentId": format!("{LEAD}@{}", team.name),
        LEAD_SESSION: team.id,
    }))
}

pub(super) fn member(team: &Team, member: &Member) -> Map<String, Value> {
    let is_lead = member.role == Role::Lead;
    let name = if is_lead { LEAD } else { member.name.as_str() };
    // The client need not know where a member runs that it did not start, but it wants to read something.
    let mut entry = object(json!({
        "agentId": format!("{name}@{}", team.name),
        "name": name,
        "agentType": if is_lead { LEAD } else { AGENT_TYPE },
        // The client has its own kinds of agents; `--teammate` finds troop's.
        "agent": member.agent,
        "model": member.model,
        "joinedAt": member.joined_at.as_micros() / 1_000,
        "tmuxPaneId": "",
        "cwd": "",
        "subscriptions": [],
        "memberId": member.id,
    }));
    entry.retain(|_, value| !value.is_null());
    entry
}

/// A member's name as the client spells it.
fn client_name(state: &State, name: &str) -> String {
    let is_lead = state.lead().is_some_and(|lead| lead.name.as_str() == name);
    if is_lead { LEAD.to_owned() } else { name.to_owned() }
}

/// The client writes timestamps in milliseconds.
fn millis(time: Time) -> Time {
    Time::from_micros(time.as_micros() / 1_000 * 1_000)
}
