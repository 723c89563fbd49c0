//! Subscribers get every event, in order and without gaps.

use troop_model::Version;
use troop_runtime::{Following, Subscription};
use troop_testkit::TestStore;

use crate::support::{LEAD, add_tasks, by, create, crew, events, open, state_of};

on_every_store! {
    a_late_subscriber_gets_all_events,
    a_subscriber_resumes_at_its_last_event,
    a_subscriber_that_lags_far_behind_misses_nothing,
    a_subscriber_sees_other_writers_in_order,
    a_subscription_ends_with_its_board,
}

/// Takes events until the subscriber is at `end`, and checks that none is missing.
async fn follow(subscription: &mut Subscription, end: Version) {
    while subscription.version() < end {
        let expected = subscription.version().next();
        assert_eq!(subscription.next().await.unwrap().unwrap().version, expected);
    }
}

async fn a_late_subscriber_gets_all_events(store: TestStore) {
    let board = crew(store.store()).await;
    add_tasks(&board, 20).await;
    let log = events(&*store, board.team()).await;
    let mut subscription = board.subscribe(Version::ZERO);
    for event in &log {
        assert_eq!(subscription.next().await.unwrap().unwrap().as_ref(), event);
    }
    let done = board.submit(by(LEAD, create("more"))).await.unwrap();
    assert_eq!(subscription.next().await.unwrap().unwrap().as_ref(), &done.events[0]);
}

async fn a_subscriber_resumes_at_its_last_event(store: TestStore) {
    let board = crew(store.store()).await;
    let seen = state_of(&board).await.version();
    add_tasks(&board, 10).await;
    let mut subscription = board.subscribe(seen);
    follow(&mut subscription, seen.plus(4)).await;
    let place = subscription.version();
    drop(subscription);
    add_tasks(&board, 10).await;
    let mut resumed = board.subscribe(place);
    follow(&mut resumed, seen.plus(20)).await;
    assert!(resumed.next_stored().await.unwrap().is_none());
}

async fn a_subscriber_that_lags_far_behind_misses_nothing(store: TestStore) {
    let board = crew(store.store()).await;
    let mut subscription = board.subscribe(Version::ZERO);
    subscription.next().await.unwrap().unwrap();
    // More than are buffered for it.
    add_tasks(&board, 2_300).await;
    add_tasks(&board, 2_300).await;
    let end = state_of(&board).await.version();
    follow(&mut subscription, end).await;
    let done = board.submit(by(LEAD, create("more"))).await.unwrap();
    follow(&mut subscription, done.version).await;
}

async fn a_subscriber_sees_other_writers_in_order(store: TestStore) {
    let board = crew(store.store()).await;
    let follower = open(store.reopen().await, board.team(), Following::Always).await;
    let start = state_of(&follower).await.version();
    let mut subscription = follower.subscribe(start);
    // Both write at once, so some events come through conflicts and some through the watch.
    let (_, _) = tokio::join!(add_tasks(&board, 50), add_tasks(&follower, 50));
    add_tasks(&board, 10).await;
    follow(&mut subscription, start.plus(110)).await;
    assert!(subscription.next_stored().await.unwrap().is_none());
}

async fn a_subscription_ends_with_its_board(store: TestStore) {
    let board = crew(store.store()).await;
    let start = state_of(&board).await.version();
    let mut subscription = board.subscribe(start);
    add_tasks(&board, 3).await;
    board.close().await;
    follow(&mut subscription, start.plus(3)).await;
    assert!(subscription.next().await.unwrap().is_none());
}
