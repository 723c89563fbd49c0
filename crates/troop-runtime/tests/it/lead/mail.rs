//! Delivery of mail: to whom, when, and how often.

use std::{
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use serde_json::json;
use tokio::sync::mpsc;
use troop_model::{
    Actor, Asker, Fact, MemberState, MessageKind, Party, Settings, State, StateCause,
};
use troop_protocol::{FromLead, FromTeammate, MessageIn, MessageOut};
use troop_runtime::{CommandRequest, LeadWork, Signature, Timing};

use super::{
    stage::{Part, Play, Setting, Stage, play, quick, raw},
    takeover::{leaderless, open_anew},
};
use crate::support::say;

#[tokio::test]
async fn mail_reaches_a_running_teammate_and_is_read_when_it_says_so() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = mpsc::unbounded_channel();
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
    let receipt = |state: &State| {
        let message = state.mailbox().iter().find(|it| it.content == "hello")?;
        message.receipts.first().cloned()
    };
    stage.until("it is delivered", move |state| receipt(state)?.delivered_at).await;
    let looked = stage.board.look(receipt).await.unwrap().unwrap();
    assert_eq!(looked.read_at, None, "it is not read yet");
    may_read.notify_one();
    stage.until("it is read", move |state| receipt(state)?.read_at).await;
}

