//! The JSON that programs rely on.

use serde_json::Value;

use crate::troop::Troop;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_task_has_its_documented_fields_in_order() {
    let troop = Troop::with_team();
    let task = troop.json("task create parse --description 'line' --type chore");
    assert_eq!(
        keys(&task),
        [
            "id",
            "number",
            "subject",
            "description",
            "status",
            "priority",
            "type",
            "assignee",
            "owner",
            "blocked_by",
            "blocks",
            "progress",
            "result",
            "attempts",
            "lease_until",
            "not_before",
            "question",
            "created_by",
            "created_at",
            "updated_at",
            "completed_at",
            "user_id",
            "channel",
            "chat_id",
            "peer_kind",
            "local_key",
            "checks",
            "evidence",
            "merged",
            "usage",
            "metadata",
        ]
    );
    assert_eq!(
        (&task["number"], &task["status"], &task["created_by"]),
        (&1.into(), &"pending".into(), &"pat".into())
    );
    assert!(task["created_at"].as_str().unwrap().ends_with('Z'), "times are RFC 3339 in UTC");
    troop.ok("task create test -b 1");
    assert_eq!(troop.json("task get 1")["blocks"], serde_json::json!([2]));
    assert_eq!(troop.json("task get 2")["blocked_by"], serde_json::json!([1]));
    troop.ok("--as ann task claim 1");
    troop.ok("--as ann task progress 1 40 lexing");
    assert_eq!(
        troop.json("task get 1")["progress"],
        serde_json::json!({"percent": 40, "step": "lexing"})
    );
    let detail = &troop.json("task get 1")["detail"];
    assert_eq!(
        keys(detail),
        ["comments", "attachments", "evidence", "failed_checks", "checks_waived", "events"]
    );
}

#[test]
fn a_list_has_tasks_and_pages() {
    let troop = Troop::with_team();
    let documented = ["tasks", "page", "pages", "version"];
    assert_eq!(keys(&troop.json("task list")), documented);
    assert_eq!(keys(&troop.json("task search parse")), documented);
}

#[test]
fn a_message_has_its_documented_fields() {
    let troop = Troop::with_team();
    let message = troop.json("--as ann message send bob hi --summary greeting");
    assert_eq!(
        keys(&message),
        [
            "id",
            "from",
            "to",
            "kind",
            "content",
            "summary",
            "sent_at",
            "delivered_at",
            "read_at",
            "request_id",
            "approve",
            "task",
            "origin",
        ]
    );
}

#[test]
fn an_event_is_one_line_with_version_time_actor_and_kind() {
    let troop = Troop::with_team();
    troop.ok("task create parse");
    troop.ok("--as ann task claim");
    let events = troop.ok("events --json");
    let last: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!(
        keys(&last),
        [
            "version",
            "schema",
            "at",
            "actor",
            "operation",
            "kind",
            "task",
            "owner",
            "attempt",
            "lease_until"
        ]
    );
    assert_eq!(last["actor"], serde_json::json!({"kind": "agent", "name": "ann"}));
    assert_eq!(
        (&last["kind"], &last["task"], &last["version"]),
        (&"task.claimed".into(), &1.into(), &8.into())
    );
    assert_eq!(troop.ok("events --json --since 7"), format!("{last}\n"));
    assert_eq!(troop.ok("events --json --task 1").lines().count(), 2);
}

#[test]
fn a_refusal_is_json_on_standard_error() {
    let troop = Troop::with_team();
    for (line, code, kind) in [
        ("task get 9 --json", 1, "not_found"),
        ("task create '' --json", 2, "invalid"),
        ("--as ann task cancel 1 --reason x --json", 1, "forbidden"),
        ("--as ann task claim --json", 1, "no_work"),
        ("task creat --json", 2, "usage"),
        ("--store bogus:x team list --json", 2, "usage"),
    ] {
        let (got, err) = troop.refused(line);
        let error: Value =
            serde_json::from_str(&err).unwrap_or_else(|_| panic!("`troop {line}` said: {err}"));
        assert_eq!(
            (got, &error["error"]["kind"]),
            (code, &kind.into()),
            "`troop {line}` said: {err}"
        );
        assert_eq!(keys(&error["error"]), ["kind", "message", "hint"]);
    }
}

#[test]
fn every_command_answers_with_json() {
    let troop = Troop::with_team();
    troop.ok("task create parse");
    troop.ok("task create test -b 1");
    for line in [
        "team list",
        "team show",
        "team status",
        "team set lease_seconds=60",
        "member list",
        "member mode ann plan",
        "task list",
        "task get 1",
        "task next",
        "task search parse",
        "task graph",
        "task comment 1 hi",
        "--as ann task claim",
        "--as ann task progress 1 5",
        "--as ann task release 1",
        "message send ann hi",
        "message broadcast hi",
        "message read",
        "message read --all",
        "doctor",
        "team delete",
    ] {
        troop.json(line);
    }
}
