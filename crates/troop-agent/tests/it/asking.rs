//! Permissions and plans, as any agent asks for them: an agent without a model, and a lead that answers.

use std::path::Path;

use serde_json::json;
use troop_agent::{
    Authority, PermissionAnswer, PermissionRequest, Rules, ToolAction, Turn, TurnOutcome, Work,
    permission_question,
};
use troop_model::Permissions;
use troop_protocol::Category;

use crate::lead::{Acts, Lead};

/// An agent that wants to run the command of its task, or proposes it as a plan if it begins with `plan`. Its result is the
/// answer, and the mail that it got meanwhile.
async fn asker(authority: Authority) -> Lead {
    let (agent, _) = Acts::new(move |work, turn| {
        Box::pin(async move {
            let Work::Task(task) = work else { return TurnOutcome::Done };
            let answer = match task.description.strip_prefix("plan ") {
                Some(plan) => format!("{:?}", turn.propose(plan, authority).await),
                None => format!("{:?}", ask(&task.description, authority, turn).await),
            };
            let mail: Vec<_> = turn.mail().into_iter().map(|message| message.content).collect();
            let result = format!("{answer}; mail: {mail:?}");
            TurnOutcome::Completed { result, summary: None }
        })
    });
    let mut lead = Lead::of(agent, Path::new("/")).await;
    // Only a lead that answers questions has modes.
    lead.say("team.updateContext", json!({"tasks": [], "mode": "default"})).await;
    lead
}

async fn ask(
    command: &str,
    authority: Authority,
    turn: &Turn,
) -> Result<PermissionAnswer, troop_agent::NoAnswer> {
    let rules = Rules {
        allow: vec!["Bash(ls:*)".parse().unwrap()],
        deny: vec!["Bash(rm:*)".parse().unwrap()],
        ask: Vec::new(),
    };
    let action = ToolAction {
        tool: "Bash",
        category: Category::Shell,
        what: command,
        real: command,
        root: Path::new("/"),
    };
    let input = json!({ "command": command });
    let question = || permission_question(&action, input.as_object().unwrap());
    let request =
        PermissionRequest { rules: &rules, action: &action, question: &question, authority };
    turn.ask_permission(&request).await
}

async fn result(lead: &mut Lead) -> String {
    loop {
        let report = lead.waits_for("team.taskUpdate").await;
        if let Some(result) = report["result"].as_str() {
            return result.to_owned();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn rules_answer_before_anybody_is_asked() {
    let mut lead = asker(Authority::Unknown).await;
    lead.assign("task-1", "ls -la").await;
    assert_eq!(result(&mut lead).await, "Ok(Allowed); mail: []");
    lead.assign("task-2", "rm -rf x").await;
    let refused = result(&mut lead).await;
    assert!(
        refused.starts_with("Ok(Forbidden { why: \"the rule `Bash(rm:*)` forbids"),
        "{refused}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_yes_allows_and_a_no_gives_its_reason() {
    let mut lead = asker(Authority::Unknown).await;
    lead.assign("task-1", "make").await;
    let question = lead.stores_question().await;
    assert_eq!(
        (&question["to"], &question["kind"]),
        (&json!("lead"), &json!("permission_request"))
    );
    assert_eq!(question["content"], "may I use Bash `make`?\n{\"command\":\"make\"}");
    lead.mail("by the way").await;
    lead.answers_question("permission_response", true, "").await;
    assert_eq!(result(&mut lead).await, "Ok(Allowed); mail: [\"by the way\"]");
    lead.assign("task-2", "make").await;
    lead.stores_question().await;
    lead.answers_question("permission_response", false, "not now").await;
    let denied = "Ok(Denied { by: \"lead\", reason: \"not now\" }); mail: []";
    assert_eq!(result(&mut lead).await, denied);
}

#[tokio::test(start_paused = true)]
async fn a_lead_is_asked_only_for_what_it_may_do_itself() {
    for (authority, to) in [
        (Authority::Lead(Permissions::Bypass), "lead"),
        (Authority::Lead(Permissions::Default), "user"),
        (Authority::User, "user"),
    ] {
        let mut lead = asker(authority).await;
        lead.assign("task-1", "make").await;
        assert_eq!(lead.stores_question().await["to"], to, "{authority:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_mode_answers_an_open_question() {
    let mut lead = asker(Authority::Unknown).await;
    lead.assign("task-1", "make").await;
    lead.stores_question().await;
    lead.say("team.updateContext", json!({"tasks": [], "mode": "bypass"})).await;
    assert_eq!(result(&mut lead).await, "Ok(Allowed); mail: []");
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_question_has_no_answer() {
    let mut lead = asker(Authority::Unknown).await;
    lead.assign("task-1", "make").await;
    lead.stores_question().await;
    lead.say("turn/interrupt", json!({})).await;
    assert_eq!(result(&mut lead).await, "Err(Interrupted); mail: []");
}

#[tokio::test(start_paused = true)]
async fn a_team_without_money_does_not_wait_for_answers() {
    let mut lead = asker(Authority::Unknown).await;
    lead.assign("task-1", "make").await;
    lead.stores_question().await;
    lead.say("team.updateContext", json!({"tasks": [], "spent": "the budget is spent"})).await;
    let spent = "Err(Spent { why: \"the budget is spent\" }); mail: []";
    assert_eq!(result(&mut lead).await, spent);
}

#[tokio::test(start_paused = true)]
async fn a_plan_is_approved_or_rejected_with_a_reason() {
    let mut lead = asker(Authority::Lead(Permissions::Default)).await;
    lead.assign("task-1", "plan write a.txt").await;
    let plan = lead.stores_question().await;
    assert_eq!((&plan["to"], &plan["content"]), (&json!("lead"), &json!("write a.txt")));
    lead.answers_question("plan_approval_response", false, "too much").await;
    let rejected = "Ok(Rejected { reason: \"too much\" }); mail: []";
    assert_eq!(result(&mut lead).await, rejected);
    lead.assign("task-2", "plan write a.txt").await;
    lead.stores_question().await;
    lead.answers_question("plan_approval_response", true, "").await;
    assert_eq!(result(&mut lead).await, "Ok(Approved); mail: []");
}

#[tokio::test(start_paused = true)]
async fn the_plan_of_a_lead_goes_to_the_user() {
    let mut lead = asker(Authority::User).await;
    lead.assign("task-1", "plan write a.txt").await;
    assert_eq!(lead.stores_question().await["to"], "user");
}
