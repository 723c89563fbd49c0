//! Delegations that are ended by name, retried, and requested by several users at once.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::SeqCst},
};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use troop_model::{
    Actor, Asker, Command, DelegationStatus, MessageKind, Origin, Outgoing, Settings, Status,
    TaskNumber,
};
use troop_protocol::{FromLead, FromTeammate, MessageIn, MessageOut, ReportedStatus};
use troop_runtime::Signature;

use super::{
    delegations::{announced, ask, delegate, led_by, setting},
    hooks::hooks,
    is_done,
    stage::{Part, Play, Setting, Stage, play, raw},
};
use crate::support::say;

/// A member that ends its delegation by name until that is accepted, and passes on the answers.
fn finishing(tell: mpsc::UnboundedSender<Result<Value, String>>) -> Play {
    play(move |mut part: Part| {
        let tell = tell.clone();
        async move {
            part.ready(true).await;
            part.idle().await;
            while let Some(task) = part.task().await {
                part.report(&task, ReportedStatus::InProgress, "").await;
                let id = task.run.and_then(|run| run.delegation_id).unwrap();
                let end = json!({"delegation": id, "outcome": {"completed": "all of it"}});
                loop {
                    let said = ask(&part, "delegation/finish", end.clone()).await;
                    let is_taken = said.is_ok();
                    drop(tell.send(said));
                    if is_taken {
                        break;
                    }
                }
            }
        }
    })
}

#[tokio::test]
async fn a_delegation_that_is_ended_by_name_passes_hooks_and_checks_like_any_task() {
    let folder = tempfile::tempdir().unwrap();
    let veto = "test -e once || { touch once; echo 'look again' >&2; exit 2; }";
    let check = format!(
        "cd {} && {{ test -e twice || {{ touch twice; exit 1; }}; }}",
        folder.path().display()
    );
    let hooks = hooks(folder.path(), &[("TaskCompleted", veto)]);
    let settings = Settings { checks: vec![check], ..setting().settings };
    let stage = Stage::new(Setting { hooks, settings, ..setting() }).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add("finishing", finishing(tell));
    stage.spawn("fay", "finishing").await;
    stage.task("write").await;
    stage.lead_does(delegate(1, "fay")).await;
    let refused = told.recv().await.unwrap().unwrap_err();
    assert!(refused.contains("look again"), "the hook: {refused}");
    let refused = told.recv().await.unwrap().unwrap_err();
    assert!(refused.contains("ended with exit code 1"), "the check: {refused}");
    told.recv().await.unwrap().unwrap();
    stage.until("task 1 is done", is_done(1)).await;
    let [text] = stage.until("it is announced", announced(1)).await.try_into().unwrap();
    assert!(text.contains("all of it\nchecks: `cd "), "{text}");
    stage.stop().await;
}

#[tokio::test]
async fn a_delegation_that_is_tried_again_is_announced_when_that_is_over() {
    let settings = Settings { retry_backoff_seconds: 0, ..setting().settings };
    let stage = Stage::new(Setting { settings, ..setting() }).await;
    let n_tried = Arc::new(AtomicU32::new(0));
    stage.plays.add(
        "stubborn",
        play(move |mut part: Part| {
            let n_tried = Arc::clone(&n_tried);
            async move {
                part.ready(true).await;
                part.idle().await;
                while let Some(task) = part.task().await {
                    assert!(task.own_session().is_some(), "each try is a delegation");
                    let status = match n_tried.fetch_add(1, SeqCst) {
                        0 => ReportedStatus::Failed,
                        _ => ReportedStatus::Completed,
                    };
                    part.report(&task, status, "what came of it").await;
                    part.idle().await;
                }
            }
        }),
    );
    stage.spawn("fay", "stubborn").await;
    stage.task("write").await;
    stage.lead_does(delegate(1, "fay")).await;
    stage.until("task 1 is done", is_done(1)).await;
    let [text] = stage.until("it is announced", announced(1)).await.try_into().unwrap();
    assert!(text.starts_with("The task that you delegated is done"), "{text}");
    let all = stage.until("both tries", |state| {
        let all: Vec<_> = state.delegations().map(|it| (it.status, it.is_announced)).collect();
        Some(all)
    });
    let mut all = all.await;
    all.sort_by_key(|(status, _)| *status == DelegationStatus::Completed);
    assert_eq!(all, [(DelegationStatus::Failed, true), (DelegationStatus::Completed, true)]);
    stage.stop().await;
}

