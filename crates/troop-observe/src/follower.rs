//! The typed, read-only view for consumers: a team's name, what its source can tell, and events as they happen.
//!
//! There is no way to say anything to the team from here. It is for programs that build on this crate (claim 002-12 in
//! `docs/coverage.md`); troop's own commands use the observer directly.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::{Poll, Waker},
};

use crate::{
    event::{TeamEvent, What},
    source::{Capabilities, Source},
    team::Team,
};

/// How many events wait for a consumer that is slow; the oldest are lost.
const MAX_BEHIND: usize = 10_000;

/// Follows what happens in a team.
#[derive(Debug)]
pub struct Follower {
    source: Source,
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

impl Follower {
    /// What can be seen of the source.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.source.capabilities()
    }

    /// The name of the team, if there is one now.
    #[must_use]
    pub fn team_name(&self) -> Option<String> {
        self.with(|queue| queue.team.clone())
    }

    /// The next event; nothing when the observer is gone. Who stops waiting loses nothing.
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

    /// How many events were lost because they were not taken in time.
    #[must_use]
    pub fn n_missed(&self) -> u64 {
        self.with(|queue| queue.n_missed)
    }

    fn with<T>(&self, f: impl FnOnce(&mut Queue) -> T) -> T {
        f(&mut self.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Those who follow.
#[derive(Debug, Default)]
pub(crate) struct Feed(Vec<Weak<Mutex<Queue>>>);

impl Feed {
    pub(crate) fn follow(&mut self, source: Source, team: Option<&Team>) -> Follower {
        let team = team.map(|team| team.name.clone());
        let queue = Arc::new(Mutex::new(Queue { team, ..Queue::default() }));
        self.0.push(Arc::downgrade(&queue));
        Follower { source, queue }
    }

    pub(crate) fn publish(&mut self, event: &TeamEvent) {
        if self.0.is_empty() {
            return;
        }
        let event = Arc::new(event.clone());
        self.each(|queue| {
            let is_gone = matches!(event.what, What::TeamDeleted);
            queue.team = (!is_gone).then(|| event.team.clone());
            queue.events.push_back(Arc::clone(&event));
            if queue.events.len() > MAX_BEHIND {
                queue.events.pop_front();
                queue.n_missed += 1;
            }
        });
    }

    /// Does something to every queue, and wakes who waits. Who went away is forgotten.
    fn each(&mut self, f: impl Fn(&mut Queue)) {
        self.0.retain(|queue| {
            let Some(queue) = queue.upgrade() else { return false };
            let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            f(&mut queue);
            if let Some(waker) = queue.waker.take() {
                waker.wake();
            }
            true
        });
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.each(|queue| queue.is_over = true);
    }
}
