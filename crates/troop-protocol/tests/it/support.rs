//! Two ends that talk to each other in memory.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, DuplexStream, ReadHalf, WriteHalf, duplex, split},
    sync::mpsc,
    time::timeout,
};
use tokio_util::task::TaskTracker;
use troop_protocol::{Incoming, IncomingRequest, Notification, Peer, PeerOptions};

/// After this long a wait has failed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// One end, with its inbox.
pub(crate) struct End {
    pub(crate) peer: Peer,
    pub(crate) incoming: mpsc::Receiver<Incoming>,
}

impl End {
    pub(crate) fn new(stream: DuplexStream, tracker: &TaskTracker) -> Self {
        let (reader, writer) = split(stream);
        let (peer, incoming) = Peer::channel(reader, writer, tracker);
        Self { peer, incoming }
    }

    /// The next incoming message.
    pub(crate) async fn next(&mut self) -> Incoming {
        soon("something to come in", self.incoming.recv()).await.expect("an end comes first")
    }

    pub(crate) async fn said(&mut self) -> Notification {
        match self.next().await {
            Incoming::Notification(said) => said,
            other => panic!("this is not a notification: {other:?}"),
        }
    }

    pub(crate) async fn asked(&mut self) -> IncomingRequest {
        match self.next().await {
            Incoming::Request(request) => request,
            other => panic!("this is not a request: {other:?}"),
        }
    }
}

/// Two ends of one conversation.
pub(crate) fn pair(tracker: &TaskTracker) -> (End, End) {
    let (one, other) = duplex(64 * 1024);
    (End::new(one, tracker), End::new(other, tracker))
}

/// Two ends with a thin stream between them and short queues.
pub(crate) fn thin_pair(tracker: &TaskTracker) -> (End, End) {
    let (one, other) = duplex(64);
    (thin(one, 1_000, tracker), thin(other, 1_000, tracker))
}

/// One end with short queues, and the bare stream to it.
pub(crate) fn bare(
    capacity: u32,
    tracker: &TaskTracker,
) -> (End, ReadHalf<DuplexStream>, WriteHalf<DuplexStream>) {
    let (ours, theirs) = duplex(64);
    let (reader, writer) = split(theirs);
    (thin(ours, capacity, tracker), reader, writer)
}

fn thin(stream: DuplexStream, capacity: u32, tracker: &TaskTracker) -> End {
    let (reader, writer) = split(stream);
    let (inbox, incoming) = mpsc::channel(4);
    let options = PeerOptions { capacity, ..PeerOptions::default() };
    End { peer: Peer::spawn(reader, writer, options, inbox, tracker), incoming }
}

/// Waits; the name says for what.
pub(crate) async fn soon<T>(what: &str, waited: impl Future<Output = T>) -> T {
    match timeout(DEADLINE, waited).await {
        Ok(done) => done,
        Err(_) => panic!("waited {DEADLINE:?} in vain for: {what}"),
    }
}

pub(crate) fn say(n: usize) -> Notification {
    Notification::new("say", &json!({ "n": n })).unwrap()
}

pub(crate) fn ask(n: usize) -> Notification {
    Notification::new("ask", &json!({ "n": n })).unwrap()
}

/// The number that a notification carries.
pub(crate) fn number(said: &Notification) -> usize {
    let params: Value = serde_json::from_str(said.params.get()).unwrap();
    params["n"].as_u64().unwrap() as usize
}

pub(crate) async fn read_to_end(mut reader: impl AsyncRead + Unpin) -> String {
    let mut text = String::new();
    soon("the end of the stream", reader.read_to_string(&mut text)).await.unwrap();
    text
}
