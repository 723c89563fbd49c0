//! The loop between wire and agent.

use std::path::Path;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use troop_agent::{ALIVE, Agent, BoxFuture, Exit, Turn, TurnOutcome, Work};
use troop_protocol::Level;

use crate::lead::{Acts, Lead, N_RESTS};

const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// An agent that does what the description of its task says: a word, `wait` for mail, or until it is interrupted.
fn obedient() -> (impl Agent + 'static, UnboundedReceiver<Work>) {
    Acts::new(|work, turn| Box::pin(obey(work, turn)))
}

async fn obey(work: Work, turn: &Turn) -> TurnOutcome {
    let task = match work {
        Work::Task(task) | Work::Resume { task, .. } => task,
        Work::Start | Work::Mail(_) | Work::Shutdown { .. } => return TurnOutcome::Done,
    };
    match task.description.as_str() {
        "wait" => completed(&turn.next_mail().await.content),
        "interruptible" => {
            turn.interrupted().cancelled().await;
            TurnOutcome::Interrupted
        }
        "panic" => panic!("a bad day"),
        "fail" => TurnOutcome::Failed { reason: "no".to_owned() },
        "give back" => TurnOutcome::GaveBack { reason: "not mine".to_owned() },
        "board" => TurnOutcome::Done,
        "log" => {
            turn.log(Level::Warn, "half way").await;
            completed("logged")
        }
        "hours" => {
            tokio::time::sleep(25 * ALIVE / 10).await;
            completed("at last")
        }
        other => completed(other),
    }
}

fn completed(result: &str) -> TurnOutcome {
    TurnOutcome::Completed { result: result.to_owned(), summary: None }
}

fn here() -> &'static Path {
    Path::new("/")
}

#[tokio::test(start_paused = true)]
async fn the_first_line_is_ready_then_comes_idle() {
    let (agent, mut works) = obedient();
    let mut lead = Lead::start(agent, here());
    let ready = json!({"name": "ann", "acknowledges": true, "version": 1});
    assert_eq!(lead.hears("team.ready").await, ready);
    assert_eq!(lead.hears("team.idle").await, json!({}));
    assert_eq!(works.recv().await, Some(Work::Start));
}

#[tokio::test(start_paused = true)]
async fn a_task_is_reported_in_the_order_of_the_table() {
    let mut lead = Lead::of(obedient().0, here()).await;
    lead.assign("task-7", "log").await;
    let id = json!({"taskId": "task-7", "attempt": 1});
    let with = |more: Value| {
        let mut all = id.as_object().unwrap().clone();
        all.extend(more.as_object().unwrap().clone());
        Value::Object(all)
    };
    assert_eq!(lead.hears("team.taskUpdate").await, with(json!({"status": "in_progress"})));
    assert_eq!(lead.hears("team.log").await, json!({"level": "warn", "text": "half way"}));
    let done = with(json!({"status": "completed", "result": "logged"}));
    assert_eq!(lead.hears("team.taskUpdate").await, done);
    assert_eq!(lead.hears("team.idle").await, json!({"lastTask": "task-7"}));
}

#[tokio::test(start_paused = true)]
async fn every_end_of_a_task_has_its_report() {
    let mut lead = Lead::of(obedient().0, here()).await;
    for (description, status, reason) in [
        ("fail", "failed", "no"),
        ("give back", "pending", "not mine"),
        ("panic", "failed", "the agent panicked: a bad day"),
    ] {
        lead.assign("task-1", description).await;
        lead.hears("team.taskUpdate").await;
        let report = lead.hears("team.taskUpdate").await;
        assert_eq!((&report["status"], &report["reason"]), (&json!(status), &json!(reason)));
        lead.hears("team.idle").await;
    }
    lead.assign("task-2", "board").await;
    lead.hears("team.taskUpdate").await;
    assert_eq!(
        lead.hears("team.idle").await,
        json!({"lastTask": "task-2"}),
        "it told the board itself"
    );
}

#[tokio::test(start_paused = true)]
async fn mail_in_the_middle_of_a_turn_waits_for_the_agent_and_is_acknowledged_then() {
    let mut lead = Lead::of(obedient().0, here()).await;
    lead.assign("task-1", "hours").await;
    lead.hears("team.taskUpdate").await;
    lead.say("team.message", json!({"from": "bob", "content": "hurry", "id": ID})).await;
    assert_eq!(lead.waits_for("team.taskUpdate").await["status"], "completed");
    lead.hears("team.idle").await;
    let read = lead.hears("message/read").await;
    assert_eq!(read["messages"], json!([ID]), "only now the agent has it");
}

