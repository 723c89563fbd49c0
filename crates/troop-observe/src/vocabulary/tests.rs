//! The meaning of tool uses, in every generation.

use serde_json::{Value, json, value::to_raw_value};

use super::*;

fn meaning(tool: &str, input: &Value) -> Meaning {
    understand(tool, Some(&to_raw_value(input).unwrap()))
}

fn operation(tool: &str, input: &Value) -> Option<Operation> {
    match meaning(tool, input) {
        Meaning::Team(operation) => Some(operation),
        Meaning::Incomplete | Meaning::Unknown | Meaning::Other => None,
    }
}

fn letter(input: &Value) -> SentLetter {
    match operation("SendMessage", input) {
        Some(Operation::Send(letter)) => letter,
        other => panic!("{input} is no letter: {other:?}"),
    }
}

#[test]
fn the_seven_operations_are_known_by_their_names_and_have_categories() {
    let check = |tool, input: Value, category| {
        let found = operation(tool, &input).map(|it| it.category());
        assert_eq!(found, Some(category), "{tool}");
    };
    let spawn = json!({"team_name": "t", "name": "ann"});
    check("TeamCreate", json!({"team_name": "t"}), ObservedCategory::TeamStateChange);
    check("TeamDelete", json!({}), ObservedCategory::TeamStateChange);
    check("Task", spawn.clone(), ObservedCategory::TeamStateChange);
    check("Agent", spawn, ObservedCategory::TeamStateChange);
    check("TaskCreate", json!({"subject": "s"}), ObservedCategory::TeamTaskUpdate);
    check("TaskUpdate", json!({"taskId": "1"}), ObservedCategory::TeamTaskUpdate);
    check("TaskList", json!({}), ObservedCategory::TeamTaskUpdate);
    check("TaskGet", json!({"taskId": 1}), ObservedCategory::TeamTaskUpdate);
    check(
        "SendMessage",
        json!({"type": "broadcast", "content": "x"}),
        ObservedCategory::TeamMessage,
    );
}

#[test]
fn a_task_is_a_spawn_only_with_both_a_team_and_a_name() {
    for input in [
        json!({"description": "look", "prompt": "p"}),
        json!({"team_name": "t"}),
        json!({"name": "ann"}),
        json!({"team_name": "", "name": "ann"}),
        json!({"team_name": "t", "name": ""}),
        json!({"team_name": 1, "name": "ann"}),
    ] {
        assert!(matches!(meaning("Task", &input), Meaning::Other), "{input}");
    }
}

#[test]
fn an_agent_with_a_name_alone_may_be_a_spawn() {
    let Some(Operation::Spawn(spawn)) = operation("Agent", &json!({"name": "ann"})) else {
        panic!("it may be one");
    };
    assert_eq!((spawn.team, spawn.name.as_str()), (None, "ann"));
    assert!(matches!(meaning("Agent", &json!({"prompt": "p"})), Meaning::Other));
}

#[test]
fn a_use_without_a_required_field_is_incomplete() {
    for (tool, input) in [
        ("TeamCreate", json!({})),
        ("TeamCreate", json!({"team_name": ""})),
        ("TeamCreate", json!([1])),
        ("TaskCreate", json!({"description": "no subject"})),
        ("TaskUpdate", json!({"status": "completed"})),
        ("TaskUpdate", json!({"taskId": ""})),
        ("TaskUpdate", json!({"taskId": "x".repeat(300)})),
        ("TaskUpdate", json!({"taskId": 1.5})),
        ("TaskGet", json!({})),
        ("SendMessage", json!({"content": "no type"})),
        ("SendMessage", json!({"type": "never heard of"})),
    ] {
        assert!(matches!(meaning(tool, &input), Meaning::Incomplete), "{tool} {input}");
    }
}

#[test]
fn unknown_team_tools_are_distinguished_from_other_tools() {
    for tool in ["TeamPause", "TaskFork"] {
        assert!(matches!(meaning(tool, &json!({})), Meaning::Unknown), "{tool}");
    }
    for tool in ["Read", "Write", "Bash", "TaskOutput", "TaskStop", "teamcreate", ""] {
        assert!(matches!(meaning(tool, &json!({})), Meaning::Other), "{tool}");
    }
}

#[test]
fn a_field_of_the_wrong_type_counts_as_missing() {
    let input = json!({"taskId": 7, "status": ["x"], "owner": 3, "subject": "s",
        "addBlocks": [1, "2", "#3", null, {}, ""], "metadata": {"deep": [[[[]]]]}});
    let Some(Operation::UpdateTask(update)) = operation("TaskUpdate", &input) else {
        panic!("it has a task");
    };
    assert_eq!((update.status, update.owner), (None, None));
    assert_eq!((update.task.as_str(), update.subject.as_deref()), ("7", Some("s")));
    let blocks: Vec<_> = update.add_blocks.iter().map(ObservedTaskId::as_str).collect();
    assert_eq!(blocks, ["1", "2", "3"]);
}

#[test]
fn messages_of_the_first_generation() {
    let it =
        letter(&json!({"type": "message", "recipient": "ann", "content": "hi", "summary": "s"}));
    assert_eq!((it.kind, it.to.as_deref()), (LetterKind::Message, Some("ann")));
    assert_eq!((it.content.as_str(), it.summary.as_deref()), ("hi", Some("s")));
    let it = letter(&json!({"type": "broadcast", "content": "all"}));
    assert_eq!((it.kind, it.to), (LetterKind::Broadcast, None));
    let it = letter(&json!({"type": "shutdown_response", "request_id": "r", "approve": true}));
    assert_eq!((it.kind, it.approve), (LetterKind::ShutdownResponse, Some(true)));
    let it = letter(&json!({"type": "plan_approval_request", "recipient": "l", "content": "plan"}));
    assert_eq!((it.kind, it.content.as_str()), (LetterKind::PlanApprovalRequest, "plan"));
    let it =
        letter(&json!({"type": "plan_approval_response", "request_id": "r", "recipient": "ann",
        "approve": false, "content": "why"}));
    assert_eq!((it.kind, it.approve), (LetterKind::PlanApprovalResponse, Some(false)));
}

#[test]
fn messages_of_the_second_generation() {
    let it = letter(&json!({"to": "ann", "message": "hi"}));
    assert_eq!((it.kind, it.to.as_deref()), (LetterKind::Message, Some("ann")));
    assert_eq!(it.content, "hi");
    let it = letter(&json!({"to": "*", "message": "all"}));
    assert_eq!((it.kind, it.to), (LetterKind::Broadcast, None));
    let it =
        letter(&json!({"to": "ann", "message": {"type": "shutdown_request", "reason": "done"}}));
    assert_eq!((it.kind, it.content.as_str()), (LetterKind::ShutdownRequest, "done"));
    let it = letter(&json!({"to": "team-lead",
        "message": {"type": "shutdown_response", "request_id": "r", "approve": false, "reason": "busy"}}));
    assert_eq!((it.kind, it.approve), (LetterKind::ShutdownResponse, Some(false)));
    assert_eq!((it.request_id.as_deref(), it.content.as_str()), (Some("r"), "busy"));
    let it = letter(&json!({"to": "ann",
        "message": {"type": "plan_approval_response", "request_id": "r", "approve": true, "feedback": "go"}}));
    assert_eq!((it.kind, it.content.as_str()), (LetterKind::PlanApprovalResponse, "go"));
}
