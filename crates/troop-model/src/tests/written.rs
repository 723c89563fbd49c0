//! Commands written by hand: as JSON, and in a shell.

use serde_json::json;

use super::commands::{create, task};
use crate::{Command, NewTask, Outgoing, RejectMode, TaskCommand, TaskRef, TaskUpdate, quoted};

#[test]
fn a_task_is_named_in_json_by_number_by_name_or_by_id() {
    for written in [json!(7), json!("7"), json!("task-7")] {
        assert_eq!(serde_json::from_value::<TaskRef>(written).unwrap(), task(7));
    }
    let id: TaskRef = serde_json::from_value(json!("019a8F00-0000")).unwrap();
    assert_eq!(id, TaskRef::Id("019a8f00-0000".to_owned()));
    assert_eq!(serde_json::to_value(task(7)).unwrap(), json!("task-7"));
    for (wrong, said) in [
        (json!(-1), "a task is named by its number, as `7` or `task-7`, or by its id"),
        (json!({}), "a task is named by its number, as `7` or `task-7`, or by its id"),
        (
            json!("the first"),
            "`the first` does not name a task; use a number such as 7 or task-7, or an id",
        ),
    ] {
        assert_eq!(serde_json::from_value::<TaskRef>(wrong).unwrap_err().to_string(), said);
    }
}

#[test]
fn a_command_in_json_may_omit_defaults() {
    let check = |written, meant: Command| {
        assert_eq!(serde_json::from_value::<Command>(written).unwrap(), meant);
        let again = serde_json::to_value(&meant).unwrap();
        assert_eq!(serde_json::from_value::<Command>(again).unwrap(), meant);
    };
    check(json!({"task": {"create": {"subject": "write"}}}), create("write").into());
    check(json!({"task": {"claim": {}}}), TaskCommand::Claim { task: None }.into());
    check(
        json!({"task": {"reject": {"task": 7, "reason": "no"}}}),
        TaskCommand::Reject { task: task(7), reason: "no".to_owned(), mode: RejectMode::Cancel }
            .into(),
    );
    check(
        json!({"message/send": {"to": "ann", "content": "hi", "kind": "chat"}}),
        Outgoing::message("ann", "hi").into(),
    );
    let settings = vec![("delegation.max_per_link".to_owned(), json!(5))];
    check(
        json!({"team/update": {"settings": {"delegation.max_per_link": 5}}}),
        Command::UpdateTeam { description: None, settings },
    );
    check(json!("team/tick"), Command::Tick);
}

#[test]
fn an_update_in_json_distinguishes_null_from_missing() {
    let update = |written| serde_json::from_value::<TaskUpdate>(written).unwrap();
    assert_eq!(update(json!({})), TaskUpdate::default());
    let nobody = TaskUpdate { assignee: Some(None), ..TaskUpdate::default() };
    assert_eq!(update(json!({"assignee": null})), nobody);
    assert_eq!(update(serde_json::to_value(&nobody).unwrap()), nobody);
    assert_eq!(update(serde_json::to_value(TaskUpdate::default()).unwrap()), TaskUpdate::default());
}

#[test]
fn unknown_and_missing_fields_of_a_command_are_named() {
    let error = serde_json::from_value::<NewTask>(json!({"subject": "a", "titel": "b"}));
    assert!(error.unwrap_err().to_string().starts_with("unknown field `titel`, expected one of"));
    let error = serde_json::from_value::<NewTask>(json!({})).unwrap_err();
    assert_eq!(error.to_string(), "missing field `subject`");
}

#[test]
fn words_are_quoted_for_a_shell() {
    for (word, typed) in [
        ("/home/pat/a-b_c.txt", "/home/pat/a-b_c.txt"),
        ("/Users/John Doe/.troop", "'/Users/John Doe/.troop'"),
        ("my proj's ü", r"'my proj'\''s ü'"),
        ("a;b$c", "'a;b$c'"),
        ("", "''"),
    ] {
        assert_eq!(quoted(word), typed);
    }
}
