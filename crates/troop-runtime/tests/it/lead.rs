//! A lead at work: its members are parts that the tests write, its board and its wires are real.

mod branches;
mod conversations;
mod delegations;
mod files;
mod hooks;
mod isolation;
mod late;
mod processes;
mod recovery;
mod socket;
mod stage;
mod takeover;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    time::Duration,
};

use troop_model::{
    Actor, Command, MemberState, MessageKind, Outgoing, Permissions, Settings, Status, TaskNumber,
};
use troop_protocol::{FromLead, FromTeammate, MessageOut, Ready, ReportedStatus, ShutdownAck};
use troop_runtime::{BoardError, Ended, LeadError, Timing, Until};

use self::stage::{Part, Play, Setting, Stage, play, quick, raw, without_restarts, worker};
use crate::support::{name, say};

fn is_done(number: u32) -> impl Fn(&troop_model::State) -> Option<()> + Clone + Send + 'static {
    move |state| {
        let status = state.tasks().status(TaskNumber(number))?;
        (status == Status::Completed).then_some(())
    }
}

/// Works like a worker, but plays its first run differently.
fn at_first(first: Play) -> Play {
    let (n_runs, later) = (Arc::new(AtomicU32::new(0)), worker());
    Arc::new(move |part| if n_runs.fetch_add(1, SeqCst) == 0 { first(part) } else { later(part) })
}

#[tokio::test]
async fn a_teammate_that_is_idle_is_given_work_and_does_it() {
    let stage = Stage::new(Setting::default()).await;
    stage.spawn("bob", "worker").await;
    stage.until_state("bob", MemberState::Idle).await;
    stage.task("write").await;
    stage.until("task 1 is done", is_done(1)).await;
    let result = stage.until("its result", |state| {
        state.tasks().get(TaskNumber(1)).and_then(|task| task.result.clone())
    });
    assert_eq!(result.await, "by bob");
    assert!(matches!(stage.stop().await, Ended::Stopped { .. }));
}

#[tokio::test]
async fn many_tasks_over_a_few_teammates_are_each_done_once() {
    let stage = Stage::new(Setting::default()).await;
    for member in ["bob", "cyd", "dan"] {
        stage.spawn(member, "worker").await;
    }
    for nth in 0..60 {
        stage.task(&format!("task {nth}")).await;
    }
    stage
        .until("all are done", |state| {
            (state.tasks().n_with(Status::Completed) == 60).then_some(())
        })
        .await;
    let trace = stage.trace().await;
    let n_of = |kind| trace.iter().filter(|it| *it == kind).count();
    assert_eq!((n_of("task.assigned"), n_of("task.completed")), (60, 60));
}

#[tokio::test]
async fn dependents_start_when_what_they_wait_for_is_done() {
    let stage = Stage::new(Setting::default()).await;
    stage.task("first").await;
    let new = troop_model::NewTask {
        subject: "second".to_owned(),
        blocked_by: vec![TaskNumber(1).into()],
        ..Default::default()
    };
    stage.lead_does(Command::Task(troop_model::TaskCommand::Create(new))).await;
    stage.spawn("bob", "worker").await;
    stage.until("the second is done", is_done(2)).await;
}

#[tokio::test]
async fn what_a_crashed_teammate_held_is_given_to_another_that_is_idle() {
    let timing = without_restarts();
    let stage = Stage::new(Setting { timing, ..Setting::default() }).await;
    stage.plays.add(
        "crasher",
        play(|mut part| async move {
            part.ready(true).await;
            part.idle().await;
            // It takes a task with it.
            drop(part.task().await);
        }),
    );
    stage.spawn("cyd", "crasher").await;
    stage.until_state("cyd", MemberState::Idle).await;
    stage.task("risky").await;
    stage.until_state("cyd", MemberState::Crashed).await;
    stage.spawn("bob", "worker").await;
    stage.until("it is done", is_done(1)).await;
    let task = stage.until("who did it", |state| state.tasks().get(TaskNumber(1)).cloned()).await;
    assert_eq!(task.owner, Some(name("bob")));
    assert!(task.attempts > 1);
}

