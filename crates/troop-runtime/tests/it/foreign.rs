//! A log with entries that this program does not understand.

use troop_model::{Version, encode, with_causes};
use troop_runtime::{Board, BoardError, BoardResult, Clock, Following};
use troop_testkit::TestStore;

use crate::support::{LEAD, add_tasks, append_raw, by, claim, create, crew, events, state_of};

on_every_store! {
    an_event_of_a_newer_program_is_named_and_refused,
    garbage_in_a_log_is_refused,
    an_event_in_the_wrong_place_is_refused,
    a_subscriber_gets_the_events_before_garbage,
    a_waiting_subscriber_learns_of_an_unreadable_event,
}

async fn reopen(store: &TestStore, board: &Board) -> BoardResult<Board> {
    let (clock, following) = (Clock::system(), Following::WhenAsked);
    Board::open(store.reopen().await, clock, following, board.team()).await
}

/// The last event of the log as JSON, with the version of the next one.
async fn next_body(store: &TestStore, board: &Board) -> String {
    let mut event = events(&**store, board.team()).await.pop().unwrap();
    event.version = event.version.next();
    encode(&event)
}

/// Checks that neither opening nor writing gets past an entry, and that the board keeps what it knows.
async fn assert_stops_at(store: &TestStore, board: &Board, text: &str) {
    let before = state_of(board).await;
    let errors = [
        reopen(store, board).await.unwrap_err(),
        board.submit(by(LEAD, create("more"))).await.unwrap_err(),
        board.submit(by("bob", claim(9))).await.unwrap_err(),
        board.catch_up().await.unwrap_err(),
    ];
    for error in errors {
        let told = with_causes(&error);
        assert!(told.contains(text), "{told}");
    }
    assert!(state_of(board).await == before);
}

async fn an_event_of_a_newer_program_is_named_and_refused(store: TestStore) {
    let board = crew(store.store()).await;
    add_tasks(&board, 1).await;
    let body = next_body(&store, &board).await;
    let newer = body.replace("task.created", "task.dreamt");
    assert_ne!(newer, body);
    let version = append_raw(&*store, board.team(), newer).await;
    assert_stops_at(&store, &board, &format!("event {version} of the log cannot be read")).await;
    assert_stops_at(&store, &board, "which this troop does not know").await;
    let error = reopen(&store, &board).await.unwrap_err();
    assert!(matches!(error, BoardError::Log { source, .. } if source.is_newer()));
}

async fn garbage_in_a_log_is_refused(store: TestStore) {
    let board = crew(store.store()).await;
    let version = append_raw(&*store, board.team(), r#"{"version":"soup"}"#.to_owned()).await;
    assert_stops_at(&store, &board, &format!("event {version} of the log cannot be read")).await;
}

async fn an_event_in_the_wrong_place_is_refused(store: TestStore) {
    let board = crew(store.store()).await;
    let event = events(&*store, board.team()).await.pop().unwrap();
    let version = append_raw(&*store, board.team(), encode(&event)).await;
    let told = format!("event {version} of the log is marked as event {}", event.version);
    assert_stops_at(&store, &board, &told).await;
}

async fn a_subscriber_gets_the_events_before_garbage(store: TestStore) {
    let board = crew(store.store()).await;
    let last = state_of(&board).await.version();
    let bad = append_raw(&*store, board.team(), "{}".to_owned()).await;
    let mut subscription = board.subscribe(Version::ZERO);
    while subscription.version() < last {
        subscription.next().await.unwrap().unwrap();
    }
    for _ in 0..2 {
        let error = subscription.next().await.unwrap_err();
        assert!(matches!(error, BoardError::Log { version, .. } if version == bad));
    }
}

async fn a_waiting_subscriber_learns_of_an_unreadable_event(store: TestStore) {
    let team = crew(store.store()).await.team();
    let following = Board::open(store.reopen().await, Clock::system(), Following::Always, team);
    let board = following.await.unwrap();
    let mut subscription = board.subscribe(state_of(&board).await.version());
    assert!(subscription.next_stored().await.unwrap().is_none());
    let waiting = async { subscription.next().await.unwrap_err() };
    let breaking = append_raw(&*store, team, "{}".to_owned());
    let (error, bad) = tokio::join!(waiting, breaking);
    assert!(matches!(error, BoardError::Log { version, .. } if version == bad));
}
