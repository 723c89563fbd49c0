//! Malformed lines: they change nothing, and the next line is read.

use serde_json::{Value, json};

use crate::stream::{Observation, result, used};

/// Checks that each of these is skipped and changes nothing.
fn nothing_comes_of(lines: &[String]) {
    let mut seen = Observation::team();
    seen.add_task(1);
    let (before, story) = (seen.observer.team().cloned(), seen.story());
    for line in lines {
        seen.line(line);
        assert_eq!(seen.observer.team().cloned(), before, "{line:.200}");
        assert_eq!(seen.story(), story, "{line:.200}");
    }
    seen.add_task(2);
    assert_eq!(seen.team_now().tasks().len(), 2, "the next one is seen");
}

#[test]
fn malformed_json_is_skipped() {
    let lines = [
        "TaskCreate",
        "\"name\":\"TaskCreate\"",
        "[\"name\":\"TaskCreate\"]",
        "{\"name\":\"TaskCreate\"",
        "null \"name\":\"Task",
        "{\"name\":\"Task\":}",
    ];
    nothing_comes_of(&lines.map(str::to_owned));
    let seen = Observation::of(lines);
    assert_eq!(seen.observer.counts().unreadable, 6);
    // A line that cannot matter is not parsed, but a cut one is counted.
    let seen = Observation::of(["garbage", "{\"type\":", "{\"type\":\"x\"}", "", " {} "]);
    assert_eq!(seen.observer.counts().unreadable, 2);
}

#[test]
fn malformed_messages_are_skipped() {
    let use_of =
        |block: Value| json!({"type": "assistant", "message": {"content": [block]}}).to_string();
    let answer =
        |block: Value| json!({"type": "user", "message": {"content": [block]}}).to_string();
    nothing_comes_of(&[
        json!({"type": "assistant", "message": "TaskCreate\"Task"}).to_string(),
        json!({"type": "assistant", "message": ["\"TaskCreate\""]}).to_string(),
        json!({"type": "assistant", "message": {"content": {"name": "TaskCreate"}}}).to_string(),
        json!({"type": ["assistant"], "message": {"content": [{"name": "TaskCreate"}]}})
            .to_string(),
        use_of(json!({"type": "tool_use", "name": "TeamDelete", "input": {}})),
        use_of(json!({"type": "tool_use", "id": "", "name": "TeamDelete", "input": {}})),
        use_of(json!({"type": "tool_use", "id": {}, "name": "TeamDelete", "input": {}})),
        use_of(
            json!({"type": "tool_use", "id": "x".repeat(1000), "name": "TeamDelete", "input": {}}),
        ),
        use_of(json!({"type": "tool_use", "id": "i", "name": ["TeamDelete"], "input": {}})),
        use_of(json!("TeamDelete")),
        answer(json!({"type": "tool_result", "tool_use_id": null})),
        answer(json!({"type": "tool_result", "tool_use_id": "never"})),
        answer(json!({"type": "tool_result"})),
        answer(json!([{"tool_use_id": "x"}])),
    ]);
}

#[test]
fn a_malformed_block_does_not_hide_the_others() {
    let mut seen = Observation::team();
    let good =
        json!({"type": "tool_use", "id": "c", "name": "TaskCreate", "input": {"subject": "s"}});
    let content = json!([7, null, "Task", [], {"type": "tool_use", "name": 7}, good]);
    seen.line(&json!({"type": "assistant", "message": {"content": content}}).to_string());
    let good = json!({"type": "tool_result", "tool_use_id": "c", "content": "Task #1 created successfully: s"});
    let content = json!([{}, {"type": "tool_result", "tool_use_id": 3}, good]);
    seen.line(&json!({"type": "user", "message": {"content": content}}).to_string());
    assert_eq!(seen.story(), ["team:task:created 1"]);
}

#[test]
fn deeply_nested_json_is_handled() {
    let depth = 200_000;
    let deep = "[".repeat(depth) + &"]".repeat(depth);
    let mut seen = Observation::team();
    seen.line(&format!(r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"c","name":"TaskCreate","input":{{"subject":"s","metadata":{deep}}}}}]}}}}"#));
    seen.line(&result("c", "Task #1 created successfully: s"));
    assert_eq!(seen.story(), ["team:task:created 1"]);
    seen.line(&format!(
        r#"{{"type":"assistant","message":{{"content":{deep}}},"x":"TaskCreate"}}"#
    ));
    seen.line(&format!("\"Task{}", "{\"a\":".repeat(depth)));
    seen.line(&result("c", deep));
}

#[test]
fn ids_of_tasks_may_be_anything() {
    let mut seen = Observation::team();
    let ids = [
        json!(1),
        json!("2"),
        json!("abc"),
        json!("ü"),
        json!(u64::MAX),
        json!("007"),
        json!("a b"),
    ];
    for (nth, id) in ids.iter().enumerate() {
        let said = json!({"task": {"id": id}}).to_string();
        seen.pair(&format!("c{nth}"), "TaskCreate", json!({"subject": "s"}), said);
        seen.pair(&format!("u{nth}"), "TaskUpdate", json!({"taskId": id, "owner": "ann"}), "ok");
    }
    for id in [json!(""), json!(null), json!(-1), json!("x".repeat(100_000)), json!({}), json!(1.5)]
    {
        let said = json!({"task": {"id": id}}).to_string();
        seen.pair(&format!("c{id:.20}"), "TaskCreate", json!({"subject": "s"}), said);
    }
    let team = seen.team_now();
    let found: Vec<_> = team.tasks().map(|it| it.id.as_str()).collect();
    assert_eq!(found, ["1", "2", "007", "18446744073709551615", "a b", "abc", "ü"]);
    assert!(team.tasks().all(|it| it.owner.as_deref() == Some("ann")));
}

#[test]
fn names_with_escaped_letters_are_recognised() {
    let mut seen = Observation::team();
    seen.line(
        &used("c", "TaskCreate", json!({"subject": "s"})).replace("TaskCreate", "T\\u0061skCreate"),
    );
    seen.line(
        &result("c", "Task #1 created successfully: s").replace("tool_use_id", "tool\\u005fuse_id"),
    );
    assert_eq!(seen.story(), ["team:task:created 1"]);
}
