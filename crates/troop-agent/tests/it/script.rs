//! The agent `script`: every step, with a lead at the other end.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use troop_agent::{Exit, ScriptAgent};

use crate::lead::Lead;

/// A folder with this script.
pub(crate) fn folder(script: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ann.script"), script).unwrap();
    folder
}

fn agent(folder: &Path) -> ScriptAgent {
    ScriptAgent::read(&folder.join("ann.script")).unwrap()
}

/// A lead whose teammate follows the script of the folder.
pub(crate) async fn lead(folder: &TempDir) -> Lead {
    Lead::of(agent(folder.path()), folder.path()).await
}

/// The report of a task whose handler has these steps.
async fn report(steps: &str) -> Value {
    let folder = folder(&format!("when task *\n{steps}"));
    work(&mut lead(&folder).await).await
}

async fn work(lead: &mut Lead) -> Value {
    lead.assign("task-7", "the description").await;
    lead.hears("team.taskUpdate").await;
    lead.waits_for("team.taskUpdate").await
}

fn is_in(folder: &TempDir, file: &str) -> String {
    std::fs::read_to_string(folder.path().join(file)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_script_ends_its_task_as_written() {
    for (step, status, field, expected) in [
        (
            "  complete {subject} of {team} by {name}",
            "completed",
            "result",
            "task-7 of blue by ann",
        ),
        (
            "  complete {task} {attempt} {description}",
            "completed",
            "result",
            "task-7 1 the description",
        ),
        ("  fail no", "failed", "reason", "no"),
        ("  give back not mine", "pending", "reason", "not mine"),
        ("  log x", "completed", "result", "did all steps for `task-7`"),
    ] {
        let report = report(step).await;
        assert_eq!((&report["status"], &report[field]), (&json!(status), &json!(expected)));
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_matching_handler_runs() {
    let script = "when task build*\n  complete built\nwhen task task-?\n  complete second\nwhen task *\n  complete third";
    assert_eq!(work(&mut lead(&folder(script)).await).await["result"], "second");
    let none = folder("when task build*\n  complete built");
    let report = work(&mut lead(&none).await).await;
    assert_eq!(report["reason"], "the script has no `when task` for `task-7`");
}

#[tokio::test(start_paused = true)]
async fn a_started_script_can_log_and_send_messages() {
    let folder =
        folder("when started\n  log good morning\n  message bob hello\n  broadcast all of you");
    let mut lead = Lead::start(agent(folder.path()), folder.path());
    lead.hears("team.ready").await;
    assert_eq!(lead.hears("team.log").await, json!({"level": "info", "text": "good morning"}));
    assert_eq!(lead.hears("team.message").await, json!({"to": "bob", "content": "hello"}));
    let all = json!({"to": "*", "content": "all of you", "kind": "broadcast"});
    assert_eq!(lead.hears("team.message").await, all);
    lead.hears("team.idle").await;
}

#[tokio::test]
async fn files_are_written_appended_and_changed() {
    let script = "when task *\n  write a/b.txt\n    one {name}\n  append a/b.txt\n    two\n  replace \"one\" with \"1\" in a/b.txt\n  complete ok";
    let folder = folder(script);
    assert_eq!(work(&mut lead(&folder).await).await["status"], "completed");
    assert_eq!(is_in(&folder, "a/b.txt"), "1 ann\ntwo\n");
}

#[tokio::test]
async fn a_failed_step_fails_the_task_and_names_its_line() {
    for (steps, reason) in [
        ("  write ../x\n    a", "line 2 of the script: `../x` is not inside the working folder"),
        ("  log x\n  run exit 3", "line 3 of the script: `exit 3`: exit code 3"),
        (
            "  only once\n    run echo oops; exit 3",
            "line 3 of the script: `echo oops; exit 3`: exit code 3\noops",
        ),
        (
            "  write x\n    a\n  replace \"b\" with \"c\" in x",
            "line 4 of the script: `x` has no `b`",
        ),
        ("  approve", "line 2 of the script: there is no plan to answer here"),
    ] {
        let report = report(steps).await;
        assert_eq!((&report["status"], &report["reason"]), (&json!("failed"), &json!(reason)));
    }
}

#[tokio::test]
async fn command_output_is_a_variable_and_a_tried_step_may_fail() {
    let report =
        report("  run echo $TROOP_TASK\n  try run exit 3\n  complete {output}: {error}").await;
    assert_eq!(report["result"], ": `exit 3`: exit code 3");
    let report = self::report("  run echo $TROOP_TASK\n  complete {output}").await;
    assert_eq!(report["result"], "task-7");
}

#[tokio::test(start_paused = true)]
async fn mail_is_matched_by_content_and_sender() {
    let script = "when mail *stop* from lead\n  message lead heard: {mail}\nwhen mail from bob\n  message {from} thanks";
    let mut lead = lead(&folder(script)).await;
    lead.mail("please stop now").await;
    let answer = json!({"to": "lead", "content": "heard: please stop now"});
    assert_eq!(lead.hears("team.message").await, answer);
    lead.hears("turn/end").await;
    lead.say("team.message", json!({"from": "bob", "content": "stop"})).await;
    assert_eq!(lead.hears("team.message").await, json!({"to": "bob", "content": "thanks"}));
}

#[tokio::test(start_paused = true)]
async fn a_script_waits_for_mail_and_handles_other_mail_meanwhile() {
    let script = "when task *\n  wait for mail go* from bob\n  complete {mail}\nwhen mail *ping*\n  message lead pong";
    let mut lead = lead(&folder(script)).await;
    lead.assign("task-7", "").await;
    lead.hears("team.taskUpdate").await;
    lead.mail("go at once").await;
    lead.mail("ping").await;
    assert_eq!(lead.hears("team.message").await["content"], "pong");
    lead.say("team.message", json!({"from": "bob", "content": "go on"})).await;
    assert_eq!(lead.hears("team.taskUpdate").await["result"], "go on");
}

#[tokio::test(start_paused = true)]
async fn idle_notices_match_only_patterns_that_name_them() {
    let idle = json!({"from": "bob", "content": "bob is idle", "kind": "idle"});
    for (pattern, is_meant) in
        [("*", false), ("* from bob", false), ("**", false), ("*is idle*", true)]
    {
        let script = format!("when task *\n  wait for mail {pattern}\n  complete {{mail}}");
        let mut waiting = lead(&folder(&script)).await;
        waiting.say("team.message", idle.clone()).await;
        waiting.say("team.message", json!({"from": "bob", "content": "here"})).await;
        let expected = if is_meant { "bob is idle" } else { "here" };
        assert_eq!(work(&mut waiting).await["result"], expected, "wait for mail {pattern}");
        let script = format!("when mail {pattern}\n  log {{mail}}\nwhen mail *\n  log last");
        let mut handling = lead(&folder(&script)).await;
        handling.say("team.message", idle.clone()).await;
        handling.mail("x").await;
        let expected = match pattern {
            "*is idle*" => "bob is idle",
            "* from bob" => "last",
            _ => "x",
        };
        assert_eq!(handling.hears("team.log").await["text"], expected, "when mail {pattern}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_to_an_unknown_member_fails_its_step() {
    let script = "when task *\n  try message ghost boo\n  log {error}\n  message ghost boo";
    let mut lead = lead(&folder(script)).await;
    lead.say("team.updateContext", json!({"tasks": [], "leaseSeconds": 300})).await;
    lead.assign("task-7", "").await;
    lead.hears("team.taskUpdate").await;
    let (method, params) = lead.refuses("there is no member `ghost`").await;
    assert_eq!((method.as_str(), &params["to"]), ("message/send", &json!("ghost")));
    assert_eq!(lead.hears("team.log").await["text"], "there is no member `ghost`");
    lead.refuses("nobody").await;
    let report = lead.hears("team.taskUpdate").await;
    assert_eq!(report["reason"], "line 4 of the script: nobody");
}

#[tokio::test(start_paused = true)]
async fn early_mail_is_kept_for_a_later_wait() {
    let mut lead = lead(&folder("when task *\n  wait for mail go*\n  complete {mail}")).await;
    lead.mail("go already").await;
    lead.hears("turn/end").await;
    assert_eq!(work(&mut lead).await["result"], "go already");
}

fn answer(approve: bool, content: &str) -> Value {
    json!({"from": "lead", "content": content, "kind": "plan_approval_response", "approve": approve})
}

#[tokio::test(start_paused = true)]
async fn a_plan_is_proposed_until_it_is_approved() {
    let script = "when task *\n  plan do {subject}\n  if rejected\n    log they say {feedback}\n  complete {feedback}";
    let mut lead = lead(&folder(script)).await;
    lead.assign("task-7", "").await;
    lead.hears("team.taskUpdate").await;
    let request = json!({"to": "lead", "content": "do task-7", "kind": "plan_approval_request"});
    assert_eq!(lead.hears("team.message").await, request);
    lead.say("team.message", answer(false, "think again")).await;
    assert_eq!(lead.hears("team.log").await["text"], "they say think again");
    assert_eq!(lead.hears("team.message").await, request);
    lead.say("team.message", answer(true, "fine")).await;
    assert_eq!(lead.hears("team.taskUpdate").await["result"], "fine");
}

#[tokio::test(start_paused = true)]
async fn a_rejected_plan_fails_the_task_without_if_rejected() {
    let mut lead = lead(&folder("when task *\n  plan x\n  complete y")).await;
    lead.assign("task-7", "").await;
    lead.hears("team.taskUpdate").await;
    lead.hears("team.message").await;
    lead.say("team.message", answer(false, "no")).await;
    let reason = "line 2 of the script: the plan was rejected: no";
    assert_eq!(lead.hears("team.taskUpdate").await["reason"], reason);
}

#[tokio::test(start_paused = true)]
async fn a_plan_is_not_proposed_for_ever() {
    let mut lead = lead(&folder(
        "when task *\n  plan x\n  if rejected\n    plan y\n    if rejected\n      log z",
    ))
    .await;
    lead.assign("task-7", "").await;
    lead.hears("team.taskUpdate").await;
    for _ in 0..5 {
        lead.waits_for("team.message").await;
        lead.say("team.message", answer(false, "no")).await;
    }
    let reason = "line 4 of the script: the plan was rejected 5 times: no";
    assert_eq!(lead.waits_for("team.taskUpdate").await["reason"], reason);
}

#[tokio::test]
async fn a_script_in_plan_mode_changes_nothing_before_approval() {
    for step in
        ["write x\n    a", "append x\n    a", "replace \"a\" with \"b\" in x", "run touch x"]
    {
        let folder = folder(&format!("when task *\n  {step}"));
        let mut lead = lead(&folder).await;
        lead.say("team.updateContext", json!({"tasks": [], "mode": "plan"})).await;
        let report = work(&mut lead).await;
        let reason = report["reason"].as_str().unwrap();
        assert!(reason.contains("plan mode is read-only"), "{step}: {report}");
        assert!(!folder.path().join("x").exists());
    }
    let folder = folder("when task *\n  plan write x\n  write x\n    a");
    let mut lead = lead(&folder).await;
    lead.say("team.updateContext", json!({"tasks": [], "mode": "plan"})).await;
    lead.assign("task-7", "").await;
    lead.waits_for("team.message").await;
    lead.say("team.message", answer(true, "yes")).await;
    assert_eq!(lead.waits_for("team.taskUpdate").await["status"], "completed");
    assert_eq!(is_in(&folder, "x"), "a\n");
}

#[tokio::test(start_paused = true)]
async fn a_lead_answers_plans() {
    let script = "when plan *rm* from bob\n  reject not that\nwhen plan *\n  approve";
    let mut lead = lead(&folder(script)).await;
    let id = "01890a5d-ac96-774b-bcce-b302099a8057";
    for (plan, approve, content) in [("rm all", false, "not that"), ("test", true, "approved")] {
        let plan = json!({"from": "bob", "content": plan, "kind": "plan_approval_request", "requestId": id});
        lead.say("team.message", plan).await;
        let response = json!({
            "to": "bob", "content": content, "kind": "plan_approval_response", "requestId": id, "approve": approve,
        });
        assert_eq!(lead.hears("team.message").await, response);
        lead.hears("turn/end").await;
    }
}

#[tokio::test(start_paused = true)]
async fn answers_of_the_board_become_variables() {
    let script = "when task *\n  call task/create {\"subject\": \"for {name}\"} as design\n  progress 50 half\n  call task/create {\"subject\": \"b\", \"blocked_by\": [\"{design.task.number}\"]}\n  complete made {design.task.number}";
    let mut lead = lead(&folder(script)).await;
    lead.assign("task-7", "").await;
    lead.hears("team.taskUpdate").await;
    let asked = lead.answers(json!({"version": 3, "task": {"number": 8}, "events": []})).await;
    assert_eq!(asked, ("task/create".to_owned(), json!({"subject": "for ann"})));
    let progress = json!({"task": "task-7", "percent": 50, "step": "half"});
    assert_eq!(lead.answers(json!({})).await, ("task/progress".to_owned(), progress));
    assert_eq!(lead.answers(json!({})).await.1["blocked_by"], json!([8]));
    assert_eq!(lead.hears("team.taskUpdate").await["result"], "made 8");
}

#[tokio::test(start_paused = true)]
async fn a_script_gives_up_on_a_lead_that_never_answers() {
    let reason = report("  call team/show {}").await["reason"].clone();
    assert_eq!(reason, "line 2 of the script: the lead does not answer");
}

#[tokio::test(start_paused = true)]
async fn a_script_waits_until_all_tasks_are_done() {
    let script = "when task *\n  wait until all tasks are done\n  complete all done\nwhen mail ping\n  message lead pong";
    let mut lead = lead(&folder(script)).await;
    lead.assign("task-7", "").await;
    lead.hears("team.taskUpdate").await;
    let list = |tasks: Value| json!({"tasks": tasks, "page": 1, "pages": 1});
    let asked = lead.answers(list(json!([{"status": "in_progress"}]))).await;
    assert_eq!(asked, ("task/list".to_owned(), json!({"status": "active", "page": 1})));
    lead.mail("ping").await;
    assert_eq!(lead.hears("team.message").await["content"], "pong", "mail is handled meanwhile");
    lead.answers(list(json!([{"status": "failed", "not_before": "2030-01-01T00:00:00Z"}]))).await;
    lead.say("team.updateContext", json!({"tasks": []})).await;
    lead.answers(list(json!([{"status": "failed", "not_before": null}, {"status": "blocked"}])))
        .await;
    assert_eq!(lead.hears("team.taskUpdate").await["result"], "all done");
}

#[tokio::test(start_paused = true)]
async fn on_attempt_and_only_once_choose_their_steps() {
    let script =
        "when task *\n  only once\n    log first\n  on attempt 2\n    log again\n  complete x";
    let mut lead = lead(&folder(script)).await;
    let mut logs = async |attempt: u32| {
        let task = json!({"id": "task-1", "subject": "x", "attempt": attempt});
        lead.say("team.assignTask", json!({ "task": task })).await;
        let mut logs = Vec::new();
        loop {
            match lead.hear().await {
                (method, log) if method == "team.log" => logs.push(log["text"].clone()),
                (method, _) if method == "team.idle" => return logs,
                _ => {}
            }
        }
    };
    assert_eq!(logs(1).await, ["first"]);
    assert_eq!(logs(2).await, ["again"]);
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_script_starts_its_task_again() {
    let script = "when task *\n  log begin\n  sleep 10m\n  complete x";
    let mut lead = lead(&folder(script)).await;
    lead.assign("task-7", "").await;
    lead.waits_for("team.log").await;
    lead.say("turn/interrupt", json!({})).await;
    lead.mail("go on").await;
    assert_eq!(lead.waits_for("team.log").await["text"], "begin");
}

#[tokio::test(start_paused = true)]
async fn a_script_may_refuse_to_stop() {
    let mut lead = lead(&folder("when shutdown\n  only once\n    refuse shutdown not yet")).await;
    lead.say("team.shutdown", json!({})).await;
    let refused = json!({"approve": false, "reason": "not yet"});
    assert_eq!(lead.hears("team.shutdownAck").await, refused);
    lead.say("team.shutdown", json!({})).await;
    assert_eq!(lead.end().await.1, Exit::Shutdown);
}

#[tokio::test(start_paused = true)]
async fn workspace_steps_go_through_the_lead() {
    let script = "when task *\n  workspace write notes/{task}.md\n    # {subject}\n  workspace read notes/{task}.md\n  workspace list\n  workspace delete old.md\n  complete {content} {files}";
    let mut lead = lead(&folder(script)).await;
    lead.assign("task-7", "").await;
    lead.hears("team.taskUpdate").await;
    let path = "notes/task-7.md";
    let written = json!({"path": path, "content": "# task-7\n", "task": "task-7"});
    assert_eq!(lead.answers(json!({})).await, ("workspace/write".to_owned(), written));
    let read = lead.answers(json!({"path": path, "size": 2, "content": "hi"})).await;
    assert_eq!(read, ("workspace/read".to_owned(), json!({"path": path, "task": "task-7"})));
    let files = json!({"files": [{"path": "a"}, {"path": "b/c"}]});
    assert_eq!(lead.answers(files).await, ("workspace/list".to_owned(), json!({"task": "task-7"})));
    let deleted = json!({"path": "old.md", "task": "task-7"});
    assert_eq!(lead.answers(json!({})).await, ("workspace/delete".to_owned(), deleted));
    assert_eq!(lead.hears("team.taskUpdate").await["result"], "hi a b/c");
}

#[tokio::test(start_paused = true)]
async fn a_script_delegates_a_task_and_knows_what_it_is_part_of() {
    let folder = folder(
        "when started\n  delegate task-{name} to bob as it\n  log {it.ok}\nwhen task *\n  complete {run.session}\n",
    );
    let mut lead = Lead::start(agent(folder.path()), folder.path());
    lead.hears("team.ready").await;
    let (method, params) = lead.answers(json!({"ok": "begun"})).await;
    assert_eq!(
        (method.as_str(), params),
        ("delegation/start", json!({"task": "task-ann", "to": "bob"}))
    );
    assert_eq!(lead.hears("team.log").await["text"], "begun");
    lead.hears("team.idle").await;
    let task = json!({"id": "task-1", "subject": "x", "run": {"session": "delegate:1"}});
    lead.say("team.assignTask", json!({ "task": task })).await;
    lead.hears("team.taskUpdate").await;
    assert_eq!(lead.waits_for("team.taskUpdate").await["result"], "delegate:1");
}
