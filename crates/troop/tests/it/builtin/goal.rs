//! A lead without teammates, and everything that can interrupt it.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use rustix::process::Signal;
use serde_json::json;
use troop_testkit::{
    mock::{Answer, MockModel, MockRequest, Reply},
    wait_for,
};

use super::{repository, run, start};
use crate::troop::{Printing, Run, Troop};

const GOAL: [&str; 6] = ["--team", "crew", "run", "say UNICORN", "--agent", "builtin"];

/// A model that gives this answer until the flag is set.
async fn ill(answer: Answer) -> (MockModel, Arc<AtomicBool>) {
    let is_well = Arc::new(AtomicBool::new(false));
    let knows = Arc::clone(&is_well);
    let script = move |_: &MockRequest| match knows.load(SeqCst) {
        true => Answer::text("Here it is."),
        false => answer.clone(),
    };
    (MockModel::start(script).await, is_well)
}

/// Waits for the end while the model keeps answering.
pub(super) async fn end(running: Printing) -> Run {
    tokio::task::spawn_blocking(move || running.end()).await.unwrap()
}

/// Waits for a line while the model keeps answering.
pub(super) async fn sees(mut running: Printing, what: &'static str) -> Printing {
    let sees = move || {
        running.wait_for(what);
        running
    };
    tokio::task::spawn_blocking(sees).await.unwrap()
}

fn standing(troop: &Troop) -> String {
    troop.json("--team crew team status")["state"].as_str().unwrap().to_owned()
}

/// The team has stopped, and the lead continues with its goal when it is resumed.
async fn continues(troop: &Troop, (mock, is_well): (&MockModel, &AtomicBool), first: &Run) {
    assert_ne!(first.code, 0, "{}\n{}", first.out, first.err);
    assert_eq!(standing(troop), "stopped", "{}\n{}", first.out, first.err);
    let n_asked = mock.requests().len();
    is_well.store(true, SeqCst);
    let second = run(troop, mock, &["resume"]).await;
    assert_eq!(second.code, 0, "{}\n{}", second.out, second.err);
    assert!(second.out.contains("the lead continues with its goal\n"), "{}", second.out);
    assert!(second.out.contains("Here it is."), "{}", second.out);
    let asked = mock.requests();
    let told: String = asked.iter().skip(n_asked).map(MockRequest::last).collect();
    let user = "<message from=\"user\" kind=\"message\">\nsay UNICORN\n";
    assert!(told.contains(user) && told.contains("You were cut short"), "{told}");
    assert_eq!(standing(troop), "completed");
    let third = run(troop, mock, &["resume", "crew"]).await;
    assert!(third.out.contains("no task is open, so nobody is started"), "{}", third.out);
    assert_eq!(mock.requests().len(), asked.len(), "what is done is not done again");
}

#[tokio::test]
async fn a_goal_survives_a_rejected_key() {
    let troop = repository(&[]);
    let (mock, is_well) = ill(Answer::status(401, "no such key")).await;
    let first = run(&troop, &mock, &GOAL).await;
    assert!(first.err.contains("then continue: `troop resume crew`"), "{}", first.err);
    continues(&troop, (&mock, &is_well), &first).await;
}

#[tokio::test]
async fn a_goal_survives_a_limit() {
    let troop = repository(&[]);
    let config = troop.folder().join("home/config.json");
    fs::write(&config, json!({"limits": {"rounds": 1}}).to_string()).unwrap();
    let (mock, is_well) = ill(Answer::call("LS", &json!({}))).await;
    let first = run(&troop, &mock, &GOAL).await;
    assert!(first.err.contains("which is the limit (`rounds`)"), "{}", first.err);
    continues(&troop, (&mock, &is_well), &first).await;
}

#[tokio::test]
async fn a_goal_survives_a_stopped_and_a_killed_lead() {
    for signal in [Signal::INT, Signal::KILL] {
        let troop = repository(&[]);
        let (mock, is_well) = ill(Answer::Hang).await;
        let running = start(&troop, &mock, &GOAL);
        mock.is_asked(1).await;
        running.signal(signal);
        continues(&troop, (&mock, &is_well), &end(running).await).await;
    }
}

/// A lead that was interrupted while it thought.
async fn interrupted(troop: &Troop, mock: &MockModel) -> Printing {
    let mut running = start(troop, mock, &GOAL);
    mock.is_asked(1).await;
    troop.ok("--team crew member interrupt lead");
    running.wait_for("pat interrupts lead");
    running
}

#[tokio::test]
async fn an_interrupted_lead_waits_for_a_message_and_remembers() {
    let troop = repository(&[]);
    let (mock, is_well) = ill(Answer::Hang).await;
    let running = interrupted(&troop, &mock).await;
    is_well.store(true, SeqCst);
    troop.ok("--team crew message send lead 'in small letters'");
    let run = end(running).await;
    assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
    let told = mock.requests().last().unwrap().body.to_string();
    assert!(told.contains("say UNICORN") && told.contains("in small letters"), "{told}");
    assert_eq!(standing(&troop), "completed");
}

#[tokio::test]
async fn an_interrupted_lead_without_a_message_has_not_done_its_work() {
    let troop = repository(&[]);
    let (mock, is_well) = ill(Answer::Hang).await;
    let running = interrupted(&troop, &mock).await;
    troop.ok("stop crew");
    continues(&troop, (&mock, &is_well), &end(running).await).await;
}

