//! Every call, both ways.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use troop_model::{Actor, Asker, Command, OperationId, TaskCommand, TaskFilter, TaskNumber};
use uuid::Uuid;

use super::{Call, Change, FileContent, Query};
use crate::{envelope::Notification, method::MethodError, schema::schema};

const ID: &str = "019a8f00-0000-7000-8000-000000000000";

fn read(method: &str, params: &Value) -> Result<Call, MethodError> {
    Call::try_from(&Notification::new(method, params).unwrap())
}

/// A sample of every call.
#[expect(clippy::too_many_lines, reason = "a flat table")]
fn samples() -> Vec<(&'static str, Value)> {
    vec![
        ("team/update", json!({"settings": {"lease_seconds": 5}})),
        ("team/complete", json!({})),
        ("team/delete", json!({})),
        ("team/stop", json!({"reason": "enough"})),
        ("team/tick", json!({})),
        ("lead/take", json!({"session": ID, "holder": "ann@desk"})),
        ("lead/renew", json!({})),
        ("lead/release", json!({})),
        ("member/add", json!({"name": "ann", "agent": "claude"})),
        ("member/remove", json!({"member": "ann"})),
        ("member/spawn", json!({"member": {"name": "ann", "agent": "claude"}, "prompt": "hi"})),
        ("member/interrupt", json!({"member": "ann"})),
        ("member/silent", json!({"member": "ann", "task": 7, "attempt": 1})),
        ("member/idle", json!({"member": "ann", "last_task": 7})),
        ("member/set_state", json!({"member": "ann", "state": "idle"})),
        ("member/set_mode", json!({"member": "ann", "permissions": "accept-edits"})),
        ("usage/report", json!({"member": "ann", "task": 7, "usage": {"input": 5}})),
        ("link/set", json!({"from": "lead", "to": "ann", "enabled": true, "max_concurrent": 2})),
        ("link/purge", json!({"from": "lead", "to": "ann"})),
        ("message/send", json!({"to": "ann", "content": "hi"})),
        ("message/deliver", json!({"messages": [ID]})),
        ("message/read", json!({})),
        ("delegation/start", json!({"to": "ann", "task": 7})),
        ("delegation/finish", json!({"delegation": ID, "outcome": {"completed": "ok"}})),
        ("task/create", json!({"subject": "write", "blocked_by": [1, "task-2"], "type": "doc"})),
        ("task/claim", json!({})),
        ("task/assign", json!({"task": "7", "to": "ann"})),
        ("task/renew", json!({"task": 7, "attempt": 1})),
        ("task/release", json!({"task": 7, "reason": "no time"})),
        ("task/complete", json!({"task": 7, "result": "ok"})),
        ("task/fail", json!({"task": 7, "reason": "no"})),
        ("task/review", json!({"task": 7})),
        ("task/approve", json!({"task": 7})),
        ("task/reject", json!({"task": 7, "reason": "no", "mode": "revise"})),
        ("task/cancel", json!({"task": 7, "reason": "no"})),
        ("task/retry", json!({"task": 7})),
        ("task/comment", json!({"task": 7, "text": "hm"})),
        ("task/progress", json!({"task": 7, "percent": 50})),
        ("task/attach", json!({"task": 7, "path": "a.md"})),
        ("task/prove", json!({"task": 7, "waived": "no time"})),
        ("task/ask_user", json!({"task": 7, "question": "why?"})),
        ("task/clear_ask_user", json!({"task": 7})),
        ("task/update", json!({"task": 7, "change": {"assignee": null}})),
        ("task/delete", json!({"task": "019a8f00"})),
        (
            "refusal/record",
            json!({"task": 7, "who": {"kind": "agent", "name": "ann"}, "by": "hook", "reason": "no"}),
        ),
        ("workspace/record", json!({"path": "a.md", "size": 3, "task": 7})),
        ("workspace/forget", json!({"folder": {"scope": "shared"}, "path": "a.md"})),
        ("workspace/list", json!({"chat": "c1"})),
        ("workspace/read", json!({"path": "a.md"})),
        ("workspace/write", json!({"path": "a.md", "content": "hi", "task": 7, "operation": ID})),
        ("workspace/delete", json!({"path": "a.md"})),
        ("session/open", json!({"actor": {"kind": "human", "name": "ann"}})),
        ("task/get", json!({"task": 7})),
        ("task/list", json!({"status": "all", "page": 2})),
        ("task/search", json!({"text": "write docs"})),
        ("task/next", json!({})),
        ("member/list", json!({})),
        ("message/list", json!({})),
        ("team/show", json!({})),
        ("delegation/list", json!({})),
        ("team/context", json!({})),
        ("team/list", json!({"all": true})),
        ("need/list", json!({})),
        ("transcript/read", json!({"member": "ann", "from": "beginning", "limit": 5})),
        ("events/subscribe", json!({"since": 7})),
        ("transcript/follow", json!({"member": "ann", "after": "1-2"})),
        ("subscription/cancel", json!({"subscription": 1})),
    ]
}

#[test]
fn every_call_is_listed_under_one_name() {
    let schema = schema();
    let mut listed = BTreeSet::new();
    for group in ["queries", "files", "subscriptions", "changes"] {
        for name in schema[group].as_object().unwrap().keys() {
            assert!(listed.insert(name.as_str()), "`{name}` is listed twice");
        }
    }
    let samples = samples();
    let written: BTreeSet<_> = samples.iter().map(|(name, _)| *name).collect();
    assert_eq!(written, listed, "every call has a sample");
    assert_eq!(written.len(), samples.len());
}

