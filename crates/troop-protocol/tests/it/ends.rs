//! How conversations end.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::task::TaskTracker;
use troop_protocol::{Incoming, PeerError};

use crate::support::{ask, bare, number, pair, read_to_end, say, soon};

#[tokio::test]
async fn the_end_of_the_stream_fails_pending_requests() {
    let tracker = TaskTracker::new();
    let (ann, mut bob) = pair(&tracker);
    let asking = ann.peer.request::<Value>(ask(1));
    let leaving = async {
        let request = bob.asked().await;
        bob.peer.cut();
        drop(request);
    };
    let (answer, ()) = soon("the failure", async { tokio::join!(asking, leaving) }).await;
    assert!(matches!(answer, Err(PeerError::Closed)), "{answer:?}");
    let again = soon("the failure", ann.peer.request::<Value>(ask(2))).await;
    assert!(matches!(again, Err(PeerError::Closed)), "{again:?}");
    let mut ann = ann;
    assert!(matches!(ann.next().await, Incoming::End(None)));
    assert!(soon("the end", ann.incoming.recv()).await.is_none());
}

#[tokio::test]
async fn dropping_the_last_handle_writes_pending_lines_and_ends_both_tasks() {
    let tracker = TaskTracker::new();
    let (end, reader, _writer) = bare(1_000_000, &tracker);
    for n in 0..100 {
        end.peer.notify(say(n)).await.unwrap();
    }
    let crate::support::End { peer, mut incoming } = end;
    drop(peer);
    let text = read_to_end(reader).await;
    assert_eq!(text.lines().count(), 100);
    assert!(matches!(incoming.recv().await, Some(Incoming::End(None))));
    tracker.close();
    soon("the tasks to end", tracker.wait()).await;
}

#[tokio::test]
async fn a_closed_end_has_written_everything_and_still_hears() {
    let tracker = TaskTracker::new();
    let (mut end, reader, mut writer) = bare(1_000_000, &tracker);
    for n in 0..100 {
        end.peer.notify(say(n)).await.unwrap();
    }
    let (text, ()) = tokio::join!(read_to_end(reader), soon("closing", end.peer.close()));
    assert_eq!(text.lines().count(), 100);
    assert!(matches!(end.peer.notify(say(1)).await, Err(PeerError::Closed)));
    assert!(matches!(end.peer.try_notify(say(1)), Err(PeerError::Closed)));
    writer.write_all(b"{\"method\":\"say\",\"params\":{\"n\":7}}\n").await.unwrap();
    assert_eq!(number(&end.said().await), 7);
    drop(writer);
    assert!(matches!(end.next().await, Incoming::End(None)));
}

#[tokio::test]
async fn a_sender_that_waits_for_room_learns_that_the_other_side_has_gone() {
    let tracker = TaskTracker::new();
    let (end, reader, writer) = bare(100, &tracker);
    let flooding = async {
        loop {
            if let Err(error) = end.peer.notify(say(1)).await {
                return error;
            }
        }
    };
    let leaving = async {
        let mut reader = reader;
        let mut some = [0; 500];
        reader.read_exact(&mut some).await.unwrap();
        drop((reader, writer));
    };
    let (error, ()) = soon("the failure", async { tokio::join!(flooding, leaving) }).await;
    assert!(matches!(error, PeerError::Closed), "{error}");
}

#[tokio::test]
async fn a_cut_ends_both_tasks_even_when_the_other_side_does_not_read() {
    let tracker = TaskTracker::new();
    let (end, _reader, _writer) = bare(1_000, &tracker);
    while end.peer.try_notify(say(1)).is_ok() {}
    end.peer.cut();
    tracker.close();
    soon("the tasks to end", tracker.wait()).await;
    assert!(matches!(end.peer.try_notify(say(1)), Err(PeerError::Closed)));
}

#[tokio::test]
async fn a_message_may_come_in_two_pieces_but_half_a_message_is_skipped() {
    let tracker = TaskTracker::new();
    let (mut end, _reader, mut writer) = bare(1_000, &tracker);
    writer.write_all(b"{\"method\":\"say\",\"par").await.unwrap();
    writer.write_all(b"ams\":{\"n\":1}}\n{\"method\":").await.unwrap();
    assert_eq!(number(&end.said().await), 1);
    drop((writer, _reader));
    let Incoming::Skipped(skipped) = end.next().await else { panic!("not skipped") };
    assert_eq!(skipped.preview, "{\"method\":");
    assert!(matches!(end.next().await, Incoming::End(None)));
}
