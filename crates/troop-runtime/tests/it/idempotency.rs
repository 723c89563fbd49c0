//! A repeated request has one effect.

use std::sync::atomic::Ordering::SeqCst;

use troop_model::{Actor, Refusal, RefusalKind};
use troop_runtime::{Board, Clock, CommandEffect, Following, Signature};
use troop_testkit::{Fault, FaultyStore, TestStore, wait_for};

use crate::{
    probe::Probe,
    support::{
        LEAD, add_tasks, assert_is_the_log, by, create, crew, events, finish_tasks, new_team, open,
        refusal, say, submit_all,
    },
};

on_every_store! {
    a_repeated_request_has_one_effect,
    simultaneous_copies_of_a_request_have_one_effect,
    a_request_whose_caller_went_away_has_one_effect,
    creating_a_team_again_has_one_effect,
    a_forgotten_request_is_refused_and_not_done_again,
}

fn assert_same(first: &CommandEffect, again: &CommandEffect) {
    assert_eq!((first.version, &first.events), (again.version, &again.events));
}

async fn a_repeated_request_has_one_effect(store: TestStore) {
    let board = crew(store.store()).await;
    let stale = open(store.reopen().await, board.team(), Following::WhenAsked).await;
    add_tasks(&board, 1).await;
    for request in [by(LEAD, create("write")), by("bob", crate::support::complete(1))] {
        let first = board.submit(request.clone()).await.unwrap();
        add_tasks(&board, 2).await;
        let n_events = events(&*store, board.team()).await.len();
        assert_same(&first, &board.submit(request.clone()).await.unwrap());
        assert_same(&first, &stale.submit(request.clone()).await.unwrap());
        let reopened = open(store.reopen().await, board.team(), Following::WhenAsked).await;
        assert_same(&first, &reopened.submit(request).await.unwrap());
        assert_eq!(events(&*store, board.team()).await.len(), n_events);
    }
    // Snapshots remember requests too.
    let request = by("bob", say(LEAD, "done"));
    let first = board.submit(request.clone()).await.unwrap();
    finish_tasks(&board, 100).await;
    let team = board.team();
    board.close().await;
    assert!(store.load_snapshot(team).await.unwrap().is_some());
    let reopened = open(store.reopen().await, team, Following::WhenAsked).await;
    assert_same(&first, &reopened.submit(request).await.unwrap());
}

async fn simultaneous_copies_of_a_request_have_one_effect(store: TestStore) {
    let board = crew(store.store()).await;
    let other = open(store.reopen().await, board.team(), Following::WhenAsked).await;
    let request = by(LEAD, create("write"));
    let (here, there) = tokio::join!(
        submit_all(&board, vec![request.clone(); 10]),
        submit_all(&other, vec![request; 10]),
    );
    let first = here[0].as_ref().unwrap();
    for again in here.iter().chain(&there) {
        assert_same(first, again.as_ref().unwrap());
    }
    assert_eq!(board.look(|state| state.tasks().len()).await.unwrap(), 1);
    assert_is_the_log(&other, &*store).await;
}

async fn a_request_whose_caller_went_away_has_one_effect(store: TestStore) {
    let probe = Probe::new(store.store());
    let board = crew(probe.clone()).await;
    let request = by(LEAD, create("write"));
    probe.hold_appends();
    let mut caller = tokio::task::JoinSet::new();
    let (first, handle) = (request.clone(), board.clone());
    caller.spawn(async move { handle.submit(first).await });
    wait_for("the append to begin", async || (probe.n_appends.load(SeqCst) == 1).then_some(()))
        .await;
    caller.shutdown().await;
    probe.let_append();
    let again = board.submit(request).await.unwrap();
    assert_eq!(again.events.len(), 1);
    assert_eq!(board.look(|state| state.tasks().len()).await.unwrap(), 1);
    assert_is_the_log(&board, &*store).await;
}

async fn a_forgotten_request_is_refused_and_not_done_again(store: TestStore) {
    let board = crew(store.store()).await;
    let clock = Clock::manual("2200-01-01T12:00:00Z".parse().unwrap());
    let open = async || {
        let (store, clock) = (store.reopen().await, clock.clone());
        Board::open(store, clock, Following::WhenAsked, board.team()).await.unwrap()
    };
    let later = open().await;
    let request = by(LEAD, create("write"));
    board.submit(request.clone()).await.unwrap();
    // Later, so many others have come that this one is forgotten.
    add_tasks(&later, 1_024).await;
    clock.set("2200-01-01T13:00:00Z".parse().unwrap());
    let fresh = by(LEAD, create("fresh"));
    later.submit(fresh.clone()).await.unwrap();
    let n_events = events(&*store, board.team()).await.len();
    for board in [&later, &open().await] {
        let refusal = refusal(board.submit(request.clone()).await);
        assert!(matches!(refusal, Refusal::ForgottenOperation { .. }), "{refusal}");
        assert_eq!(refusal.kind(), RefusalKind::Conflict);
        board.submit(fresh.clone()).await.unwrap();
    }
    assert_eq!(events(&*store, board.team()).await.len(), n_events);
}

async fn creating_a_team_again_has_one_effect(store: TestStore) {
    let (signature, new) = (Signature::new(Actor::human("zoe")), new_team("crew"));
    let create = async |store| {
        let (clock, following) = (Clock::system(), Following::WhenAsked);
        Board::create(store, clock, following, &signature, new.clone()).await
    };
    let faulty = FaultyStore::new(store.store(), Fault::LosesAnswer, 1);
    create(std::sync::Arc::new(faulty)).await.unwrap_err();
    let board = create(store.reopen().await).await.unwrap();
    assert_eq!(board.team(), new.team);
    assert_eq!(store.teams().await.unwrap().len(), 1);
    assert_is_the_log(&board, &*store).await;
}