#[tokio::test]
async fn a_teammate_that_crashed_is_started_again_but_not_for_ever() {
    let stage = Stage::new(Setting::default()).await;
    stage.plays.add("brief", play(|part| async move { part.ready(true).await }));
    stage.spawn("cyd", "brief").await;
    stage
        .until("the lead hears that it is given up", |state| {
            let lead = troop_model::Party::member(&state.lead()?.name);
            state.mailbox().iter().find(|it| {
                it.to == lead && it.content.contains("crashed too often and is not started again")
            })?;
            Some(())
        })
        .await;
    let trace = stage.trace().await;
    let n_starts = trace.iter().filter(|it| *it == "member.state_changed").count();
    let wanted = 1 + 3 * 3;
    assert_eq!(n_starts, wanted, "the lead; spawning, idle, crashed, three times; {trace:?}");
}

#[tokio::test]
async fn who_cannot_be_started_is_not_left_behind() {
    let stage = Stage::new(Setting::default()).await;
    stage.spawn("cyd", "nobody-plays-this").await;
    stage
        .until("it is gone and the lead knows why", |state| {
            let told = state.mailbox().iter().any(|it| it.content.starts_with("cyd did not start"));
            (told && state.member(&name("cyd")).is_none()).then_some(())
        })
        .await;
    // The name is free again.
    stage.spawn("cyd", "worker").await;
    stage.until_state("cyd", MemberState::Idle).await;
}

#[tokio::test]
async fn mail_reaches_a_running_teammate_and_is_read_when_it_says_so() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let may_read = Arc::new(tokio::sync::Notify::new());
    let gate = Arc::clone(&may_read);
    stage.plays.add(
        "reader",
        play(move |mut part: Part| {
            let (tell, gate) = (tell.clone(), Arc::clone(&gate));
            async move {
                part.ready(true).await;
                part.idle().await;
                while let Some(said) = part.hear().await {
                    let FromLead::Message(message) = said else { continue };
                    tell.send(message.clone()).unwrap();
                    gate.notified().await;
                    let id = message.id.unwrap();
                    let read = raw("message/read", &format!(r#"{{"messages":["{id}"]}}"#));
                    drop(part.peer.notify(read).await);
                }
            }
        }),
    );
    stage.spawn("bob", "reader").await;
    stage.submit(Actor::human("zoe"), say("bob", "hello")).await.unwrap();
    let message = told.recv().await.unwrap();
    assert_eq!((message.from.as_str(), message.content.as_str()), ("user", "hello"));
    let receipt = |state: &troop_model::State| {
        let message = state.mailbox().iter().find(|it| it.content == "hello")?;
        message.receipts.first().cloned()
    };
    stage.until("it is delivered", move |state| receipt(state)?.delivered_at).await;
    let looked = stage.board.look(receipt).await.unwrap().unwrap();
    assert_eq!(looked.read_at, None, "nobody has read it yet");
    may_read.notify_one();
    stage.until("it is read", move |state| receipt(state)?.read_at).await;
}

#[tokio::test]
async fn mail_that_was_not_read_comes_again_after_a_crash_and_in_order() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    stage.plays.add(
        "reader",
        play(move |mut part: Part| {
            let tell = tell.clone();
            async move {
                part.ready(true).await;
                while let Some(said) = part.hear().await {
                    let FromLead::Message(message) = said else { continue };
                    let is_last = message.content == "3";
                    tell.send(message.content).unwrap();
                    if is_last {
                        return;
                    }
                }
            }
        }),
    );
    stage.spawn("bob", "reader").await;
    for content in ["1", "2", "3"] {
        stage.submit(Actor::human("zoe"), say("bob", content)).await.unwrap();
    }
    for content in ["1", "2", "3", "1", "2", "3"] {
        assert_eq!(told.recv().await.unwrap(), content);
    }
}

