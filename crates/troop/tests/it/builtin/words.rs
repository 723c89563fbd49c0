//! Messages of agents: plans, overlong answers, keys.

use serde_json::json;
use troop_testkit::mock::{Answer, MockModel};

use super::{
    KEY,
    goal::{end, sees},
    member, repository, run, start,
};

#[tokio::test]
async fn a_read_only_members_finding_is_taken_as_its_plan() {
    let troop = repository(&[]);
    let mock = MockModel::start(move |seen| {
        let last = seen.last();
        match member(seen).as_str() {
            "lead" if last.contains("find out why") => {
                Answer::call("TaskCreate", &json!({"subject": "why", "description": "look"}))
            }
            "ann" if last.contains("It was approved") => Answer::text("The cache is cold."),
            "ann" if last.contains("your plan was rejected: and then?") => {
                Answer::text("It is the cache, and nothing is to be done.")
            }
            "ann" => Answer::text("It is the cache."),
            _ => Answer::text("I wait."),
        }
    })
    .await;
    let words =
        ["--team", "crew", "run", "find out why", "--agent", "builtin", "-m", "ann=builtin"];
    let team = start(&troop, &mock, &[&words[..], &["--permissions", "plan"]].concat());
    // The run prints what it waits for.
    let team =
        sees(team, "answer, since the lead may not: `troop --team crew message answer ann").await;
    troop.ok("--team crew message answer ann no 'and then?'");
    let team = sees(team, "ann plans: It is the cache, and nothing is to be done.").await;
    troop.ok("--team crew message answer ann yes");
    let run = end(team).await;
    assert_eq!(run.code, 0, "{} {}", run.out, run.err);
    assert!(run.out.contains("ann completed task-1: The cache is cold."), "{}", run.out);
}

#[tokio::test]
async fn an_overlong_answer_of_a_lead_is_cut_and_kept_in_full() {
    let troop = repository(&[]);
    let long = "All is well. ".repeat(25_000);
    let said = long.clone();
    let mock = MockModel::start(move |_| Answer::text(&said)).await;
    let run = run(&troop, &mock, &["--team", "crew", "run", "how is it?", "--agent", "builtin"]);
    let run = run.await;
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(mock.requests().len(), 1, "it is paid for once");
    let files = troop.json("--team crew workspace list");
    let path = files["files"][0]["path"].as_str().unwrap();
    assert!(run.out.contains(&format!("`troop --team crew workspace read {path}`]")));
    assert_eq!(troop.ok(&format!("--team crew workspace read {path}")).trim_end(), long.trim_end());
}

#[tokio::test]
async fn tools_do_not_leak_a_key_to_the_team() {
    let troop = repository(&[]);
    let key = format!("the key is {KEY}");
    let calls = [
        ("TaskCreate", json!({"subject": key, "description": key, "metadata": {"more": [key]}})),
        ("SendMessage", json!({"to": "user", "message": key, "summary": key})),
    ];
    let mock = MockModel::start(move |seen| {
        let is_first = seen.last().contains("say it");
        if is_first { Answer::calls(calls.clone()) } else { Answer::text("I said it.") }
    })
    .await;
    let run = run(&troop, &mock, &["--team", "crew", "run", "say it", "--agent", "builtin"]).await;
    let events = troop.ok("--team crew events --json");
    let log = troop.ok("--team crew log lead");
    assert!(events.contains("the key is [key]"), "{events}");
    assert!(run.out.contains("the key is [key]"), "{}", run.out);
    for (what, text) in [("events", events), ("log", log), ("run", run.out), ("errors", run.err)] {
        assert!(!text.contains(KEY), "{what}: {text}");
    }
}
