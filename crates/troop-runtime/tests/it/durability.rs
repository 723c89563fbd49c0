//! Answers are durable, and nothing else is visible.

use std::sync::{Arc, atomic::Ordering::SeqCst};

use troop_model::{State, Status, TaskNumber, Version};
use troop_runtime::{BoardError, CommandEffect, Following};
use troop_store::{MemoryStore, StoreError};
use troop_testkit::{TestStore, memory_store, wait_for};

use crate::{
    probe::Probe,
    support::{
        LEAD, add_tasks, assert_is_the_log, by, claim, complete, create, crew, events, open,
        refusal, state_of, submit_all,
    },
};

on_every_store! {
    an_answered_command_is_durable,
    a_refused_command_changes_nothing,
    a_look_waits_for_appends_in_progress,
    a_look_with_an_answer_waits_for_no_later_command,
    more_submitters_than_places_all_get_answers,
    a_command_that_changes_nothing_makes_no_events,
}

async fn an_answered_command_is_durable(store: TestStore) {
    let board = crew(store.store()).await;
    let done = board.submit(by(LEAD, create("write"))).await.unwrap();
    let other = store.reopen().await;
    let stored = events(&*other, board.team()).await;
    assert_eq!(done.version, stored.last().unwrap().version);
    assert_eq!(done.events[..], stored[stored.len() - done.events.len()..]);
    let reopened = open(other, board.team(), Following::WhenAsked).await;
    assert!(state_of(&reopened).await == state_of(&board).await);
}

async fn a_refused_command_changes_nothing(store: TestStore) {
    let board = crew(store.store()).await;
    let before = state_of(&board).await;
    for command in [create(""), claim(7), complete(7)] {
        refusal(board.submit(by("bob", command)).await);
    }
    assert!(state_of(&board).await == before);
    assert_eq!(events(&*store, board.team()).await.last().unwrap().version, before.version());
}

async fn a_look_waits_for_appends_in_progress(store: TestStore) {
    let probe = Probe::new(store.store());
    let board = crew(probe.clone()).await;
    let before = state_of(&board).await.version();
    probe.hold_appends();
    let (submitter, looker) = (board.clone(), board.clone());
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        submitter.submit(by(LEAD, create("write"))).await.unwrap();
    });
    wait_for("the append to begin", async || (probe.n_appends.load(SeqCst) == 1).then_some(()))
        .await;
    tasks.spawn(async move {
        assert_eq!(looker.look(|state| state.tasks().len()).await.unwrap(), 1);
    });
    assert_eq!(events(&*store, board.team()).await.last().unwrap().version, before);
    probe.let_append();
    tasks.join_all().await;
}

async fn a_look_with_an_answer_waits_for_no_later_command(store: TestStore) {
    let probe = Probe::new(store.store());
    let board = crew(probe.clone()).await;
    probe.hold_appends();
    let look = |state: &State, done: CommandEffect| {
        state.tasks().get(done.task().unwrap()).unwrap().subject.clone()
    };
    let gate = Arc::clone(&probe);
    // Between the decision of the second command and its append.
    let hold = move |_: &State, done: CommandEffect| {
        gate.hold_appends();
        done
    };
    let first = board.give_and_look(by(LEAD, create("first")), look).await.unwrap();
    wait_for("the append to begin", async || (probe.n_appends.load(SeqCst) == 1).then_some(()))
        .await;
    let second = board.give_and_look(by(LEAD, create("second")), hold).await.unwrap();
    probe.let_append();
    assert_eq!(first.done().await.unwrap(), "first");
    wait_for("the next append to begin", async || {
        (probe.n_appends.load(SeqCst) == 2).then_some(())
    })
    .await;
    let stored = events(&*store, board.team()).await.last().unwrap().version;
    probe.let_append();
    assert!(second.done().await.unwrap().version > stored);
}

#[tokio::test(start_paused = true)]
async fn events_that_could_not_be_stored_are_never_seen() {
    let probe = Probe::new(Arc::new(MemoryStore::default()));
    let board = crew(probe.clone()).await;
    add_tasks(&board, 3).await;
    let before = state_of(&board).await;
    let mut subscription = board.subscribe(before.version());
    probe.is_down.store(true, SeqCst);
    let requests = [by("bob", claim(1)), by(LEAD, create("more")), by("cyd", complete(2))];
    for answer in submit_all(&board, requests.clone()).await {
        let Err(BoardError::Store(error)) = answer else { panic!("{answer:?}") };
        assert!(matches!(*error, StoreError::Unavailable { .. }), "{error:?}");
    }
    assert!(state_of(&board).await == before);
    probe.is_down.store(false, SeqCst);
    assert!(subscription.next_stored().await.unwrap().is_none());
    for answer in submit_all(&board, requests).await {
        answer.unwrap();
    }
    assert_is_the_log(&board, &*probe).await;
}