#[tokio::test]
async fn one_teammate_writes_to_another_and_the_sender_is_stamped() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    stage.plays.add(
        "writer",
        play(|mut part| async move {
            part.ready(true).await;
            let params = r#"{"to":"bob","content":"psst","from":"lead"}"#;
            drop(part.peer.notify(raw("team.message", params)).await);
            while part.hear().await.is_some() {}
        }),
    );
    stage.plays.add(
        "reader",
        play(move |mut part: Part| {
            let tell = tell.clone();
            async move {
                part.ready(false).await;
                while let Some(said) = part.hear().await {
                    if let FromLead::Message(message) = said {
                        tell.send((message.from, message.content)).unwrap();
                    }
                }
            }
        }),
    );
    stage.spawn("bob", "reader").await;
    stage.until_state("bob", MemberState::Idle).await;
    stage.spawn("cyd", "writer").await;
    assert_eq!(told.recv().await.unwrap(), ("cyd".to_owned(), "psst".to_owned()));
    stage
        .until("what was written to one that does not acknowledge counts as read", |state| {
            state.mailbox().iter().find(|it| it.content == "psst")?.receipts.first()?.read_at
        })
        .await;
}

#[tokio::test]
async fn who_writes_to_nobody_hears_of_it() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    stage.plays.add(
        "writer",
        play(move |mut part: Part| {
            let tell = tell.clone();
            async move {
                part.ready(true).await;
                let message = MessageOut {
                    to: "nobody".to_owned(),
                    content: "hello?".to_owned(),
                    kind: MessageKind::Message,
                    summary: None,
                    request_id: None,
                    approve: None,
                };
                part.say(FromTeammate::Message(message)).await;
                while let Some(said) = part.hear().await {
                    if let FromLead::Message(message) = said {
                        tell.send(message.content).unwrap();
                    }
                }
            }
        }),
    );
    stage.spawn("bob", "writer").await;
    assert_eq!(told.recv().await.unwrap(), "there is no member `nobody`; the members are ann, bob");
}

#[tokio::test]
async fn a_teammate_may_refuse_to_stop_and_goes_on() {
    let stage = Stage::new(Setting::default()).await;
    stage.plays.add(
        "stubborn",
        play(|mut part| async move {
            part.ready(true).await;
            part.idle().await;
            while let Some(said) = part.hear().await {
                match said {
                    FromLead::Shutdown { .. } => {
                        let ack = ShutdownAck::refused("not before I am done");
                        part.say(FromTeammate::ShutdownAck(ack)).await;
                    }
                    FromLead::AssignTask { task } => part.complete(&task).await,
                    FromLead::Message(_)
                    | FromLead::UpdateContext(_)
                    | FromLead::Interrupt { .. } => {}
                }
            }
        }),
    );
    stage.spawn("bob", "stubborn").await;
    stage.until_state("bob", MemberState::Idle).await;
    let ask = Command::Send(Outgoing {
        to: "bob".to_owned(),
        kind: MessageKind::ShutdownRequest,
        content: "enough".to_owned(),
        summary: None,
        request_id: None,
        approve: None,
    });
    stage.lead_does(ask).await;
    stage
        .until("the lead hears why not", |state| {
            let answer = |it: &&troop_model::Message| it.kind == MessageKind::ShutdownResponse;
            let message = state.mailbox().iter().find(answer)?;
            (message.content == "not before I am done" && message.approve == Some(false))
                .then_some(())
        })
        .await;
    stage.task("more").await;
    stage.until("it goes on", is_done(1)).await;
    // Who is stopped with its team is not asked for its opinion.
    assert!(matches!(stage.stop().await, Ended::Stopped { .. }));
}

