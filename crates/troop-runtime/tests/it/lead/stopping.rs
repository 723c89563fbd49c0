//! How teammates and whole teams stop.

use std::{sync::Arc, time::Duration};

use troop_model::{Actor, Command, MemberState, MessageKind, Outgoing, State, Status};
use troop_protocol::{FromLead, FromTeammate, ReportedStatus, ShutdownAck};
use troop_runtime::{LeadEnd, Timing, Until, is_to_start_again};

use super::{
    is_done,
    isolation::{Project, write},
    stage::{Part, Play, Setting, Stage, play, quick, raw, without_restarts},
};
use crate::support::{name, say};

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
    stage.lead_does(request_to_stop("bob")).await;
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
    // A teammate that stops with its team cannot refuse.
    assert!(matches!(stage.stop().await, LeadEnd::Stopped { .. }));
}

#[tokio::test]
async fn a_teammate_cannot_refuse_to_stop_while_its_team_stops() {
    let timing = Timing { grace: Duration::from_secs(1), ..quick() };
    let mut stage = Stage::new(Setting { timing, ..Setting::default() }).await;
    stage.plays.add(
        "stubborn",
        play(|mut part| async move {
            part.ready(true).await;
            part.idle().await;
            while let Some(said) = part.hear().await {
                if let FromLead::Shutdown { .. } = said {
                    let ack = ShutdownAck::refused("never");
                    part.say(FromTeammate::ShutdownAck(ack)).await;
                }
            }
        }),
    );
    stage.spawn("bob", "stubborn").await;
    stage.until_state("bob", MemberState::Idle).await;
    let lead = stage.lead.take().unwrap();
    lead.stop("lunch").await.unwrap();
    stage.until_state("bob", MemberState::Stopping).await;
    stage.lead_does(request_to_stop("bob")).await;
    assert_eq!(lead.ended().await, LeadEnd::Stopped { reason: "lunch".to_owned() });
    let why = |state: &State| state.member(&name("bob")).unwrap().state_reason.clone();
    let why = stage.board.look(why).await.unwrap();
    assert_eq!(why.as_deref(), Some("its team stopped: lunch"), "so it begins again with its team");
}

fn request_to_stop(member: &str) -> Command {
    Command::Send(Outgoing::new(member, MessageKind::ShutdownRequest, "enough"))
}

