//! Changes that members make in their folders outside any task.

use std::fs;

use serde_json::Value;
use tokio::sync::mpsc;
use troop_model::{Command, Fact, MemberState, MessageKind, NewMember, Outgoing, Spawn};
use troop_protocol::{FromLead, FromTeammate, MessageIn, ShutdownAck};
use troop_testkit::wait_for;

use super::{
    isolation::Project,
    stage::{Part, Play, Stage, play, raw},
};
use crate::support::name;

/// Writes the file that a message names.
fn helper() -> Play {
    play(|mut part| async move {
        part.ready(true).await;
        part.idle().await;
        while let Some(said) = part.hear().await {
            match said {
                FromLead::Message(message) => {
                    fs::write(part.spec.path.join(&message.content), "hi\n").unwrap();
                    part.idle().await;
                }
                FromLead::Shutdown { .. } => {
                    let ack = ShutdownAck::agreed();
                    return part.say(FromTeammate::ShutdownAck(ack)).await;
                }
                FromLead::AssignTask { .. }
                | FromLead::UpdateContext(_)
                | FromLead::Interrupt { .. } => {}
            }
        }
    })
}

/// The messages of troop about changes outside of tasks.
async fn told(stage: &Stage) -> Vec<String> {
    let log = stage.log().await;
    let sent = log.iter().filter_map(|event| {
        let Fact::MessageSent { content, .. } = &event.fact else { return None };
        Some(content)
    });
    sent.filter(|text| text.contains("outside of any task")).cloned().collect()
}

/// Asks the helper to write a file, and waits until it is idle again.
async fn write(stage: &Stage, file: &str, n_idle: usize) {
    stage.lead_does(Command::Send(Outgoing::message("bob", file.to_owned()))).await;
    wait_for("the lead hears that bob is idle", async || {
        (n_reports(stage).await >= n_idle).then_some(())
    })
    .await;
}

/// How often the lead was told that somebody is idle.
async fn n_reports(stage: &Stage) -> usize {
    let log = stage.log().await;
    let is_report =
        |fact: &Fact| matches!(fact, Fact::MessageSent { message_kind: MessageKind::Idle, .. });
    log.iter().filter(|event| is_report(&event.fact)).count()
}

/// Handles two messages that came together, one turn each. The second turn lasts until the next message.
fn two_turns(tell: mpsc::UnboundedSender<()>) -> Play {
    play(move |mut part: Part| {
        let tell = tell.clone();
        async move {
            part.ready_acknowledging().await;
            part.idle().await;
            let one = next_message(&mut part).await;
            let two = next_message(&mut part).await;
            read(&part, &one).await;
            part.say(FromTeammate::TurnEnd {}).await;
            read(&part, &two).await;
            tell.send(()).unwrap();
            let three = next_message(&mut part).await;
            read(&part, &three).await;
            part.say(FromTeammate::TurnEnd {}).await;
            while part.hear().await.is_some() {}
        }
    })
}

async fn next_message(part: &mut Part) -> MessageIn {
    loop {
        if let FromLead::Message(message) = part.hear().await.unwrap() {
            return message;
        }
    }
}

/// Begins to handle a message. Returns when the lead knows.
async fn read(part: &Part, message: &MessageIn) {
    let id = message.id.unwrap();
    let read = raw("message/read", &format!(r#"{{"messages":["{id}"]}}"#));
    part.peer.request::<Value>(read).await.unwrap();
}

#[tokio::test]
async fn a_member_that_began_its_next_turn_is_not_idle_when_its_files_have_been_looked_at() {
    let project = Project::new();
    let stage = project.stage(|_| {}).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add("busy", two_turns(tell));
    stage.spawn("bob", "busy").await;
    stage.until_state("bob", MemberState::Idle).await;
    stage.lead_does(Command::Send(Outgoing::message("bob", "one"))).await;
    stage.lead_does(Command::Send(Outgoing::message("bob", "two"))).await;
    told.recv().await.unwrap();
    // Its folder is made after the look at those of bob.
    stage.spawn("cyd", "worker").await;
    stage.until_state("cyd", MemberState::Idle).await;
    assert_eq!(n_reports(&stage).await, 0, "bob is in its second turn");
    stage.lead_does(Command::Send(Outgoing::message("bob", "three"))).await;
    wait_for("the lead hears that bob is idle", async || {
        (n_reports(&stage).await == 1).then_some(())
    })
    .await;
    stage.stop().await;
}

#[tokio::test]
async fn the_lead_hears_once_of_files_that_were_changed_outside_of_any_task() {
    let project = Project::new();
    let stage = project.stage(|_| {}).await;
    stage.plays.add("helper", helper());
    stage.spawn("bob", "helper").await;
    stage.until_state("bob", MemberState::Idle).await;
    write(&stage, "a.txt", 1).await;
    let first = "bob changed files outside of any task, so nobody merges them: `a.txt`. Create a task for what should be kept";
    assert_eq!(told(&stage).await, [first]);
    write(&stage, "a.txt", 2).await;
    assert_eq!(told(&stage).await.len(), 1, "it is no news");
    write(&stage, "b.txt", 3).await;
    assert_eq!(told(&stage).await.len(), 2);
    stage.stop().await;
}

#[tokio::test]
async fn the_lead_hears_of_files_that_were_changed_for_the_prompt_of_a_new_member() {
    let project = Project::new();
    let stage = project.stage(|_| {}).await;
    stage.plays.add(
        "prompted",
        play(|mut part| async move {
            part.ready(true).await;
            while let Some(said) = part.hear().await {
                if let FromLead::Message(message) = said {
                    // This one is older than the work.
                    part.idle().await;
                    fs::write(part.spec.path.join(&message.content), "hi\n").unwrap();
                    part.idle().await;
                }
            }
        }),
    );
    let member = NewMember::new(name("bob"), "prompted");
    let prompt = Some("a.txt".to_owned());
    stage.lead_does(Command::SpawnMember(Spawn { member, prompt })).await;
    wait_for("the lead hears of the file", async || (told(&stage).await.len() == 1).then_some(()))
        .await;
    stage.stop().await;
}
