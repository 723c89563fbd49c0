//! More than can be handled at once.

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio_util::task::TaskTracker;
use troop_protocol::{Incoming, PeerError};

use crate::support::{End, ask, bare, number, pair, say, soon};

const MANY: usize = 20_000;

/// Answers what is asked and counts what is said, until that many came.
async fn take(mut end: End, n_said: usize, n_asked: usize) -> End {
    let (mut said, mut asked) = (0, 0);
    while said < n_said || asked < n_asked {
        match end.next().await {
            Incoming::Notification(notification) => {
                assert_eq!(number(&notification), said, "out of order");
                said += 1;
            }
            Incoming::Request(request) => {
                asked += 1;
                let n = number(&request.asked);
                request.responder.answer(&n).await.unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
    end
}

async fn flood_each_other() {
    let tracker = TaskTracker::new();
    let (ann, bob) = pair(&tracker);
    let n_asked = 500;
    let mut senders = Vec::new();
    for peer in [ann.peer.clone(), bob.peer.clone()] {
        let asking = peer.clone();
        senders.push(tracker.spawn(async move {
            for n in 0..MANY {
                peer.notify(say(n)).await.unwrap();
            }
        }));
        senders.push(tracker.spawn(async move {
            for n in 0..n_asked {
                assert_eq!(asking.request::<usize>(ask(n)).await.unwrap(), n);
            }
        }));
    }
    let takers = [ann, bob].map(|end| tracker.spawn(take(end, MANY, n_asked)));
    let all = async {
        let mut ends = Vec::new();
        for taker in takers {
            ends.push(taker.await.unwrap());
        }
        for sender in senders {
            sender.await.unwrap();
        }
    };
    soon("both floods to pass", all).await;
}

#[tokio::test]
async fn two_ends_that_flood_each_other_do_not_lock_up() {
    flood_each_other().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_ends_that_flood_each_other_on_many_threads_do_not_lock_up() {
    flood_each_other().await;
}

#[tokio::test]
async fn a_slow_reader_makes_senders_wait() {
    let tracker = TaskTracker::new();
    let (end, reader, _writer) = bare(1_000, &tracker);
    let mut n_taken = 0;
    while end.peer.try_notify(say(n_taken)).is_ok() {
        n_taken += 1;
    }
    assert!(matches!(end.peer.try_notify(say(n_taken)), Err(PeerError::Full)));
    assert!((5..100).contains(&n_taken), "{n_taken} lines fit into 1,000 bytes");
    let peer = end.peer.clone();
    let waiting = tracker.spawn(async move { peer.notify(say(n_taken)).await });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished(), "there was no room");
    let mut lines = BufReader::new(reader).lines();
    for n in 0..=n_taken {
        let line = soon("a line", lines.next_line()).await.unwrap().unwrap();
        assert!(line.contains(&format!("\"n\":{n}}}")), "{line} is not the one numbered {n}");
    }
    waiting.await.unwrap().unwrap();
    end.peer.try_notify(say(0)).unwrap();
}

#[tokio::test]
async fn a_line_longer_than_the_queue_gets_through() {
    let tracker = TaskTracker::new();
    let (end, reader, _writer) = bare(100, &tracker);
    let long = troop_protocol::Notification::new("say", &"x".repeat(10_000)).unwrap();
    let mut lines = BufReader::new(reader).lines();
    let sending = async {
        for n in 0..3 {
            end.peer.notify(say(n)).await.unwrap();
            end.peer.notify(long.clone()).await.unwrap();
        }
    };
    let reading = async {
        for _ in 0..6 {
            lines.next_line().await.unwrap().unwrap();
        }
    };
    soon("all lines", async { tokio::join!(sending, reading) }).await;
}

#[tokio::test]
async fn who_stops_waiting_for_room_has_said_nothing() {
    let tracker = TaskTracker::new();
    let (end, reader, _writer) = bare(300, &tracker);
    let mut n_taken = 0;
    while end.peer.try_notify(say(n_taken)).is_ok() {
        n_taken += 1;
    }
    tokio::select! {
        biased;
        _ = end.peer.notify(say(999)) => panic!("there was room"),
        () = tokio::task::yield_now() => {}
    }
    let mut lines = BufReader::new(reader).lines();
    for _ in 0..n_taken {
        soon("a line", lines.next_line()).await.unwrap().unwrap();
    }
    soon("room", end.peer.notify(say(1_000))).await.unwrap();
    let line = soon("a line", lines.next_line()).await.unwrap().unwrap();
    assert!(line.contains("1000"), "{line}");
}