#[tokio::test]
async fn a_teammate_that_agrees_to_stop_is_stopped_and_the_lead_is_told() {
    let stage = Stage::new(Setting::default()).await;
    stage.spawn("bob", "worker").await;
    stage.until_state("bob", MemberState::Idle).await;
    let ask = Command::Send(Outgoing {
        to: "bob".to_owned(),
        kind: MessageKind::ShutdownRequest,
        content: String::new(),
        summary: None,
        request_id: None,
        approve: None,
    });
    stage.lead_does(ask).await;
    stage.until_state("bob", MemberState::Stopped).await;
    stage
        .until("the lead is told", |state| {
            let told = |it: &troop_model::Message| it.content == "Teammate bob has shut down.";
            state.mailbox().iter().any(told).then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_teammate_that_ignores_the_request_is_made_to_stop() {
    let stage = Stage::new(Setting::default()).await;
    stage.plays.add(
        "deaf",
        play(|part| async move {
            part.ready(true).await;
            std::future::pending::<()>().await;
        }),
    );
    stage.spawn("bob", "deaf").await;
    stage.until_state("bob", MemberState::Idle).await;
    assert!(matches!(stage.stop().await, Ended::Stopped { .. }));
}

#[tokio::test]
async fn a_second_lead_is_refused_with_who_leads() {
    let stage = Stage::new(Setting::default()).await;
    let error = stage.start(Setting::default()).await.unwrap_err();
    assert!(matches!(error, LeadError::Board(BoardError::Refused(_))), "{error:?}");
    assert!(error.to_string().starts_with("the team is led by zoe since "), "{error}");
}

#[tokio::test]
async fn after_a_stop_the_team_is_completed_and_another_lead_may_begin() {
    let mut stage = Stage::new(Setting::default()).await;
    stage.spawn("bob", "worker").await;
    stage.until_state("bob", MemberState::Idle).await;
    let lead = stage.lead.take().unwrap();
    lead.stop("enough").await.unwrap();
    assert_eq!(lead.ended().await, Ended::Stopped { reason: "enough".to_owned() });
    let status = stage.board.look(|state| state.team().unwrap().status).await.unwrap();
    assert_eq!(status, troop_model::TeamStatus::Completed);
    stage.lead = Some(stage.start(Setting::default()).await.unwrap());
    stage.spawn("bob", "worker").await;
    stage.until_state("bob", MemberState::Idle).await;
}

#[tokio::test]
async fn a_lead_that_is_superseded_ends() {
    let mut stage = Stage::new(Setting::default()).await;
    let lead = stage.lead.take().unwrap();
    let take = Command::TakeLead {
        session: uuid::Uuid::now_v7(),
        holder: "somebody else".to_owned(),
        over: Some(lead.fence()),
        checks: Vec::new(),
    };
    stage.submit(Actor::system(), take).await.unwrap();
    assert_eq!(lead.ended().await, Ended::Superseded);
}

#[tokio::test]
async fn a_quiet_team_ends_by_itself() {
    let mut stage = Stage::new(Setting { until: Until::Stopped, ..Setting::default() }).await;
    let lead = stage.lead.take().unwrap();
    lead.stop("to begin again").await.unwrap();
    lead.ended().await;
    for nth in 0..5 {
        stage.task(&format!("task {nth}")).await;
    }
    stage.plays.add(
        "person",
        play(|mut part| async move {
            part.ready(false).await;
            let spawn = r#"{"member":{"name":"bob","agent":"worker"}}"#;
            drop(part.peer.notify(raw("member/spawn", spawn)).await);
            part.idle().await;
            while part.hear().await.is_some() {}
        }),
    );
    let lead = stage.start(Setting { until: Until::Quiet, ..Setting::default() }).await.unwrap();
    assert_eq!(lead.ended().await, Ended::Quiet);
    let n_done = stage.board.look(|state| state.tasks().n_with(Status::Completed)).await.unwrap();
    assert_eq!(n_done, 5);
}

#[tokio::test]
async fn a_team_is_not_at_rest_while_somebody_thinks_about_its_mail() {
    let mut stage = Stage::new(Setting::default()).await;
    let lead = stage.lead.take().unwrap();
    lead.stop("to begin again").await.unwrap();
    lead.ended().await;
    stage.plays.add(
        "person",
        play(|mut part| async move {
            part.ready(false).await;
            while part.hear().await.is_some() {}
        }),
    );
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    stage.plays.add(
        "thinker",
        play(move |mut part: Part| {
            let tell = tell.clone();
            async move {
                let name = part.spec.member.to_string();
                let ready = Ready { name, acknowledges: true, version: Some(1) };
                part.say(FromTeammate::Ready(ready)).await;
                part.idle().await;
                while let Some(said) = part.hear().await {
                    match &said {
                        FromLead::Message(message) => {
                            let id = message.id.unwrap();
                            let read = raw("message/read", &format!(r#"{{"messages":["{id}"]}}"#));
                            drop(part.peer.notify(read).await);
                        }
                        FromLead::Interrupt { .. } => part.say(FromTeammate::TurnEnd {}).await,
                        FromLead::AssignTask { .. }
                        | FromLead::UpdateContext(_)
                        | FromLead::Shutdown { .. } => {}
                    }
                    tell.send(said).unwrap();
                }
            }
        }),
    );
    let lead = stage.start(Setting::default()).await.unwrap();
    stage.spawn("bob", "thinker").await;
    stage.until_state("bob", MemberState::Idle).await;
    let done = stage.submit(Actor::human("zoe"), say("bob", "think")).await.unwrap();
    lead.handle().end(Until::QuietAfter(done.version)).await;
    stage
        .until("it is read", |state| {
            state.mailbox().iter().find(|it| it.content == "think")?.receipts.first()?.read_at
        })
        .await;
    // What the lead does next comes after all that it made of that.
    stage.lead_does(Command::InterruptMember { member: name("bob"), reason: None }).await;
    loop {
        match told.recv().await.unwrap() {
            FromLead::Interrupt { .. } => break,
            FromLead::Shutdown { .. } => panic!("it was still thinking"),
            FromLead::AssignTask { .. } | FromLead::Message(_) | FromLead::UpdateContext(_) => {}
        }
    }
    assert_eq!(lead.ended().await, Ended::Quiet);
}

#[tokio::test]
async fn who_hurries_does_not_wait_for_the_grace() {
    let mut stage = Stage::new(Setting {
        timing: Timing { grace: Duration::from_secs(3_600), ..quick() },
        ..Setting::default()
    })
    .await;
    stage.plays.add(
        "deaf",
        play(|part| async move {
            part.ready(true).await;
            std::future::pending::<()>().await;
        }),
    );
    stage.spawn("bob", "deaf").await;
    stage.until_state("bob", MemberState::Idle).await;
    let lead = stage.lead.take().unwrap();
    let handle = lead.handle();
    lead.stop("now").await.unwrap();
    stage.until_state("bob", MemberState::Stopping).await;
    handle.hurry().await;
    assert_eq!(lead.ended().await, Ended::Stopped { reason: "now".to_owned() });
}

#[tokio::test]
async fn a_failed_task_is_tried_again() {
    let stage = Stage::new(Setting::default()).await;
    stage.plays.add(
        "clumsy",
        play(|mut part| async move {
            part.ready(true).await;
            part.idle().await;
            while let Some(task) = part.task().await {
                if task.attempt == Some(1) {
                    part.report(&task, ReportedStatus::Failed, "dropped it").await;
                    part.idle().await;
                } else {
                    part.complete(&task).await;
                }
            }
        }),
    );
    stage.spawn("bob", "clumsy").await;
    stage.task("carry").await;
    stage.until("it is done after all", is_done(1)).await;
}

#[tokio::test]
async fn an_interruption_and_another_mode_reach_the_wire() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    stage.plays.add(
        "listener",
        play(move |mut part: Part| {
            let tell = tell.clone();
            async move {
                part.ready(true).await;
                while let Some(said) = part.hear().await {
                    tell.send(said).unwrap();
                }
            }
        }),
    );
    stage.spawn("bob", "listener").await;
    stage.until_state("bob", MemberState::Idle).await;
    let is_context = |said: &FromLead, mode| matches!(said, FromLead::UpdateContext(context) if context.mode == Some(mode));
    assert!(is_context(&told.recv().await.unwrap(), Permissions::Default));
    let interrupt = Command::InterruptMember { member: name("bob"), reason: Some("wait".into()) };
    stage.lead_does(interrupt).await;
    let wanted = FromLead::Interrupt { reason: "wait".to_owned() };
    assert_eq!(told.recv().await.unwrap(), wanted);
    let permissions = Permissions::AcceptEdits;
    stage.lead_does(Command::SetMemberMode { member: name("bob"), permissions }).await;
    assert!(is_context(&told.recv().await.unwrap(), permissions));
}

#[tokio::test]
async fn garbage_on_a_wire_never_ends_it() {
    let stage = Stage::new(Setting::default()).await;
    stage.plays.add(
        "babbler",
        play(|mut part| async move {
            drop(part.peer.notify(raw("no.such/method", "[1,2]")).await);
            part.ready(true).await;
            drop(
                part.peer
                    .notify(raw("team.taskUpdate", r#"{"taskId":"task-99","status":"done"}"#))
                    .await,
            );
            drop(part.peer.notify(raw("team.taskUpdate", r#"{"status":7}"#)).await);
            part.idle().await;
            while let Some(task) = part.task().await {
                part.complete(&task).await;
            }
        }),
    );
    stage.spawn("bob", "babbler").await;
    stage.task("work").await;
    stage.until("it works all the same", is_done(1)).await;
}

#[tokio::test]
async fn a_removed_member_is_ended() {
    let stage = Stage::new(Setting { timing: quick(), ..Setting::default() }).await;
    let alive = Arc::new(());
    let life = Arc::clone(&alive);
    stage.plays.add(
        "listener",
        play(move |mut part: Part| {
            let life = Arc::clone(&life);
            async move {
                part.ready(true).await;
                while part.hear().await.is_some() {}
                drop(life);
            }
        }),
    );
    stage.spawn("bob", "listener").await;
    stage.until_state("bob", MemberState::Idle).await;
    assert_eq!(Arc::strong_count(&alive), 3);
    stage.lead_does(Command::RemoveMember { member: name("bob"), reason: None }).await;
    troop_testkit::wait_for("its part is over", async || {
        (Arc::strong_count(&alive) == 2).then_some(())
    })
    .await;
}

#[tokio::test]
async fn who_is_about_to_start_when_the_team_stops_does_not() {
    let timing = Timing { grace: Duration::from_secs(600), ..quick() };
    let mut stage = Stage::new(Setting { timing, ..Setting::default() }).await;
    let may_end = Arc::new(tokio::sync::Notify::new());
    let gate = Arc::clone(&may_end);
    stage.plays.add(
        "slow",
        play(move |part: Part| {
            let gate = Arc::clone(&gate);
            async move {
                part.ready(true).await;
                gate.notified().await;
            }
        }),
    );
    stage.spawn("cyd", "slow").await;
    stage.until_state("cyd", MemberState::Idle).await;
    let lead = stage.lead.take().unwrap();
    lead.stop("enough").await.unwrap();
    stage.spawn("bob", "worker").await;
    stage.until_state("bob", MemberState::Stopped).await;
    may_end.notify_one();
    assert!(matches!(lead.ended().await, Ended::Stopped { .. }));
}

#[tokio::test]
async fn teammates_are_told_how_the_board_stands() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    stage.plays.add(
        "listener",
        play(move |mut part: Part| {
            let tell = tell.clone();
            async move {
                part.ready(true).await;
                while let Some(said) = part.hear().await {
                    if let FromLead::UpdateContext(context) = said {
                        tell.send(context.tasks).unwrap();
                    }
                }
            }
        }),
    );
    stage.spawn("bob", "listener").await;
    assert_eq!(told.recv().await.unwrap(), []);
    stage.task("write").await;
    let tasks = told.recv().await.unwrap();
    assert_eq!(tasks[0].subject, "write");
}

#[tokio::test]
async fn a_plan_is_rejected_revised_and_approved_and_only_then_carried_out() {
    let stage = Stage::new(Setting::default()).await;
    stage.plays.add(
        "planner",
        play(|mut part| async move {
            part.ready(true).await;
            part.idle().await;
            let task = part.task().await.unwrap();
            for plan in ["hastily", "carefully"] {
                let plan =
                    format!(r#"{{"to":"lead","kind":"plan_approval_request","content":"{plan}"}}"#);
                drop(part.peer.notify(raw("team.message", &plan)).await);
                // Too early: nobody has agreed yet.
                part.report(&task, ReportedStatus::Completed, "done in a hurry").await;
                let answer = loop {
                    let said = part.hear().await.unwrap();
                    if let FromLead::Message(message) = said
                        && message.approve.is_some()
                    {
                        break message;
                    }
                };
                if answer.approve == Some(true) {
                    part.complete(&task).await;
                }
            }
            while part.hear().await.is_some() {}
        }),
    );
    let member = troop_model::NewMember {
        name: name("zoe"),
        agent: "planner".into(),
        expertise: String::new(),
        model: None,
        permissions: Some(Permissions::Plan),
    };
    let spawn = troop_model::Spawn { member, prompt: None };
    stage.lead_does(Command::SpawnMember(spawn)).await;
    stage.task("build").await;
    for (plan, approve) in [("hastily", false), ("carefully", true)] {
        let request_id = stage
            .until(plan, move |state| {
                state.mailbox().iter().find(|it| it.content == plan)?.request_id
            })
            .await;
        let status = stage.board.look(|state| state.tasks().status(TaskNumber(1))).await.unwrap();
        assert_eq!(status, Some(Status::InProgress), "not before its plan is approved");
        stage
            .lead_does(Command::Send(Outgoing {
                to: "zoe".to_owned(),
                kind: MessageKind::PlanApprovalResponse,
                content: "think again".to_owned(),
                summary: None,
                request_id: Some(request_id),
                approve: Some(approve),
            }))
            .await;
    }
    stage.until("it is built", is_done(1)).await;
}

#[tokio::test]
async fn to_stop_who_has_stopped_is_harmless_and_who_does_not_exist_is_an_error() {
    let stage = Stage::new(Setting::default()).await;
    let ask = |to: &str| {
        Command::Send(Outgoing {
            to: to.to_owned(),
            kind: MessageKind::ShutdownRequest,
            content: String::new(),
            summary: None,
            request_id: None,
            approve: None,
        })
    };
    stage.spawn("bob", "worker").await;
    stage.until_state("bob", MemberState::Idle).await;
    for _ in 0..2 {
        stage.lead_does(ask("bob")).await;
        stage.until_state("bob", MemberState::Stopped).await;
    }
    let refused = stage.submit(Actor::human("zoe"), ask("eve")).await.unwrap_err();
    assert!(refused.to_string().starts_with("there is no member `eve`"), "{refused}");
    stage.spawn("bob", "worker").await;
    stage.task("more").await;
    stage.until("it works again, and is not stopped by what was asked before", is_done(1)).await;
}

#[tokio::test]
async fn a_transcript_shows_what_was_told() {
    let stage = Stage::new(Setting::default()).await;
    stage.spawn("bob", "worker").await;
    stage.submit(Actor::human("zoe"), say("bob", "hello")).await.unwrap();
    troop_testkit::wait_for("the mail is in the transcript", async || {
        let read = troop_runtime::read_transcript(stage.folder.path(), &name("bob"), 0);
        let (entries, _) = read.unwrap();
        let is_it = |it: &troop_runtime::Entry| it.line.text == "[Team message from user]: hello";
        entries.iter().any(is_it).then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_a_teammate_thinks_reaches_the_lead_only_if_it_says_so() {
    let stage = Stage::new(Setting::default()).await;
    stage.plays.add(
        "thinker",
        play(|mut part| async move {
            part.ready(true).await;
            let (level, text) = (troop_protocol::Level::Info, "a long train of thought".to_owned());
            part.say(FromTeammate::Log(troop_protocol::Log { level, text })).await;
            let params = r#"{"to":"lead","content":"what it came to"}"#;
            drop(part.peer.notify(raw("team.message", params)).await);
            while part.hear().await.is_some() {}
        }),
    );
    stage.spawn("bob", "thinker").await;
    let transcript = |member: &str| {
        let read = troop_runtime::read_transcript(stage.folder.path(), &name(member), 0);
        let (entries, _) = read.unwrap_or_default();
        entries.into_iter().map(|it| it.line.text).collect::<Vec<_>>().join("\n")
    };
    let lead = stage.board.look(|state| state.lead().unwrap().name.clone()).await.unwrap();
    troop_testkit::wait_for("the lead is told what it came to", async || {
        transcript(lead.as_str()).contains("what it came to").then_some(())
    })
    .await;
    assert!(transcript("bob").contains("a long train of thought"));
    assert!(!transcript(lead.as_str()).contains("a long train of thought"));
}

#[tokio::test]
async fn what_a_teammate_took_itself_is_not_given_to_it_again() {
    let settings =
        Settings { assignment: troop_model::Assignment::Claim, ..Setting::default().settings };
    let stage = Stage::new(Setting { settings, ..Setting::default() }).await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    stage.plays.add(
        "claimer",
        play(move |mut part: Part| {
            let tell = tell.clone();
            async move {
                part.ready(true).await;
                let claim = raw("task/claim", "{}");
                part.peer.request::<serde_json::Value>(claim).await.unwrap();
                while let Some(said) = part.hear().await {
                    tell.send(said).unwrap();
                }
            }
        }),
    );
    stage.task("write").await;
    stage.spawn("bob", "claimer").await;
    stage.until("it has the task", |state| state.tasks().held_by(&name("bob")).next()).await;
    for content in ["one", "two"] {
        stage.submit(Actor::human("zoe"), say("bob", content)).await.unwrap();
    }
    loop {
        match told.recv().await.unwrap() {
            FromLead::Message(message) if message.content == "two" => break,
            FromLead::AssignTask { task } => panic!("it has {} already", task.id),
            FromLead::Message(_)
            | FromLead::UpdateContext(_)
            | FromLead::Shutdown { .. }
            | FromLead::Interrupt { .. } => {}
        }
    }
}

#[tokio::test]
async fn a_result_that_must_be_revised_comes_back_to_its_holder() {
    let settings = Settings { require_review: true, ..Setting::default().settings };
    let stage = Stage::new(Setting { settings, ..Setting::default() }).await;
    stage.spawn("bob", "worker").await;
    stage.task("write").await;
    let in_review = |state: &troop_model::State| {
        (state.tasks().status(TaskNumber(1))? == Status::InReview).then_some(state.version())
    };
    let first = stage.until("it is handed in", in_review).await;
    let order = troop_model::TaskCommand::Reject {
        task: TaskNumber(1).into(),
        reason: "shorter".to_owned(),
        mode: troop_model::RejectMode::Revise,
    };
    stage.lead_does(Command::Task(order)).await;
    stage
        .until("it is handed in again", move |state| in_review(state).filter(|it| *it > first))
        .await;
}

#[tokio::test]
async fn a_name_can_be_used_again_while_its_former_bearer_still_ends() {
    let stage = Stage::new(Setting::default()).await;
    for _ in 0..5 {
        stage.spawn("bob", "worker").await;
        stage.until_state("bob", MemberState::Idle).await;
        stage.lead_does(Command::RemoveMember { member: name("bob"), reason: None }).await;
    }
    stage.spawn("bob", "worker").await;
    stage.task("write").await;
    stage.until("the new one works", is_done(1)).await;
}
