//! Members that complete their task in the middle of a turn.

use serde_json::Value;
use tokio::sync::mpsc;
use troop_model::{Actor, Command, MemberState};
use troop_protocol::{FromLead, FromTeammate, Idle, ReportedStatus};
use troop_runtime::{LeadEnd, Until};
use troop_testkit::wait_for;

use super::{
    hooks::{hooks, lines},
    is_done,
    stage::{Part, Play, Setting, Stage, play, raw},
};
use crate::support::say;

/// Completes its first task by a call, and ends its turn only after the next message. Passes on what it heard until then.
fn goes_on(tell: mpsc::UnboundedSender<FromLead>) -> Play {
    play(move |mut part: Part| {
        let tell = tell.clone();
        async move {
            part.ready_acknowledging().await;
            part.idle().await;
            let Some(task) = part.task().await else { return };
            part.report(&task, ReportedStatus::InProgress, "").await;
            let done = format!(r#"{{"task":"{}","result":"all of it"}}"#, task.id);
            part.peer.request::<Value>(raw("task/complete", &done)).await.unwrap();
            while let Some(said) = part.hear().await {
                if let FromLead::Message(message) = &said {
                    let id = message.id.unwrap();
                    let read = raw("message/read", &format!(r#"{{"messages":["{id}"]}}"#));
                    drop(part.peer.notify(read).await);
                    break;
                }
                tell.send(said).unwrap();
            }
            let last_task = Some(task.id.clone());
            part.say(FromTeammate::Idle(Idle { last_task })).await;
            while let Some(task) = part.task().await {
                part.complete(&task).await;
            }
        }
    })
}

/// A team with a silent lead and one member whose turn goes on after its task.
async fn on_stage() -> (Stage, mpsc::UnboundedReceiver<FromLead>) {
    let stage = Stage::new(Setting::default()).await;
    let (tell, told) = mpsc::unbounded_channel();
    stage.plays.add("busy", goes_on(tell));
    stage.spawn("bob", "busy").await;
    stage.until_state("bob", MemberState::Idle).await;
    stage.task("write").await;
    stage.until("it is done", is_done(1)).await;
    (stage, told)
}

#[tokio::test]
async fn a_team_is_not_quiet_before_a_turn_ends_and_its_lead_hears_of_the_end() {
    let (mut stage, mut told) = on_stage().await;
    let lead = stage.lead.take().unwrap();
    lead.handle().end(Until::Quiet).await;
    // This message comes after everything that the lead did about `Until::Quiet`.
    stage.submit(Actor::human("zoe"), say("bob", "enough")).await.unwrap();
    stage
        .until("the lead is told", |state| {
            let mut mail = state.mailbox().iter();
            mail.any(|it| it.content == "bob is idle; task-1 is completed: all of it").then_some(())
        })
        .await;
    lead.stop("enough").await.unwrap();
    assert!(matches!(lead.ended().await, LeadEnd::Stopped { .. } | LeadEnd::Quiet));
    while let Ok(said) = told.try_recv() {
        assert!(!matches!(said, FromLead::Shutdown { .. }), "it was still at it");
    }
}

#[tokio::test]
async fn the_next_task_comes_when_the_turn_of_the_last_one_is_over() {
    let (stage, mut told) = on_stage().await;
    stage.task("more").await;
    stage.submit(Actor::human("zoe"), say("bob", "enough")).await.unwrap();
    stage.until("the next one is done", is_done(2)).await;
    while let Ok(said) = told.try_recv() {
        assert!(!matches!(said, FromLead::AssignTask { .. }), "it was still at the first one");
    }
}

/// Completes its task, and is then in the middle of a turn from the first message to the second. Says whether it was told to
/// stop meanwhile.
fn reads_on(tell: mpsc::UnboundedSender<bool>) -> Play {
    play(move |mut part: Part| {
        let tell = tell.clone();
        async move {
            part.ready_acknowledging().await;
            part.idle().await;
            let Some(task) = part.task().await else { return };
            part.report(&task, ReportedStatus::InProgress, "").await;
            part.complete(&task).await;
            let mut n_read = 0;
            let mut is_stopped = false;
            while let Some(said) = part.hear().await {
                is_stopped |= matches!(said, FromLead::Shutdown { .. });
                let FromLead::Message(message) = said else {
                    if is_stopped {
                        return;
                    }
                    continue;
                };
                let id = message.id.unwrap();
                let read = raw("message/read", &format!(r#"{{"messages":["{id}"]}}"#));
                part.peer.request::<Value>(read).await.unwrap();
                n_read += 1;
                if n_read == 2 {
                    part.say(FromTeammate::TurnEnd {}).await;
                }
                tell.send(is_stopped).unwrap();
            }
        }
    })
}

#[tokio::test]
async fn a_member_that_reads_on_while_its_result_is_judged_is_idle_only_after_its_turn() {
    let folder = tempfile::tempdir().unwrap();
    let slow = "echo seen >> seen; until test -e go; do sleep 0.01; done";
    let hooks = hooks(folder.path(), &[("task-completed", slow)]);
    let mut stage = Stage::new(Setting { hooks, ..Setting::default() }).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add("reader", reads_on(tell));
    stage.spawn("bob", "reader").await;
    stage.task("write").await;
    wait_for("the hook judges", async || lines(folder.path(), "seen").pop()).await;
    stage.submit(Actor::human("zoe"), say("bob", "one")).await.unwrap();
    told.recv().await.unwrap();
    std::fs::write(folder.path().join("go"), "").unwrap();
    let told_lead = stage
        .until("the lead is told", |state| {
            let mut mail = state.mailbox().iter();
            let is_told = |content: &str| content == "bob is idle; task-1 is completed: by bob";
            mail.find(|it| is_told(&it.content)).map(|it| it.id)
        })
        .await;
    // A lead with mail is not quiet.
    stage.lead_does(Command::MarkRead { reader: None, messages: Some(vec![told_lead]) }).await;
    let lead = stage.lead.take().unwrap();
    lead.handle().end(Until::Quiet).await;
    stage.submit(Actor::human("zoe"), say("bob", "two")).await.unwrap();
    assert_eq!(told.recv().await, Some(false), "it was in its turn until now");
    assert!(matches!(lead.ended().await, LeadEnd::Quiet));
}
