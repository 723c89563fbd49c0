//! Tool results as tools really write them.

use serde_json::{Value, json, value::to_raw_value};

use super::*;

fn answer(content: &Value, structured: Option<&Value>) -> ToolAnswer {
    let content = to_raw_value(content).unwrap();
    let structured = structured.map(|it| to_raw_value(it).unwrap());
    let (content, structured) = (Some(&*content), structured.as_deref());
    ToolAnswer::new(&ObservedResult { id: "t".to_owned(), content, structured, is_error: false })
}

fn created(content: &Value) -> Option<String> {
    answer(content, None).created().map(|it| it.to_string())
}

#[test]
fn the_id_of_a_task_is_found_in_text_json_and_numbers() {
    for content in [
        json!("Task #12 created successfully: Task A"),
        json!([{"type": "text", "text": "Task #12 created successfully: Task A"}]),
        json!("{\"id\": \"12\"}"),
        json!("{\"id\": 12}"),
        json!("{\"taskId\": \"12\"}"),
        json!("{\"task\": {\"id\": \"12\", \"subject\": \"x\"}}"),
        json!("12"),
        json!(12),
        json!({"id": 12}),
    ] {
        assert_eq!(created(&content).as_deref(), Some("12"), "{content}");
    }
    let structured = json!({"task": {"id": "12"}});
    let found = answer(&json!("done"), Some(&structured)).created();
    assert_eq!(found.unwrap().as_str(), "12");
}

#[test]
fn a_result_without_an_id_has_none() {
    for content in [
        json!("created"),
        json!(""),
        json!(null),
        json!([]),
        json!("{\"id\": \"\"}"),
        json!("{\"id\": 1.5}"),
        json!("{\"id\": null}"),
        json!("{\"id\":"),
        json!("Task # created successfully: x"),
        json!(format!("{{\"id\": \"{}\"}}", "9".repeat(10_000))),
    ] {
        assert_eq!(created(&content), None, "{content}");
    }
}

#[test]
fn a_spawn_is_found_in_lines_and_in_fields() {
    let said = "Spawned successfully.\nagent_id: ann@blue\nname: ann\nteam_name: blue\nThe agent …";
    let it = answer(&json!([{"type": "text", "text": said}]), None);
    assert!(it.has_spawned());
    assert_eq!(
        (it.fields.name.as_deref(), it.fields.agent_id.as_deref(), it.team()),
        (Some("ann"), Some("ann@blue"), Some("blue"))
    );
    let fields = json!({"status": "teammate_spawned", "agent_id": "ann@blue", "color": "red",
        "model": "m", "agent_type": "tester"});
    let it = answer(&json!(""), Some(&fields));
    assert!(it.has_spawned());
    assert_eq!(
        (it.team(), it.fields.color.as_deref(), it.fields.model.as_deref()),
        (Some("blue"), Some("red"), Some("m"))
    );
    assert_eq!(it.fields.agent_type.as_deref(), Some("tester"));
    assert!(!answer(&json!("I looked into it. name: ann"), None).has_spawned());
}

#[test]
fn a_failure_is_recognised_by_its_text_too() {
    for content in [
        json!("Task not found"),
        json!("<tool_use_error>No such tool</tool_use_error>"),
        json!("{\"success\": false, \"message\": \"members are active\"}"),
    ] {
        assert!(answer(&content, None).is_error, "{content}");
    }
    assert!(!answer(&json!("{\"success\": true}"), None).is_error);
    assert!(answer(&json!("x"), Some(&json!({"success": false}))).is_error);
}

#[test]
fn updated_fields_are_listed_in_text_and_in_fields() {
    let it = answer(&json!("Updated task #2 owner, status"), None);
    assert!(it.has_updated("owner") && it.has_updated("status") && !it.has_updated("subject"));
    let it = answer(&json!(""), Some(&json!({"updatedFields": ["owner"]})));
    assert!(it.has_updated("owner") && !it.has_updated("status"));
}

#[test]
fn lists_are_read_line_by_line() {
    let said = "#1 [completed] Task A (ann)\n#2 [pending] Task B (really) (bob) [blocked by #1, #3]\n\
                #3 [in_progress] [x] C\nnothing\n#4 [odd] D\n#";
    let it = answer(&json!(said), None);
    let listed: Vec<_> = it.listed().collect();
    assert_eq!(listed.len(), 3);
    assert_eq!((listed[0].subject, listed[0].owner), ("Task A", Some("ann")));
    assert_eq!(listed[0].status, TaskStatus::Completed);
    assert_eq!((listed[1].subject, listed[1].owner), ("Task B (really)", Some("bob")));
    assert_eq!(
        listed[1].blocked_by,
        [ObservedTaskId::new("1").unwrap(), ObservedTaskId::new("3").unwrap()]
    );
    assert_eq!((listed[2].subject, listed[2].owner), ("[x] C", None));
}

#[test]
fn parentheses_at_the_end_of_a_subject_are_not_an_owner() {
    for (subject, owner) in [
        ("Fix parser (part 2)", None),
        ("Fix parser (part 2)", Some("ann")),
        ("Call (it())", None),
        ("Nothing ()", None),
    ] {
        let shown = owner.map(|it| format!(" ({it})")).unwrap_or_default();
        let it = answer(&json!(format!("#1 [pending] {subject}{shown}")), None);
        let listed = it.listed().next().unwrap();
        assert_eq!((listed.subject, listed.owner), (subject, owner));
    }
}

#[test]
fn a_lone_surrogate_does_not_lose_the_text() {
    let content: &RawValue =
        serde_json::from_str(r#""Task #1 created successfully: \ud83d""#).unwrap();
    let result = ObservedResult {
        id: "t".to_owned(),
        content: Some(content),
        structured: None,
        is_error: false,
    };
    assert_eq!(ToolAnswer::new(&result).created(), ObservedTaskId::new("1"));
}
