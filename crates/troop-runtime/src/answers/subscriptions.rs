//! The subscriptions of one conversation: each is a task that sends at the pace of its reader.

use std::collections::BTreeMap;

use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use troop_protocol::{
    EventNews, Failure, FailureKind, FollowCall, Peer, PeerError, SubscriptionEnd,
    SubscriptionNews, SubscriptionTicket, TranscriptNews,
};

use super::{Answers, TranscriptFeed};
use crate::Subscription;

/// How many subscriptions one conversation may have.
const MAX_SUBSCRIPTIONS: usize = 16;

/// All subscriptions of a conversation. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    answers: Answers,
    peer: Peer,
    tracker: TaskTracker,
    open: BTreeMap<u64, DropGuard>,
    n_opened: u64,
}

/// Something that can be followed.
enum FollowFeed {
    Events(Subscription),
    Transcript(TranscriptFeed),
}

/// A subscription that starts once the answer to its call is sent.
pub(crate) struct FollowStart {
    pub(crate) ticket: SubscriptionTicket,
    feed: Option<FollowFeed>,
}

impl Subscriptions {
    pub(crate) fn new(answers: Answers, peer: Peer, tracker: TaskTracker) -> Self {
        Self { answers, peer, tracker, open: BTreeMap::new(), n_opened: 0 }
    }

    /// Takes a call about subscriptions. Send its answer before [`Subscriptions::start`].
    pub(crate) async fn take(&mut self, call: FollowCall) -> Result<FollowStart, Failure> {
        let feed = match call {
            FollowCall::Cancel { subscription } => {
                return match self.open.remove(&subscription) {
                    Some(_) => {
                        Ok(FollowStart { ticket: SubscriptionTicket { subscription }, feed: None })
                    }
                    None => {
                        let what = format!("there is no subscription {subscription} here");
                        Err(Failure::new(FailureKind::NotFound, &what))
                    }
                };
            }
            FollowCall::Events { since } => FollowFeed::Events(self.answers.board.subscribe(since)),
            FollowCall::Transcript { member, after } => {
                let reader = self.answers.transcript(member).await?;
                FollowFeed::Transcript(TranscriptFeed::new(reader, after))
            }
        };
        if self.open.len() >= MAX_SUBSCRIPTIONS {
            let what = format!("a conversation has at most {MAX_SUBSCRIPTIONS} subscriptions");
            return Err(Failure::new(FailureKind::Limit, &what));
        }
        self.n_opened += 1;
        let ticket = SubscriptionTicket { subscription: self.n_opened };
        Ok(FollowStart { ticket, feed: Some(feed) })
    }

    /// Starts to send.
    pub(crate) fn start(&mut self, start: FollowStart) {
        let FollowStart { ticket: SubscriptionTicket { subscription }, feed } = start;
        let Some(feed) = feed else { return };
        let token = CancellationToken::new();
        self.open.insert(subscription, token.clone().drop_guard());
        let peer = self.peer.clone();
        self.tracker.spawn(async move {
            let send = async {
                let sent = match feed {
                    FollowFeed::Events(log) => send_events(&peer, subscription, log).await,
                    FollowFeed::Transcript(feed) => {
                        send_transcript(&peer, subscription, feed).await
                    }
                };
                // If the reader has gone, there is nothing to report.
                drop(sent);
            };
            token.run_until_cancelled(send).await;
        });
    }
}

/// Sends events until the log can no longer be followed; the last notification says where to resume.
async fn send_events(
    peer: &Peer,
    subscription: u64,
    mut log: Subscription,
) -> Result<(), PeerError> {
    let reason = loop {
        match log.next().await {
            Ok(Some(event)) => {
                let event = event.as_ref().clone();
                let news = SubscriptionNews::Event(Box::new(EventNews { subscription, event }));
                // Waits while the reader does not read; later events wait in the store.
                peer.notify(&news).await?;
            }
            Ok(None) => break "the team's log was closed".to_owned(),
            Err(error) => break error.to_string(),
        }
    };
    let since = Some(log.version());
    let end = SubscriptionEnd { subscription, reason, since };
    peer.notify(&SubscriptionNews::Ended(end)).await
}

async fn send_transcript(
    peer: &Peer,
    subscription: u64,
    mut feed: TranscriptFeed,
) -> Result<(), PeerError> {
    let error = loop {
        match feed.next().await {
            Ok(page) => {
                let news = TranscriptNews { subscription, page };
                peer.notify(&SubscriptionNews::Transcript(news)).await?;
            }
            Err(error) => break error,
        }
    };
    let end = SubscriptionEnd { subscription, reason: error.to_string(), since: None };
    peer.notify(&SubscriptionNews::Ended(end)).await
}
