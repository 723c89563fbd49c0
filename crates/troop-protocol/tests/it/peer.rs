//! Notifications, requests and responses.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio_util::task::TaskTracker;
use troop_protocol::{
    ErrorObject, Failure, FailureKind, FromLead, FromTeammate, Idle, Incoming, Notification, Peer,
    PeerError, PeerOptions, SkipReason,
};

use crate::support::{ask, bare, number, pair, read_to_end, say, soon};

#[tokio::test]
async fn notifications_arrive_in_order() {
    let tracker = TaskTracker::new();
    let (ann, mut bob) = pair(&tracker);
    for n in 0..100 {
        ann.peer.notify(say(n)).await.unwrap();
    }
    for n in 0..100 {
        assert_eq!(number(&bob.said().await), n);
    }
}

#[tokio::test]
async fn requests_and_notifications_keep_their_order() {
    let tracker = TaskTracker::new();
    let (ann, mut bob) = pair(&tracker);
    ann.peer.notify(say(1)).await.unwrap();
    let asking = ann.peer.request::<Value>(ask(2));
    let handling = async {
        assert_eq!(number(&bob.said().await), 1);
        let request = bob.asked().await;
        assert_eq!(number(&request.asked), 2);
        // A notification that is sent before the answer arrives before it.
        bob.peer.notify(say(3)).await.unwrap();
        request.responder.answer(&json!("yes")).unwrap();
    };
    let (answer, ()) = soon("the answer", async { tokio::join!(asking, handling) }).await;
    assert_eq!(answer.unwrap(), json!("yes"));
    let mut ann = ann;
    assert_eq!(number(&ann.said().await), 3);
}

#[tokio::test]
async fn both_ends_ask_at_once_and_answers_find_their_requests() {
    let tracker = TaskTracker::new();
    let (ann, bob) = pair(&tracker);
    let asking = [ann.peer.clone(), bob.peer.clone()].map(|peer| async move {
        let mut answers = Vec::new();
        for n in 0..50 {
            answers.push(peer.request::<usize>(ask(n)).await.unwrap());
        }
        answers
    });
    for mut end in [ann, bob] {
        tracker.spawn(async move {
            // Answers go out of order: the second of two before the first.
            loop {
                let Some(Incoming::Request(request)) = end.incoming.recv().await else { return };
                let n = number(&request.asked);
                request.responder.answer(&(n * n)).unwrap();
            }
        });
    }
    let [one, other] = asking;
    let (one, other) = soon("all answers", async { tokio::join!(one, other) }).await;
    let squares: Vec<_> = (0..50).map(|n| n * n).collect();
    assert_eq!((one, other), (squares.clone(), squares));
}

#[tokio::test]
async fn answers_may_come_in_any_order() {
    let tracker = TaskTracker::new();
    let (ann, mut bob) = pair(&tracker);
    let asking = async {
        tokio::join!(ann.peer.request::<usize>(ask(1)), ann.peer.request::<usize>(ask(2)))
    };
    let handling = async {
        let (first, second) = (bob.asked().await, bob.asked().await);
        second.responder.answer(&20).unwrap();
        first.responder.answer(&10).unwrap();
    };
    let ((one, two), ()) = soon("both answers", async { tokio::join!(asking, handling) }).await;
    assert_eq!((one.unwrap(), two.unwrap()), (10, 20));
}

#[tokio::test]
async fn a_refusal_reaches_the_caller_with_kind_and_hint() {
    let tracker = TaskTracker::new();
    let (ann, mut bob) = pair(&tracker);
    let sent = Failure {
        kind: FailureKind::Conflict,
        message: "task-7 is held by bob".into(),
        refusal: Some("task_held".into()),
        hint: Some("claim another".into()),
    };
    let handling = async {
        let request = bob.asked().await;
        request.responder.refuse(sent.clone()).unwrap();
    };
    let asking = ann.peer.request::<Value>(ask(1));
    let (answer, ()) = soon("the refusal", async { tokio::join!(asking, handling) }).await;
    let PeerError::Refused(error) = answer.unwrap_err() else { panic!("not a refusal") };
    assert_eq!(Failure::from(error), sent);
}

#[tokio::test]
async fn a_dropped_request_may_have_been_carried_out() {
    let tracker = TaskTracker::new();
    let (ann, mut bob) = pair(&tracker);
    let asking = ann.peer.request::<Value>(ask(1));
    let handling = async { drop(bob.asked().await) };
    let (answer, ()) = soon("an answer", async { tokio::join!(asking, handling) }).await;
    let PeerError::Refused(error) = answer.unwrap_err() else { panic!("not an error") };
    let failure = Failure::from(error);
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(failure.message.starts_with("it may have been carried out"), "{failure}");
    assert!(failure.hint.is_some());
}

#[tokio::test]
async fn an_answer_of_an_unexpected_form_is_an_error() {
    let tracker = TaskTracker::new();
    let (ann, mut bob) = pair(&tracker);
    let asking = ann.peer.request::<usize>(ask(1));
    let handling = async { bob.asked().await.responder.answer(&"seven").unwrap() };
    let (answer, ()) = soon("an answer", async { tokio::join!(asking, handling) }).await;
    let error = answer.unwrap_err();
    assert_eq!(error.to_string(), "the answer to `ask` has an unexpected form");
}

