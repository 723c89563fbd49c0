//! Wrong calls: each is told so that the next one can be right.

use serde_json::json;
use troop_model::Dialect;

use super::Stage;

#[tokio::test]
async fn a_wrong_input_names_the_field_and_shows_an_example() {
    let stage = Stage::new(Dialect::Claude).await;
    let lead = stage.hand("lead");
    let get = "\nhint: for example: TaskGet {\"taskId\": \"1\"}";
    for (tool, input, told) in [
        ("TaskGet", json!({}), format!("`TaskGet` needs `taskId`{get}")),
        (
            "TaskGet",
            json!({"taskid": "1"}),
            format!("`TaskGet` has no field `taskid`; did you mean `taskId`?{get}"),
        ),
        (
            "TaskGet",
            json!({"taskId": "1", "verbose": true}),
            format!(
                "`TaskGet` has no field `verbose`; the fields are `id`, `taskId`, `task_id`{get}"
            ),
        ),
        (
            "TaskGet",
            json!({"taskId": [1]}),
            format!(
                "`TaskGet`, `taskId`: a task is named by its number, as `7` or `task-7`, or by its id{get}"
            ),
        ),
        (
            "TaskGet",
            json!("not json"),
            format!("`TaskGet`: invalid type: string \"not json\", expected struct TaskGet{get}"),
        ),
    ] {
        assert_eq!(lead.told(tool, input).await, told);
    }
    let told = lead.told("TaskCreate", json!({"subject": "A", "priority": "high"})).await;
    assert!(
        told.starts_with(
            "`TaskCreate`, `priority`: invalid type: string \"high\", expected i32\nhint: "
        ),
        "{told}"
    );
    let told = lead.told("TaskCreate", json!({"subject": "A", "blockedBy": ["1", "first"]})).await;
    assert!(
        told.starts_with("`TaskCreate`, `blockedBy[1]`: `first` does not name a task"),
        "{told}"
    );
    let told = lead.told("TaskUpdate", json!({"taskId": "99"})).await;
    assert!(told.starts_with("Task not found: there is no task `task-99`"), "{told}");
    lead.ok("TaskCreate", json!({"subject": "A"})).await;
    let told = lead.told("TaskUpdate", json!({"taskId": "1", "status": "finished"})).await;
    assert!(
        told.contains("`finished` is none of: pending, in_progress, completed, failed, deleted"),
        "{told}"
    );
    let told = lead.told("TaskUpdate", json!({"taskId": "1"})).await;
    assert!(told.starts_with("nothing about task #1 is to change\nhint: "), "{told}");
    let told = lead.told("SendMessage", json!({"message": "hello"})).await;
    assert!(
        told.starts_with("`SendMessage` needs `to`\nhint: for example: SendMessage {"),
        "{told}"
    );
    let told = lead.told("SendMessage", json!({"to": "ann", "message": 7})).await;
    assert!(
        told.starts_with("`SendMessage`, `message`: expected text or an object, not 7"),
        "{told}"
    );
    let told = lead.told("SpawnTeammate", json!({"name": "Ann Smith"})).await;
    assert!(told.starts_with("`Ann Smith` is not a name: use lower-case letters"), "{told}");
}

#[tokio::test]
async fn a_missing_field_is_missed_by_the_action_that_needs_it() {
    let stage = Stage::new(Dialect::Board).await;
    let lead = stage.hand("lead");
    for (input, field) in [
        (json!({"action": "get"}), "task_id"),
        (json!({"action": "complete", "task_id": "1"}), "result"),
        (json!({"action": "complete", "task_id": "1", "result": " "}), "result"),
        (json!({"action": "cancel", "task_id": "1"}), "reason"),
        (json!({"action": "assign", "task_id": "1"}), "assignee"),
        (json!({"action": "progress", "task_id": "1"}), "percent"),
        (json!({"action": "search"}), "query"),
    ] {
        let action = input["action"].as_str().unwrap().to_owned();
        let told = lead.told("team_tasks", input).await;
        let begins = format!(
            "`team_tasks` with action `{action}` needs `{field}`\nhint: for example: team_tasks {{\"action\": \"{action}\", "
        );
        assert!(told.starts_with(&begins), "{told}");
    }
    let told = lead.told("team_message", json!({"action": "send", "text": "x"})).await;
    assert!(told.starts_with("`team_message` with action `send` needs `to`"), "{told}");
}

#[tokio::test]
async fn an_unknown_tool_names_the_one_that_was_meant() {
    let stage = Stage::new(Dialect::Claude).await;
    let ann = stage.hand("ann");
    for (name, hint) in [
        ("task_list", "did you mean `TaskList`?"),
        ("SendMesage", "did you mean `SendMessage`?"),
        (
            "team_tasks",
            "that is a tool of the other dialect; here there are: TaskCreate, TaskUpdate, TaskList, TaskGet, SendMessage, Broadcast",
        ),
        (
            "frobnicate",
            "the team tools are: TaskCreate, TaskUpdate, TaskList, TaskGet, SendMessage, Broadcast",
        ),
    ] {
        let told = ann.told(name, json!({})).await;
        assert_eq!(told, format!("there is no tool `{name}`\nhint: {hint}"));
    }
}

#[tokio::test]
async fn an_object_that_comes_as_text_is_read_as_the_object() {
    let stage = Stage::new(Dialect::Claude).await;
    let lead = stage.hand("lead");
    assert_eq!(
        lead.ok("TaskCreate", json!("{\"subject\": \"A\"}")).await,
        "Task #1 created successfully: A"
    );
    assert_eq!(lead.ok("TaskList", json!("")).await, "#1 [pending] A");
}
