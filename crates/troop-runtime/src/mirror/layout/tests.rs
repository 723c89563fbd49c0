//! Reading and writing the files of each layout.

use serde_json::{Value, json};
use troop_model::MessageKind;

use super::super::difference::{DiffReading, difference};
use super::{FileStatus, Layout, Unreadable, read_array, read_letter, read_object, read_task};

#[test]
fn every_word_for_a_status_is_understood() {
    for (word, status) in [
        ("pending", FileStatus::Pending),
        ("blocked", FileStatus::Pending),
        ("claimed", FileStatus::InProgress),
        ("in_progress", FileStatus::InProgress),
        ("done", FileStatus::Completed),
        ("completed", FileStatus::Completed),
        ("failed", FileStatus::Failed),
        ("cancelled", FileStatus::Cancelled),
        ("deleted", FileStatus::Deleted),
    ] {
        for layout in [Layout::Seeds, Layout::Claude] {
            let file = json!({"status": word});
            let read = read_task(layout, file.as_object().unwrap(), None).unwrap();
            assert_eq!(read.status, status);
        }
    }
    let odd = json!({"status": "mine"});
    let refused = read_task(Layout::Seeds, odd.as_object().unwrap(), None).unwrap_err();
    assert_eq!(refused.to_string(), "there is no status `mine`");
}

#[test]
fn the_kind_of_a_message_is_understood() {
    let seeds = |kind: &str| json!({"from": "pat", "type": kind, "content": "hi"});
    let claude = |body: Value| json!({"from": "pat", "text": body.to_string()});
    let id = "019a0000-0000-7000-8000-000000000001";
    let cases = [
        (Layout::Seeds, seeds("direct"), MessageKind::Message, "hi"),
        (Layout::Seeds, seeds("broadcast"), MessageKind::Message, "hi"),
        (Layout::Seeds, seeds("shutdown_request"), MessageKind::ShutdownRequest, "hi"),
        (Layout::Seeds, seeds("shutdown_response"), MessageKind::ShutdownResponse, "hi"),
        (Layout::Seeds, seeds("plan_approval_response"), MessageKind::PlanApprovalResponse, "hi"),
        (Layout::Seeds, seeds("poem"), MessageKind::Message, "hi"),
        (
            Layout::Claude,
            claude(json!({"type": "shutdown_request", "reason": "late"})),
            MessageKind::ShutdownRequest,
            "late",
        ),
        (
            Layout::Claude,
            claude(json!({"type": "shutdown_rejected", "requestId": id, "reason": "busy"})),
            MessageKind::ShutdownResponse,
            "busy",
        ),
        (
            Layout::Claude,
            claude(json!({"type": "plan_approval_response", "requestId": id, "approved": true})),
            MessageKind::PlanApprovalResponse,
            "",
        ),
        (
            Layout::Claude,
            claude(json!({"type": "idle_notification", "result": "nothing left"})),
            MessageKind::Idle,
            "nothing left",
        ),
        (
            Layout::Claude,
            claude(json!({"type": "permission_request"})),
            MessageKind::Message,
            r#"{"type":"permission_request"}"#,
        ),
        (
            Layout::Claude,
            json!({"from": "pat", "text": "{no json"}),
            MessageKind::Message,
            "{no json",
        ),
    ];
    for (layout, file, kind, content) in cases {
        let letter = read_letter(layout, file.as_object().unwrap()).unwrap();
        assert_eq!((letter.kind, letter.content.as_str()), (kind, content), "{file}");
    }
}

#[test]
fn half_a_file_is_distinguished_from_a_wrong_one() {
    assert!(matches!(read_object(b"{\"id\":"), Err(Unreadable::NotJson(_))));
    assert!(matches!(read_object(b""), Err(Unreadable::NotJson(_))));
    assert!(matches!(read_object(b"[]"), Err(Unreadable::Shape(_))));
    assert!(matches!(read_array(b"{}"), Err(Unreadable::Shape(_))));
    assert_eq!(read_array(b" \n"), Ok(Vec::new()));
    let deep = "[".repeat(10_000);
    assert!(matches!(read_array(deep.as_bytes()), Err(Unreadable::NotJson(_))));
}

/// Any bytes are understood or refused, and a file that did not change wants nothing.
fn read_any(bytes: &[u8]) {
    for layout in [Layout::Seeds, Layout::Claude] {
        for entry in read_array(bytes).iter().flatten().filter_map(Value::as_object) {
            drop(read_letter(layout, entry));
        }
        let Ok(file) = read_object(bytes) else { continue };
        drop(read_letter(layout, &file));
        super::entries(&file);
        let task = json!({"id": "1", "subject": "x", "status": "pending", "metadata": {"a": 1}});
        let before = task.as_object().unwrap();
        let (Ok(was), Ok(is)) =
            (read_task(layout, before, None), read_task(layout, &file, Some(before)))
        else {
            continue;
        };
        difference(&was, &is, DiffReading::Whole);
        difference(&is, &was, DiffReading::Forward);
        let same = read_task(layout, &file, Some(&file)).unwrap();
        assert_eq!(difference(&same, &same, DiffReading::Whole), [], "{layout}");
    }
}

#[test]
fn fuzz_files() {
    let examples = [
        json!({"id": "task-1", "subject": "x", "description": "", "status": "claimed", "claimedBy": "", "claimed_by": "pat",
            "dependsOn": ["task-2"], "createdBy": "ann", "result": null, "metadata": {"a": [1]}}),
        json!({"id": 1, "subject": "x", "status": "completed", "owner": "pat", "blocks": [], "blockedBy": ["2", 3],
            "activeForm": "doing", "metadata": {"troop": {"id": "x"}}}),
        json!({"id": "msg-1", "from": "pat", "to": "ann", "type": "shutdown_response", "content": "no", "request_id": "r", "approve": false}),
        json!([{"from": "pat", "text": "{\"type\":\"shutdown_approved\",\"requestId\":\"shutdown-1@pat\"}", "read": false}]),
        json!({"name": "crew", "members": [{"name": "pat", "agentId": "pat@crew"}, {"name": ""}]}),
    ];
    let examples = examples.map(|it| it.to_string().into_bytes());
    let words =
        ["\"status\":\"deleted\"", "\"owner\":\"\"", "\"metadata\":{}", "plan_approval_request"];
    troop_testkit::fuzz(&words, &examples, 1_500, read_any);
}

#[test]
fn a_byte_order_mark_is_ignored() {
    assert_eq!(read_object(b"\xef\xbb\xbf{}").unwrap().len(), 0);
    assert_eq!(read_array(b"\xef\xbb\xbf[]").unwrap().len(), 0);
}
