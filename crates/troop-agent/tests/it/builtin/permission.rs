//! Modes, rules, and asking for permission.

use std::fs;

use serde_json::json;
use tempfile::TempDir;
use troop_agent::{
    Rules,
    builtin::{Api, BuiltinOptions, ToolRights},
};
use troop_testkit::mock::{Answer, MockModel};

use super::{ann, completed, does, ended, options, set_mode};
use crate::lead::Lead;

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
async fn an_agent_in_plan_mode_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([writes(), Answer::text("I would write a.txt")]).await;
    let mut lead = writer(&folder, &mock, "plan", Rules::default()).await;
    assert_eq!(does(&mut lead, "write").await, completed("I would write a.txt"));
    let told = mock.requests().pop().unwrap().last();
    assert_eq!(told.matches("in plan mode you may only read").count(), 2, "{told}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_deny_rule_stops_a_call_in_every_mode() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([writes(), Answer::text("no")]).await;
    let deny = vec!["Bash(touch:*)".parse().unwrap(), "Edit(*.txt)".parse().unwrap()];
    let mut lead = writer(&folder, &mock, "bypass", Rules { deny, ..Rules::default() }).await;
    does(&mut lead, "write").await;
    let told = mock.requests().pop().unwrap().last();
    assert!(told.contains("the rule `Bash(touch:*)` forbids it"), "{told}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_denied_permission_keeps_the_call_from_running() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([writes(), Answer::text("fine")]).await;
    let mut lead = writer(&folder, &mock, "accept-edits", Rules::default()).await;
    lead.assign("task-1", "write").await;
    let asked = lead.stores_question().await;
    assert_eq!((&asked["to"], &asked["kind"]), (&json!("lead"), &json!("permission_request")));
    assert!(
        asked["content"].as_str().unwrap().starts_with("may I use Bash `touch b.txt`?"),
        "{asked}"
    );
    // Plain mail, and a yes to another question, are not the answer.
    lead.mail("yes, do it").await;
    let other = "01890a5d-ac96-774b-bcce-b302099a8058";
    lead.say("team.message", json!({"from": "lead", "content": "", "kind": "permission_response", "request_id": other, "approve": true})).await;
    lead.answers_question("permission_response", false, "not here").await;
    assert_eq!(ended(&mut lead).await, completed("fine"));
    let told = mock.requests().pop().unwrap().last();
    assert!(told.contains("`lead` said no: not here"), "{told}");
    assert!(told.contains("yes, do it"), "mail that came meanwhile is not lost: {told}");
    assert!(folder.path().join("a.txt").exists() && !folder.path().join("b.txt").exists());
}

#[tokio::test]
async fn a_granted_permission_lets_the_call_run() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([writes(), Answer::text("fine")]).await;
    let mut lead = writer(&folder, &mock, "accept-edits", Rules::default()).await;
    lead.assign("task-1", "write").await;
    lead.stores_question().await;
    lead.answers_question("permission_response", true, "").await;
    assert_eq!(ended(&mut lead).await, completed("fine"));
    assert!(folder.path().join("b.txt").exists());
}

#[tokio::test]
async fn a_new_mode_settles_or_repeats_a_permission_question() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([writes(), Answer::text("fine")]).await;
    let mut lead = writer(&folder, &mock, "default", Rules::default()).await;
    lead.assign("task-1", "write").await;
    let asked = lead.stores_question().await;
    assert!(asked["content"].as_str().unwrap().starts_with("may I use Write"), "{asked}");
    // It may edit now, but runs no command without permission.
    set_mode(&mut lead, "accept-edits").await;
    let asked = lead.stores_question().await;
    assert!(asked["content"].as_str().unwrap().starts_with("may I use Bash"), "{asked}");
    assert!(folder.path().join("a.txt").exists());
    set_mode(&mut lead, "bypass").await;
    assert_eq!(ended(&mut lead).await, completed("fine"));
    assert!(folder.path().join("b.txt").exists());
}

