//! Wrong calls: each error helps the model to make a valid call next.

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
            format!("`TaskGet` has no field `verbose`; the fields are `taskId`, `offset`{get}"),
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
            format!("`TaskGet`: string \"not json\", expected an object{get}"),
        ),
    ] {
        assert_eq!(lead.told(tool, input).await, told);
    }
    let told = lead.told("TaskCreate", json!({"subject": "A", "priority": "high"})).await;
    assert!(
        told.starts_with("`TaskCreate`, `priority`: \"high\", expected a whole number\nhint: "),
        "{told}"
    );
    for large in [json!(2_147_483_648_u32), json!("2147483648")] {
        let told = lead.told("TaskCreate", json!({"subject": "A", "priority": large})).await;
        let wanted = "`TaskCreate`, `priority`: 2147483648 is too large or too small\nhint: ";
        assert!(told.starts_with(wanted), "{told}");
    }
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
    assert!(told.starts_with("there is nothing to change about task #1\nhint: "), "{told}");
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
async fn a_field_that_an_action_needs_is_named_if_missing() {
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
async fn an_unknown_tool_suggests_the_nearest_one() {
    let stage = Stage::new(Dialect::Claude).await;
    let ann = stage.hand("ann");
    for (name, hint) in [
        ("task_list", "did you mean `TaskList`?"),
        ("SendMesage", "did you mean `SendMessage`?"),
        (
            "team_tasks",
            "that is a tool of the other dialect; the tools here are: TaskCreate, TaskUpdate, TaskList, TaskGet, SendMessage, Broadcast",
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

#[tokio::test]
async fn lenient_spellings_are_understood() {
    let stage = Stage::new(Dialect::Board).await;
    let lead = stage.hand("lead");
    lead.ok("team_tasks", json!({"action": "list", "page": "1"})).await;
    let create = json!({"action": "create", "title": "A", "assignee": "ann", "priority": "5"});
    assert_eq!(lead.json("team_tasks", create).await["task"]["priority"], 5);
    let create =
        json!({"action": "create", "subject": "B", "assignee": "bob", "blocked_by": "task-1"});
    assert_eq!(lead.json("team_tasks", create).await["task"]["blocked_by"], json!([1]));
    let stage = Stage::new(Dialect::Claude).await;
    let lead = stage.hand("lead");
    lead.ok("TaskCreate", json!({"subject": "A"})).await;
    lead.ok("TaskCreate", json!({"subject": "B", "blockedBy": 1})).await;
    assert_eq!(
        lead.ok("TaskList", json!({})).await,
        "#1 [pending] A\n#2 [pending] B [blocked by #1]"
    );
}

#[tokio::test]
async fn a_wrong_input_shows_an_example_of_the_same_action() {
    let stage = Stage::new(Dialect::Board).await;
    let lead = stage.hand("lead");
    let wrong = json!({"action": "progress", "task_id": "1", "percent": "half"});
    assert_eq!(
        lead.told("team_tasks", wrong).await,
        "`team_tasks`, `percent`: \"half\", expected a whole number\nhint: for example: team_tasks {\"action\": \
         \"progress\", \"task_id\": \"7\", \"percent\": 50, \"step\": \"tests\"}"
    );
    let told = lead.told("team_tasks", json!({"action": "list", "colour": "red"})).await;
    assert!(told.contains("the fields are `action`, `task_id`, `subject`, "), "{told}");
    assert!(!told.contains("progress_percent"), "aliases are not shown: {told}");
}

#[tokio::test]
async fn a_refusal_by_the_board_suggests_the_next_step() {
    let stage = Stage::new(Dialect::Board).await;
    let (lead, ann) = (stage.hand("lead"), stage.hand("ann"));
    lead.ok("team_tasks", json!({"action": "list"})).await;
    lead.ok("team_tasks", json!({"action": "create", "subject": "A", "assignee": "ann"})).await;
    let act = |action: &str| json!({"action": action, "task_id": "1", "reason": "x", "text": "x", "percent": 1, "result": "x"});
    for (action, told) in [
        (
            "approve",
            "task-1 is pending, so it cannot be approved\nhint: only a result in review can be approved or rejected",
        ),
        (
            "delete",
            "task-1 is pending, so it cannot be deleted\nhint: only tasks that have ended can be deleted: cancel it first",
        ),
        (
            "retry",
            "task-1 is pending, so it cannot be retried\nhint: only failed or stale tasks can be retried",
        ),
    ] {
        assert_eq!(lead.told("team_tasks", act(action)).await, told);
    }
    let told = ann.told("team_tasks", act("progress")).await;
    assert_eq!(told, "task-1 is pending, so it cannot be worked on\nhint: claim it first");
    ann.ok("team_tasks", act("claim")).await;
    assert_eq!(
        stage.hand("bob").told("team_tasks", act("complete")).await,
        "task-1 is not held by `bob` but by `ann`\nhint: leave it to `ann`; the lead can release it and give it to somebody else"
    );
    ann.ok("team_tasks", act("complete")).await;
    assert_eq!(
        ann.told("team_tasks", act("complete")).await,
        "task-1 is completed, so it cannot be completed\nhint: it is over; take another task"
    );
    let response =
        json!({"action": "send", "to": "lead", "kind": "shutdown_response", "text": "x"});
    let told = ann.told("team_message", response).await;
    assert!(told.ends_with("`approve`: true or false"), "{told}");
    let wrong = json!({"action": "send", "to": "lead", "text": "x", "request_id": "7"});
    let told = ann.told("team_message", wrong).await;
    assert!(
        told.starts_with("`request_id`: `7` is not the id of a request\nhint: copy it"),
        "{told}"
    );
    let wrong = json!({"action": "send", "to": "lead", "text": "x", "kind": "idle"});
    let told = ann.told("team_message", wrong).await;
    assert!(told.contains("`idle` is none of: message, broadcast, shutdown_request"), "{told}");
}

#[tokio::test]
async fn a_field_under_two_names_is_given_twice() {
    let stage = Stage::new(Dialect::Board).await;
    let both = json!({"member": "zed", "agent": "command", "team_task_id": "1"});
    let told = stage.hand("lead").told("spawn", both).await;
    let why = "`spawn`, `agent`: it was given twice, once under another name; give it once";
    assert!(told.starts_with(why), "{told}");
}

#[tokio::test]
async fn a_hint_fits_the_status_of_the_task() {
    let stage = Stage::new(Dialect::Board).await;
    let lead = stage.hand("lead");
    let ann = stage.hand("ann");
    lead.ok("team_tasks", json!({"action": "list"})).await;
    for subject in ["cancelled", "failed", "first", "blocked"] {
        lead.ok("team_tasks", json!({"action": "create", "subject": subject, "assignee": "ann"}))
            .await;
    }
    lead.ok("team_tasks", json!({"action": "update", "task_id": 4, "blocked_by": ["3"]})).await;
    lead.ok("team_tasks", json!({"action": "cancel", "task_id": 1, "reason": "no"})).await;
    ann.ok("team_tasks", json!({"action": "claim", "task_id": 2})).await;
    ann.ok("team_tasks", json!({"action": "fail", "task_id": 2, "reason": "no"})).await;
    for (task, hint) in [
        ("1", "it is over; take another task"),
        ("2", "the lead can retry it; take another task"),
        ("4", "blocked"),
    ] {
        for call in [
            json!({"action": "complete", "task_id": task, "result": "r"}),
            json!({"action": "review", "task_id": task, "result": "r"}),
            json!({"action": "progress", "task_id": task, "percent": 40}),
        ] {
            let told = ann.told("team_tasks", call.clone()).await;
            assert!(told.contains(hint), "{call}: {told}");
            assert!(!told.contains("claim it first"), "{call}: {told}");
        }
    }
}

#[tokio::test]
async fn a_member_that_claims_first_as_a_hint_says_is_not_refused() {
    let mut n_followed = 0;
    for assignee in ["ann", "bob", "lead"] {
        for member in ["ann", "bob", "lead"] {
            for action in ["progress", "fail", "review", "release"] {
                let stage = Stage::new(Dialect::Board).await;
                let lead = stage.hand("lead");
                lead.ok("team_tasks", json!({"action": "list"})).await;
                let create = json!({"action": "create", "subject": "A", "assignee": assignee});
                lead.ok("team_tasks", create).await;
                let hand = stage.hand(member);
                let call = match action {
                    "progress" => json!({"action": action, "task_id": "1", "percent": 1}),
                    "review" => json!({"action": action, "task_id": "1", "result": "x"}),
                    _ => json!({"action": action, "task_id": "1", "reason": "x"}),
                };
                let told = hand.told("team_tasks", call.clone()).await;
                if told.contains("claim it first") {
                    hand.ok("team_tasks", json!({"action": "claim", "task_id": "1"})).await;
                    hand.ok("team_tasks", call).await;
                    n_followed += 1;
                } else {
                    assert!(told.contains("is reserved for"), "{member}: {action}: {told}");
                }
            }
        }
    }
    assert_eq!(n_followed, 12, "each assignee can follow each hint");
}
