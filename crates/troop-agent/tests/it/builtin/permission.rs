//! Modes, rules, and asking for permission.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use troop_agent::{
    Rules,
    builtin::{Api, BuiltinOptions, ToolRights},
};
use troop_testkit::mock::{Answer, MockModel};

use super::{ann, completed, does, ended, options, set_mode};
use crate::lead::Lead;

const REQUEST: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

async fn writer(folder: &TempDir, mock: &MockModel, mode: &str, rules: Rules) -> Lead {
    let mut options = options(Api::Anthropic, mock);
    options.rights.rules = rules;
    let mut lead = ann(options, folder.path()).await;
    set_mode(&mut lead, mode).await;
    lead
}

fn writes() -> Answer {
    Answer::calls([
        ("Write", json!({"file_path": "a.txt", "content": "x"})),
        ("Bash", json!({"command": "touch b.txt"})),
        ("LS", json!({})),
    ])
}

#[tokio::test]
async fn who_may_only_read_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([writes(), Answer::text("I would write a.txt")]).await;
    let mut lead = writer(&folder, &mock, "plan", Rules::default()).await;
    assert_eq!(does(&mut lead, "write").await, completed("I would write a.txt"));
    let told = mock.requests().pop().unwrap().last();
    assert_eq!(told.matches("in plan mode you may only read").count(), 2, "{told}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn what_a_rule_forbids_is_not_done_in_any_mode() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([writes(), Answer::text("no")]).await;
    let deny = vec!["Bash(touch:*)".parse().unwrap(), "Edit(*.txt)".parse().unwrap()];
    let mut lead = writer(&folder, &mock, "bypass", Rules { deny, ..Rules::default() }).await;
    does(&mut lead, "write").await;
    let told = mock.requests().pop().unwrap().last();
    assert!(told.contains("the rule `Bash(touch:*)` forbids it"), "{told}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Waits for the question, and answers as a board that stores it.
async fn is_asked(lead: &mut Lead, kind: &str) -> Value {
    loop {
        let sent = json!({"version": 7, "events": [{
            "version": 7, "schema": 1, "at": "2026-01-01T00:00:00Z", "actor": {"kind": "agent", "name": "ann"},
            "operation": REQUEST, "kind": "message.sent", "id": REQUEST, "from": "ann", "to": "lead",
            "message_kind": kind, "content": "may I?", "request_id": REQUEST, "readers": ["lead"],
        }]});
        if let Some((method, params)) = lead.answers_request(sent).await {
            assert_eq!(method, "message/send");
            return params;
        }
    }
}

#[tokio::test]
async fn what_needs_leave_is_asked_for_and_the_answer_holds() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([writes(), Answer::text("fine")]).await;
    let mut lead = writer(&folder, &mock, "accept-edits", Rules::default()).await;
    lead.assign("task-1", "write").await;
    let asked = is_asked(&mut lead, "permission_request").await;
    assert_eq!((&asked["to"], &asked["kind"]), (&json!("lead"), &json!("permission_request")));
    assert!(
        asked["content"].as_str().unwrap().starts_with("may I use Bash `touch b.txt`?"),
        "{asked}"
    );
    // Plain mail, and a yes to another question, are not the answer.
    lead.mail("yes, do it").await;
    let other = "01890a5d-ac96-774b-bcce-b302099a8058";
    lead.say("team.message", json!({"from": "lead", "content": "", "kind": "permission_response", "request_id": other, "approve": true})).await;
    let no = json!({"from": "lead", "content": "not here", "kind": "permission_response", "requestId": REQUEST, "approve": false});
    lead.say("team.message", no).await;
    assert_eq!(ended(&mut lead).await, completed("fine"));
    let told = mock.requests().pop().unwrap().last();
    assert!(told.contains("`lead` said no: not here"), "{told}");
    assert!(told.contains("yes, do it"), "mail that came meanwhile is not lost: {told}");
    assert!(folder.path().join("a.txt").exists() && !folder.path().join("b.txt").exists());
}

#[tokio::test]
async fn with_leave_it_is_done() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([writes(), Answer::text("fine")]).await;
    let mut lead = writer(&folder, &mock, "accept-edits", Rules::default()).await;
    lead.assign("task-1", "write").await;
    is_asked(&mut lead, "permission_request").await;
    let yes = json!({"from": "lead", "content": "", "kind": "permission_response", "requestId": REQUEST, "approve": true});
    lead.say("team.message", yes).await;
    assert_eq!(ended(&mut lead).await, completed("fine"));
    assert!(folder.path().join("b.txt").exists());
}

