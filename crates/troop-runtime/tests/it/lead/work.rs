//! Assignments, their results, and the reports of teammates.

use std::{sync::Arc, time::Duration};

use troop_model::{
    Actor, Assignment, Command, MemberState, MessageKind, Outgoing, Permissions, Settings, State,
    Status, TaskCommand, TaskNumber,
};
use troop_protocol::{FromLead, FromTeammate, Level, Log, ReportedStatus, WireTask};
use troop_runtime::{LeadEnd, Timing, TranscriptSource};
use troop_testkit::wait_for;

use super::{
    is_done,
    stage::{Part, Setting, Stage, play, quick, raw},
};
use crate::support::{complete, name, say};

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
    assert!(matches!(stage.stop().await, LeadEnd::Stopped { .. }));
}

#[tokio::test]
async fn a_late_report_on_an_earlier_attempt_does_not_reassign_the_task() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    stage.plays.add(
        "late",
        play(move |mut part: Part| {
            let tell = tell.clone();
            async move {
                part.ready(true).await;
                part.idle().await;
                while let Some(task) = part.task().await {
                    tell.send(task.id.clone()).unwrap();
                    let earlier = WireTask { attempt: Some(0), ..task.clone() };
                    part.report(&earlier, ReportedStatus::Completed, "long ago").await;
                    part.complete(&task).await;
                }
            }
        }),
    );
    stage.spawn("bob", "late").await;
    stage.task("write").await;
    stage.until("task 1 is done", is_done(1)).await;
    stage.task("write more").await;
    stage.until("task 2 is done", is_done(2)).await;
    let given = [told.recv().await.unwrap(), told.recv().await.unwrap()];
    assert_ne!(given[0], given[1]);
    assert!(told.try_recv().is_err(), "each was given once");
    stage.stop().await;
}

#[tokio::test]
async fn a_board_larger_than_a_wire_line_does_not_block_work_or_mail() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    stage.plays.add(
        "reader",
        play(move |mut part: Part| {
            let tell = tell.clone();
            async move {
                part.ready(true).await;
                part.idle().await;
                while let Some(said) = part.hear().await {
                    tell.send(said).unwrap();
                }
            }
        }),
    );
    let text = "x".repeat(troop_model::MAX_TEXT);
    for nth in 0..=troop_protocol::MAX_LINE / text.len() {
        let (subject, description) = (format!("task {nth}"), text.clone());
        let new = troop_model::NewTask { subject, description, ..Default::default() };
        stage.lead_does(Command::Task(TaskCommand::Create(new))).await;
    }
    stage.spawn("bob", "reader").await;
    stage.submit(Actor::human("zoe"), say("bob", "hi")).await.unwrap();
    let (mut context, mut task, mut mail) = (None, None, None);
    while context.is_none() || task.is_none() || mail.is_none() {
        match told.recv().await.unwrap() {
            FromLead::UpdateContext(it) => context = Some(it),
            FromLead::AssignTask { task: it } => task = Some(it),
            FromLead::Message(it) => mail = Some(it),
            FromLead::Shutdown { .. } | FromLead::Interrupt { .. } => {}
        }
    }
    assert_eq!(task.unwrap().description, text, "the assignment has the full text");
    let shown = context.unwrap().tasks.pop().unwrap();
    assert!(shown.description.chars().count() < 1_000 && shown.description.ends_with('…'));
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
    let has_no_time = |task: &&troop_model::Task| task.provenance.completed_at.is_none();
    let without =
        stage.board.look(move |state| state.tasks().iter().filter(has_no_time).count()).await;
    assert_eq!(without.unwrap(), 0, "it is known when each was done");
    for member in ["bob", "cyd", "dan"] {
        stage.until_state(member, MemberState::Idle).await;
    }
}

/// Checks that a teammate that says it is idle as soon as it has a task, assigned or claimed, is asked for a report and then
/// loses the task.
async fn absent_is_asked(assignment: Assignment) {
    let settings = Settings { max_attempts: 1, assignment, ..Settings::default() };
    let stage = Stage::new(Setting { settings, ..Setting::default() }).await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    stage.plays.add(
        "absent",
        play(move |mut part: Part| {
            let tell = tell.clone();
            async move {
                part.ready(false).await;
                part.idle().await;
                let mut takes_one = assignment == Assignment::Claim;
                while let Some(said) = part.hear().await {
                    match said {
                        FromLead::AssignTask { .. } => part.idle().await,
                        FromLead::UpdateContext(it) if takes_one && !it.tasks.is_empty() => {
                            takes_one = false;
                            let claim = raw("task/claim", "{}");
                            part.peer.request::<serde_json::Value>(claim).await.unwrap();
                            part.idle().await;
                        }
                        FromLead::Message(message) => tell.send(message.content).unwrap(),
                        FromLead::UpdateContext(_)
                        | FromLead::Shutdown { .. }
                        | FromLead::Interrupt { .. } => {}
                    }
                }
            }
        }),
    );
    stage.spawn("bob", "absent").await;
    stage.until_state("bob", MemberState::Idle).await;
    stage.task("write").await;
    let asked = "you hold task-1 but say that you are idle; report its state";
    assert_eq!(told.recv().await.unwrap(), asked);
    let why = stage.until("it has failed", |state| {
        let task = state.tasks().get(TaskNumber(1)).filter(|it| it.status == Status::Failed)?;
        task.result.clone()
    });
    assert_eq!(why.await, "bob says that it is idle but has not reported on task-1");
    stage.until_state("bob", MemberState::Idle).await;
}

