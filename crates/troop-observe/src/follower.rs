//! The typed, read-only view for consumers: a team's name, what its source can show, and events as they happen.
//!
//! It offers no way to write to the team. It is for programs that build on this crate (claim 002-12 in
//! `docs/coverage.md`); troop's own commands use the observer directly.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, Mutex, Weak},
    task::{Poll, Waker},
};

use troop_model::lock;

use crate::{
    event::{ObservedFact, TeamEvent},
    source::{Capabilities, StreamSource},
    team::ObservedTeam,
};

/// How many events wait for a slow consumer; the oldest are dropped.
const MAX_BEHIND: usize = 10_000;

/// Follows the events of a team.
#[derive(Debug)]
pub struct TeamFollower {
    source: StreamSource,
    queue: Arc<Mutex<Queue>>,
}

#[derive(Debug, Default)]
struct Queue {
    team: Option<String>,
    events: VecDeque<Arc<TeamEvent>>,
    n_missed: u64,
    is_over: bool,
    waker: Option<Waker>,
}

impl TeamFollower {
    /// The capabilities of the source.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.source.capabilities()
    }

    /// The name of the current team, if there is one.
    #[must_use]
    pub fn team_name(&self) -> Option<String> {
        self.with(|queue| queue.team.clone())
    }

    /// The next event; `None` when the observer is gone. Cancelling the wait loses nothing.
    pub async fn next(&mut self) -> Option<Arc<TeamEvent>> {
        poll_fn(|context| {
            self.with(|queue| match queue.events.pop_front() {
                Some(event) => Poll::Ready(Some(event)),
                None if queue.is_over => Poll::Ready(None),
                None => {
                    queue.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            })
        })
        .await
    }

    /// How many events were dropped because the consumer was too slow.
    #[must_use]
    pub fn n_missed(&self) -> u64 {
        self.with(|queue| queue.n_missed)
    }

    fn with<T>(&self, f: impl FnOnce(&mut Queue) -> T) -> T {
        f(&mut lock(&self.queue))
    }
}

/// The queues of all followers.
#[derive(Debug, Default)]
pub(crate) struct FollowerQueues(Vec<Weak<Mutex<Queue>>>);

impl FollowerQueues {
    pub(crate) fn follow(
        &mut self,
        source: StreamSource,
        team: Option<&ObservedTeam>,
    ) -> TeamFollower {
        let team = team.map(|team| team.name.clone());
        let queue = Arc::new(Mutex::new(Queue { team, ..Queue::default() }));
        self.0.push(Arc::downgrade(&queue));
        TeamFollower { source, queue }
    }

    pub(crate) fn publish(&mut self, event: &TeamEvent) {
        if self.0.is_empty() {
            return;
        }
        let event = Arc::new(event.clone());
        self.each(|queue| {
            let is_gone = matches!(event.fact, ObservedFact::TeamDeleted);
            queue.team = (!is_gone).then(|| event.team.clone());
            queue.events.push_back(Arc::clone(&event));
            if queue.events.len() > MAX_BEHIND {
                queue.events.pop_front();
                queue.n_missed += 1;
            }
        });
    }

    /// Changes every queue and wakes its waiting follower. Followers that are gone are removed.
    fn each(&mut self, f: impl Fn(&mut Queue)) {
        self.0.retain(|queue| {
            let Some(queue) = queue.upgrade() else { return false };
            let mut queue = lock(&queue);
            f(&mut queue);
            if let Some(waker) = queue.waker.take() {
                waker.wake();
            }
            true
        });
    }
}

impl Drop for FollowerQueues {
    fn drop(&mut self) {
        self.each(|queue| queue.is_over = true);
    }
}
