//! Each call to the store fails once: nothing is lost, and nothing happens twice.

use std::{collections::BTreeMap, sync::Arc};

use troop_model::{Actor, Event, Fact, Status, TaskNumber, TeamId};
use troop_runtime::{Board, BoardError, BoardResult, Clock, CommandEffect, Following, Signature};
use troop_store::{Store, StoreError};
use troop_testkit::{Fault, FaultyStore, TestStore};

use crate::support::{
    LEAD, add_tasks, assert_is_the_log, by, claim, claim_next, complete, create, crew, events,
    new_team, open, refusal, replayed, say, state_of,
};

on_every_store! {
    any_single_fault_loses_nothing_and_repeats_nothing,
    a_catch_up_that_fails_halfway_continues_from_there,
}

async fn a_catch_up_that_fails_halfway_continues_from_there(store: TestStore) {
    let other = crew(store.store()).await;
    // Opening loads a snapshot and reads once; then the second read of the first catch-up fails.
    let faulty = FaultyStore::new(store.reopen().await, Fault::FailsBefore, 4);
    let board = open(Arc::new(faulty.clone()), other.team(), Following::WhenAsked).await;
    let start = state_of(&board).await.version();
    let mut subscription = board.subscribe(start);
    add_tasks(&other, 1_500).await;
    let request = by("bob", claim(1_500));
    let error = board.submit(request.clone()).await.unwrap_err();
    assert!(matches!(error, BoardError::Store(_)) && faulty.has_fired(), "{error:?}");
    assert_eq!(state_of(&board).await.version(), start.plus(1_000));
    let done = board.submit(request).await.unwrap();
    assert_is_the_log(&board, &*store).await;
    while subscription.version() < done.version {
        let expected = subscription.version().next();
        assert_eq!(subscription.next().await.unwrap().unwrap().version, expected);
    }
}

async fn any_single_fault_loses_nothing_and_repeats_nothing(store: TestStore) {
    for fault in [Fault::LosesAnswer, Fault::FailsBefore] {
        for nth in 1.. {
            let name = format!("crew-{fault:?}-{nth}").to_lowercase();
            if !run_with_fault(store.store(), fault, nth, &name).await {
                break;
            }
        }
    }
}

/// Whether the fault happened.
async fn run_with_fault(store: Arc<dyn Store>, fault: Fault, nth: usize, name: &str) -> bool {
    let faulty = FaultyStore::new(Arc::clone(&store), fault, nth);
    let (board, accepted) = run_scenario(&faulty, &store, name).await;
    check(&*store, board.team(), &accepted).await;
    insist(async || board.catch_up().await).await.unwrap();
    assert!(state_of(&board).await == replayed(&*store, board.team()).await);
    let reopened = open(Arc::clone(&store), board.team(), Following::WhenAsked).await;
    assert_is_the_log(&reopened, &*store).await;
    faulty.has_fired()
}

/// Does what a caller should: repeats the same request if it may or may not have happened.
async fn insist<T>(mut attempt: impl AsyncFnMut() -> BoardResult<T>) -> BoardResult<T> {
    loop {
        match attempt().await {
            Err(BoardError::Store(error)) if matches!(*error, StoreError::Unavailable { .. }) => {}
            answer => return answer,
        }
    }
}

/// Works on a board with a faulty store, while another board writes in between.
async fn run_scenario(
    faulty: &FaultyStore,
    store: &Arc<dyn Store>,
    name: &str,
) -> (Board, Vec<CommandEffect>) {
    let (signature, new) = (Signature::new(Actor::human("zoe")), new_team(name));
    let board = insist(async || {
        let store = Arc::new(faulty.clone());
        Board::create(store, Clock::system(), Following::WhenAsked, &signature, new.clone()).await
    });
    let board = board.await.unwrap();
    let other = open(Arc::clone(store), board.team(), Following::WhenAsked).await;
    let mut accepted = Vec::new();
    let script = [
        (&board, LEAD, create("one")),
        (&board, LEAD, create("two")),
        (&other, LEAD, create("three")),
        (&board, "bob", claim(1)),
        (&other, "cyd", claim(2)),
        (&other, LEAD, say("bob", "go on")),
        (&board, "bob", complete(1)),
        (&board, "dan", claim_next()),
        (&other, LEAD, create("four")),
        (&board, "eve", complete(4)),
        (&board, "bob", say(LEAD, "done")),
        (&other, "cyd", complete(2)),
        (&board, "dan", complete(3)),
    ];
    for (board, member, command) in script {
        let request = by(member, command);
        accepted.push(insist(async || board.submit(request.clone()).await).await.unwrap());
    }
    let request = by("bob", claim(2));
    refusal(insist(async || board.submit(request.clone()).await).await);
    (board, accepted)
}

/// Checks that nothing is lost and nothing happened twice.
async fn check(store: &dyn Store, team: TeamId, accepted: &[CommandEffect]) {
    let log = events(store, team).await;
    let mut by_operation: BTreeMap<_, Vec<&Event>> = BTreeMap::new();
    log.iter().for_each(|event| by_operation.entry(event.operation).or_default().push(event));
    assert_eq!(
        by_operation.len(),
        accepted.len() + 1,
        "each request, and the creation of the team"
    );
    for done in accepted {
        let stored = &by_operation[&done.events[0].operation];
        assert!(stored.iter().copied().eq(done.events.iter()), "{stored:?} {done:?}");
    }
    let created = log.iter().filter(|event| matches!(event.fact, Fact::TaskCreated { .. }));
    assert_eq!(created.count(), 4);
    let state = replayed(store, team).await;
    for number in 1..=4 {
        assert_eq!(state.tasks().status(TaskNumber(number)), Some(Status::Completed));
    }
}
