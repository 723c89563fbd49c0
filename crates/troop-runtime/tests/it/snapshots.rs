//! Opening a team costs the same however long its log is.

use std::sync::{Arc, atomic::Ordering::SeqCst};

use troop_model::{SNAPSHOT_FORMAT, TeamId, Version};
use troop_runtime::{Board, Following};
use troop_store::{Snapshot, Store};
use troop_testkit::{TestStore, memory_store, wait_for};

use crate::{
    probe::Probe,
    support::{
        add_tasks, assert_is_the_log, by, claim, crew, finish_tasks, open, renew, replayed,
        state_of, submit_all,
    },
};

on_every_store! {
    after_enough_events_a_snapshot_is_saved,
    a_snapshot_and_the_rest_of_the_log_are_the_whole_log,
    opening_costs_the_same_however_long_the_log_is,
    a_snapshot_of_another_format_is_ignored,
    a_damaged_snapshot_is_ignored,
    a_snapshot_that_cannot_be_saved_does_no_harm,
    closing_waits_for_a_snapshot_that_is_being_saved,
    a_short_visit_leaves_no_snapshot,
}

/// How many events a snapshot may be behind.
const MAX_TAIL: usize = 256;

/// Opens a team and returns how many entries that read.
async fn cost_of_opening(store: &Arc<Probe>, team: TeamId) -> (Board, usize) {
    store.n_entries.store(0, SeqCst);
    let board = open(store.clone(), team, Following::WhenAsked).await;
    (board, store.n_entries.load(SeqCst))
}

async fn saved(store: &dyn Store, team: TeamId) -> Option<Version> {
    store.load_snapshot(team).await.unwrap().map(|snapshot| snapshot.version)
}

async fn after_enough_events_a_snapshot_is_saved(store: TestStore) {
    let board = crew(store.store()).await;
    add_tasks(&board, 300).await;
    wait_for("the snapshot", async || saved(&*store, board.team()).await).await;
    // The process ends without closing its board.
    let (_board, cost) = cost_of_opening(&Probe::new(store.reopen().await), board.team()).await;
    assert!(cost < 300, "{cost}");
}

async fn a_snapshot_and_the_rest_of_the_log_are_the_whole_log(store: TestStore) {
    let board = crew(store.store()).await;
    let team = board.team();
    finish_tasks(&board, 150).await;
    board.close().await;
    let snapshot = saved(&*store, team).await.unwrap();
    // The next process leaves no snapshot behind, so some events remain to be read.
    let probe = Probe::new(store.reopen().await);
    probe.is_full.store(true, SeqCst);
    let board = open(probe, team, Following::WhenAsked).await;
    finish_tasks(&board, 20).await;
    add_tasks(&board, 20).await;
    let (reopened, cost) = cost_of_opening(&Probe::new(store.reopen().await), team).await;
    let state = state_of(&reopened).await;
    assert_eq!(state.version(), snapshot.plus(cost));
    assert!(state == replayed(&*store, team).await);
    assert!(state == state_of(&board).await);
    // This also holds when it is packed again after only a part of it was unpacked.
    finish_tasks(&reopened, 100).await;
    reopened.close().await;
    assert!(saved(&*store, team).await.unwrap() > snapshot);
    let again = open(store.reopen().await, team, Following::WhenAsked).await;
    assert!(state_of(&again).await == replayed(&*store, team).await);
}