#[test]
fn every_call_goes_both_ways() {
    for (method, params) in samples() {
        let call = read(method, &params).unwrap();
        let written = Notification::from(&call);
        assert_eq!(written.method, method);
        assert_eq!(Call::try_from(&written), Ok(call), "{}", written.params);
    }
}

#[test]
fn any_change_can_name_its_operation() {
    let operation = Some(OperationId(ID.parse().unwrap()));
    for (method, mut params) in samples() {
        let Ok(Call::Change(change)) = read(method, &params) else { continue };
        assert_eq!(change.operation, None);
        let again = Change { operation, ..*change };
        let written = Notification::from(&again);
        assert_eq!(Call::try_from(&written), Ok(Call::Change(Box::new(again.clone()))));
        params["operation"] = json!(ID);
        assert_eq!(read(method, &params), Ok(Call::Change(Box::new(again))));
    }
    let error = read("task/claim", &json!({"operation": "now"})).unwrap_err().to_string();
    assert!(error.starts_with("`task/claim`, `operation`: UUID parsing failed"), "{error}");
}

#[test]
fn a_call_means_the_command_of_its_name() {
    let seven = TaskNumber(7).into();
    let complete =
        TaskCommand::Complete { task: seven, result: "ok".into(), summary: None, attempt: None };
    let change = Change { command: Command::Task(complete), operation: None };
    for task in [json!(7), json!("7"), json!("task-7")] {
        let read = read("task/complete", &json!({"task": task, "result": "ok"}));
        assert_eq!(read, Ok(Call::Change(Box::new(change.clone()))));
    }
    let list = read("task/list", &json!({})).unwrap();
    assert_eq!(list, Call::Query(Query::Tasks { status: TaskFilter::Active, page: 1 }));
    let session = Asker::from(Actor::human("ann"));
    let open = read("session/open", &json!({"actor": {"kind": "human", "name": "ann"}}));
    assert_eq!(open, Ok(Call::Open(session)));
}

#[test]
fn uncallable_methods_are_unknown() {
    for method in
        ["team/create", "task", "task/", "task/dance", "create", "tasks", "", "team.ready"]
    {
        let params = json!({"team": Uuid::nil(), "create": {"subject": "x"}});
        let error = MethodError::Unknown { method: method.to_owned() };
        assert_eq!(read(method, &params), Err(error));
    }
}

#[test]
fn bad_parameters_name_the_field_and_what_is_valid() {
    for (method, params, said) in [
        ("task/create", json!({}), "`task/create`: missing field `subject`"),
        (
            "task/create",
            json!({"subject": "x", "priority": "high"}),
            "`task/create`, `priority`: invalid type: string \"high\", expected i32",
        ),
        (
            "task/create",
            json!({"subject": "x", "blocked_by": [1, "first"]}),
            "`task/create`, `blocked_by[1]`: `first` does not name a task; use a number such as 7 or task-7, or an id",
        ),
        ("task/claim", json!({"id": 7}), "`task/claim`, `id`: unknown field `id`, expected `task`"),
        (
            "member/set_mode",
            json!({"member": "ann", "permissions": "root"}),
            "`member/set_mode`, `permissions`: unknown variant `root`, expected one of `plan`, `default`, `accept-edits`, `bypass`",
        ),
        (
            "task/list",
            json!({"status": "open"}),
            "`task/list`, `status`: `open` is none of: active, all, pending, in_progress, in_review, completed, failed, cancelled, blocked, stale",
        ),
        (
            "team/delete",
            json!({"name": "x"}),
            "`team/delete`, `name`: unknown field `name`, there are no fields",
        ),
        ("task/claim", json!([7]), "`task/claim`: invalid type: sequence, expected a map"),
    ] {
        assert_eq!(read(method, &params).unwrap_err().to_string(), said);
    }
}

#[test]
fn text_files_are_sent_as_text_and_others_as_base64() {
    for bytes in [b"plain\n".to_vec(), Vec::new(), "grün".into(), vec![0xff, 0, 1], vec![0; 9]] {
        let is_text = String::from_utf8(bytes.clone()).is_ok();
        let content = FileContent::new("a".into(), bytes.clone());
        assert_eq!((content.content.is_some(), content.base64.is_none()), (is_text, is_text));
        let line = serde_json::to_string(&content).unwrap();
        let again: FileContent = serde_json::from_str(&line).unwrap();
        assert_eq!((again.size, again.into_bytes()), (bytes.len() as u64, Ok(bytes)));
    }
}

#[test]
fn the_largest_file_fits_into_a_line_whatever_its_bytes() {
    for byte in [b'a', b'\n', 0, 0xff] {
        let content = FileContent::new("a".into(), vec![byte; 10 * 1024 * 1024]);
        let line = serde_json::to_string(&content).unwrap();
        assert!(line.len() + 1_000 < crate::frame::MAX_LINE, "{byte}: {}", line.len());
    }
}

#[test]
fn invalid_file_content_is_refused() {
    use super::{ContentError, content_bytes};
    let some = || Some("YQ==".to_owned());
    assert_eq!(content_bytes(None, some()), Ok(b"a".to_vec()));
    assert_eq!(content_bytes(None, None), Err(ContentError::NotOne));
    assert_eq!(content_bytes(some(), some()), Err(ContentError::NotOne));
    assert_eq!(content_bytes(None, Some("!".into())), Err(ContentError::NotBase64));
}