#[tokio::test]
async fn who_waits_for_leave_goes_on_when_it_needs_none_any_more_and_asks_again_when_it_does() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([writes(), Answer::text("fine")]).await;
    let mut lead = writer(&folder, &mock, "default", Rules::default()).await;
    lead.assign("task-1", "write").await;
    let asked = is_asked(&mut lead, "permission_request").await;
    assert!(asked["content"].as_str().unwrap().starts_with("may I use Write"), "{asked}");
    // It may edit now, but runs no command without permission.
    set_mode(&mut lead, "accept-edits").await;
    let asked = is_asked(&mut lead, "permission_request").await;
    assert!(asked["content"].as_str().unwrap().starts_with("may I use Bash"), "{asked}");
    assert!(folder.path().join("a.txt").exists());
    set_mode(&mut lead, "bypass").await;
    assert_eq!(ended(&mut lead).await, completed("fine"));
    assert!(folder.path().join("b.txt").exists());
}

#[tokio::test]
async fn who_is_asked_sees_the_whole_input() {
    let folder = TempDir::new().unwrap();
    let long = format!("{}\n; touch tail", "x".repeat(9_000));
    let bash = Answer::call("Bash", &json!({"command": long}));
    let mock = MockModel::with([bash, Answer::text("fine")]).await;
    let mut lead = writer(&folder, &mock, "default", Rules::default()).await;
    lead.assign("task-1", "run").await;
    let asked = is_asked(&mut lead, "permission_request").await;
    let input = json!({"command": long}).to_string();
    let whole = format!("may I use Bash `{long}`?\n{input}");
    assert_eq!(asked["content"].as_str().unwrap(), whole);
}

#[tokio::test]
async fn who_waits_for_leave_can_be_interrupted() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([writes(), Answer::text("never mind")]).await;
    let mut lead = writer(&folder, &mock, "default", Rules::default()).await;
    lead.assign("task-1", "write").await;
    is_asked(&mut lead, "permission_request").await;
    lead.mails_and_knows("leave that to bob").await;
    lead.say("turn/interrupt", json!({})).await;
    lead.mail("leave it").await;
    assert_eq!(ended(&mut lead).await, completed("never mind"));
    let told = mock.requests().pop().unwrap().last();
    assert!(told.contains("leave that to bob"), "what was heard meanwhile is not lost: {told}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_plan_waits_for_its_answer_and_is_not_forgotten() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([
        Answer::call("ExitPlanMode", &json!({"plan": "write a.txt, nothing else"})),
        Answer::call("Write", &json!({"file_path": "a.txt", "content": "x"})),
        Answer::text("fine"),
    ])
    .await;
    let mut lead = writer(&folder, &mock, "plan", Rules::default()).await;
    lead.assign("task-1", "write").await;
    let asked = is_asked(&mut lead, "plan_approval_request").await;
    assert_eq!(asked["content"], "write a.txt, nothing else");
    set_mode(&mut lead, "accept-edits").await;
    let yes = json!({"from": "lead", "content": "", "kind": "plan_approval_response", "requestId": REQUEST, "approve": true});
    lead.say("team.message", yes).await;
    assert_eq!(ended(&mut lead).await, completed("fine"));
    assert!(folder.path().join("a.txt").exists());
    let told = mock.requests()[1].last();
    assert!(told.contains("Your plan, which was approved:\nwrite a.txt, nothing else"), "{told}");
}

#[tokio::test]
async fn a_plan_that_was_rejected_is_changed_and_nothing_is_done_before_it_is_good() {
    let folder = TempDir::new().unwrap();
    let write = Answer::call("Write", &json!({"file_path": "a.txt", "content": "x"}));
    let mock = MockModel::with([
        Answer::call("ExitPlanMode", &json!({"plan": "delete all"})),
        write.clone(),
        Answer::call("ExitPlanMode", &json!({"plan": "write a.txt"})),
        write,
        Answer::text("fine"),
    ])
    .await;
    let mut lead = writer(&folder, &mock, "plan", Rules::default()).await;
    lead.assign("task-1", "write").await;
    let answer = |content: &str, approve: bool| json!({"from": "lead", "content": content, "kind": "plan_approval_response", "requestId": REQUEST, "approve": approve});
    assert_eq!(is_asked(&mut lead, "plan_approval_request").await["content"], "delete all");
    lead.say("team.message", answer("too much", false)).await;
    assert_eq!(is_asked(&mut lead, "plan_approval_request").await["content"], "write a.txt");
    assert!(!folder.path().join("a.txt").exists(), "it stays in plan mode");
    set_mode(&mut lead, "accept-edits").await;
    lead.say("team.message", answer("", true)).await;
    assert_eq!(ended(&mut lead).await, completed("fine"));
    assert!(folder.path().join("a.txt").exists());
    let told: Vec<_> = mock.requests().iter().map(troop_testkit::mock::Seen::last).collect();
    assert!(
        told[1].contains("your plan was rejected: too much; change it and ask again"),
        "{told:#?}"
    );
    assert!(told[2].contains("in plan mode you may only read"), "{told:#?}");
}

