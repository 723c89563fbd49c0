//! The cost of thinking, and what happens when a team can spend no more.

use serde_json::{Value, json};
use tempfile::TempDir;
use troop_agent::builtin::{Api, BuiltinOptions, Price};
use troop_testkit::mock::{Answer, Break, MockModel, Reply, Way};

use super::{ann, ended, options, set_mode};
use crate::lead::Lead;

const PRICE: Price = Price { input: 3.0, cache_read: 0.3, cache_write: 3.75, output: 15.0 };

/// A reply with these token counts: read, read from the cache, written.
fn costing(answer: Answer, tokens: (u64, u64, u64)) -> Answer {
    let Answer::Reply(reply) = answer else { panic!("only a reply costs something") };
    Answer::Reply(Reply { tokens, ..reply })
}

/// The cost reports before the end of a task, and its report.
async fn costs(lead: &mut Lead) -> (Vec<Value>, Value) {
    let mut costs = Vec::new();
    loop {
        let (said, params) = lead.hear().await;
        match said.as_str() {
            "turn/usage" => costs.push(params),
            "team.taskUpdate" if params["status"] != "in_progress" => return (costs, params),
            _ => {}
        }
    }
}

#[tokio::test]
async fn every_reply_is_reported_with_its_task_and_its_known_price() {
    for (price, dollars) in
        [(Some(PRICE), [json!(0.000_45), json!(0.000_093)]), (None, [Value::Null, Value::Null])]
    {
        let folder = TempDir::new().unwrap();
        let mock = MockModel::with([
            costing(Answer::call("LS", &json!({})), (100, 0, 10)),
            costing(Answer::text("fine"), (1, 50, 5)),
        ])
        .await;
        let options = BuiltinOptions { price, ..options(Api::Anthropic, &mock) };
        let mut lead = ann(options, folder.path()).await;
        lead.assign("task-1", "look").await;
        let (costs, report) = costs(&mut lead).await;
        assert_eq!(report["status"], "completed");
        let wanted = [(100, 0, 10), (1, 50, 5)].into_iter().zip(dollars).map(|((input, kept, output), dollars)| {
            let mut said = json!({
                "model": "test-model", "taskId": "task-1", "input": input, "cacheRead": kept, "cacheWrite": 0, "output": output,
            });
            if !dollars.is_null() {
                said["dollars"] = dollars;
            }
            said
        });
        assert_eq!(costs, wanted.collect::<Vec<_>>());
    }
}

/// Tells the teammate that the team may spend nothing more, or that it may again.
async fn is_spent(lead: &mut Lead, why: Option<&str>) {
    let context = json!({"tasks": [], "mode": "bypass", "spent": why});
    lead.say("team.updateContext", context).await;
}

#[tokio::test]
async fn an_agent_over_budget_gives_its_task_back_at_the_next_safe_point() {
    let folder = TempDir::new().unwrap();
    let command = "until [ -e go ]; do sleep 0.01; done; echo gone";
    let mock =
        MockModel::with([Answer::call("Bash", &json!({"command": command})), Answer::text("fine")])
            .await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    lead.assign("task-1", "look").await;
    mock.is_asked(1).await;
    is_spent(&mut lead, Some("the budget is spent")).await;
    // It hears of the budget before the command ends.
    lead.mails_and_knows("go").await;
    std::fs::write(folder.path().join("go"), "").unwrap();
    let given_back = ("pending".to_owned(), "the budget is spent".to_owned());
    assert_eq!(ended(&mut lead).await, given_back);
    assert_eq!(mock.requests().len(), 1, "the model is not asked without a budget");
    lead.assign("task-2", "another").await;
    assert_eq!(lead.waits_for("team.taskUpdate").await["status"], "in_progress");
    assert_eq!(ended(&mut lead).await, given_back);
    is_spent(&mut lead, None).await;
    lead.assign("task-1", "look").await;
    assert_eq!(lead.waits_for("team.taskUpdate").await["status"], "in_progress");
    assert_eq!(ended(&mut lead).await.0, "completed");
    let asked = mock.requests().pop().unwrap();
    assert!(asked.body.to_string().contains("gone"), "its work is remembered");
}

#[tokio::test]
async fn a_permission_question_ends_when_the_budget_is_spent() {
    let folder = TempDir::new().unwrap();
    let mock = MockModel::with([Answer::call("Bash", &json!({"command": "touch x"}))]).await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    set_mode(&mut lead, "default").await;
    lead.assign("task-1", "look").await;
    lead.stores_question().await;
    is_spent(&mut lead, Some("the budget is spent")).await;
    assert_eq!(ended(&mut lead).await.0, "pending");
    assert!(!folder.path().join("x").exists());
}

#[tokio::test]
async fn a_broken_reply_costs_the_usage_that_the_api_reported() {
    let folder = TempDir::new().unwrap();
    let broken = Way { broken: Some((400, Break::Cut)), ..Way::default() };
    let long = costing(Answer::text(&"many words ".repeat(50)), (100, 0, 10));
    let mock =
        MockModel::with([long.by(broken), costing(Answer::text("fine"), (100, 0, 10))]).await;
    let mut lead = ann(options(Api::Anthropic, &mock), folder.path()).await;
    lead.assign("task-1", "look").await;
    let (costs, report) = costs(&mut lead).await;
    assert_eq!(report["status"], "completed");
    let input: u64 = costs.iter().filter_map(|it| it["input"].as_u64()).sum();
    assert_eq!(input, 200, "{costs:?}");
}