#[tokio::test]
async fn mail_that_was_not_read_comes_again_after_a_crash_and_in_order() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = mpsc::unbounded_channel();
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
    let mut stage = leaderless().await;
    let probe = open_anew(&mut stage).await;
    let speak = Arc::new(tokio::sync::Notify::new());
    let gate = Arc::clone(&speak);
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add(
        "writer",
        play(move |mut part: Part| {
            let gate = Arc::clone(&gate);
            async move {
                part.ready(true).await;
                gate.notified().await;
                let params = r#"{"to":"bob","content":"psst","from":"lead"}"#;
                drop(part.peer.notify(raw("team.message", params)).await);
                drop(part.peer.notify(raw("team.log", r#"{"text":"said it"}"#)).await);
                while part.hear().await.is_some() {}
            }
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
    stage.lead = Some(stage.start(Setting::default()).await.unwrap());
    stage.spawn("bob", "reader").await;
    stage.until_state("bob", MemberState::Idle).await;
    stage.spawn("cyd", "writer").await;
    stage.until_state("cyd", MemberState::Idle).await;
    let n_before = probe.n_appends.load(SeqCst);
    probe.hold_appends();
    speak.notify_one();
    let text = |it: troop_runtime::TranscriptEntry| it.line.text;
    troop_testkit::wait_for("its log line is heard, and the store is asked", async || {
        let read = stage.transcript("cyd");
        let is_heard = read.into_iter().map(text).any(|it| it == "said it");
        (is_heard && probe.n_appends.load(SeqCst) > n_before).then_some(())
    })
    .await;
    assert!(told.try_recv().is_err(), "mail is not delivered before it is stored");
    probe.let_append();
    assert_eq!(told.recv().await.unwrap(), ("cyd".to_owned(), "psst".to_owned()));
    stage
        .until("mail to a teammate that does not acknowledge counts as read", |state| {
            state.mailbox().iter().find(|it| it.content == "psst")?.receipts.first()?.read_at
        })
        .await;
}

#[tokio::test]
async fn an_invalid_line_is_answered_and_logged_once() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = mpsc::unbounded_channel();
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
    let lines = troop_testkit::wait_for("its answer is logged", async || {
        let read = stage.transcript("bob");
        let lines: Vec<_> = read.into_iter().map(|it| it.line.text).collect();
        lines.iter().any(|it| it == "so that").then_some(lines)
    });
    let lines = lines.await;
    assert_eq!(lines.iter().filter(|line| line.contains(&why)).count(), 1, "{lines:?}");
}

#[tokio::test]
async fn the_sender_of_mail_to_an_unknown_member_hears_of_it() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add(
        "writer",
        play(move |mut part: Part| {
            let tell = tell.clone();
            async move {
                part.ready(true).await;
                let message = MessageOut::new("nobody", MessageKind::Message, "hello?");
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

/// A teammate that first writes to an unknown member, and then answers each message to the recipient that `to` returns.
fn writing(to: fn(&MessageIn) -> String, tell: mpsc::UnboundedSender<String>) -> Play {
    play(move |mut part: Part| {
        let tell = tell.clone();
        async move {
            part.ready(true).await;
            let (mut to_whom, mut content) = ("nobody".to_owned(), "hello?".to_owned());
            loop {
                let message = json!({"to": to_whom, "content": content});
                drop(part.peer.notify(raw("team.message", &message.to_string())).await);
                let heard = loop {
                    match part.hear().await {
                        Some(FromLead::Message(message)) => break message,
                        Some(_) => {}
                        None => return,
                    }
                };
                (to_whom, content) = (to(&heard), format!("got: {}", heard.content));
                tell.send(heard.content).unwrap();
            }
        }
    })
}

#[tokio::test]
async fn an_answer_belongs_to_the_conversation_of_the_mail_it_answers() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, _told) = mpsc::unbounded_channel();
    stage.plays.add("polite", writing(|message| message.from.clone(), tell));
    stage.spawn("bob", "polite").await;
    stage.until_state("bob", MemberState::Idle).await;
    let chat = |it: &'static str| {
        let [channel, chat_id] = ["web", it].map(|it| Some(it.into()));
        troop_model::Origin { channel, chat_id, ..troop_model::Origin::default() }
    };
    for (id, text) in [("7", "hi"), ("8", "ho")] {
        let signature = Signature::new(Asker { actor: Actor::human("zoe"), origin: chat(id) });
        stage.board.submit(signature.on(say("bob", text))).await.unwrap();
        let wanted = format!("got: {text}");
        let origin = stage.until("it answers", move |state| {
            let mut all = state.mailbox().iter();
            Some(all.find(|it| it.to == Party::user() && it.content == wanted)?.origin.clone())
        });
        assert_eq!(origin.await, chat(id));
    }
}

#[tokio::test]
async fn an_answer_to_troop_itself_gets_no_reply() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add("polite", writing(|message| message.from.clone(), tell));
    stage.spawn("bob", "polite").await;
    assert!(told.recv().await.unwrap().starts_with("there is no member `nobody`"));
    stage.submit(Actor::human("zoe"), say("bob", "hi")).await.unwrap();
    stage
        .until("it answers people as before", |state| {
            let mut all = state.mailbox().iter();
            all.any(|it| it.to == Party::user() && it.content == "got: hi").then_some(())
        })
        .await;
    assert_eq!(told.recv().await.unwrap(), "hi");
    assert!(told.try_recv().is_err(), "nothing else was said to it");
}

#[tokio::test]
async fn repeated_refusals_are_sent_only_a_few_times() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add("stubborn", writing(|_| "nobody".to_owned(), tell));
    stage.spawn("bob", "stubborn").await;
    for nth in 1..=3 {
        troop_testkit::wait_for("the last is kept for people to see", async || {
            let entries = stage.transcript("bob");
            let n_refused = entries.iter().filter(|it| it.line.text.starts_with("there is no"));
            (n_refused.count() == 9 * nth).then_some(())
        })
        .await;
        // This message comes after all refusals.
        stage.submit(Actor::human("zoe"), say("bob", "hi")).await.unwrap();
        let mut n_told = 0;
        while told.recv().await.unwrap() != "hi" {
            n_told += 1;
        }
        assert_eq!(n_told, 8, "after other mail it may say something again");
    }
}

#[tokio::test]
async fn a_teammate_that_is_silent_over_unread_mail_counts_as_crashed() {
    let settings = Settings { lease_seconds: 1, ..Settings::default() };
    let stage = Stage::new(Setting { settings, ..Setting::default() }).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add(
        "hanging",
        play(move |mut part: Part| {
            let tell = tell.clone();
            async move {
                part.ready_acknowledging().await;
                part.idle().await;
                while let Some(said) = part.hear().await {
                    let FromLead::Message(message) = said else { continue };
                    tell.send(message.content).unwrap();
                }
            }
        }),
    );
    stage.spawn("bob", "hanging").await;
    stage.spawn("cyd", "hanging").await;
    stage.until_state("cyd", MemberState::Idle).await;
    stage.submit(Actor::human("zoe"), say("bob", "hello")).await.unwrap();
    for _ in 0..2 {
        assert_eq!(told.recv().await.unwrap(), "hello", "unread mail comes again");
    }
    let log = stage.log().await;
    let why = log.iter().find_map(|event| {
        let Fact::MemberStateChanged { member, state, reason, .. } = &event.fact else {
            return None;
        };
        let is_crash = *state == MemberState::Crashed;
        is_crash.then(|| (member.to_string(), reason.clone().unwrap()))
    });
    let (who, why) = why.unwrap();
    assert!(who == "bob" && why.contains("it was silent for longer than its lease"), "{why}");
    assert_eq!(
        stage.n_times("cyd", MemberState::Spawning).await,
        1,
        "a teammate without mail may be silent"
    );
}

#[tokio::test]
async fn the_lead_sees_messages_of_a_teammate_but_not_its_log_lines() {
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
        stage.transcript(member).into_iter().map(|it| it.line.text).collect::<Vec<_>>().join("\n")
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
async fn a_request_to_the_lead_is_marked_open_before_it_is_marked_read() {
    // No tick records it; only the reading does.
    let timing = Timing { tick: Duration::from_secs(600), ..quick() };
    for (work, why) in
        [(LeadWork::Open, StateCause::LeftOpen), (LeadWork::Failed, StateCause::CouldNot)]
    {
        let mut stage = leaderless().await;
        stage.plays.add(
            "person",
            play(|mut part: Part| async move {
                part.ready_acknowledging().await;
                part.idle().await;
                while let Some(said) = part.hear().await {
                    if let FromLead::Message(message) = said {
                        let id = message.id.unwrap();
                        let read = raw("message/read", &format!(r#"{{"messages":["{id}"]}}"#));
                        drop(part.peer.notify(read).await);
                    }
                }
            }),
        );
        stage.lead =
            Some(stage.start(Setting { timing, work, ..Setting::default() }).await.unwrap());
        let is_idle = |state: &State| {
            state.lead().filter(|it| it.state == MemberState::Idle).map(|it| it.name.clone())
        };
        let lead = Party::member(&stage.until("the lead is there", is_idle).await);
        stage
            .board
            .submit(CommandRequest::new(Actor::human("zoe"), say("lead", "go")))
            .await
            .unwrap();
        let is_read = move |state: &State| (state.mailbox().n_unread(&lead) == 0).then_some(());
        stage.until("it is read", is_read).await;
        let log = stage.log().await;
        let is_open = |it: &Fact| matches!(it, Fact::MemberStateChanged { state: MemberState::Working, cause: Some(cause), .. } if *cause == why);
        let noted = log.iter().position(|it| is_open(&it.fact)).unwrap();
        let is_read = |it: &Fact| matches!(it, Fact::MessageRead { .. });
        let read = log.iter().position(|it| is_read(&it.fact)).unwrap();
        assert!(noted < read, "{noted} {read}");
    }
}
