//! An approver sees the results of checks.

use serde_json::json;
use troop_model::{
    Actor, Command, Dialect, Evidence, MAX_TAIL, MergeRecord, NewTask, Proof, TaskCommand,
    TaskNumber, Time,
};
use troop_runtime::CommandRequest;

use super::Stage;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn evidence(command: &str, exit_code: i32, tail: &str) -> Evidence {
    let (command, tail) = (command.to_owned(), tail.to_owned());
    let at = Time::from_micros(1_700_000_000_000_000);
    Evidence { command, exit_code, tail, commit: Some(COMMIT.to_owned()), at, took_ms: 40 }
}

/// A team with a task whose two checks ran; one of them printed a lot.
async fn checked(dialect: Dialect) -> Stage {
    let stage = Stage::new(dialect).await;
    let task = NewTask {
        subject: "write".to_owned(),
        assignee: Some("ann".parse().unwrap()),
        ..NewTask::default()
    };
    let long = format!("{}the last line", "x".repeat(MAX_TAIL - 13));
    let evidence = vec![evidence("make lint", 0, ""), evidence("make test", 3, &long)];
    let merge = Some(MergeRecord { into: "troop/crew".to_owned(), commit: COMMIT.to_owned() });
    let proof = Proof::new(TaskNumber(1), evidence, merge);
    let ann = Actor::agent(&"ann".parse().unwrap());
    for (actor, command) in [
        (Actor::human("pat"), TaskCommand::Create(task)),
        (ann, TaskCommand::Claim { task: None }),
        (Actor::system(), TaskCommand::Prove(proof)),
    ] {
        stage.board.submit(CommandRequest::new(actor, Command::Task(command))).await.unwrap();
    }
    stage
}

#[tokio::test]
async fn the_board_dialect_shows_the_results_of_checks() {
    let stage = checked(Dialect::Board).await;
    let lead = stage.hand("lead");
    let page = lead.json("team_tasks", json!({"action": "list"})).await;
    assert_eq!(page["tasks"][0]["checks"], "1 of 2 failed", "{page}");
    assert_eq!(page["tasks"][0].get("evidence"), None, "lists are short");
    let task = lead.json("team_tasks", json!({"action": "get", "task_id": "1"})).await;
    let lint = json!({"command": "make lint", "exit_code": 0, "commit": "0123456789"});
    assert_eq!(task["evidence"][0], lint);
    assert_eq!(task["evidence"][1]["exit_code"], 3);
    let tail = task["evidence"][1]["tail"].as_str().unwrap();
    assert!(tail.ends_with("xthe last line") && tail.len() == 1_000, "{tail}");
    assert_eq!(task["merged"], json!({"into": "troop/crew", "commit": "0123456789"}));
}

#[tokio::test]
async fn the_claude_dialect_shows_the_results_of_checks() {
    let stage = checked(Dialect::Claude).await;
    let lead = stage.hand("lead");
    let list = lead.ok("TaskList", json!({})).await;
    assert_eq!(list, "#1 [in_progress] write (ann) [checks: 1 of 2 failed]");
    let task = lead.ok("TaskGet", json!({"taskId": "1"})).await;
    let lint = "\nCheck: `make lint` passed (exit code 0, commit 0123456789)\n";
    assert!(task.contains(lint), "{task}");
    let test = "\nCheck: `make test` failed (exit code 3, commit 0123456789)\nxxx";
    assert!(task.contains(test) && task.ends_with("xthe last line"), "{task}");
    assert!(task.contains("\nMerged: 0123456789 into troop/crew\n"), "{task}");
}

#[tokio::test]
async fn waived_checks_show_the_reason() {
    let stage = checked(Dialect::Claude).await;
    let waived = Some("the machine is on fire".to_owned());
    let (task, evidence) = (TaskNumber(1).into(), Vec::new());
    let proof = TaskCommand::Prove(Proof { task, evidence, merge: None, waived });
    stage
        .board
        .submit(CommandRequest::new(Actor::human("pat"), Command::Task(proof)))
        .await
        .unwrap();
    let lead = stage.hand("lead");
    assert_eq!(lead.ok("TaskList", json!({})).await, "#1 [in_progress] write (ann)");
    let task = lead.ok("TaskGet", json!({"taskId": "1"})).await;
    assert!(task.ends_with("\nNot checked: the machine is on fire"), "{task}");
}
