//! One end of a JSON-RPC conversation, over any stream: the pipes of a child process, a socket, memory.
//!
//! Both ends can send requests at any time. One task reads and one writes; they never wait for each other, and responses
//! never wait for room, so two ends that flood each other slow each other down but do not deadlock. The task that handles
//! incoming messages must not wait for something that the other side has to read first: a response to its own request, or
//! room for a notification. Make requests from another task, and send notifications with [`Peer::try_notify`].

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

/// Why a message was not sent, or a request not answered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The conversation is over. A request may have been carried out or not.
    #[error("the other side has gone")]
    Closed,
    /// The other side does not read fast enough. Nothing was sent.
    #[error("the other side does not read what is sent to it")]
    Full,
    /// The line would be too long. Nothing was sent.
    #[error("a message of {n_bytes} bytes is too long; the limit is {limit}")]
    TooLong { n_bytes: usize, limit: usize },
    /// The other side responded with an error.
    #[error(transparent)]
    Refused(ErrorObject),
    /// The result does not have the expected form.
    #[error("the answer to `{method}` has an unexpected form")]
    BadAnswer {
        method: String,
        #[source]
        source: serde_json::Error,
    },
}

/// An incoming message, or the end of the stream.
#[derive(Debug)]
pub enum Incoming {
    Notification(Notification),
    Request(IncomingRequest),
    Skipped(SkippedLine),
    /// The stream has ended, by an error if there is one.
    End(Option<io::Error>),
}

/// A request that waits for its response.
#[derive(Debug)]
pub struct IncomingRequest {
    pub asked: Notification,
    pub responder: Responder,
}

/// Takes incoming messages. The reader waits until each is taken, and so does the other side.
pub trait Inbox: Send + 'static {
    /// Takes the next message. If nobody wants it, it is dropped.
    fn deliver(&mut self, incoming: Incoming) -> impl Future<Output = ()> + Send;
}

impl Inbox for mpsc::Sender<Incoming> {
    async fn deliver(&mut self, incoming: Incoming) {
        drop(self.send(incoming).await);
    }
}

/// A handle to one end of a conversation. Cheap to clone. When the last one is dropped, pending lines are written and the
/// conversation ends.
#[derive(Clone, Debug)]
pub struct Peer {
    handle: Arc<PeerHandle>,
}

/// Shared by all handles; dropping it ends the conversation.
#[derive(Debug)]
struct PeerHandle {
    core: Arc<PeerCore>,
}

/// Shared by the handles and the two tasks.
#[derive(Debug)]
struct PeerCore {
    outbox: Outbox,
    pending: PendingRequests,
    counts: Arc<SkipCounts>,
    max_line: usize,
    /// Cancelled to stop reading.
    deaf: CancellationToken,
}

impl Peer {
    /// Begins a conversation. Reads and writes on two tasks of the tracker; incoming messages go to the inbox.
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
        let core = Arc::new(PeerCore {
            outbox: Outbox::new(Box::pin(writer), options.capacity),
            pending: PendingRequests::default(),
            counts: frames.counts(),
            max_line: options.max_line,
            deaf: CancellationToken::new(),
        });
        let handle = Arc::new(PeerHandle { core: Arc::clone(&core) });
        tracker.spawn(read(frames, Arc::clone(&core), Arc::downgrade(&handle), inbox));
        tracker.spawn(async move { core.outbox.run().await });
        Self { handle }
    }

    /// Starts a peer with a bounded channel as the inbox.
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

    /// Sends a notification; waits for room in the outbox. Cancel safe: a caller that stops waiting has sent nothing.
    pub async fn notify(&self, said: impl Into<Notification>) -> Result<(), PeerError> {
        let line = self.line(&Envelope::Notification(said.into()))?;
        self.handle.core.outbox.send(&line).await
    }

    /// Sends a notification, or fails at once if there is no room in the outbox.
    pub fn try_notify(&self, said: impl Into<Notification>) -> Result<(), PeerError> {
        let line = self.line(&Envelope::Notification(said.into()))?;
        self.handle.core.outbox.try_send(&line)
    }

    /// Sends a request and waits for its response. If the caller stops waiting, the request stands and the response is
    /// dropped.
    pub async fn request<T: DeserializeOwned>(
        &self,
        asked: impl Into<Notification>,
    ) -> Result<T, PeerError> {
        let asked = asked.into();
        let method = asked.method.clone();
        let answer = self.request_raw(asked).await?;
        serde_json::from_str(answer.get()).map_err(|source| PeerError::BadAnswer { method, source })
    }

    /// Sends a request and waits for its result as raw JSON.
    pub async fn request_raw(
        &self,
        asked: impl Into<Notification>,
    ) -> Result<Box<RawValue>, PeerError> {
        let core = &self.handle.core;
        let ticket = core.pending.ticket().ok_or(PeerError::Closed)?;
        let id = Id::from(ticket.id());
        let line = self.line(&Envelope::Request { id, asked: asked.into() })?;
        core.outbox.send(&line).await?;
        let outcome = ticket.answer().await.ok_or(PeerError::Closed)?;
        outcome.map_err(PeerError::Refused)
    }

    /// How many lines of the other side were skipped.
    #[must_use]
    pub fn skipped(&self) -> &SkipCounts {
        &self.handle.core.counts
    }

    /// Ends this side: accepts nothing more, waits until all is written, then shuts the stream down. Incoming messages still
    /// arrive.
    pub async fn close(&self) {
        self.handle.core.outbox.close();
        self.handle.core.outbox.closed().await;
    }

    /// Ends both sides at once. Pending lines are lost.
    pub fn cut(&self) {
        self.handle.core.outbox.cut();
        self.handle.core.deaf.cancel();
    }

    fn line(&self, envelope: &Envelope) -> Result<Vec<u8>, PeerError> {
        let line = envelope.to_line();
        let n_bytes = line.len() - 1;
        let limit = self.handle.core.max_line;
        if n_bytes > limit { Err(PeerError::TooLong { n_bytes, limit }) } else { Ok(line) }
    }
}

