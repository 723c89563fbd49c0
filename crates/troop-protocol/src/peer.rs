//! One end of a conversation in JSON-RPC, over any stream: pipes of a child, a socket, memory.
//!
//! Both ends can ask and be asked at any time. One task reads and one writes; they never wait for each other, and answers
//! never wait for room, so two ends that flood each other slow each other down but do not lock up. Who handles what comes
//! in must not wait, on the same task, for what the other side has to read first: an answer to a request of its own, or
//! room to say something. Ask from another task; say it with [`Peer::try_notify`].

mod outbox;
mod pending;

use std::{
    io,
    sync::{Arc, Weak},
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    code,
    envelope::{Envelope, ErrorObject, Id, Notification},
    frame::{Frame, FrameReader, MAX_LINE, SkipCounts, SkipReason, SkippedLine},
};
use outbox::Outbox;
use pending::{PendingRequests, ResponseMatch};

/// How many messages may wait to be handled.
const INBOX: usize = 256;

/// How a peer is set up.
#[derive(Clone, Copy, Debug)]
pub struct PeerOptions {
    /// The longest line that is read or written.
    pub max_line: usize,
    /// How many bytes may wait to be written before senders wait. One line always may.
    pub capacity: u32,
}

impl Default for PeerOptions {
    fn default() -> Self {
        Self { max_line: MAX_LINE, capacity: 1024 * 1024 }
    }
}

/// Why something was not said, or not answered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The conversation is over. Whether a request was done, nobody knows.
    #[error("the other side has gone")]
    Closed,
    /// The other side does not read fast enough. Nothing was sent.
    #[error("the other side does not read what is sent to it")]
    Full,
    /// No line may be that long. Nothing was sent.
    #[error("a message of {n_bytes} bytes is too long; the limit is {limit}")]
    TooLong {
        /// How long it is.
        n_bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The other side answers that it did not do it.
    #[error(transparent)]
    Refused(ErrorObject),
    /// The answer is not what this request is answered with.
    #[error("the answer to `{method}` makes no sense")]
    BadAnswer {
        /// What was asked.
        method: String,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
}

/// What comes in.
#[derive(Debug)]
pub enum Incoming {
    /// Something was said.
    Notification(Notification),
    /// Something is asked.
    Request(IncomingRequest),
    /// A line was no message.
    Skipped(SkippedLine),
    /// Nothing more comes; with the error, if it was one.
    End(Option<io::Error>),
}

/// Something that is asked and waits for an answer.
#[derive(Debug)]
pub struct IncomingRequest {
    /// What is asked.
    pub asked: Notification,
    /// Where the answer goes.
    pub responder: Responder,
}

/// Where what comes in goes. The reader waits until it is taken, and the other side with it.
pub trait Inbox: Send + 'static {
    /// Takes the next thing. If nobody is interested any more it is dropped.
    fn deliver(&mut self, incoming: Incoming) -> impl Future<Output = ()> + Send;
}

impl Inbox for mpsc::Sender<Incoming> {
    async fn deliver(&mut self, incoming: Incoming) {
        drop(self.send(incoming).await);
    }
}

/// A handle to one end of a conversation. Cheap to clone. When the last one is gone, what waits is written and the
/// conversation is over.
#[derive(Clone, Debug)]
pub struct Peer {
    handle: Arc<PeerHandle>,
}

/// What all handles share; its end is the end of the conversation.
#[derive(Debug)]
struct PeerHandle {
    link: Arc<PeerCore>,
}

/// What handles and the two tasks share.
#[derive(Debug)]
struct PeerCore {
    outbox: Outbox,
    pending: PendingRequests,
    counts: Arc<SkipCounts>,
    max_line: usize,
    /// Set when nothing more is to be read.
    deaf: CancellationToken,
}

impl Peer {
    /// Begins a conversation. Reads and writes on two tasks of the tracker; what comes in goes to the inbox.
    pub fn spawn<R, W>(
        reader: R,
        writer: W,
        options: PeerOptions,
        inbox: impl Inbox,
        tracker: &TaskTracker,
    ) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + 'static,
    {
        let frames = FrameReader::new(reader, options.max_line);
        let link = Arc::new(PeerCore {
            outbox: Outbox::new(Box::pin(writer), options.capacity),
            pending: PendingRequests::default(),
            counts: frames.counts(),
            max_line: options.max_line,
            deaf: CancellationToken::new(),
        });
        let handle = Arc::new(PeerHandle { link: Arc::clone(&link) });
        tracker.spawn(read(frames, Arc::clone(&link), Arc::downgrade(&handle), inbox));
        tracker.spawn(async move { link.outbox.run().await });
        Self { handle }
    }

    /// The same with a channel of fair size as the inbox.
    pub fn channel<R, W>(
        reader: R,
        writer: W,
        tracker: &TaskTracker,
    ) -> (Self, mpsc::Receiver<Incoming>)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + 'static,
    {
        let (inbox, incoming) = mpsc::channel(INBOX);
        (Self::spawn(reader, writer, PeerOptions::default(), inbox, tracker), incoming)
    }

    /// Says something; waits while too much waits to be written. Who stops waiting has said nothing.
    pub async fn notify(&self, said: impl Into<Notification>) -> Result<(), PeerError> {
        let line = self.line(&Envelope::Notification(said.into()))?;
        self.handle.link.outbox.send(&line).await
    }

    /// Says something, or says at once that too much waits to be written.
    pub fn try_notify(&self, said: impl Into<Notification>) -> Result<(), PeerError> {
        let line = self.line(&Envelope::Notification(said.into()))?;
        self.handle.link.outbox.try_send(&line)
    }