#[tokio::test]
async fn a_permission_question_shows_the_whole_input() {
    let folder = TempDir::new().unwrap();
    let long = format!("{}\n; touch tail", "x".repeat(9_000));
    let bash = Answer::call("Bash", &json!({"command": long}));
    let mock = MockModel::with([bash, Answer::text("fine")]).await;
    let mut lead = writer(&folder, &mock, "default", Rules::default()).await;
    lead.assign("task-1", "run").await;
    let asked = lead.stores_question().await;
    let input = json!({"command": long}).to_string();
    let whole = format!("may I use Bash `{long}`?\n{input}");
    assert_eq!(asked["content"].as_str().unwrap(), whole);
}

#[tokio::test]
async fn a_permission_question_can_be_interrupted() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([writes(), Answer::text("never mind")]).await;
    let mut lead = writer(&folder, &mock, "default", Rules::default()).await;
    lead.assign("task-1", "write").await;
    lead.stores_question().await;
    lead.mails_and_knows("leave that to bob").await;
    lead.say("turn/interrupt", json!({})).await;
    lead.mail("leave it").await;
    assert_eq!(ended(&mut lead).await, completed("never mind"));
    let told = mock.requests().pop().unwrap().last();
    assert!(told.contains("leave that to bob"), "mail that came meanwhile is not lost: {told}");
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
    let asked = lead.stores_question().await;
    assert_eq!(asked["content"], "write a.txt, nothing else");
    set_mode(&mut lead, "accept-edits").await;
    lead.answers_question("plan_approval_response", true, "").await;
    assert_eq!(ended(&mut lead).await, completed("fine"));
    assert!(folder.path().join("a.txt").exists());
    let told = mock.requests()[1].last();
    assert!(told.contains("Your approved plan:\nwrite a.txt, nothing else"), "{told}");
}

#[tokio::test]
async fn nothing_is_done_until_a_rejected_plan_is_changed_and_approved() {
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
    assert_eq!(lead.stores_question().await["content"], "delete all");
    lead.answers_question("plan_approval_response", false, "too much").await;
    assert_eq!(lead.stores_question().await["content"], "write a.txt");
    assert!(!folder.path().join("a.txt").exists(), "it stays in plan mode");
    set_mode(&mut lead, "accept-edits").await;
    lead.answers_question("plan_approval_response", true, "").await;
    assert_eq!(ended(&mut lead).await, completed("fine"));
    assert!(folder.path().join("a.txt").exists());
    let told: Vec<_> = mock.requests().iter().map(troop_testkit::mock::MockRequest::last).collect();
    assert!(
        told[1].contains("your plan was rejected: too much; change it and ask again"),
        "{told:#?}"
    );
    assert!(told[2].contains("in plan mode you may only read"), "{told:#?}");
}

#[tokio::test]
async fn a_long_result_is_cut_and_kept_whole_in_the_workspace() {
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
async fn an_agent_gets_its_definition_its_project_and_only_its_tools() {
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
    assert_eq!(asked[0].tools(), ["Read", "Grep", "FailTask", "GiveBackTask", "TodoWrite"]);
    assert!(asked[1].last().contains("there is no tool `Bash`"), "{}", asked[1].last());
    assert!(!folder.path().join("x").exists());
}

#[tokio::test]
async fn a_tool_is_limited_to_its_purpose_and_denied_tools_are_not_offered() {
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
    assert_eq!(asked[0].tools(), ["Read", "Bash", "FailTask", "GiveBackTask", "TodoWrite"]);
    let told = asked[1].last();
    let why = "your tools do not allow that; you may use: `Bash(echo:*)`, `Write`, `Read`";
    assert!(told.contains(why) && told.contains("hi"), "{told}");
    assert!(!folder.path().join("x").exists());
}

#[tokio::test]
async fn without_teams_no_team_tool_is_offered_and_a_call_says_why() {
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