#[tokio::test]
async fn a_caller_that_stops_waiting_leaves_nothing_behind() {
    let tracker = TaskTracker::new();
    let (mut ann, mut bob) = pair(&tracker);
    let mut asking = Box::pin(ann.peer.request::<Value>(ask(1)));
    tokio::select! {
        biased;
        _ = &mut asking => panic!("nobody answered yet"),
        request = bob.asked() => {
            drop(asking);
            request.responder.answer(&"late").unwrap();
        }
    }
    // The late answer disturbs neither the next request nor the inbox.
    let asking = ann.peer.request::<String>(ask(2));
    let handling = async {
        bob.asked().await.responder.answer(&"in time").unwrap();
        bob.peer.notify(say(3)).await.unwrap();
    };
    let (answer, ()) = soon("the answer", async { tokio::join!(asking, handling) }).await;
    assert_eq!(answer.unwrap(), "in time");
    assert_eq!(number(&ann.said().await), 3);
    assert_eq!(ann.peer.skipped().total(), 0);
}

#[tokio::test]
async fn an_answer_to_nothing_is_skipped() {
    let tracker = TaskTracker::new();
    let (mut end, _reader, mut writer) = bare(1_000, &tracker);
    for id in ["7", "\"a\"", "null"] {
        let line = format!("{{\"id\":{id},\"result\":1}}\n");
        writer.write_all(line.as_bytes()).await.unwrap();
        let Incoming::Skipped(skipped) = end.next().await else { panic!("{line} was not skipped") };
        assert_eq!(skipped.reason, SkipReason::Unasked);
    }
    assert_eq!(end.peer.skipped().of(SkipReason::Unasked), 3);
}

#[tokio::test]
async fn bad_lines_are_reported_and_counted_and_the_conversation_goes_on() {
    let tracker = TaskTracker::new();
    let (mut end, _reader, mut writer) = bare(1_000, &tracker);
    let lines = b"hello\n\n{\"method\":\"say\",\"params\":{\"n\":1}}\n";
    writer.write_all(lines).await.unwrap();
    for expected in [SkipReason::NotJson, SkipReason::Blank] {
        let Incoming::Skipped(skipped) = end.next().await else { panic!("not skipped") };
        assert_eq!(skipped.reason, expected);
    }
    assert_eq!(number(&end.said().await), 1);
    assert_eq!(end.peer.skipped().total(), 2);
}

#[tokio::test]
async fn a_message_that_is_too_long_is_refused_before_it_is_sent() {
    let tracker = TaskTracker::new();
    let (ours, theirs) = tokio::io::duplex(64);
    let (reader, writer) = tokio::io::split(ours);
    let (inbox, _incoming) = tokio::sync::mpsc::channel(1);
    let options = PeerOptions { max_line: 100, ..PeerOptions::default() };
    let peer = Peer::spawn(reader, writer, options, inbox, &tracker);
    let long = Notification::new("say", &"x".repeat(100)).unwrap();
    let error = peer.notify(long.clone()).await.unwrap_err();
    assert_eq!(error.to_string(), "a message of 144 bytes is too long; the limit is 100");
    assert!(matches!(peer.try_notify(long), Err(PeerError::TooLong { .. })));
    drop(peer);
    assert_eq!(read_to_end(theirs).await, "", "nothing of it was sent");
}

#[tokio::test]
async fn an_answer_that_is_too_long_becomes_an_error() {
    let tracker = TaskTracker::new();
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(ours);
    let (inbox, mut incoming) = tokio::sync::mpsc::channel(1);
    let options = PeerOptions { max_line: 200, ..PeerOptions::default() };
    let _small = Peer::spawn(reader, writer, options, inbox, &tracker);
    let (reader, writer) = tokio::io::split(theirs);
    let (peer, _) = Peer::channel(reader, writer, &tracker);
    let handling = async {
        let Some(Incoming::Request(request)) = incoming.recv().await else { panic!() };
        request.responder.answer(&"x".repeat(1_000)).unwrap();
    };
    let asking = peer.request::<Value>(ask(1));
    let (answer, ()) = soon("an answer", async { tokio::join!(asking, handling) }).await;
    let Err(PeerError::Refused(ErrorObject { message, .. })) = answer else { panic!("{answer:?}") };
    assert!(message.ends_with("is too long; the limit is 200"), "{message}");
}

#[tokio::test]
async fn both_tables_of_the_teammate_wire_survive_a_conversation() {
    let tracker = TaskTracker::new();
    let (mut lead, mut teammate) = pair(&tracker);
    let idle = FromTeammate::Idle(Idle::default());
    teammate.peer.notify(&idle).await.unwrap();
    assert_eq!(FromTeammate::try_from(&lead.said().await), Ok(idle));
    let stop = FromLead::Shutdown { reason: "done".into() };
    lead.peer.try_notify(&stop).unwrap();
    assert_eq!(FromLead::try_from(&teammate.said().await), Ok(stop));
}
