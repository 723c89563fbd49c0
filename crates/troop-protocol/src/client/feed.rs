//! Follows a team's log through its lead, on a separate conversation, so that a slow reader delays no other answers.

use std::path::Path;

use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use troop_model::{Asker, Event, Version};

use super::{Client, ClientError};
use crate::{
    call::{FollowCall, SubscriptionNews, SubscriptionTicket},
    code::{Failure, FailureKind},
    peer::Incoming,
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
        asker: &Asker,
        since: Version,
        tracker: &TaskTracker,
    ) -> Result<Self, ClientError> {
        let (inbox, incoming) = mpsc::channel(WAITING);
        let client = Client::connect_with(path, inbox, tracker).await?;
        client.open(asker).await?;
        let SubscriptionTicket { subscription } = client.ask(&FollowCall::Events { since }).await?;
        Ok(Self { _client: client, incoming, subscription, since })
    }

    /// The version of the last event that was taken. Resume from there.
    #[must_use]
    pub fn version(&self) -> Version {
        self.since
    }

    /// The next event; waits for it. If the lead went away, resume from [`EventFeed::version`].
    pub async fn next(&mut self) -> Result<Event, ClientError> {
        loop {
            let said = match self.incoming.recv().await {
                Some(Incoming::Notification(said)) => said,
                // A lead sends no requests here, and a skipped line is not an event.
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