/// A lead's agent that reads its mail, creates tasks and ends its turn when it is ordered to.
fn attentive(
    handed: mpsc::UnboundedSender<MessageIn>,
    mut orders: mpsc::UnboundedReceiver<Order>,
) -> impl FnOnce(Part) -> troop_runtime::BoxFuture<'static, ()> + Send {
    move |mut part: Part| {
        Box::pin(async move {
            part.ready_acknowledging().await;
            part.idle().await;
            loop {
                tokio::select! {
                    said = part.hear() => match said {
                        Some(FromLead::Message(message)) => drop(handed.send(message)),
                        Some(FromLead::Shutdown { .. }) | None => return,
                        Some(_) => {}
                    },
                    Some(order) = orders.recv() => match order {
                        Order::Read(id) => {
                            let read = raw("message/read", &format!(r#"{{"messages":["{id}"]}}"#));
                            part.peer.request::<Value>(read).await.unwrap();
                        }
                        Order::Create(done) => {
                            let new = raw("task/create", r#"{"subject":"write"}"#);
                            drop(part.peer.request::<Value>(new).await.unwrap());
                            done.send(()).unwrap();
                        }
                        Order::EndTurn => part.say(FromTeammate::TurnEnd {}).await,
                        Order::Ask => {
                            let kind = MessageKind::PermissionRequest;
                            part.say(FromTeammate::Message(MessageOut {
                                to: "user".to_owned(),
                                content: "may I?".to_owned(),
                                kind,
                                summary: None,
                                request_id: None,
                                approve: None,
                            }))
                            .await;
                        }
                    },
                }
            }
        })
    }
}

enum Order {
    Read(uuid::Uuid),
    Create(tokio::sync::oneshot::Sender<()>),
    EndTurn,
    Ask,
}

#[tokio::test]
async fn mail_of_two_users_reaches_the_lead_in_separate_turns() {
    let (handed, mut seen) = mpsc::unbounded_channel();
    let (order, orders) = mpsc::unbounded_channel();
    let act = std::sync::Mutex::new(Some(attentive(handed, orders)));
    let stage = led_by(play(move |part| {
        let act = act.lock().unwrap().take().unwrap();
        act(part)
    }))
    .await;
    let user = |user: &str| Origin {
        user_id: Some(user.into()),
        channel: Some("telegram".into()),
        ..Origin::default()
    };
    let send = async |from: &str, text: &str| {
        let signature = Signature::new(Asker { actor: Actor::human(from), origin: user(from) });
        stage.board.submit(signature.on(say("lead", text))).await.unwrap();
    };
    send("u1", "first").await;
    send("u2", "second").await;
    send("u1", "third").await;
    let (first, third) = (seen.recv().await.unwrap(), seen.recv().await.unwrap());
    assert_eq!((first.content.as_str(), third.content.as_str()), ("first", "third"));
    for message in [&first, &third] {
        order.send(Order::Read(message.id.unwrap())).unwrap_or_default();
    }
    let (done, is_done) = tokio::sync::oneshot::channel();
    order.send(Order::Create(done)).unwrap_or_default();
    is_done.await.unwrap();
    // It has read all its mail, but its turn is not over.
    assert!(seen.try_recv().is_err(), "nothing of another user comes into its turn");
    order.send(Order::EndTurn).unwrap_or_default();
    let second = seen.recv().await.unwrap();
    assert_eq!((second.content.as_str(), &second.origin), ("second", &user("u2")));
    order.send(Order::Read(second.id.unwrap())).unwrap_or_default();
    let (done, is_done) = tokio::sync::oneshot::channel();
    order.send(Order::Create(done)).unwrap_or_default();
    is_done.await.unwrap();
    let origins = stage.until("both tasks", |state| {
        let origin =
            |number| state.tasks().get(TaskNumber(number)).map(|it| it.provenance.origin.clone());
        Some([origin(1)?, origin(2)?])
    });
    assert_eq!(origins.await, [user("u1"), user("u2")], "each acts for its own user");
    assert_eq!(
        stage.board.look(|state| state.tasks().status(TaskNumber(1))).await.unwrap(),
        Some(Status::Pending)
    );
}

#[tokio::test]
async fn an_answer_of_another_user_reaches_the_lead_in_the_middle_of_its_turn() {
    let (handed, mut seen) = mpsc::unbounded_channel();
    let (order, orders) = mpsc::unbounded_channel();
    let act = std::sync::Mutex::new(Some(attentive(handed, orders)));
    let stage = led_by(play(move |part| {
        let act = act.lock().unwrap().take().unwrap();
        act(part)
    }))
    .await;
    let from = |user: &str| {
        let origin =
            Origin { user_id: Some(user.into()), channel: Some("cli".into()), ..Origin::default() };
        Signature::new(Asker { actor: Actor::human(user), origin })
    };
    stage.board.submit(from("person").on(say("lead", "do it"))).await.unwrap();
    let goal = seen.recv().await.unwrap();
    order.send(Order::Read(goal.id.unwrap())).unwrap_or_default();
    order.send(Order::Ask).unwrap_or_default();
    let request =
        stage.until("the request", |state| state.requests().next().map(|(id, _)| *id)).await;
    stage.board.submit(from("colleague").on(say("lead", "something else"))).await.unwrap();
    let yes =
        Outgoing::new("lead", MessageKind::PermissionResponse, "yes").answering(request, true);
    stage.board.submit(from("colleague").on(Command::Send(yes))).await.unwrap();
    let answer = seen.recv().await.unwrap();
    assert_eq!((answer.kind, answer.approve), (MessageKind::PermissionResponse, Some(true)));
    order.send(Order::Read(answer.id.unwrap())).unwrap_or_default();
    // Its work still belongs to the conversation that gave it its goal.
    let (done, is_done) = tokio::sync::oneshot::channel();
    order.send(Order::Create(done)).unwrap_or_default();
    is_done.await.unwrap();
    let user = stage.until("the task", |state| {
        state.tasks().get(TaskNumber(1)).map(|it| it.provenance.origin.user_id.clone())
    });
    assert_eq!(user.await.as_deref(), Some("person"));
    assert!(seen.try_recv().is_err(), "the colleague's own request waits for the end of the turn");
    order.send(Order::EndTurn).unwrap_or_default();
    assert_eq!(seen.recv().await.unwrap().content, "something else");
}
