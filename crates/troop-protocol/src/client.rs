//! A client of a lead, over its socket.

mod feed;

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use thiserror::Error;
use tokio::net::UnixStream;
use tokio_util::task::TaskTracker;
use troop_model::{Asker, Command, OperationId};

use crate::{
    call::{Answer, Call, Change, FileCall, Query, SessionInfo},
    code::{Failure, FailureKind},
    envelope::Notification,
    peer::{Inbox, Incoming, Peer, PeerError, PeerOptions},
};

pub use feed::EventFeed;

/// Why a call failed, or may have failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Nobody listens there. Nothing was sent.
    #[error("no lead listens at {}", path.display())]
    NoLead {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The lead went away. The call may have been carried out or not: repeat it with the same operation.
    #[error("the lead went away before it answered")]
    Gone,
    /// The lead refused it.
    #[error(transparent)]
    Failed(Failure),
    /// It could not be sent, or the answer has an unexpected form.
    #[error(transparent)]
    Peer(PeerError),
}

impl From<PeerError> for ClientError {
    fn from(error: PeerError) -> Self {
        match error {
            PeerError::Closed => Self::Gone,
            PeerError::Refused(error) => Self::Failed(error.into()),
            other @ (PeerError::Full | PeerError::TooLong { .. } | PeerError::BadAnswer { .. }) => {
                Self::Peer(other)
            }
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Failed(failure) => failure,
            ClientError::NoLead { .. } | ClientError::Gone => {
                Self::new(FailureKind::Unavailable, &error)
            }
            ClientError::Peer(error) => Self::new(FailureKind::Bug, &error),
        }
    }
}

/// A client. Cheap to clone; calls may be made concurrently.
#[derive(Clone, Debug)]
pub struct Client {
    peer: Peer,
}

/// The inbox of a client that expects no notifications.
struct Nobody;

impl Inbox for Nobody {
    async fn deliver(&mut self, _: Incoming) {}
}

impl Client {
    /// Connects to the socket of a lead.
    pub async fn connect(path: &Path, tracker: &TaskTracker) -> Result<Self, ClientError> {
        Self::connect_with(path, Nobody, tracker).await
    }

    /// Connects with an inbox for notifications.
    async fn connect_with(
        path: &Path,
        inbox: impl Inbox,
        tracker: &TaskTracker,
    ) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(path)
            .await
            .map_err(|source| ClientError::NoLead { path: path.to_owned(), source })?;
        let (reader, writer) = stream.into_split();
        Ok(Self::new(Peer::spawn(reader, writer, PeerOptions::default(), inbox, tracker)))
    }

    /// A client on an existing conversation, such as a teammate's with its lead.
    #[must_use]
    pub fn new(peer: Peer) -> Self {
        Self { peer }
    }

    /// Identifies the caller. The first call on a socket.
    pub async fn open(&self, asker: &Asker) -> Result<SessionInfo, ClientError> {
        self.ask(asker).await
    }

    /// Asks for a change and waits until it is durable. The same operation again has one effect.
    pub async fn call(
        &self,
        command: Command,
        operation: OperationId,
    ) -> Result<Answer, ClientError> {
        self.ask(&Change { command, operation: Some(operation) }).await
    }

    /// Makes a query. The type of the answer depends on the query; `docs/protocol.md` has the table.
    pub async fn query<T: DeserializeOwned>(&self, query: &Query) -> Result<T, ClientError> {
        self.ask(query).await
    }

    /// Makes a call about files of the workspace. The type of the answer depends on the call.
    pub async fn file<T: DeserializeOwned>(&self, call: &FileCall) -> Result<T, ClientError> {
        self.ask(call).await
    }

    /// Makes any call; the answer is raw JSON.
    pub async fn ask_any(&self, call: &Call) -> Result<Box<RawValue>, ClientError> {
        self.ask(call).await
    }

    async fn ask<'a, A, T: DeserializeOwned>(&self, asked: &'a A) -> Result<T, ClientError>
    where
        Notification: From<&'a A>,
    {
        Ok(self.peer.request(asked).await?)
    }
}