#[tokio::test(start_paused = true)]
async fn a_board_outlives_a_store_that_is_down() {
    let probe = Probe::new(Arc::new(MemoryStore::default()));
    let board = crew(probe.clone()).await;
    probe.is_down.store(true, SeqCst);
    let request = by(LEAD, create("write"));
    let error = board.submit(request.clone()).await.unwrap_err();
    assert_eq!(error.to_string(), "the store is down on purpose");
    // Not even a refusal is certain while the store cannot be read.
    let error = board.submit(by("bob", claim(9))).await.unwrap_err();
    assert_eq!(error.to_string(), "the store is down on purpose");
    assert_eq!(board.look(|state| state.tasks().len()).await.unwrap(), 0);
    probe.is_down.store(false, SeqCst);
    assert_eq!(board.submit(request).await.unwrap().task(), Some(TaskNumber(1)));
    assert_is_the_log(&board, &*probe).await;
}

async fn more_submitters_than_places_all_get_answers(store: TestStore) {
    let board = crew(store.store()).await;
    let mut numbers = add_tasks(&board, 2_500).await;
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=2_500));
}

#[tokio::test]
async fn a_look_that_panics_leaves_the_board_alive() {
    let store = memory_store().await;
    let board = crew(store.store()).await;
    let looker = board.clone();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move { looker.look(|_| panic!("on purpose")).await });
    assert!(tasks.join_next().await.unwrap().unwrap_err().is_panic());
    assert_eq!(add_tasks(&board, 1).await, [1]);
}

#[tokio::test]
async fn a_board_that_panics_answers_all_waiting_callers() {
    let store = memory_store().await;
    let probe = Probe::new(store.store());
    let board = crew(probe.clone()).await;
    let start = state_of(&board).await.version();
    let mut subscription = board.subscribe(start);
    probe.is_broken.store(true, SeqCst);
    let (answer, news) = tokio::join!(board.submit(by(LEAD, create("write"))), subscription.next());
    let told = |error: BoardError| {
        assert!(matches!(error, BoardError::Broken { .. }), "{error:?}");
        assert_eq!(error.to_string(), "the board met a fault: broken on purpose");
    };
    told(answer.unwrap_err());
    assert!(news.unwrap().is_none());
    told(board.look(|_| ()).await.unwrap_err());
    told(board.submit(by(LEAD, create("more"))).await.unwrap_err());
    told(board.catch_up().await.unwrap_err());
    // Stored events can still be read, and the team can be opened again.
    assert!(board.subscribe(Version::ZERO).next().await.unwrap().is_some());
    assert!(board.subscribe(start).next().await.unwrap().is_none());
    let (team, _) = (board.team(), board.close().await);
    let reopened = open(store.reopen().await, team, Following::WhenAsked).await;
    assert_eq!(add_tasks(&reopened, 1).await, [1]);
}

#[tokio::test]
async fn closing_one_handle_leaves_the_others_at_work() {
    let store = memory_store().await;
    let board = crew(store.store()).await;
    let (other, team) = (board.clone(), board.team());
    board.close().await;
    assert_eq!(add_tasks(&other, 1).await, [1]);
    let mut subscription = other.subscribe(Version::ZERO);
    other.close().await;
    while subscription.next().await.unwrap().is_some() {}
    assert_eq!(subscription.version(), events(&*store, team).await.last().unwrap().version);
}

async fn a_command_that_changes_nothing_makes_no_events(store: TestStore) {
    let board = crew(store.store()).await;
    add_tasks(&board, 1).await;
    let first = board.submit(by("bob", claim(1))).await.unwrap();
    // Given together, so that the log has grown when the first is answered.
    let [again, more] = [by("bob", claim(1)), by(LEAD, create("more"))];
    let (again, more) = tokio::join!(board.submit(again), board.submit(more));
    let (again, more) = (again.unwrap(), more.unwrap());
    assert_eq!((again.version, again.events.len()), (first.version, 0));
    assert_eq!(more.version, first.version.next());
    let status = board.look(|state| state.tasks().status(TaskNumber(1))).await.unwrap();
    assert_eq!(status, Some(Status::InProgress));
}
