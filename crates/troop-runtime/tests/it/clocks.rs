//! Two clocks that disagree.

use std::time::Duration;

use troop_model::{Fact, Refusal, Time};
use troop_runtime::{Board, Clock, Following};
use troop_testkit::{TestStore, memory_store};

use crate::support::{add_tasks, by, claim, comment, complete, crew, events, refusal};

const HOUR: Duration = Duration::from_secs(3_600);

async fn at(store: &TestStore, board: &Board, clock: &Clock) -> Board {
    let store = store.reopen().await;
    Board::open(store, clock.clone(), Following::WhenAsked, board.team()).await.unwrap()
}

/// Later than the machine's clock, which made the team.
fn noon() -> Time {
    "2200-01-01T12:00:00Z".parse().unwrap()
}

#[tokio::test]
async fn time_in_a_log_never_runs_backwards() {
    let store = memory_store().await;
    let board = crew(store.store()).await;
    add_tasks(&board, 1).await;
    let (fast, slow) = (Clock::manual(noon() + HOUR), Clock::manual(noon()));
    let (ahead, behind) = (at(&store, &board, &fast).await, at(&store, &board, &slow).await);
    for (nth, board) in [&behind, &ahead, &behind, &ahead, &behind].into_iter().enumerate() {
        board.submit(by("bob", comment(1, &format!("{nth}")))).await.unwrap();
    }
    fast.set(noon());
    ahead.submit(by("bob", comment(1, "set back"))).await.unwrap();
    let times: Vec<Time> =
        events(&*store, board.team()).await.into_iter().map(|event| event.at).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(*times.last().unwrap(), noon() + HOUR);
}

#[tokio::test]
async fn a_slow_clock_ends_no_lease_early() {
    let store = memory_store().await;
    let board = crew(store.store()).await;
    add_tasks(&board, 1).await;
    let (fast, slow) = (Clock::manual(noon() + HOUR), Clock::manual(noon()));
    let (ahead, behind) = (at(&store, &board, &fast).await, at(&store, &board, &slow).await);
    ahead.submit(by("bob", claim(1))).await.unwrap();
    let lease = Duration::from_secs(900);
    for early in [noon(), noon() + HOUR, noon() + HOUR + (lease - Duration::from_micros(1))] {
        slow.set(early);
        let refusal = refusal(behind.submit(by("cyd", claim(1))).await);
        assert!(matches!(refusal, Refusal::TaskHeld { .. }));
    }
    slow.set(noon() + HOUR + lease);
    behind.submit(by("cyd", claim(1))).await.unwrap();
    // By the first holder's clock the lease still holds, but it is refused.
    refusal(ahead.submit(by("bob", complete(1))).await);
}

#[tokio::test]
async fn a_fast_clock_ends_a_lease_early_and_the_holder_is_refused() {
    let store = memory_store().await;
    let board = crew(store.store()).await;
    add_tasks(&board, 1).await;
    let (fast, slow) = (Clock::manual(noon() + HOUR), Clock::manual(noon()));
    let (ahead, behind) = (at(&store, &board, &fast).await, at(&store, &board, &slow).await);
    behind.submit(by("bob", claim(1))).await.unwrap();
    ahead.submit(by("cyd", claim(1))).await.unwrap();
    refusal(behind.submit(by("bob", complete(1))).await);
    ahead.submit(by("cyd", complete(1))).await.unwrap();
    refusal(behind.submit(by("bob", complete(1))).await);
    let log = events(&*store, board.team()).await;
    let completed = log.iter().filter(|it| matches!(it.fact, Fact::TaskCompleted { .. }));
    assert_eq!(completed.count(), 1);
}
