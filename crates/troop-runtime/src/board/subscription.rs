//! Following a log: in order, without gaps, however slow the follower is.

use std::{collections::VecDeque, sync::Arc};

use tokio::sync::broadcast::{
    self,
    error::{RecvError, TryRecvError},
};
use troop_model::{Event, TeamId, Version};
use troop_store::Store;

use super::{
    BoardNews,
    open::{READ_AT_ONCE, event},
};
use crate::BoardResult;

/// A place in a team's log that moves on as the log grows.
#[derive(Debug)]
pub struct Subscription {
    store: Arc<dyn Store>,
    team: TeamId,
    after: Version,
    news: broadcast::Receiver<BoardNews>,
    backlog: VecDeque<Arc<Event>>,
    /// Whether the store may have entries that are neither in the backlog nor among the news.
    is_behind: bool,
}

impl Subscription {
    pub(super) fn new(
        store: Arc<dyn Store>,
        team: TeamId,
        after: Version,
        news: broadcast::Receiver<BoardNews>,
    ) -> Self {
        Self { store, team, after, news, backlog: VecDeque::new(), is_behind: true }
    }

    /// The version of the last event that was taken.
    #[must_use]
    pub fn version(&self) -> Version {
        self.after
    }

    /// The next event; waits for it. None once the board is closed.
    pub async fn next(&mut self) -> BoardResult<Option<Arc<Event>>> {
        loop {
            if let Some(event) = self.backlog.pop_front() {
                self.after = event.version;
                return Ok(Some(event));
            }
            if self.is_behind {
                self.refill().await?;
                continue;
            }
            match self.news.recv().await {
                Ok(Some(event)) if event.version <= self.after => {}
                Ok(Some(event)) if event.version == self.after.next() => {
                    self.backlog.push_back(event);
                }
                Ok(_) | Err(RecvError::Lagged(_)) => self.is_behind = true,
                Err(RecvError::Closed) => return Ok(None),
            }
        }
    }

    /// The next event if it is in memory.
    pub fn ready(&mut self) -> Option<Arc<Event>> {
        while self.backlog.is_empty() && !self.is_behind {
            match self.news.try_recv() {
                Ok(Some(event)) if event.version <= self.after => {}
                Ok(Some(event)) if event.version == self.after.next() => {
                    self.backlog.push_back(event);
                }
                Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
                Ok(_) | Err(TryRecvError::Lagged(_)) => self.is_behind = true,
            }
        }
        let event = self.backlog.pop_front()?;
        self.after = event.version;
        Some(event)
    }

    /// The next event if one is stored.
    pub async fn next_stored(&mut self) -> BoardResult<Option<Arc<Event>>> {
        if self.backlog.is_empty() {
            self.refill().await?;
        }
        let event = self.backlog.pop_front();
        if let Some(event) = &event {
            self.after = event.version;
        }
        Ok(event)
    }

    async fn refill(&mut self) -> BoardResult<()> {
        let entries = self.store.read(self.team, self.after, READ_AT_ONCE).await?;
        for entry in &entries {
            match event(entry) {
                Ok(event) => self.backlog.push_back(Arc::new(event)),
                // First the events before it.
                Err(_) if !self.backlog.is_empty() => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.is_behind = entries.len() == READ_AT_ONCE;
        Ok(())
    }
}