#[tokio::test]
async fn a_goal_survives_a_spent_budget() {
    let troop = repository(&[]);
    let price = json!({"input": 100_000, "output": 100_000});
    let config = json!({"models": {"claude-sonnet-4-5": {"price": price}}});
    fs::write(troop.folder().join("home/config.json"), config.to_string()).unwrap();
    let (mock, is_well) = ill(Answer::call("LS", &json!({}))).await;
    let first = run(&troop, &mock, &[&GOAL[..], &["--budget", "2"]].concat()).await;
    let says = "of $2.00; the lead has not yet done what it was asked\nhint: raise it: `troop team set crew";
    assert!(first.err.contains(says), "{}", first.err);
    troop.ok("team set crew budget.dollars=1000");
    continues(&troop, (&mock, &is_well), &first).await;
}

#[tokio::test]
async fn a_lead_that_waits_for_permission_counts_as_working_until_it_is_killed() {
    let troop = repository(&[]);
    let (mock, is_well) = ill(Answer::call("Bash", &json!({"command": "true"}))).await;
    let running = start(&troop, &mock, &GOAL);
    let running = sees(running, "lead asks user: may I use Bash `true`?").await;
    let running =
        sees(running, "         answer: `troop --team crew message answer lead yes --request ")
            .await;
    let status = wait_for("a lead that works", async || {
        let status = troop.ok("--team crew team status");
        status.contains("lead (builtin, lead)  working").then_some(status)
    })
    .await;
    assert!(status.contains("waits    lead for user"), "{status}");
    running.signal(Signal::KILL);
    let first = end(running).await;
    let status = troop.ok("--team crew team status");
    assert!(!status.contains("waits"), "{status}");
    let (_, err) = troop.refused("--team crew message answer lead yes");
    assert!(err.starts_with("error: `lead` is asking nothing\n"), "{err}");
    continues(&troop, (&mock, &is_well), &first).await;
    let told: Vec<_> = mock.requests().iter().map(MockRequest::last).collect();
    assert!(told.iter().all(|it| !it.contains("permission_response")), "{told:#?}");
}

#[tokio::test]
async fn a_goal_and_the_team_survive_a_shortened_conversation() {
    let troop = repository(&[]);
    fs::write(troop.folder().join("big.txt"), "words and words\n".repeat(500)).unwrap();
    let small = json!({"contextWindow": 24_000, "maxTokens": 1_000});
    let config = json!({"models": {"claude-sonnet-4-5": small}});
    fs::write(troop.folder().join("home/config.json"), config.to_string()).unwrap();
    let mut n_asked = 0;
    let mock = MockModel::start(move |seen| {
        n_asked += 1;
        let answer = match n_asked {
            1 => return Answer::Hang,
            _ if seen.last().contains("is about to be shortened") => Answer::text("I forgot all"),
            2..20 => Answer::call("Read", &json!({"file_path": "big.txt"})),
            _ => Answer::text("Here it is."),
        };
        let Answer::Reply(reply) = answer else { panic!("all others reply") };
        let tokens = (seen.body.to_string().len() as u64 / 4, 0, 20);
        Answer::Reply(Reply { tokens, ..reply })
    })
    .await;
    let mut running = start(&troop, &mock, &GOAL);
    mock.is_asked(1).await;
    troop.ok("--team crew member interrupt lead");
    running.wait_for("pat interrupts lead");
    troop.ok("--team crew message send lead 'in small letters'");
    assert_eq!(end(running).await.code, 0);
    let asked = mock.requests();
    let last = asked.last().unwrap().body.to_string();
    for kept in ["I forgot all", "say UNICORN", "in small letters", "# Team crew"] {
        assert!(last.contains(kept), "`{kept}` is not in {last}");
    }
}

#[tokio::test]
async fn people_see_retries_of_a_model() {
    let troop = repository(&[]);
    for words in [&GOAL[..], &["--json", "run", "say UNICORN", "--agent", "builtin"]] {
        let mock = MockModel::with([Answer::status(529, "overloaded"), Answer::text("fine")]).await;
        let run = run(&troop, &mock, words).await;
        assert_eq!(run.code, 0, "{}", run.err);
        let says =
            "warning: lead: the model's API cannot answer now (529): overloaded; asks again in";
        assert!(run.out.contains(says) || run.err.contains(says), "{}{}", run.out, run.err);
    }
}

#[tokio::test]
async fn a_lead_that_is_stopped_while_its_model_does_not_answer_names_the_last_error() {
    let troop = repository(&[]);
    let (mock, _) = ill(Answer::status(529, "overloaded")).await;
    let running = sees(start(&troop, &mock, &GOAL), "asks again in").await;
    running.signal(Signal::INT);
    let run = end(running).await;
    let says = "error: the lead has not yet done what it was asked; its last error: \
                the model's API cannot answer now (529): overloaded\n";
    assert!(run.err.starts_with(says), "{}{}", run.out, run.err);
    let (mock, is_well) = ill(Answer::status(529, "overloaded")).await;
    is_well.store(true, SeqCst);
    assert_eq!(self::run(&troop, &mock, &["resume"]).await.code, 0, "it is over and forgotten");
}