async fn opening_costs_the_same_however_long_the_log_is(store: TestStore) {
    assert_opening_costs_the_same(store, [1_000, 5_000]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opening_costs_the_same_even_if_the_log_is_very_long() {
    assert_opening_costs_the_same(memory_store().await, [1_000, 20_000]).await;
}

async fn assert_opening_costs_the_same(store: TestStore, lengths: [u64; 2]) {
    let probe = Probe::new(store.store());
    let board = crew(probe.clone()).await;
    let team = board.team();
    finish_tasks(&board, 20).await;
    add_tasks(&board, 5).await;
    board.submit(by("bob", claim(21))).await.unwrap();
    board.close().await;
    let mut costs = Vec::new();
    for n_events in lengths {
        let board = open(probe.clone(), team, Following::WhenAsked).await;
        while state_of(&board).await.version() < Version(n_events) {
            let renewals = (0..500).map(|_| by("bob", renew(21)));
            submit_all(&board, renewals).await.into_iter().for_each(|done| drop(done.unwrap()));
        }
        let end = state_of(&board).await.version();
        wait_for("the last snapshot that is due", async || {
            let saved = saved(&*store, team).await?;
            (saved.plus(MAX_TAIL) > end).then_some(())
        })
        .await;
        // The process ends without closing its board.
        let (reopened, cost) = cost_of_opening(&probe, team).await;
        assert_eq!(state_of(&reopened).await.version(), end);
        costs.push(cost);
    }
    assert!(costs.iter().all(|cost| *cost < MAX_TAIL), "{costs:?}");
}

async fn a_snapshot_of_another_format_is_ignored(store: TestStore) {
    let board = crew(store.store()).await;
    add_tasks(&board, 10).await;
    let version = state_of(&board).await.version();
    let mut newer = state_of(&board).await.to_snapshot();
    newer[..4].copy_from_slice(&(SNAPSHOT_FORMAT + 1).to_le_bytes());
    for (nth, state) in [newer, Vec::new(), b"soup".to_vec()].into_iter().enumerate() {
        // Each is newer than the one before, or it would not be saved.
        let snapshot =
            Snapshot { version: Version(version.0 - 2 + nth as u64), state: state.into() };
        store.save_snapshot(board.team(), snapshot, Vec::new()).await.unwrap();
        let reopened = open(store.reopen().await, board.team(), Following::WhenAsked).await;
        assert_is_the_log(&reopened, &*store).await;
    }
}

async fn a_damaged_snapshot_is_ignored(store: TestStore) {
    let board = crew(store.store()).await;
    let team = board.team();
    finish_tasks(&board, 200).await;
    board.close().await;
    let before = saved(&*store, team).await.unwrap();
    let probe = Probe::new(store.reopen().await);
    probe.is_damaged.store(true, SeqCst);
    let board = open(probe.clone(), team, Following::WhenAsked).await;
    assert_is_the_log(&board, &*store).await;
    finish_tasks(&board, 150).await;
    board.close().await;
    // The next one is newer and replaces it.
    assert!(saved(&*store, team).await.unwrap() > before);
}

async fn a_snapshot_that_cannot_be_saved_does_no_harm(store: TestStore) {
    let probe = Probe::new(store.store());
    probe.is_full.store(true, SeqCst);
    let board = crew(probe.clone()).await;
    let team = board.team();
    for _ in 0..40 {
        add_tasks(&board, 20).await;
    }
    wait_for("saving to be tried", async || (probe.n_saves.load(SeqCst) > 0).then_some(())).await;
    assert_eq!(saved(&*store, team).await, None);
    let n_saves = probe.n_saves.load(SeqCst);
    assert!((1..=4).contains(&n_saves), "it was tried {n_saves} times");
    assert_is_the_log(&board, &*store).await;
    // Only the last attempt works; it saves what the earlier ones could not.
    probe.is_full.store(false, SeqCst);
    board.close().await;
    let (reopened, cost) = cost_of_opening(&probe, team).await;
    assert_eq!(cost, 0);
    assert_is_the_log(&reopened, &*store).await;
}

async fn closing_waits_for_a_snapshot_that_is_being_saved(store: TestStore) {
    let probe = Probe::new(store.store());
    probe.hold_saves();
    let board = crew(probe.clone()).await;
    let team = board.team();
    add_tasks(&board, 300).await;
    wait_for("saving to begin", async || (probe.n_saves.load(SeqCst) == 1).then_some(())).await;
    // The state changes meanwhile, and is durable without waiting.
    finish_tasks(&board, 200).await;
    tokio::join!(board.close(), async { probe.let_save() });
    let (reopened, cost) = cost_of_opening(&probe, team).await;
    assert_eq!((cost, probe.n_saves.load(SeqCst)), (0, 2));
    assert_is_the_log(&reopened, &*store).await;
}

async fn a_short_visit_leaves_no_snapshot(store: TestStore) {
    let board = crew(store.store()).await;
    let team = board.team();
    add_tasks(&board, 10).await;
    board.close().await;
    assert_eq!(saved(&*store, team).await, None);
}