/// Reports a result that is too long this many times.
fn chatty(n_long: usize) -> super::stage::Play {
    play(move |mut part: Part| async move {
        part.ready(true).await;
        part.idle().await;
        for nth in 0.. {
            let Some(task) = part.task().await else { return };
            let result = if nth < n_long { "x".repeat(262_145) } else { "short".to_owned() };
            part.report(&task, ReportedStatus::Completed, &result).await;
            part.idle().await;
        }
    })
}

#[tokio::test]
async fn a_result_that_the_board_does_not_take_gives_the_task_back_with_the_reason() {
    let (warnings, mut warned) = tokio::sync::mpsc::channel(8);
    let warnings = Some(warnings);
    // Long enough that no report becomes due and no lease expires.
    let timing = Timing { grace: Duration::from_secs(600), ..quick() };
    let stage = Stage::new(Setting { timing, warnings, ..Setting::default() }).await;
    stage.plays.add("chatty", chatty(2));
    stage.spawn("bob", "chatty").await;
    stage.task("write").await;
    stage.until("it is done after all", is_done(1)).await;
    let (attempts, mail) = stage
        .board
        .look(|state| {
            let to_bob = state.mailbox().iter().filter(|it| it.to.as_str() == "bob");
            let task = state.tasks().get(TaskNumber(1)).unwrap();
            (task.attempts, to_bob.map(|it| it.content.clone()).collect::<Vec<_>>())
        })
        .await
        .unwrap();
    let why = "the result has 262145 characters; the limit is 262144";
    assert_eq!(attempts, 1, "it was its own all the time");
    assert_eq!(mail.iter().filter(|it| it.starts_with(why)).count(), 2, "{mail:?}");
    let warning = warned.recv().await.unwrap();
    assert!(warning.starts_with(&format!("bob: task-1 is not done yet: {why}")), "{warning}");
}

#[tokio::test]
async fn a_task_whose_result_is_refused_every_time_fails_with_that_reason() {
    let settings = Settings { max_attempts: 1, ..Settings::default() };
    let timing = Timing { grace: Duration::from_secs(600), ..quick() };
    let stage = Stage::new(Setting { settings, timing, ..Setting::default() }).await;
    stage.plays.add("chatty", chatty(usize::MAX));
    stage.spawn("bob", "chatty").await;
    stage.task("write").await;
    let why = stage.until("it has failed", |state| {
        let task = state.tasks().get(TaskNumber(1)).filter(|it| it.status == Status::Failed)?;
        task.result.clone()
    });
    let why = why.await;
    assert!(why.starts_with("the result has 262145 characters"), "{why}");
}

#[tokio::test]
async fn an_idle_teammate_that_does_not_report_on_its_assigned_task_loses_it() {
    absent_is_asked(Assignment::Auto).await;
}

#[tokio::test]
async fn an_idle_teammate_that_does_not_report_on_its_claimed_task_loses_it() {
    absent_is_asked(Assignment::Claim).await;
}

#[tokio::test]
async fn dependents_start_when_their_blockers_are_done() {
    // No tick is needed for it.
    let timing = Timing { tick: Duration::from_secs(600), ..quick() };
    let stage = Stage::new(Setting { timing, ..Setting::default() }).await;
    for member in ["bob", "cyd"] {
        stage.spawn(member, "worker").await;
        stage.until_state(member, MemberState::Idle).await;
    }
    stage.task("first").await;
    let new = troop_model::NewTask {
        subject: "second".to_owned(),
        blocked_by: vec![TaskNumber(1).into()],
        ..Default::default()
    };
    stage.lead_does(Command::Task(TaskCommand::Create(new))).await;
    stage.until("the second is done", is_done(2)).await;
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
    let wanted = FromLead::Interrupt { reason: "wait".to_owned(), task_id: None };
    assert_eq!(told.recv().await.unwrap(), wanted);
    let permissions = Permissions::AcceptEdits;
    let mode = Command::SetMemberMode { member: name("bob"), permissions };
    stage.submit(Actor::human("zoe"), mode).await.unwrap();
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
    stage.until("it works anyway", is_done(1)).await;
}

