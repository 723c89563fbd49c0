//! Mail: who gets it, when, and how often.

use std::sync::Arc;

use troop_model::{Actor, MemberState, MessageKind};
use troop_protocol::{FromLead, FromTeammate, MessageOut};

use super::stage::{Part, Setting, Stage, play, raw};
use crate::support::{name, say};

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
async fn a_line_that_makes_no_sense_is_told_and_noted_once() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    stage.plays.add(
        "writer",
        play(move |mut part: Part| {
            let tell = tell.clone();
            async move {
                part.ready(true).await;
                drop(part.peer.notify(raw("team.message", r#"{"to":"lead"}"#)).await);
                while let Some(said) = part.hear().await {
                    if let FromLead::Message(message) = said {
                        tell.send(message.content).unwrap();
                        let (level, text) = (troop_protocol::Level::Info, "so that".to_owned());
                        part.say(FromTeammate::Log(troop_protocol::Log { level, text })).await;
                    }
                }
            }
        }),
    );
    stage.spawn("bob", "writer").await;
    let why = told.recv().await.unwrap();
    let lines = troop_testkit::wait_for("what it says then is noted", async || {
        let read = troop_runtime::read_transcript(stage.folder.path(), &name("bob"), 0);
        let lines: Vec<_> = read.unwrap_or_default().0.into_iter().map(|it| it.line.text).collect();
        lines.iter().any(|it| it == "so that").then_some(lines)
    });
    let lines = lines.await;
    assert_eq!(lines.iter().filter(|line| line.contains(&why)).count(), 1, "{lines:?}");
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
