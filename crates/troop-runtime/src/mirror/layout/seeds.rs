//! One file per task and per message. Both spellings of the fields are written, and either is understood.

use serde_json::{Map, Value, json};
use troop_model::{EvidenceView, Member, Message, MessageKind, State, Task, Team};

use super::{
    FileStatus, InboxLetter, TaskFile, TaskIds, Unreadable, status_of,
    value::{at, newest, object, read_data, read_text, read_texts, read_words, result},
};

const OWNER: [&str; 3] = ["claimedBy", "claimed_by", "owner"];
const ASSIGNEE: [&str; 2] = ["assignedTo", "assignee"];
const WAITS_FOR: [&str; 3] = ["dependsOn", "blockedBy", "blocked_by"];
const CREATED_BY: [&str; 2] = ["createdBy", "created_by"];
const CREATED_AT: [&str; 2] = ["createdAt", "created_at"];
const RESULT: [&str; 3] = ["result", "error", "reason"];

pub(super) fn task(state: &State, task: &Task, ids: &dyn TaskIds) -> Map<String, Value> {
    let owner = task.owner.as_ref().map_or("", |it| it.as_str());
    let assignee = task.assignee.as_ref().map_or("", |it| it.as_str());
    let waits_for: Vec<_> = task.blocked_by.iter().map(|it| ids.id_of(it.task)).collect();
    let completed_at = task.provenance.completed_at.map_or_else(String::new, |it| it.to_string());
    let metadata = task.metadata.0.clone();
    let mut file = object(json!({
        "id": ids.id_of(task.number),
        "subject": task.subject,
        "description": task.description,
        "status": status_of(state, task).as_str(),
        "claimedBy": owner,
        "claimed_by": owner,
        "assignedTo": assignee,
        "dependsOn": waits_for,
        "createdBy": task.provenance.created_by.name,
        "createdAt": task.provenance.created_at,
        "created_at": task.provenance.created_at,
        "updatedAt": task.provenance.updated_at,
        "completed_at": completed_at,
        "result": task.result,
        "metadata": if metadata.is_empty() { Value::Null } else { Value::Object(metadata) },
        "number": task.number,
        "uuid": task.id,
    }));
    if !task.proof.evidence.is_empty() {
        let evidence = task.proof.evidence.iter().map(EvidenceView::new).collect::<Vec<_>>();
        file.insert("evidence".to_owned(), json!(evidence));
    }
    file
}

pub(super) fn read_task(
    file: &Map<String, Value>,
    before: Option<&Map<String, Value>>,
) -> Result<TaskFile, Unreadable> {
    let said = |keys: &[&'static str]| newest(file, before, keys);
    let name = |(key, value)| read_text(key, value);
    Ok(TaskFile {
        subject: read_words(file, "subject")?.filter(|it| !it.is_empty()),
        description: read_words(file, "description")?,
        status: FileStatus::read(file)?,
        owner: said(&OWNER).map(name).transpose()?,
        assignee: said(&ASSIGNEE).map(name).transpose()?,
        waits_for: said(&WAITS_FOR).map(|(key, value)| read_texts(key, value)).transpose()?,
        blocks: None,
        created_by: said(&CREATED_BY).map(name).transpose()?.flatten(),
        result: said(&RESULT).and_then(|(_, value)| result(value)),
        metadata: read_data(file, "metadata")?,
    })
}

pub(super) fn is_of(file: &Map<String, Value>, task: &Task) -> bool {
    let created_at = task.provenance.created_at.to_string();
    let is_created_then = CREATED_AT.iter().any(|key| at(file, key).as_ref() == Some(&created_at));
    at(file, "uuid") == Some(task.id.to_string()) || is_created_then
}

pub(super) fn letter(message: &Message, request_id: Option<&str>) -> Map<String, Value> {
    let is_plain = message.kind == MessageKind::Message;
    let kind = if is_plain { "direct" } else { message.kind.as_str() };
    let mut letter = object(json!({
        "id": format!("msg-{}", message.id),
        "from": message.from,
        "to": message.to,
        "type": kind,
        "content": message.content,
        "timestamp": message.sent_at,
        "summary": message.summary,
        "request_id": request_id,
        "approve": message.approve,
        "task": message.task.map(|it| it.to_string()),
        "stored": true,
    }));
    letter.retain(|_, value| !value.is_null());
    letter
}

pub(super) fn read_letter(file: &Map<String, Value>) -> Result<InboxLetter, Unreadable> {
    let missing = |key: &str| Unreadable::Shape(format!("the message has no `{key}`"));
    let kind = at(file, "type").unwrap_or_default();
    let kind = match kind.as_str() {
        // It is in one inbox, so it is for one member; a broadcast is put into every inbox.
        "broadcast" => MessageKind::Message,
        "shutdown" => MessageKind::ShutdownRequest,
        other => MessageKind::parse(other).unwrap_or_default(),
    };
    let text = at(file, "content").or_else(|| at(file, "text")).unwrap_or_default();
    let request_id = at(file, "request_id").or_else(|| at(file, "requestId"));
    Ok(InboxLetter {
        from: at(file, "from").ok_or_else(|| missing("from"))?,
        kind,
        content: text.clone(),
        summary: at(file, "summary"),
        request_id,
        approve: ["approve", "approved"].iter().find_map(|key| file.get(*key)?.as_bool()),
        text,
    })
}

pub(super) fn config(team: &Team) -> Map<String, Value> {
    object(json!({
        "name": team.name,
        "description": team.description,
        "createdAt": team.created_at,
        "created": team.created_at,
    }))
}

pub(super) fn member(_team: &Team, member: &Member) -> Map<String, Value> {
    object(json!({
        "name": member.name,
        "agentId": member.id,
        "agentType": member.agent,
        "memberId": member.id,
    }))
}
