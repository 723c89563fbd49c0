//! Follows the log of a team by way of its lead, on a conversation of its own: a reader that takes its time holds up nobody
//! else's answers.

use std::path::Path;

use tokio::{net::UnixStream, sync::mpsc};
use tokio_util::task::TaskTracker;
use troop_model::{Asker, Event, Version};

use super::{Client, ClientError};
use crate::{
    call::{FollowCall, SubscriptionNews, SubscriptionTicket},
    code::{Failure, FailureKind},
    peer::{Incoming, Peer, PeerOptions},
};

/// How many events may wait to be taken. Beyond that the lead waits, and what it has not sent stays in the store.
const WAITING: usize = 64;

/// The events of a team, each once and in order.
#[derive(Debug)]
pub struct EventFeed {
    /// Keeps the conversation going.
    _client: Client,
    incoming: mpsc::Receiver<Incoming>,
    subscription: u64,
    since: Version,
}

impl EventFeed {
    /// Follows the log after a version, over the socket of a lead.
    pub async fn open(
        path: &Path,
        session: &Asker,
        since: Version,
        tracker: &TaskTracker,
    ) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(path)
            .await
            .map_err(|source| ClientError::NoLead { path: path.to_owned(), source })?;
        let (reader, writer) = stream.into_split();
        let (inbox, incoming) = mpsc::channel(WAITING);
        let peer = Peer::spawn(reader, writer, PeerOptions::default(), inbox, tracker);
        let client = Client::new(peer);
        client.open(session).await?;
        let ticket: SubscriptionTicket = client.ask(&FollowCall::Events { since }).await?;
        let SubscriptionTicket { subscription } = ticket;
        Ok(Self { _client: client, incoming, subscription, since })
    }

    /// The version of the last event that was taken: whoever resumes begins there.
    #[must_use]
    pub fn version(&self) -> Version {
        self.since
    }

    /// The next event; waits for it. If the lead went away, resume from [`EventFeed::version`].
    pub async fn next(&mut self) -> Result<Event, ClientError> {
        loop {
            let said = match self.incoming.recv().await {
                Some(Incoming::Notification(said)) => said,
                // Nobody asks us anything, and what is no message is nobody's event.
                Some(Incoming::Request(_) | Incoming::Skipped(_)) => continue,
                Some(Incoming::End(_)) | None => return Err(ClientError::Gone),
            };
            match SubscriptionNews::try_from(&said) {
                Ok(SubscriptionNews::Event(news)) if news.subscription == self.subscription => {
                    self.since = news.event.version;
                    return Ok(news.event);
                }
                Ok(SubscriptionNews::Ended(end)) if end.subscription == self.subscription => {
                    let failure = Failure::new(FailureKind::Unavailable, &end.reason);
                    return Err(ClientError::Failed(failure));
                }
                Ok(_) => {}
                Err(error) => return Err(ClientError::Failed(Failure::from(&error))),
            }
        }
    }
}
