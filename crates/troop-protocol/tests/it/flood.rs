//! More than can be handled at once.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

use serde_json::value::to_raw_value;
use tokio::io::{AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio_util::task::TaskTracker;
use troop_protocol::{Incoming, Peer, PeerError};
use troop_testkit::wait_for;

use crate::support::{End, ask, bare, number, say, soon, thin_pair};

/// Answers requests and counts notifications, until this many came.
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
                request.responder.answer(&n).unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
    end
}

/// Both ends notify and ask as fast as they can, over a thin stream with short queues, and handle what comes in on one task.
async fn flood_each_other() {
    const N_SAID: usize = 3_000;
    const N_ASKERS: usize = 30;
    const N_EACH: usize = 10;
    let tracker = TaskTracker::new();
    let (ann, bob) = thin_pair(&tracker);
    let mut senders = Vec::new();
    for peer in [ann.peer.clone(), bob.peer.clone()] {
        for _ in 0..N_ASKERS {
            let peer = peer.clone();
            senders.push(tracker.spawn(async move {
                for n in 0..N_EACH {
                    assert_eq!(peer.request::<usize>(ask(n)).await.unwrap(), n);
                }
            }));
        }
        senders.push(tracker.spawn(async move {
            for n in 0..N_SAID {
                peer.notify(say(n)).await.unwrap();
            }
        }));
    }
    let takers = [ann, bob].map(|end| tracker.spawn(take(end, N_SAID, N_ASKERS * N_EACH)));
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
async fn a_sender_that_stops_waiting_for_room_has_sent_nothing() {
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

#[tokio::test]
async fn a_peer_that_asks_and_never_reads_the_answers_is_dropped() {
    let tracker = TaskTracker::new();
    let (mut end, _reader, mut writer) = bare(1_000, &tracker);
    let long = to_raw_value(&"x".repeat(4 * 1024 * 1024)).unwrap();
    let asking = tracker.spawn(async move {
        for id in 0.. {
            let line = format!("{{\"id\":{id},\"method\":\"ask\"}}\n");
            if writer.write_all(line.as_bytes()).await.is_err() {
                return;
            }
        }
    });
    let mut n_answered = 0;
    while end.asked().await.responder.respond(Ok(long.clone())).is_ok() {
        n_answered += 1;
    }
    assert!((10..40).contains(&n_answered), "{n_answered} answers of 4 MiB waited");
    assert!(matches!(end.peer.notify(say(1)).await, Err(PeerError::Closed)));
    end.peer.cut();
    drop(end);
    soon("the other side to notice", asking).await.unwrap();
}

/// A stream that takes nothing until it is opened, and notes how much it is given at a time.
#[derive(Clone, Default)]
struct Gate {
    is_open: Arc<AtomicBool>,
    /// The wakers of all writers, in order.
    wakers: Arc<Mutex<Vec<Waker>>>,
    writes: Arc<Mutex<Vec<usize>>>,
}

impl AsyncWrite for Gate {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.wakers.lock().unwrap().push(cx.waker().clone());
        if !self.is_open.load(Ordering::SeqCst) {
            return Poll::Pending;
        }
        self.writes.lock().unwrap().push(bytes.len());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn lines_that_wait_go_out_in_one_write() {
    let tracker = TaskTracker::new();
    let gate = Gate::default();
    let (peer, _incoming) = Peer::channel(tokio::io::empty(), gate.clone(), &tracker);
    peer.notify(say(1)).await.unwrap();
    // The sender tries first, then the writing task.
    let waker = wait_for("the writing task to have the first line", async || {
        gate.wakers.lock().unwrap().get(1).cloned()
    });
    let waker = waker.await;
    for n in 1..=100 {
        peer.notify(say(n)).await.unwrap();
    }
    gate.is_open.store(true, Ordering::SeqCst);
    waker.wake();
    soon("everything to be written", peer.close()).await;
    let writes = gate.writes.lock().unwrap().clone();
    assert_eq!(writes.len(), 2, "a hundred lines waited while one was written: {writes:?}");
}
