//! Each call in turn goes wrong once.

use troop_model::Version;
use troop_store::{AppendOutcome, ArchivedTask, Batch, Snapshot, Store, StoreError, StoreResult};
use troop_testkit::{Fault, FaultyStore, TestStore};

use crate::support::{append_at, batch, bodies, new_team};

pub(crate) async fn a_lost_answer_is_repeated_without_a_second_effect(store: TestStore) {
    lose_every_call_once(&store, Fault::LosesAnswer).await;
}

pub(crate) async fn a_call_that_was_not_done_is_repeated(store: TestStore) {
    lose_every_call_once(&store, Fault::FailsBefore).await;
}

async fn lose_every_call_once(store: &TestStore, fault: Fault) {
    for nth in 1.. {
        let faulty = FaultyStore::new(store.store(), fault, nth);
        run_scenario(&faulty, &format!("crew-{nth}")).await;
        if !faulty.has_fired() {
            assert!(nth > 5, "the scenario makes calls");
            return;
        }
    }
}

/// Repeats a call whose answer was lost, as every caller has to.
async fn repeat<T>(mut call: impl AsyncFnMut() -> StoreResult<T>) -> T {
    loop {
        match call().await {
            Err(StoreError::Unavailable { .. }) => {}
            answer => return answer.unwrap(),
        }
    }
}

async fn run_scenario(faulty: &FaultyStore, name: &str) {
    let (team, first) = (new_team(name), batch(0, &["1", "2"]));
    let created = repeat(async || faulty.create(team.clone(), first.clone()).await).await;
    assert_eq!(created, Version(2));
    let team = team.id;
    assert_eq!(append_repeatedly(faulty, team, batch(2, &["3"])).await, Version(3));
    append_at(faulty.inner(), team, batch(3, &["4", "5"])).await;
    assert_eq!(append_repeatedly(faulty, team, batch(3, &["6"])).await, Version(6));
    let snapshot = Snapshot { version: Version(6), state: b"six".as_slice().into() };
    let archived = vec![ArchivedTask { number: 1, body: Some(b"task".to_vec()) }];
    repeat(async || faulty.save_snapshot(team, snapshot.clone(), archived.clone()).await).await;
    repeat(async || faulty.retire(team).await).await;

    let store = faulty.inner();
    assert_eq!(bodies(store, team).await, ["1", "2", "3", "4", "5", "6"]);
    assert_eq!(store.load_snapshot(team).await.unwrap(), Some(snapshot));
    assert_eq!(store.read_archived(team, 1).await.unwrap().unwrap(), b"task");
    let teams = store.teams().await.unwrap();
    assert_eq!(teams.iter().filter(|entry| entry.id == team && entry.is_retired).count(), 1);
    repeat(async || faulty.purge(team).await).await;
    assert!(store.teams().await.unwrap().iter().all(|entry| entry.id != team));
}

async fn append_repeatedly(
    store: &FaultyStore,
    team: troop_model::TeamId,
    mut batch: Batch,
) -> Version {
    loop {
        let answer = match store.append(team, batch.clone()).await {
            Ok(AppendOutcome::Done(end)) => return end,
            Ok(AppendOutcome::Behind(mut slot)) => {
                batch.after = slot.take_missed().last().unwrap().version;
                slot.append(batch.clone()).await
            }
            Err(error) => Err(error),
        };
        match answer {
            Err(StoreError::Unavailable { .. }) => {}
            answer => return answer.unwrap(),
        }
    }
}