impl Drop for PeerHandle {
    fn drop(&mut self) {
        self.core.outbox.close();
        self.core.deaf.cancel();
    }
}

/// Owes a response. If it is dropped without one, it responds that the request may have been carried out.
#[derive(Debug)]
pub struct Responder {
    /// None once the response is sent.
    open: Option<(Peer, Id)>,
}

impl Responder {
    /// Responds with a result. Never waits, because the other side may wait for this response before it reads on.
    pub fn answer(self, result: &impl Serialize) -> Result<(), PeerError> {
        let result = to_raw_value(result)
            .map_err(|source| code::internal(&format!("the answer cannot be written: {source}")));
        self.respond(result)
    }

    /// Responds with an error.
    pub fn refuse(self, error: impl Into<ErrorObject>) -> Result<(), PeerError> {
        self.respond(Err(error.into()))
    }

    /// Responds with either.
    pub fn respond(mut self, outcome: Result<Box<RawValue>, ErrorObject>) -> Result<(), PeerError> {
        let Some((peer, id)) = self.open.take() else { return Ok(()) };
        let line = match peer.line(&Envelope::Response { id: id.clone(), outcome }) {
            // The caller waits: if the result is too long, that is the response.
            Err(too_long) => {
                let outcome = Err(code::internal(&too_long.to_string()));
                Envelope::Response { id, outcome }.to_line()
            }
            Ok(line) => line,
        };
        peer.handle.core.outbox.send_at_once(&line)
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if let Some((peer, id)) = self.open.take() {
            let outcome = Err(code::unanswered());
            let line = Envelope::Response { id, outcome }.to_line();
            // If the other side has gone, nobody waits for it.
            drop(peer.handle.core.outbox.send_at_once(&line));
        }
    }
}

/// Reads until the stream ends or the last handle is dropped.
async fn read<R: AsyncRead + Unpin>(
    mut frames: FrameReader<R>,
    core: Arc<PeerCore>,
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
            if let Some(incoming) = sort(envelope, &core, &handle) {
                inbox.deliver(incoming).await;
            }
        }
    };
    let error = core.deaf.run_until_cancelled(heard).await.flatten();
    core.pending.end();
    inbox.deliver(Incoming::End(error)).await;
}

/// Hands a response to the request that waits for it. Everything else goes to the inbox.
fn sort(envelope: Envelope, core: &PeerCore, handle: &Weak<PeerHandle>) -> Option<Incoming> {
    match envelope {
        Envelope::Notification(said) => Some(Incoming::Notification(said)),
        Envelope::Request { id, asked } => {
            let open = handle.upgrade().map(|handle| (Peer { handle }, id));
            Some(Incoming::Request(IncomingRequest { asked, responder: Responder { open } }))
        }
        Envelope::Response { id, outcome } => match core.pending.answer(&id, outcome) {
            ResponseMatch::Asked => None,
            ResponseMatch::Unasked => {
                core.counts.count(SkipReason::Unasked);
                let preview = format!("the answer to {id}");
                Some(Incoming::Skipped(SkippedLine { reason: SkipReason::Unasked, preview }))
            }
        },
    }
}