#[tokio::test]
async fn a_result_that_is_too_long_is_cut_and_the_whole_is_kept_in_the_workspace() {
    let folder = TempDir::new().unwrap();
    let (long, short) = ("ü".repeat(262_145), "ü".repeat(262_144));
    let mock = MockModel::with([Answer::text(&long), Answer::text(&short)]).await;
    let mut lead = writer(&folder, &mock, "default", Rules::default()).await;
    lead.assign("task-1", "count").await;
    let (method, file) = loop {
        if let Some(asked) = lead.answers_request(json!({})).await {
            break asked;
        }
    };
    assert_eq!((method.as_str(), &file["content"]), ("workspace/write", &json!(long)));
    let (status, result) = ended(&mut lead).await;
    assert_eq!((status.as_str(), result.chars().count()), ("completed", 262_144));
    let path = file["path"].as_str().unwrap();
    let end = format!(
        "ü\n[cut: it has 262145 characters, and 262144 can be told; all of it: `troop --team blue workspace read {path}`]"
    );
    assert!(result.ends_with(&end), "{}", troop_model::preview(&end, 500));
    assert_eq!(does(&mut lead, "count less").await, completed(&short));
}

#[tokio::test]
async fn an_agent_knows_its_project_and_what_it_is_and_has_only_its_tools() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("AGENTS.md"), "tabs, never spaces").unwrap();
    let mock = MockModel::with([
        Answer::call("Bash", &json!({"command": "touch x"})),
        Answer::text("fine"),
    ])
    .await;
    let options = BuiltinOptions {
        about: "You review code.".to_owned(),
        rights: ToolRights {
            only: Some(vec!["Read".parse().unwrap(), "Grep".parse().unwrap()]),
            ..ToolRights::default()
        },
        ..options(Api::Anthropic, &mock)
    };
    let mut lead = ann(options, folder.path()).await;
    does(&mut lead, "look").await;
    let asked = mock.requests();
    let system = asked[0].system();
    assert!(
        system.contains("You review code.") && system.contains("tabs, never spaces"),
        "{system}"
    );
    assert_eq!(asked[0].tools(), ["Read", "Grep", "FailTask", "GiveBackTask"]);
    assert!(asked[1].last().contains("there is no tool `Bash`"), "{}", asked[1].last());
    assert!(!folder.path().join("x").exists());
}

#[tokio::test]
async fn an_agent_uses_a_tool_only_for_what_it_was_given_it_and_is_not_offered_what_is_denied() {
    let folder = TempDir::new().unwrap();
    let calls = [("Bash", json!({"command": "touch x"})), ("Bash", json!({"command": "echo hi"}))];
    let mock = MockModel::with([Answer::calls(calls), Answer::text("fine")]).await;
    let deny = vec!["Write".parse().unwrap()];
    let tools = ["Bash(echo:*)", "Write", "Read"].map(|rule| rule.parse().unwrap());
    let options = BuiltinOptions {
        rights: ToolRights {
            only: Some(tools.to_vec()),
            rules: Rules { deny, ..Rules::default() },
        },
        ..options(Api::Anthropic, &mock)
    };
    let mut lead = ann(options, folder.path()).await;
    does(&mut lead, "look").await;
    let asked = mock.requests();
    assert_eq!(asked[0].tools(), ["Read", "Bash", "FailTask", "GiveBackTask"]);
    let told = asked[1].last();
    let why = "your tools are not for that; you may use: `Bash(echo:*)`, `Write`, `Read`";
    assert!(told.contains(why) && told.contains("hi"), "{told}");
    assert!(!folder.path().join("x").exists());
}

#[tokio::test]
async fn where_there_are_no_teams_no_tool_of_a_team_is_offered_and_a_call_says_why() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([
        Answer::call("TaskCreate", &json!({"subject": "x", "description": "y"})),
        Answer::text("fine"),
    ])
    .await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    does(&mut lead, "look").await;
    let asked = mock.requests();
    let team = ["TeamCreate", "TaskCreate", "TaskList", "SendMessage", "Agent"];
    assert!(asked[0].tools().iter().all(|tool| !team.contains(&tool.as_str())));
    let system = asked[0].system();
    assert!(system.contains("You are NOT part of any team."), "{system}");
    assert!(system.contains("You have NO delegation targets."), "{system}");
    let told = asked[1].last();
    assert_eq!(told, "agent teams are not enabled: switched off by the test");
}