#[tokio::test]
async fn teammates_get_the_board_when_it_changes() {
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
    stage.task("read").await;
    // Pushes may be joined, so each is waited for until it shows the change.
    let mut shows = async |what: &str, is_so: &dyn Fn(&[WireTask]) -> bool| loop {
        let tasks = told.recv().await.expect(what);
        if is_so(&tasks) {
            break;
        }
    };
    let subjects =
        |tasks: &[WireTask]| -> Vec<_> { tasks.iter().map(|it| it.subject.clone()).collect() };
    shows("new tasks", &|tasks| subjects(tasks) == ["write", "read"]).await;
    let person = || Actor::human("zoe");
    let cancel =
        TaskCommand::Cancel { task: TaskNumber(2).into(), reason: "not needed".to_owned() };
    stage.submit(person(), Command::Task(cancel)).await.unwrap();
    shows("a task is cancelled", &|tasks| subjects(tasks) == ["write"]).await;
    stage.until("bob has a task", |it| it.tasks().get(TaskNumber(1))?.owner.clone()).await;
    let comment = TaskCommand::Comment { task: TaskNumber(1).into(), text: "hm".to_owned() };
    stage.submit(person(), Command::Task(comment)).await.unwrap();
    let is_bobs = |it: &WireTask| it.owner.as_deref() == Some("bob");
    shows("a task is assigned", &|tasks| tasks.iter().any(is_bobs)).await;
    stage.submit(Actor::agent(&name("bob")), complete(1)).await.unwrap();
    shows("a task is done", &|tasks| tasks.is_empty()).await;
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
                // Too early: the plan is not approved yet.
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
            .lead_does(Command::Send(
                Outgoing::new("zoe", MessageKind::PlanApprovalResponse, "think again")
                    .answering(request_id, approve),
            ))
            .await;
    }
    stage.until("it is built", is_done(1)).await;
}

#[tokio::test]
async fn a_transcript_shows_delivered_mail() {
    let stage = Stage::new(Setting::default()).await;
    stage.spawn("bob", "worker").await;
    stage.submit(Actor::human("zoe"), say("bob", "hello")).await.unwrap();
    wait_for("the mail is in the transcript", async || {
        let entries = stage.transcript("bob");
        let is_it =
            |it: &troop_runtime::TranscriptEntry| it.line.text == "[Team message from user]: hello";
        entries.iter().any(is_it).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_task_that_a_teammate_claimed_is_not_assigned_to_it_again() {
    let settings = Settings { assignment: Assignment::Claim, ..Setting::default().settings };
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
    let in_review = |state: &State| {
        (state.tasks().status(TaskNumber(1))? == Status::InReview).then_some(state.version())
    };
    let first = stage.until("it is handed in", in_review).await;
    let order = TaskCommand::Reject {
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
async fn log_lines_of_a_working_teammate_are_kept_and_change_no_task() {
    let (warnings, mut warned) = tokio::sync::mpsc::channel(16);
    let setting = Setting { warnings: Some(warnings), ..Setting::default() };
    let stage = Stage::new(setting).await;
    let go_on = Arc::new(tokio::sync::Notify::new());
    let waits = Arc::clone(&go_on);
    let talker = play(move |mut part: Part| {
        let waits = Arc::clone(&waits);
        async move {
            part.ready(true).await;
            part.idle().await;
            let Some(task) = part.task().await else { return };
            waits.notified().await;
            for level in [Level::Debug, Level::Info, Level::Warn, Level::Error] {
                let text = format!("{level:?} of {}", task.subject);
                part.say(FromTeammate::Log(Log { level, text })).await;
            }
            waits.notified().await;
            part.complete(&task).await;
            while part.hear().await.is_some() {}
        }
    });
    stage.plays.add("talker", talker);
    stage.spawn("bob", "talker").await;
    stage.task("write").await;
    stage.until_state("bob", MemberState::Working).await;
    let look = |state: &State| (state.version(), state.tasks().get(TaskNumber(1)).cloned());
    let before = stage.board.look(look).await.unwrap();
    go_on.notify_one();
    let told = wait_for("all of it is kept", async || {
        let kept = stage.transcript("bob");
        let said = kept.into_iter().filter(|it| it.line.source == TranscriptSource::Member);
        let said: Vec<_> = said.map(|it| it.line.text).collect();
        (said.len() == 4).then_some(said)
    })
    .await;
    assert_eq!(told, ["Debug", "Info", "Warn", "Error"].map(|it| format!("{it} of write")));
    assert_eq!(stage.board.look(look).await.unwrap(), before, "not even the log has grown");
    for shown in ["bob: Warn of write", "bob: Error of write"] {
        assert_eq!(warned.recv().await.as_deref(), Some(shown), "people see trouble, and no more");
    }
    go_on.notify_one();
    stage.until("it is done", is_done(1)).await;
}
