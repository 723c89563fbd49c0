//! The agent `command`, with real processes.

use std::path::Path;

use serde_json::{Value, json};
use troop_agent::{CommandAgent, Exit};
use troop_testkit::wait_until_gone;

use crate::lead::Lead;

async fn lead() -> Lead {
    Lead::of(CommandAgent, Path::new("/tmp")).await
}

/// Runs a command to its end. Returns the report.
async fn run(lead: &mut Lead, description: &str) -> Value {
    lead.assign("task-7", description).await;
    lead.hears("team.taskUpdate").await;
    let report = lead.waits_for("team.taskUpdate").await;
    lead.hears("team.idle").await;
    report
}

async fn result(lead: &mut Lead, description: &str) -> String {
    let report = run(lead, description).await;
    assert_eq!(report["status"], "completed", "{report}");
    report["result"].as_str().unwrap().to_owned()
}

async fn reason(lead: &mut Lead, description: &str) -> String {
    let report = run(lead, description).await;
    assert_eq!(report["status"], "failed", "{report}");
    report["reason"].as_str().unwrap().to_owned()
}

/// A command that starts a child and waits for it. Returns the child's process id.
async fn start_family(lead: &mut Lead) -> String {
    lead.assign("task-7", "sleep 600 & echo $!; wait").await;
    lead.hears("team.taskUpdate").await;
    lead.hears("team.log").await["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_output_of_a_command_is_the_result() {
    let mut lead = lead().await;
    assert_eq!(result(&mut lead, "echo one two").await, "one two");
    assert_eq!(result(&mut lead, "echo out; echo err >&2; echo more").await, "out\nerr\nmore");
    assert_eq!(result(&mut lead, "true").await, "exit code 0");
    assert_eq!(result(&mut lead, "printf '\\377ok'").await, "\u{fffd}ok");
}

#[tokio::test]
async fn a_failed_command_fails_the_task_with_its_output() {
    let mut lead = lead().await;
    assert_eq!(reason(&mut lead, "echo oops; exit 3").await, "exit code 3\noops");
    assert_eq!(reason(&mut lead, "kill -9 $$").await, "killed by signal 9");
    let reason = reason(&mut lead, "no-such-program here").await;
    assert!(reason.starts_with("`no-such-program here` cannot be started: "), "{reason}");
}

#[tokio::test]
async fn a_command_gets_its_team_member_task_and_folder() {
    let mut lead = lead().await;
    let place = "echo $TROOP_TEAM $TROOP_MEMBER $TROOP_TASK $PWD";
    assert_eq!(result(&mut lead, place).await, "blue ann task-7 /tmp");
}

#[tokio::test]
async fn a_command_in_the_metadata_wins_over_the_description() {
    let mut lead = lead().await;
    for (command, result) in
        [(json!("echo text"), "text"), (json!(["echo", "$HOME", "a;b"]), "$HOME a;b")]
    {
        let task = json!({"id": "task-1", "subject": "x", "description": "false", "metadata": {"command": command}});
        lead.say("team.assignTask", json!({ "task": task })).await;
        lead.hears("team.taskUpdate").await;
        assert_eq!(lead.waits_for("team.taskUpdate").await["result"], result);
        lead.hears("team.idle").await;
    }
}

#[tokio::test]
async fn a_task_without_a_command_fails_and_says_what_is_missing() {
    let mut lead = lead().await;
    let reason = reason(&mut lead, " ").await;
    assert!(reason.starts_with("`task-7` has no command to run; "), "{reason}");
}

#[tokio::test]
async fn a_long_output_keeps_its_end_and_shows_few_lines() {
    let mut lead = lead().await;
    lead.assign("task-7", "seq 1 200000").await;
    lead.hears("team.taskUpdate").await;
    let mut logs = Vec::new();
    let report = loop {
        match lead.hear().await {
            (method, log) if method == "team.log" => {
                logs.push(log["text"].as_str().unwrap().to_owned());
            }
            (_, report) => break report,
        }
    };
    let result = report["result"].as_str().unwrap();
    assert!(result.len() < 66_000 && result.ends_with("\n199999\n200000"), "{}", result.len());
    assert!(result.starts_with('[') && result.contains(" bytes before this are not shown]\n"));
    assert!(logs.len() < 20_000, "{} lines were shown", logs.len());
    assert!(logs.last().unwrap().ends_with(" lines were not shown"), "{:?}", logs.last());
}

#[tokio::test]
async fn background_processes_end_with_their_command() {
    let mut lead = lead().await;
    let pid = result(&mut lead, "sleep 600 & echo $!").await;
    wait_until_gone(&pid).await;
    let pid = result(&mut lead, "sleep 600 >/dev/null 2>&1 & echo $!").await;
    wait_until_gone(&pid).await;
}

#[tokio::test]
async fn an_interruption_ends_the_command_and_mail_runs_it_again() {
    let mut lead = lead().await;
    let pid = start_family(&mut lead).await;
    lead.say("turn/interrupt", json!({})).await;
    wait_until_gone(&pid).await;
    lead.mail("once more").await;
    let again = lead.hears("team.log").await["text"].as_str().unwrap().to_owned();
    assert_ne!(again, pid);
    assert_eq!(lead.leave().await, Exit::LeadGone);
    wait_until_gone(&again).await;
}

#[tokio::test]
async fn commands_end_when_their_lead_is_gone() {
    let mut lead = lead().await;
    let pid = start_family(&mut lead).await;
    assert_eq!(lead.leave().await, Exit::LeadGone);
    wait_until_gone(&pid).await;
}

#[tokio::test]
async fn in_plan_mode_nothing_runs_before_the_lead_agrees() {
    let folder = tempfile::tempdir().unwrap();
    let mut lead = Lead::of(CommandAgent, folder.path()).await;
    lead.say("team.updateContext", json!({"tasks": [], "mode": "plan"})).await;
    lead.assign("task-1", "touch done").await;
    lead.hears("team.taskUpdate").await;
    let request =
        json!({"to": "lead", "content": "run `touch done`", "kind": "plan_approval_request"});
    assert_eq!(lead.hears("team.message").await, request);
    let answer = |approve: bool| json!({"from": "lead", "content": "hm", "kind": "plan_approval_response", "approve": approve});
    lead.say("team.message", answer(false)).await;
    let report = lead.waits_for("team.taskUpdate").await;
    assert_eq!(
        (&report["status"], &report["reason"]),
        (&json!("failed"), &json!("the plan was rejected: hm"))
    );
    assert!(!folder.path().join("done").exists());
    lead.hears("team.idle").await;
    lead.assign("task-1", "touch done").await;
    lead.hears("team.taskUpdate").await;
    assert_eq!(lead.hears("team.message").await, request);
    lead.say("team.message", answer(true)).await;
    assert_eq!(lead.waits_for("team.taskUpdate").await["status"], "completed");
    assert!(folder.path().join("done").exists());
}

#[tokio::test]
async fn a_command_gets_the_context_of_its_task_as_variables() {
    let mut lead = lead().await;
    let names = "TEAM MEMBER TASK TEAM_ID WORKSPACE CHANNEL CHAT";
    let show = format!("for name in {names}; do printenv TROOP_$name || echo -; done");
    let team = "01890a5d-ac96-774b-bcce-b302099a8057";
    let run = json!({"teamId": team, "workspace": "/w", "channel": "web", "chatId": "c1"});
    let task = json!({"id": "task-7", "subject": "x", "description": show, "run": run});
    lead.say("team.assignTask", json!({ "task": task })).await;
    lead.hears("team.taskUpdate").await;
    let report = lead.waits_for("team.taskUpdate").await;
    assert_eq!(report["result"], format!("blue\nann\ntask-7\n{team}\n/w\nweb\nc1"));
    lead.hears("team.idle").await;
    // A lead that sends none of these sets none.
    assert_eq!(result(&mut lead, &show).await, "blue\nann\ntask-7\n-\n-\n-\n-");
}
