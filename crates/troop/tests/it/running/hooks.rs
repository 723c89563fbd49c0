//! Hooks at the end of a team: troop waits for them, unless a second signal comes.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};
use troop_testkit::{wait_for, wait_until_gone};

use super::{Printing, WAIT, at_work, project, start, write};
use crate::troop::Troop;

/// A lead with one task.
const ONE: &str = r#"
when mail * from user
    call task/create {"subject": "one", "description": "echo one"}
    wait until all tasks are done
"#;

/// A team of one member with this hook.
fn begin(hook: &Value) -> (Troop, Printing) {
    let troop = project(ONE);
    write(&troop, "home/config.json", &json!({"hooks": {"hooks": [hook]}}).to_string());
    let team = start(&troop, "-m ann=command");
    (troop, team)
}

async fn appears(troop: &Troop, file: &str) {
    let path = troop.folder().join(file);
    wait_for(&format!("there is a file `{file}`"), async || path.exists().then_some(())).await;
}

async fn is_completed(troop: &Troop) {
    wait_for("the team is completed", async || {
        (troop.json("team list")["teams"][0]["state"] == "completed").then_some(())
    })
    .await;
}

#[tokio::test]
async fn troop_waits_for_an_asynchronous_hook_of_an_ended_team() {
    let command = "touch begun; until [ -e go ]; do sleep 0.01; done; touch seen; exit 3";
    let hook = json!({"event": "team-shutdown", "command": command, "async": true});
    let (troop, team) = begin(&hook);
    appears(&troop, "begun").await;
    is_completed(&troop).await;
    write(&troop, "go", "");
    let run = team.end();
    assert_eq!(run.code, 0, "{run:?}");
    assert!(troop.folder().join("seen").exists(), "{run:?}");
    assert!(run.out.contains("exit code 3"), "its failure is reported: {run:?}");
}

#[tokio::test]
async fn a_background_process_of_a_hook_lives_on() {
    let command = "(until [ -e go ]; do sleep 0.01; done; touch seen) > /dev/null 2>&1 &";
    let (troop, team) = begin(&json!({"event": "task-created", "command": command}));
    let run = team.end();
    assert_eq!(run.code, 0, "{run:?}");
    write(&troop, "go", "");
    appears(&troop, "seen").await;
}

#[tokio::test]
async fn a_second_signal_ends_a_hook_that_hangs() {
    let command = "touch begun; sleep 300";
    let hook = json!({"event": "team-shutdown", "command": command, "timeout": 200});
    let (troop, mut team) = begin(&hook);
    appears(&troop, "begun").await;
    team.signal(Signal::INT);
    team.wait_for("asks the team to stop");
    team.signal(Signal::INT);
    let run = team.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    is_completed(&troop).await;
}

#[tokio::test]
async fn a_hook_that_outlasts_its_team_ends_with_a_killed_lead() {
    let command = "echo $$ > begun; mv begun pid; sleep 300";
    let hook = json!({"event": "task-completed", "command": command, "timeout": 200});
    let (troop, mut team) = begin(&hook);
    appears(&troop, "pid").await;
    team.signal(Signal::INT);
    team.wait_for("task-1 is back on the board");
    wait_for("nobody leads the team", async || {
        (troop.json("team list")["teams"][0]["state"] == "stopped").then_some(())
    })
    .await;
    team.signal(Signal::KILL);
    let hook = fs::read_to_string(troop.folder().join("pid")).unwrap();
    wait_until_gone(hook.trim()).await;
}

#[tokio::test]
async fn a_signal_ends_the_wait_for_an_asynchronous_hook() {
    let command = "touch begun; sleep 300";
    let hook = json!({"event": "team-shutdown", "command": command, "async": true, "timeout": 200});
    let (troop, team) = begin(&hook);
    appears(&troop, "begun").await;
    is_completed(&troop).await;
    team.signal(Signal::INT);
    let run = team.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
}

#[test]
fn a_person_hears_that_a_hook_said_no() {
    let troop = project(WAIT);
    let veto = json!({"event": "task-completed", "command": "echo 'not yet' >&2; exit 2"});
    write(&troop, "home/config.json", &json!({"hooks": {"hooks": [veto]}}).to_string());
    let team = at_work(&troop);
    let (code, said) = troop.refused("task complete 1 --result 'good enough'");
    assert_eq!(code, 1, "{said}");
    assert!(said.starts_with("error: a hook says no: not yet\n"), "{said}");
    team.signal(Signal::INT);
    team.signal(Signal::INT);
    team.end();
}