#[tokio::test]
async fn a_teammate_that_agrees_to_stop_is_stopped_and_the_lead_hears_of_it() {
    let stage = Stage::new(Setting::default()).await;
    stage.spawn("bob", "worker").await;
    stage.until_state("bob", MemberState::Idle).await;
    let ask = Command::Send(Outgoing::new("bob", MessageKind::ShutdownRequest, String::new()));
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
async fn a_teammate_stopped_alone_is_not_restarted_with_its_team_whatever_the_reason_says() {
    for words in ["its team stopped", "its team stopped early", "its team stopped: no"] {
        let stage = Stage::new(Setting::default()).await;
        stage.spawn("bob", "worker").await;
        stage.until_state("bob", MemberState::Idle).await;
        stage
            .lead_does(Command::Send(Outgoing::new("bob", MessageKind::ShutdownRequest, words)))
            .await;
        stage.until_state("bob", MemberState::Stopped).await;
        let bob = |state: &State| state.member(&name("bob")).unwrap().clone();
        let bob = stage.board.look(bob).await.unwrap();
        assert_eq!(bob.state_reason.as_deref(), Some(words));
        assert!(!is_to_start_again(&bob), "{words}");
        stage.stop().await;
    }
}

#[tokio::test]
async fn a_teammate_stopped_with_its_team_is_restarted_with_it() {
    let mut stage = Stage::new(Setting::default()).await;
    stage.spawn("bob", "worker").await;
    stage.until_state("bob", MemberState::Idle).await;
    let lead = stage.lead.take().unwrap();
    lead.stop("enough").await.unwrap();
    lead.ended().await;
    let bob = |state: &State| state.member(&name("bob")).unwrap().clone();
    assert!(is_to_start_again(&stage.board.look(bob).await.unwrap()));
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
    assert!(matches!(stage.stop().await, LeadEnd::Stopped { .. }));
}

#[tokio::test]
async fn after_a_stop_the_team_is_completed_and_another_lead_may_begin() {
    let mut stage = Stage::new(Setting::default()).await;
    stage.spawn("bob", "worker").await;
    stage.until_state("bob", MemberState::Idle).await;
    let lead = stage.lead.take().unwrap();
    lead.stop("enough").await.unwrap();
    assert_eq!(lead.ended().await, LeadEnd::Stopped { reason: "enough".to_owned() });
    let status = stage.board.look(|state| state.team().unwrap().status).await.unwrap();
    assert_eq!(status, troop_model::TeamStatus::Completed);
    stage.lead = Some(stage.start(Setting::default()).await.unwrap());
    stage.spawn("bob", "worker").await;
    stage.until_state("bob", MemberState::Idle).await;
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
    assert_eq!(lead.ended().await, LeadEnd::Quiet);
    let n_done = stage.board.look(|state| state.tasks().n_with(Status::Completed)).await.unwrap();
    assert_eq!(n_done, 5);
}

#[tokio::test]
async fn a_team_is_not_quiet_while_a_teammate_thinks_about_its_mail() {
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
                part.ready_acknowledging().await;
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
    // The interruption comes after everything that the lead did about the read mail.
    stage.lead_does(Command::InterruptMember { member: name("bob"), reason: None }).await;
    loop {
        match told.recv().await.unwrap() {
            FromLead::Interrupt { .. } => break,
            FromLead::Shutdown { .. } => panic!("it was still thinking"),
            FromLead::AssignTask { .. } | FromLead::Message(_) | FromLead::UpdateContext(_) => {}
        }
    }
    assert_eq!(lead.ended().await, LeadEnd::Quiet);
}

#[tokio::test]
async fn a_hurried_stop_does_not_wait_for_the_grace_period() {
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
    assert_eq!(lead.ended().await, LeadEnd::Stopped { reason: "now".to_owned() });
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
async fn a_teammate_is_not_started_once_the_team_is_stopping() {
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
    assert!(matches!(lead.ended().await, LeadEnd::Stopped { .. }));
}

#[tokio::test]
async fn stopping_a_stopped_teammate_is_harmless_and_an_unknown_one_is_an_error() {
    let stage = Stage::new(Setting::default()).await;
    let ask =
        |to: &str| Command::Send(Outgoing::new(to, MessageKind::ShutdownRequest, String::new()));
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
    stage.until("it works again, and the earlier request does not stop it", is_done(1)).await;
}

#[tokio::test]
async fn a_name_can_be_reused_while_its_former_holder_is_still_ending() {
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

/// Does its task, reports on it (if `waits`, only when it is told to stop), and exits at once.
fn brief(waits: bool) -> Play {
    play(move |mut part| async move {
        part.ready(true).await;
        part.idle().await;
        let Some(task) = part.task().await else { return };
        write(&part.spec.path, &task.subject);
        while waits && !matches!(part.hear().await, None | Some(FromLead::Shutdown { .. })) {}
        part.report(&task, ReportedStatus::Completed, "written").await;
    })
}

#[tokio::test]
async fn a_task_finished_within_the_grace_period_is_merged_and_completed() {
    let project = Project::new();
    let timing = Timing { grace: Duration::from_mins(1), ..without_restarts() };
    let mut stage = project.stage_with(timing, |_| {}).await;
    stage.plays.add("brief", brief(true));
    stage.spawn("bob", "brief").await;
    stage.task("write a 1").await;
    let written = project.0.path().join("team/worktrees/bob/a");
    troop_testkit::wait_for("it is at work", async || written.exists().then_some(())).await;
    let lead = stage.lead.take().unwrap();
    lead.stop("enough").await.unwrap();
    lead.ended().await;
    let n_done = stage.board.look(|state| state.tasks().n_with(Status::Completed)).await.unwrap();
    assert_eq!(n_done, 1, "it is done, and not repeated");
    assert_eq!(project.in_team("a"), "1");
}

#[tokio::test]
async fn a_task_stays_completed_when_its_holder_exits_right_after_reporting() {
    let project = Project::new();
    let stage = project.stage(|_| {}).await;
    stage.plays.add("brief", brief(false));
    stage.spawn("bob", "brief").await;
    stage.task("write a 1").await;
    stage.until("task 1 is done", is_done(1)).await;
    stage.until_state("bob", MemberState::Crashed).await;
    let attempts = stage.board.look(|state| state.tasks().iter().next().unwrap().attempts);
    assert_eq!(attempts.await.unwrap(), 1);
    assert_eq!(project.in_team("a"), "1");
    stage.stop().await;
}

#[tokio::test]
async fn a_check_that_outlasts_the_grace_period_does_not_keep_the_team_from_stopping() {
    let project = Project::new();
    let check = |settings: &mut troop_model::Settings| {
        settings.checks = vec!["touch begun; sleep 600".into()];
    };
    let mut stage = project.stage(check).await;
    stage.plays.add("brief", brief(false));
    stage.spawn("bob", "brief").await;
    stage.task("write a 1").await;
    let begun = project.0.path().join("team/worktrees/bob/begun");
    troop_testkit::wait_for("the check runs", async || begun.exists().then_some(())).await;
    let lead = stage.lead.take().unwrap();
    lead.stop("enough").await.unwrap();
    assert!(matches!(lead.ended().await, LeadEnd::Stopped { .. }));
    let n_done = stage.board.look(|state| state.tasks().n_with(Status::Completed)).await.unwrap();
    assert_eq!(n_done, 0, "the outcome is unknown");
}