#[tokio::test(start_paused = true)]
async fn an_agent_takes_mail_within_its_turn() {
    let mut lead = Lead::of(obedient().0, here()).await;
    lead.assign("task-1", "wait").await;
    lead.hears("team.taskUpdate").await;
    lead.say("team.message", json!({"from": "bob", "content": "go", "id": ID})).await;
    assert_eq!(lead.hears("message/read").await["messages"], json!([ID]));
    assert_eq!(lead.hears("team.taskUpdate").await["result"], "go");
}

#[tokio::test(start_paused = true)]
async fn mail_that_comes_twice_is_read_once_and_acknowledged_again() {
    let (agent, mut works) = obedient();
    let mut lead = Lead::of(agent, here()).await;
    let message = json!({"from": "bob", "content": "hi", "id": ID});
    lead.say("team.message", message.clone()).await;
    lead.hears("message/read").await;
    lead.hears("turn/end").await;
    lead.say("team.message", message).await;
    lead.assign("task-1", "done").await;
    assert_eq!(lead.hears("message/read").await["messages"], json!([ID]));
    lead.waits_for("team.idle").await;
    let seen: Vec<_> = std::iter::from_fn(|| works.try_recv().ok()).collect();
    let n_mails = seen.iter().filter(|work| matches!(work, Work::Mail(_))).count();
    assert_eq!(n_mails, 1, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn mail_without_a_valid_id_is_read_and_not_acknowledged() {
    let (agent, mut works) = obedient();
    let mut lead = Lead::of(agent, here()).await;
    works.recv().await;
    let odd = json!({"id": "m1", "requestId": 7, "sentAt": "yesterday"});
    for extra in [json!({}), odd] {
        let mut mail = json!({"from": "lead", "content": "hi"});
        mail.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        lead.say("team.message", mail).await;
        assert!(matches!(works.recv().await, Some(Work::Mail(mail)) if mail[0].content == "hi"));
        assert_eq!(lead.hears("turn/end").await, json!({}), "the lead knows that it is idle");
    }
    lead.assign("task-1", "done").await;
    lead.hears("team.taskUpdate").await;
}

#[tokio::test(start_paused = true)]
async fn the_lead_hears_when_mail_was_handled() {
    let (agent, mut works) = obedient();
    let mut lead = Lead::of(agent, here()).await;
    works.recv().await;
    lead.mail("hi").await;
    lead.hears("turn/end").await;
    assert!(matches!(works.try_recv(), Ok(Work::Mail(_))));
}

#[tokio::test(start_paused = true)]
async fn mail_comes_before_tasks() {
    let (agent, mut works) = obedient();
    let mut lead = Lead::of(agent, here()).await;
    lead.assign("task-1", "wait").await;
    lead.hears("team.taskUpdate").await;
    lead.assign("task-2", "done").await;
    lead.mail("first").await;
    lead.mail("second").await;
    lead.waits_for("team.idle").await;
    let seen: Vec<_> = std::iter::from_fn(|| works.try_recv().ok()).collect();
    assert!(
        matches!(&seen[..], [Work::Start, Work::Task(_), Work::Mail(mail), Work::Task(_)] if mail[0].content == "second"),
        "{seen:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn tasks_wait_while_a_teammate_works_and_it_is_not_idle_between_them() {
    let mut lead = Lead::of(obedient().0, here()).await;
    lead.assign("task-1", "wait").await;
    lead.hears("team.taskUpdate").await;
    lead.assign("task-2", "two").await;
    lead.assign("task-2", "two").await;
    lead.assign("task-1", "wait").await;
    lead.mail("go").await;
    for (task, status) in
        [("task-1", "completed"), ("task-2", "in_progress"), ("task-2", "completed")]
    {
        let report = lead.hears("team.taskUpdate").await;
        assert_eq!((&report["taskId"], &report["status"]), (&json!(task), &json!(status)));
    }
    assert_eq!(
        lead.hears("team.idle").await["lastTask"],
        "task-2",
        "a task that came twice is done once"
    );
}

#[tokio::test(start_paused = true)]
async fn tasks_beyond_the_queues_limit_are_given_back() {
    let mut lead = Lead::of(obedient().0, here()).await;
    lead.assign("task-0", "wait").await;
    lead.hears("team.taskUpdate").await;
    for nth in 1..=65 {
        lead.assign(&format!("task-{nth}"), "done").await;
    }
    let report = lead.hears("team.taskUpdate").await;
    assert_eq!((&report["taskId"], &report["status"]), (&json!("task-65"), &json!("pending")));
}

#[tokio::test(start_paused = true)]
async fn an_idle_teammate_stops_when_it_is_asked_to() {
    let mut lead = Lead::of(obedient().0, here()).await;
    lead.say("team.shutdown", json!({"reason": "enough"})).await;
    assert_eq!(
        lead.end().await,
        (vec![("team.shutdownAck".to_owned(), json!({}))], Exit::Shutdown)
    );
}

#[tokio::test(start_paused = true)]
async fn a_busy_teammate_finishes_its_task_before_it_stops_and_gives_back_the_rest() {
    let mut lead = Lead::of(obedient().0, here()).await;
    lead.assign("task-1", "wait").await;
    lead.hears("team.taskUpdate").await;
    lead.assign("task-2", "two").await;
    lead.say("team.shutdown", json!({"reason": "enough"})).await;
    lead.assign("task-3", "three").await;
    let late = lead.hears("team.taskUpdate").await;
    assert_eq!((&late["taskId"], &late["status"]), (&json!("task-3"), &json!("pending")));
    lead.mail("go").await;
    let (said, exit) = lead.end().await;
    let said: Vec<_> =
        said.iter().map(|(method, it)| (method.as_str(), &it["taskId"], &it["status"])).collect();
    let (one, two) = (json!("task-1"), json!("task-2"));
    let (completed, pending) = (json!("completed"), json!("pending"));
    assert_eq!(
        said,
        [
            ("team.taskUpdate", &one, &completed),
            ("team.taskUpdate", &two, &pending),
            ("team.shutdownAck", &Value::Null, &Value::Null),
        ]
    );
    assert_eq!(exit, Exit::Shutdown);
}

#[tokio::test(start_paused = true)]
async fn an_agent_may_refuse_to_stop() {
    let (agent, _works) = Acts::new(|work, _| {
        Box::pin(async move {
            let Work::Shutdown { reason } = work else { return TurnOutcome::Done };
            TurnOutcome::Refused { reason: format!("no {reason}") }
        }) as BoxFuture<'_, TurnOutcome>
    });
    let mut lead = Lead::of(agent, here()).await;
    lead.say("team.shutdown", json!({"reason": "rest"})).await;
    let ack = json!({"approve": false, "reason": "no rest"});
    assert_eq!(lead.hears("team.shutdownAck").await, ack);
    lead.hears("team.idle").await;
    lead.assign("task-1", "done").await;
    lead.waits_for("team.idle").await;
}

#[tokio::test(start_paused = true)]
async fn a_request_to_stop_by_mail_is_also_answered_by_mail() {
    let mut lead = Lead::of(obedient().0, here()).await;
    let request = json!({"from": "lead", "content": "enough", "kind": "shutdown_request", "id": ID, "requestId": ID});
    lead.say("team.message", request).await;
    let (said, exit) = lead.end().await;
    let [(_, read), (_, response), (ack, _)] = &said[..] else { panic!("{said:?}") };
    assert_eq!(read["messages"], json!([ID]));
    assert_eq!(
        *response,
        json!({"to": "lead", "content": "I stop", "kind": "shutdown_response", "requestId": ID, "approve": true})
    );
    assert_eq!((ack.as_str(), exit), ("team.shutdownAck", Exit::Shutdown));
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_task_continues_with_the_next_mail() {
    let (agent, mut works) = obedient();
    let mut lead = Lead::of(agent, here()).await;
    works.recv().await;
    lead.assign("task-1", "interruptible").await;
    lead.hears("team.taskUpdate").await;
    works.recv().await;
    lead.say("turn/interrupt", json!({"reason": "look here"})).await;
    lead.assign("task-2", "two").await;
    lead.mail("go on").await;
    let Some(Work::Resume { task, mail }) = works.recv().await else { panic!("it goes on") };
    assert_eq!((task.id.as_str(), mail[0].content.as_str()), ("task-1", "go on"));
    lead.say("team.shutdown", json!({})).await;
    lead.say("turn/interrupt", json!({})).await;
    let (said, _) = lead.end().await;
    let given_back: Vec<_> = said.iter().map(|(_, it)| &it["taskId"]).collect();
    assert_eq!(given_back, [&json!("task-1"), &json!("task-2"), &Value::Null]);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_was_taken_away_is_dropped_without_a_report() {
    let (agent, mut works) = obedient();
    let mut lead = Lead::of(agent, here()).await;
    works.recv().await;
    lead.assign("task-1", "interruptible").await;
    lead.hears("team.taskUpdate").await;
    works.recv().await;
    lead.assign("task-2", "two").await;
    lead.say("turn/interrupt", json!({"taskId": "task-2"})).await;
    lead.say("turn/interrupt", json!({"taskId": "task-1"})).await;
    assert_eq!(lead.hears("team.idle").await, json!({}));
    // The task that was interrupted before is no longer its own either.
    lead.assign("task-3", "interruptible").await;
    lead.hears("team.taskUpdate").await;
    lead.say("turn/interrupt", json!({})).await;
    lead.say("turn/interrupt", json!({"taskId": "task-3"})).await;
    assert_eq!(lead.hears("team.idle").await, json!({}));
    lead.assign("task-4", "four").await;
    assert_eq!(lead.hears("team.taskUpdate").await["taskId"], "task-4");
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_come_often_enough_for_a_short_lease() {
    let mut lead = Lead::of(obedient().0, here()).await;
    lead.say("team.updateContext", json!({"leaseSeconds": 3})).await;
    lead.assign("task-1", "hours").await;
    lead.hears("team.taskUpdate").await;
    let since = tokio::time::Instant::now();
    lead.hears("turn/alive").await;
    assert!(since.elapsed() <= std::time::Duration::from_secs(1), "{:?}", since.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_long_turn_gives_signs_of_life() {
    let mut lead = Lead::of(obedient().0, here()).await;
    lead.assign("task-1", "hours").await;
    lead.hears("team.taskUpdate").await;
    lead.hears("turn/alive").await;
    lead.hears("turn/alive").await;
    lead.hears("team.taskUpdate").await;
    lead.hears("team.idle").await;
    assert!(
        tokio::time::timeout(3 * ALIVE, lead.hear()).await.is_err(),
        "an idle teammate says nothing"
    );
}

#[tokio::test(start_paused = true)]
async fn an_idle_teammate_comes_to_rest_once_until_it_gets_work() {
    let mut lead = Lead::of(obedient().0, here()).await;
    assert_eq!(N_RESTS.get(), 0, "it does not rest between two tasks");
    for n_rests in 1..=2 {
        tokio::time::timeout(ALIVE, lead.hear()).await.expect_err("there is nothing to say");
        assert_eq!(N_RESTS.get(), n_rests);
        lead.assign("task-1", "hours").await;
        lead.hears("team.taskUpdate").await;
        lead.hears("turn/alive").await;
        lead.hears("turn/alive").await;
        lead.hears("team.taskUpdate").await;
        lead.hears("team.idle").await;
        assert_eq!(N_RESTS.get(), n_rests, "it does not rest while it works");
    }
}

#[tokio::test(start_paused = true)]
async fn a_teammate_ends_with_its_lead() {
    let lead = Lead::of(obedient().0, here()).await;
    assert_eq!(lead.leave().await, Exit::LeadGone);
    let mut busy = Lead::of(obedient().0, here()).await;
    busy.assign("task-1", "interruptible").await;
    busy.hears("team.taskUpdate").await;
    assert_eq!(busy.leave().await, Exit::LeadGone);
}

#[tokio::test(start_paused = true)]
async fn a_terminated_teammate_ends_at_once() {
    let mut lead = Lead::of(obedient().0, here()).await;
    lead.assign("task-1", "interruptible").await;
    lead.hears("team.taskUpdate").await;
    lead.terminated.cancel();
    assert_eq!(lead.end().await, (Vec::new(), Exit::Terminated));
}

#[tokio::test(start_paused = true)]
async fn unknown_notifications_are_ignored() {
    let mut lead = Lead::of(obedient().0, here()).await;
    lead.write("no JSON\n\n[]\n{\"jsonrpc\":\"2.0\"}\n").await;
    lead.say("team.dance", json!({})).await;
    lead.assign("task-1", "done").await;
    assert_eq!(lead.hears("team.taskUpdate").await["taskId"], "task-1");
}

#[tokio::test(start_paused = true)]
async fn a_lead_hears_which_of_its_messages_were_invalid() {
    let mut lead = Lead::of(obedient().0, here()).await;
    lead.say("team.assignTask", json!({"task": {"id": "task-1"}})).await;
    let log = lead.hears("team.log").await;
    assert_eq!(log["level"], "warn");
    let text = log["text"].as_str().unwrap();
    assert!(text.contains("`team.assignTask`, `task`: missing field `subject`"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_lead_that_asks_for_an_answer_gets_one() {
    let mut lead = Lead::of(obedient().0, here()).await;
    lead.write("{\"id\": 1, \"method\": \"team.updateContext\", \"params\": {}}\n").await;
    assert_eq!(lead.hears("answer").await, json!({}));
    lead.write("{\"id\": 2, \"method\": \"team.dance\"}\n").await;
    assert_eq!(lead.hears("answer").await, json!("there is no method `team.dance`"));
}

#[tokio::test(start_paused = true)]
async fn the_context_says_what_a_member_may_do() {
    let (agent, _works) = Acts::new(|work, turn: &Turn| {
        Box::pin(async move {
            let Work::Task(_) = work else { return TurnOutcome::Done };
            completed(&format!("{} {}", turn.context().tasks.len(), turn.mode()))
        }) as BoxFuture<'_, TurnOutcome>
    });
    let mut lead = Lead::of(agent, here()).await;
    let mut result = async |context: Value| {
        lead.say("team.updateContext", context).await;
        lead.assign("task-1", "x").await;
        lead.hears("team.taskUpdate").await;
        let report = lead.hears("team.taskUpdate").await;
        lead.hears("team.idle").await;
        report["result"].as_str().unwrap().to_owned()
    };
    let tasks = json!([{"id": "task-9", "subject": "x"}]);
    assert_eq!(result(json!({"tasks": [], "mode": "plan"})).await, "0 plan");
    assert_eq!(result(json!({"tasks": tasks})).await, "1 plan", "a value that is not sent stays");
    assert_eq!(result(json!({"tasks": [], "mode": "bypass"})).await, "0 bypass");
}

fn delegated(id: &str, session: u32, description: &str) -> Value {
    let run = json!({"session": format!("delegate:{session}"), "delegationId": uuid::Uuid::from_u128(session.into())});
    json!({"id": id, "subject": id, "description": description, "attempt": 1, "run": run})
}

/// An agent that counts its turns and reports how many it remembers.
fn counting() -> impl Agent + 'static {
    #[derive(Default)]
    struct Counting(u32);

    impl Agent for Counting {
        fn turn<'a>(&'a mut self, work: Work, turn: &'a Turn) -> BoxFuture<'a, TurnOutcome> {
            Box::pin(async move {
                self.0 += 1;
                match work {
                    Work::Task(task) if task.description == "interruptible" => {
                        turn.interrupted().cancelled().await;
                        TurnOutcome::Interrupted
                    }
                    Work::Task(_) | Work::Resume { .. } => completed(&self.0.to_string()),
                    Work::Start | Work::Mail(_) | Work::Shutdown { .. } => TurnOutcome::Done,
                }
            })
        }

        fn fresh(&self) -> Box<dyn Agent> {
            Box::new(Self::default())
        }
    }
    Counting::default()
}

#[tokio::test(start_paused = true)]
async fn every_delegation_gets_its_own_session_that_ends_with_it() {
    let mut lead = Lead::of(counting(), here()).await;
    let mut results = Vec::new();
    for task in [
        delegated("task-1", 1, ""),
        delegated("task-2", 2, ""),
        // If the first session were kept, it would remember.
        delegated("task-3", 1, ""),
        json!({"id": "task-4", "subject": "plain"}),
    ] {
        lead.say("team.assignTask", json!({ "task": task })).await;
        lead.hears("team.taskUpdate").await;
        let done = lead.hears("team.taskUpdate").await;
        lead.hears("team.idle").await;
        results.push(done["result"].as_str().unwrap().to_owned());
    }
    assert_eq!(results, ["1", "1", "1", "2"], "its own session remembers its start");
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_delegation_continues_in_its_session() {
    let mut lead = Lead::of(counting(), here()).await;
    lead.say("team.assignTask", json!({"task": delegated("task-1", 1, "interruptible")})).await;
    lead.hears("team.taskUpdate").await;
    lead.say("turn/interrupt", json!({})).await;
    lead.mail("go on").await;
    let done = lead.waits_for("team.taskUpdate").await;
    assert_eq!(done["result"], "2");
}

#[tokio::test(start_paused = true)]
async fn an_agent_sees_the_team_as_of_the_start_of_its_work() {
    let (agent, _works) = Acts::new(|work, turn: &Turn| {
        Box::pin(async move {
            match work {
                Work::Task(_) => completed(&turn.team_md().unwrap_or_default()),
                Work::Start | Work::Mail(_) | Work::Resume { .. } | Work::Shutdown { .. } => {
                    TurnOutcome::Done
                }
            }
        })
    });
    let mut lead = Lead::of(agent, here()).await;
    for (team_md, known) in [(Some("first"), "first"), (None, "first"), (Some("second"), "second")]
    {
        let context = match team_md {
            Some(text) => json!({"tasks": [], "teamMd": text}),
            None => json!({"tasks": []}),
        };
        lead.say("team.updateContext", context).await;
        lead.assign(known, "").await;
        lead.waits_for("team.taskUpdate").await;
        assert_eq!(lead.waits_for("team.taskUpdate").await["result"], known);
    }
}