    /// Asks something and waits for the answer. Who stops waiting asked all the same; the answer is dropped.
    pub async fn request<T: DeserializeOwned>(
        &self,
        asked: impl Into<Notification>,
    ) -> Result<T, PeerError> {
        let asked = asked.into();
        let method = asked.method.clone();
        let answer = self.request_raw(asked).await?;
        serde_json::from_str(answer.get()).map_err(|source| PeerError::BadAnswer { method, source })
    }

    /// Asks something and waits for the answer as it was written.
    pub async fn request_raw(
        &self,
        asked: impl Into<Notification>,
    ) -> Result<Box<RawValue>, PeerError> {
        let link = &self.handle.link;
        let ticket = link.pending.ticket().ok_or(PeerError::Closed)?;
        let id = Id::from(ticket.id());
        let line = self.line(&Envelope::Request { id, asked: asked.into() })?;
        link.outbox.send(&line).await?;
        let outcome = ticket.answer().await.ok_or(PeerError::Closed)?;
        outcome.map_err(PeerError::Refused)
    }

    /// How many lines of the other side were skipped.
    #[must_use]
    pub fn skipped(&self) -> &SkipCounts {
        &self.handle.link.counts
    }

    /// Ends this side: takes nothing more, waits until all is written, then shuts the stream down. The other side can
    /// still be heard.
    pub async fn close(&self) {
        self.handle.link.outbox.close();
        self.handle.link.outbox.closed().await;
    }

    /// Ends both sides at once. What waits to be written is lost.
    pub fn cut(&self) {
        self.handle.link.outbox.cut();
        self.handle.link.deaf.cancel();
    }

    fn line(&self, envelope: &Envelope) -> Result<Vec<u8>, PeerError> {
        let line = envelope.to_line();
        let n_bytes = line.len() - 1;
        let limit = self.handle.link.max_line;
        if n_bytes > limit { Err(PeerError::TooLong { n_bytes, limit }) } else { Ok(line) }
    }
}

impl Drop for PeerHandle {
    fn drop(&mut self) {
        self.link.outbox.close();
        self.link.deaf.cancel();
    }
}

/// Owes an answer. Dropped without one, it answers that something went wrong here.
#[derive(Debug)]
pub struct Responder {
    /// None once the answer is given.
    open: Option<(Peer, Id)>,
}

impl Responder {
    /// Answers with a result. Never waits, because the other side may wait for this answer before it reads on.
    pub fn answer(self, result: &impl Serialize) -> Result<(), PeerError> {
        let result = to_raw_value(result)
            .map_err(|source| code::internal(&format!("the answer cannot be written: {source}")));
        self.respond(result)
    }

    /// Answers that it was not done, and why.
    pub fn refuse(self, error: impl Into<ErrorObject>) -> Result<(), PeerError> {
        self.respond(Err(error.into()))
    }

    /// Answers with either.
    pub fn respond(mut self, outcome: Result<Box<RawValue>, ErrorObject>) -> Result<(), PeerError> {
        let Some((peer, id)) = self.open.take() else { return Ok(()) };
        let line = match peer.line(&Envelope::Response { id: id.clone(), outcome }) {
            // Somebody waits for this answer: if it is too long, that is the answer.
            Err(too_long) => {
                let outcome = Err(code::internal(&too_long.to_string()));
                Envelope::Response { id, outcome }.to_line()
            }
            Ok(line) => line,
        };
        peer.handle.link.outbox.send_at_once(&line)
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if let Some((peer, id)) = self.open.take() {
            let outcome = Err(code::internal("nobody answered"));
            let line = Envelope::Response { id, outcome }.to_line();
            // If the other side has gone, nobody waits for it.
            drop(peer.handle.link.outbox.send_at_once(&line));
        }
    }
}

/// Reads until the stream ends or nobody is left to hear it.
async fn read<R: AsyncRead + Unpin>(
    mut frames: FrameReader<R>,
    link: Arc<PeerCore>,
    handle: Weak<PeerHandle>,
    mut inbox: impl Inbox,
) {
    let heard = async {
        loop {
            let envelope = match frames.next().await {
                Ok(Some(Frame::Envelope(envelope))) => envelope,
                Ok(Some(Frame::Skipped(skipped))) => {
                    inbox.deliver(Incoming::Skipped(skipped)).await;
                    continue;
                }
                Ok(None) => return None,
                Err(error) => return Some(error),
            };
            if let Some(incoming) = sort(envelope, &link, &handle) {
                inbox.deliver(incoming).await;
            }
        }
    };
    let error = link.deaf.run_until_cancelled(heard).await.flatten();
    link.pending.end();
    inbox.deliver(Incoming::End(error)).await;
}

/// Hands an answer to who waits for it. All else is for the inbox.
fn sort(envelope: Envelope, link: &PeerCore, handle: &Weak<PeerHandle>) -> Option<Incoming> {
    match envelope {
        Envelope::Notification(said) => Some(Incoming::Notification(said)),
        Envelope::Request { id, asked } => {
            let open = handle.upgrade().map(|handle| (Peer { handle }, id));
            Some(Incoming::Request(IncomingRequest { asked, responder: Responder { open } }))
        }
        Envelope::Response { id, outcome } => match link.pending.answer(&id, outcome) {
            ResponseMatch::Asked => None,
            ResponseMatch::Unasked => {
                link.counts.count(SkipReason::Unasked);
                let preview = format!("the answer to {id}");
                Some(Incoming::Skipped(SkippedLine { reason: SkipReason::Unasked, preview }))
            }
        },
    }
}
