//! Teammates that complete their tasks in the middle of a turn.

use std::fs;

use serde_json::json;
use troop_testkit::mock::{Answer, MockModel, MockRequest};

use super::{member, repository, run};
use crate::troop::Troop;

const CREW: [&str; 8] =
    ["--team", "crew", "run", "find the bug", "--agent", "builtin", "-m", "ann=builtin"];

/// A lead with one task, and another one when it hears the result.
fn leads(seen: &MockRequest) -> Answer {
    let last = seen.last();
    let task = |it: &str| Answer::call("TaskCreate", &json!({"subject": it, "description": it}));
    if last.contains("task-1 is completed: line 7") {
        task("write two.txt")
    } else if last.contains("task-2 is completed") {
        Answer::text("Both are done.")
    } else if last.contains("find the bug") {
        task("write one.txt")
    } else {
        Answer::text("I wait.")
    }
}

/// Whether the model has written a file in this conversation.
fn wrote(seen: &MockRequest, file: &str) -> bool {
    seen.messages().iter().any(|it| it.to_string().contains(file) && it["role"] == "assistant")
}

fn write(file: &str) -> (&'static str, serde_json::Value) {
    ("Write", json!({"file_path": file, "content": "x"}))
}

#[tokio::test]
async fn a_task_completed_by_a_tool_includes_the_rest_of_the_turn() {
    let troop = repository(&["Edit"]);
    let mock = MockModel::start(|seen| match member(seen).as_str() {
        "lead" => leads(seen),
        _ if seen.last().contains("write two.txt") => Answer::calls([write("two.txt")]),
        _ if wrote(seen, "two.txt") => Answer::text("two is there"),
        _ if !wrote(seen, "one.txt") => {
            let done = json!({"taskId": "1", "status": "completed"});
            Answer::calls([write("one.txt"), ("TaskUpdate", done), write("late.txt")])
        }
        _ => Answer::text("line 7 is wrong"),
    })
    .await;
    let run = run(&troop, &mock, &CREW).await;
    assert_eq!(run.code, 0, "{} {}", run.out, run.err);
    assert_eq!(troop.json("--team crew task get 1")["result"], "line 7 is wrong");
    for file in ["one.txt", "late.txt", "two.txt"] {
        assert!(troop.folder().join(file).exists(), "{file}: {}", run.out);
    }
    assert!(run.out.contains("Both are done."), "{}", run.out);
    let told =
        mock.requests().iter().map(MockRequest::last).find(|it| it.contains("Updated task #1"));
    assert!(told.unwrap().contains("The task is completed when your turn ends."));
}

#[tokio::test]
async fn a_lead_hears_of_tasks_that_teammates_complete_themselves() {
    let troop = repository(&["Edit", "Bash"]);
    let mock = MockModel::start(|seen| match member(seen).as_str() {
        "lead" => leads(seen),
        _ if seen.last().contains("write two.txt") => Answer::calls([write("two.txt")]),
        _ if wrote(seen, "two.txt") => Answer::text("two is there"),
        _ if !wrote(seen, "task complete") => {
            let troop = env!("CARGO_BIN_EXE_troop");
            let command = format!("{troop} task complete 1 --result 'line 7 is wrong'");
            Answer::call("Bash", &json!({"command": command}))
        }
        _ => Answer::text("I am done"),
    })
    .await;
    let run = run(&troop, &mock, &CREW).await;
    assert_eq!(run.code, 0, "{} {}", run.out, run.err);
    assert!(troop.folder().join("two.txt").exists(), "{}", run.out);
    assert!(run.out.contains("Both are done."), "{}", run.out);
}

#[tokio::test]
async fn a_completion_refused_at_the_end_of_a_turn_is_repaired() {
    let troop = repository(&["Edit"]);
    let done = || ("TaskUpdate", json!({"taskId": "1", "status": "completed", "result": "line 7"}));
    let mock = MockModel::start(move |seen| match member(seen).as_str() {
        "lead" if seen.last().contains("find the bug") => {
            let task = json!({"subject": "one", "description": "write it"});
            Answer::call("TaskCreate", &task)
        }
        "lead" => Answer::text("I wait."),
        _ if seen.last().contains("Your task is not done yet") => {
            Answer::calls([write("good.txt"), done()])
        }
        _ if wrote(seen, "good.txt") => Answer::text("repaired"),
        _ if !wrote(seen, "TaskUpdate") => Answer::calls([done()]),
        _ => Answer::text("it is done"),
    })
    .await;
    let words = [&CREW[..], &["--check", "test -f good.txt"]].concat();
    let run = run(&troop, &mock, &words).await;
    assert_eq!(run.code, 0, "{} {}", run.out, run.err);
    assert_eq!(troop.json("--team crew task get 1")["result"], "line 7");
    assert_eq!(fs::read_to_string(troop.folder().join("good.txt")).unwrap(), "x");
    assert_eq!(troop.json("--team crew task get 1")["attempts"], 1);
}

/// A teammate that ends its task by its last words, is refused, and repairs it. `mended` is a file that the repair writes.
async fn repairs(troop: &Troop, options: &[&str]) {
    let mock = MockModel::start(move |seen| match member(seen).as_str() {
        "lead" if seen.last().contains("find the bug") => {
            let task = json!({"subject": "one", "description": "write it"});
            Answer::call("TaskCreate", &task)
        }
        "lead" => Answer::text("I wait."),
        _ if seen.last().contains("Your task is not done yet") => {
            Answer::calls([write("good.txt")])
        }
        _ if wrote(seen, "good.txt") => Answer::text("Fixed it properly (v2)"),
        _ => Answer::text("It is done (v1)"),
    })
    .await;
    let run = run(troop, &mock, &[&CREW[..], options].concat()).await;
    assert_eq!(run.code, 0, "{} {}", run.out, run.err);
    let task = troop.json("--team crew task get 1");
    assert_eq!((&task["result"], &task["attempts"]), (&json!("Fixed it properly (v2)"), &json!(1)));
    let asked = mock.requests();
    let ann: Vec<_> = asked.iter().filter(|seen| member(seen) == "ann").collect();
    assert_eq!(ann.len(), 3, "first words, the repair, and its words: {ann:#?}");
    for tool in ["FailTask", "GiveBackTask"] {
        assert!(ann.iter().all(|seen| seen.tools().contains(&tool.to_owned())), "{tool}");
    }
    assert!(ann[1].last().contains("FEEDBACK"), "{}", ann[1].last());
    let used = troop.json("--team crew member list");
    let used = used["members"].as_array().unwrap().iter().find(|it| it["name"] == "ann").unwrap();
    assert_eq!(task["usage"], used["usage"], "all that it used was for the task");
    assert!(troop.folder().join("good.txt").exists(), "{}", run.out);
}

#[tokio::test]
async fn the_answer_to_a_failed_check_is_the_result() {
    let troop = repository(&["Edit"]);
    repairs(&troop, &["--check", "test -f good.txt || { echo FEEDBACK; exit 1; }"]).await;
}

#[tokio::test]
async fn the_answer_to_a_veto_of_a_hook_is_the_result() {
    let troop = repository(&["Edit"]);
    let config = troop.folder().join("home/config.json");
    let command =
        "test -f \"${HOOK_teamTaskFolder:-.}/good.txt\" || { echo FEEDBACK >&2; exit 2; }";
    let hooks = json!({"hooks": [{"event": "task-completed", "command": command}]});
    let rules = json!({"allow": ["Edit"]});
    fs::write(config, json!({"hooks": hooks, "permissions": rules}).to_string()).unwrap();
    repairs(&troop, &[]).await;
}
