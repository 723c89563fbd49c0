//! Our side: callers that claim and complete on one board.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::Result;
use tokio::{task::JoinSet, time::Instant};
use troop_model::Actor;
use troop_runtime::Board;

use crate::{outcome::Throughput, team};

/// How many callers a busy process has.
pub(crate) const MANY: usize = 64;

/// A board and how many use it at once. A claim counts as one operation and a completion as another.
#[derive(Debug)]
pub(crate) struct Callers {
    board: Board,
    n_callers: usize,
    n_tasks: usize,
}

impl Callers {
    /// Makes a team in a new store for so many callers, on a board of so many tasks.
    pub(crate) async fn new(url: &str, n_callers: usize, n_tasks: usize) -> Result<Self> {
        let board = team::create(team::open_store(url).await?, n_callers).await?;
        Ok(Self { board, n_callers, n_tasks })
    }

    /// Uses a board that is open; it has a member for each caller.
    pub(crate) fn of(board: Board, n_callers: usize, n_tasks: usize) -> Self {
        Self { board, n_callers, n_tasks }
    }

    pub(crate) fn board(&self) -> &Board {
        &self.board
    }

    /// Claims and completes for a while. Filling the board up does not count.
    pub(crate) async fn run(&self, span: Duration) -> Result<Throughput> {
        let mut tally = Throughput::default();
        loop {
            team::top_up(&self.board, self.n_tasks).await?;
            tally += self.drain(span.saturating_sub(tally.elapsed)).await?;
            if tally.elapsed >= span {
                return Ok(tally);
            }
        }
    }

    /// Claims and completes until nothing is left or time is up.
    async fn drain(&self, span: Duration) -> Result<Throughput> {
        let n_left = Arc::new(AtomicUsize::new(self.n_tasks));
        let mut callers = JoinSet::new();
        let start = Instant::now();
        for nth in 0..self.n_callers {
            let actor = Actor::agent(&team::member(nth)?);
            let board = self.board.clone();
            let n_left = Arc::clone(&n_left);
            callers.spawn(work(board, actor, n_left, start + span));
        }
        let mut n_operations = 0;
        while let Some(done) = callers.join_next().await {
            n_operations += done??;
        }
        Ok(Throughput { n_operations, elapsed: start.elapsed() })
    }

    pub(crate) async fn close(self) {
        self.board.close().await;
    }
}

async fn work(
    board: Board,
    actor: Actor,
    n_left: Arc<AtomicUsize>,
    deadline: Instant,
) -> Result<u64> {
    let mut n_operations = 0;
    let take = |n: usize| n.checked_sub(1);
    while n_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
        let task = team::claim(&board, &actor).await?;
        team::complete(&board, &actor, task).await?;
        n_operations += 2;
        if Instant::now() >= deadline {
            break;
        }
    }
    Ok(n_operations)
}
