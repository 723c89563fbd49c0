//! Hooks at the end of a team: they come to their end, unless somebody is in a hurry.

use rustix::process::Signal;
use serde_json::{Value, json};
use troop_testkit::wait_for;

use super::{Printing, project, start, write};
use crate::troop::Troop;

/// A lead that has one thing done.
const ONE: &str = r#"
when mail * from user
    call task/create {"subject": "one", "description": "echo one"}
    wait until all tasks are done
"#;

/// A team of one with this hook.
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
async fn an_asynchronous_hook_outlives_its_team_and_is_waited_for() {
    let command = "touch begun; until [ -e go ]; do sleep 0.01; done; touch seen; exit 3";
    let hook = json!({"event": "team-shutdown", "command": command, "async": true});
    let (troop, team) = begin(&hook);
    appears(&troop, "begun").await;
    is_completed(&troop).await;
    write(&troop, "go", "");
    let run = team.end();
    assert_eq!(run.code, 0, "{run:?}");
    assert!(troop.folder().join("seen").exists(), "{run:?}");
    assert!(run.out.contains("exit code 3"), "what went wrong is told: {run:?}");
}

#[tokio::test]
async fn what_a_hook_leaves_in_the_background_lives_on() {
    let command = "(until [ -e go ]; do sleep 0.01; done; touch seen) > /dev/null 2>&1 &";
    let (troop, team) = begin(&json!({"event": "task-created", "command": command}));
    let run = team.end();
    assert_eq!(run.code, 0, "{run:?}");
    write(&troop, "go", "");
    appears(&troop, "seen").await;
}

#[tokio::test]
async fn a_hook_that_hangs_at_the_end_does_not_keep_who_is_in_a_hurry() {
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
