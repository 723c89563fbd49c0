//! Budgets of teams of built-in agents.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use serde_json::json;
use troop_testkit::mock::{Answer, MockModel};

use super::{
    member, repository, run,
    team::{TEAM, leads, working_team, works},
};
use crate::troop::Troop;

/// A repository in which every reply of the mock costs a dollar and a half.
fn priced() -> Troop {
    let troop = repository(&[]);
    let price = json!({"input": 100_000, "output": 100_000});
    let config = json!({
        "models": {"claude-sonnet-4-5": {"price": price}}, "permissions": {"allow": ["Edit"]},
        "teams": {"budget": {"warnPercent": 50}},
    });
    fs::write(troop.folder().join("home/config.json"), config.to_string()).unwrap();
    troop
}

#[tokio::test]
async fn a_budget_ends_a_run_and_a_raised_one_finishes_it() {
    let troop = priced();
    let is_raised = Arc::new(AtomicBool::new(false));
    let may_work = Arc::clone(&is_raised);
    let mock = MockModel::start(move |seen| match member(seen).as_str() {
        "lead" => leads(seen),
        _ if may_work.load(SeqCst) => works(seen),
        // It never gets anywhere.
        _ => Answer::call("LS", &json!({})),
    })
    .await;
    let mut words = TEAM.to_vec();
    words.extend(["--budget", "20"]);
    let first = run(&troop, &mock, &words).await;
    assert_eq!(first.code, 1, "{}\n{}", first.out, first.err);
    let told = "troop → user: more than 50% of the team's budget is spent: $";
    assert!(first.out.contains(told), "{}", first.out);
    assert!(first.out.contains("troop → user: the team's budget is spent: $"), "{}", first.out);
    assert!(first.out.contains("of $20.00"), "{}", first.out);
    let says = "; 2 tasks are not done\nhint: raise it: `troop team set crew budget.dollars=";
    assert!(first.err.contains(says), "{}", first.err);

    let status = troop.json("team status");
    assert_eq!((&status["spending"], &status["tasks"]["pending"]), (&json!("spent"), &json!(2)));
    let of_all = status["usage"]["dollars"].as_f64().unwrap();
    let members = status["members"].as_array().unwrap();
    let of_each = members.iter().map(|it| it["usage"]["dollars"].as_f64().unwrap());
    assert!((of_each.sum::<f64>() - of_all).abs() < 1e-6 && of_all >= 20.0, "{status:#}");
    assert!(troop.ok("team status").contains("  spent: nothing new is started"));
    assert!(troop.ok("member list").contains(" tokens $"), "{}", troop.ok("member list"));
    let task = troop.json("task get 1");
    assert!(task["usage"]["output"].as_u64().unwrap() > 0, "{task:#}");
    let events = troop.ok("events");
    assert!(events.contains("the team's budget is spent: $"), "given back, and why: {events}");

    let n_asked = mock.requests().len();
    let refused = run(&troop, &mock, &["resume", "crew"]).await;
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert!(refused.err.contains("the team's budget is spent"), "{}", refused.err);
    assert!(!refused.out.contains("started"), "nobody was: {}", refused.out);
    let enough = refused.err.split("`troop team set crew budget.dollars=").nth(1).unwrap();
    let enough: f64 = enough.split('`').next().unwrap().parse().unwrap();
    assert!(enough > of_all, "{}", refused.err);
    assert_eq!(mock.requests().len(), n_asked, "without a budget no model is asked");

    troop.ok("team set crew budget.dollars=1000");
    is_raised.store(true, SeqCst);
    let second = run(&troop, &mock, &["resume", "crew"]).await;
    assert_eq!(second.code, 0, "{}\n{}", second.out, second.err);
    for file in ["one.txt", "two.txt"] {
        assert_eq!(fs::read_to_string(troop.folder().join(file)).unwrap(), "hello\n");
    }
    assert!(second.out.contains("of $1000.00"), "{}", second.out);
}

#[tokio::test]
async fn a_model_without_a_price_counts_tokens_and_says_so() {
    let troop = repository(&["Edit"]);
    let mock = working_team().await;
    let run = run(&troop, &mock, &TEAM).await;
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains(" tokens, price unknown"), "{}", run.out);
    let usage = &troop.json("team status")["usage"];
    let tokens = ["input", "cache_read", "cache_write", "output"].map(|it| usage[it].as_u64());
    let sum: u64 = tokens.into_iter().flatten().sum();
    assert_eq!(usage["unpriced"].as_u64(), Some(sum), "{usage}");
    assert_eq!(sum, 15 * mock.requests().len() as u64, "every token is counted once");
}

#[tokio::test]
async fn a_budget_that_cannot_be_enforced_is_refused_with_the_fix() {
    let troop = repository(&[]);
    let mock = MockModel::with([]).await;
    let said = |words: &'static [&'static str]| run(&troop, &mock, words);
    let nothing = said(&["run", "hi", "--agent", "builtin", "--budget", "0"]).await;
    assert!(nothing.code != 0 && nothing.err.contains("must be more than 0"), "{}", nothing.err);

    let unpriced = said(&["run", "hi", "--agent", "builtin", "--budget", "5"]).await;
    assert_eq!(unpriced.code, 1, "{}", unpriced.out);
    let hint =
        "`\"models\": {\"claude-sonnet-4-5\": {\"price\": {\"input\": 3, \"output\": 15}}}` in `";
    let message = "the price of the model `claude-sonnet-4-5` is unknown, so a budget of $5.00 could not be kept";
    assert!(unpriced.err.contains(message) && unpriced.err.contains(hint), "{}", unpriced.err);

    let config = json!({"limits": {"dollars": 5}}).to_string();
    fs::write(troop.folder().join("home/config.json"), config).unwrap();
    let limited = said(&["run", "hi", "--agent", "builtin"]).await;
    assert!(
        limited.err.contains("the limit of $5 (`limits.dollars`) could not be kept"),
        "{limited:?}"
    );
    assert!(mock.requests().is_empty(), "nothing was asked");
    assert_eq!(troop.json("team list")["teams"], json!([]), "nothing was made");
}
