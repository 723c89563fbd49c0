//! Random operations: a backend and the store in memory must agree.

use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tokio::{runtime::Handle, task::block_in_place};
use troop_model::{OperationId, TeamId, Version};
use troop_store::{
    AppendOutcome, ArchivedTask, Batch, MemoryStore, NewTeam, Snapshot, Store, StoreError,
    StoreResult,
};
use troop_testkit::TestStore;
use uuid::Uuid;

const CASES: u32 = 12;
/// Change it to see other operations; a failure prints the shortest ones that fail.
const SEED: [u8; 32] = [7; 32];

/// Something done to one of a few teams.
#[derive(Clone, Debug)]
enum Operation {
    Create { team: u8, name: u8, n_events: usize },
    Retire { team: u8 },
    Purge { team: u8 },
    Append { team: u8, after: u64, operation: u8, n_events: usize, uses_slot: bool },
    Read { team: u8, after: u64, limit: usize },
    Save { team: u8, version: u64, archived: Vec<(u32, Option<u8>)> },
    Look { team: u8, number: u32, limit: usize },
}

fn operation() -> impl Strategy<Value = Operation> {
    let team = || 0..3_u8;
    prop_oneof![
        2 => (team(), 0..2_u8, 1..4_usize)
            .prop_map(|(team, name, n_events)| Operation::Create { team, name, n_events }),
        1 => team().prop_map(|team| Operation::Retire { team }),
        1 => team().prop_map(|team| Operation::Purge { team }),
        12 => (team(), 0..12_u64, 0..6_u8, 1..4_usize, any::<bool>()).prop_map(
            |(team, after, operation, n_events, uses_slot)| Operation::Append {
                team, after, operation, n_events, uses_slot
            }
        ),
        4 => (team(), 0..12_u64, 0..6_usize)
            .prop_map(|(team, after, limit)| Operation::Read { team, after, limit }),
        3 => (team(), 0..9_u64, vec((0..9_u32, any::<Option<u8>>()), 0..4))
            .prop_map(|(team, version, archived)| Operation::Save { team, version, archived }),
        2 => (team(), 0..9_u32, 0..6_usize)
            .prop_map(|(team, number, limit)| Operation::Look { team, number, limit }),
    ]
}

fn team_id(team: u8) -> TeamId {
    TeamId(Uuid::from_u128(u128::from(team) + 1))
}

fn batch(after: u64, operation: u8, n_events: usize) -> Batch {
    let bodies = (0..n_events).map(|nth| format!("[{after},{operation},{nth}]")).collect();
    let operation = OperationId(Uuid::from_u128(u128::from(operation) + 100));
    Batch { operation, after: Version(after), bodies }
}

/// Does an operation and describes its answer, so that answers can be compared.
async fn run(store: &dyn Store, operation: &Operation) -> String {
    match operation.clone() {
        Operation::Create { team, name, n_events } => {
            let team = NewTeam { id: team_id(team), name: format!("crew-{name}") };
            shown(store.create(team, batch(0, 99, n_events)).await)
        }
        Operation::Retire { team } => shown(store.retire(team_id(team)).await),
        Operation::Purge { team } => shown(store.purge(team_id(team)).await),
        Operation::Append { team, after, operation, n_events, uses_slot } => {
            let batch = batch(after, operation, n_events);
            match store.append(team_id(team), batch.clone()).await {
                Ok(AppendOutcome::Behind(mut slot)) => {
                    let missed = slot.take_missed();
                    let after = missed.last().unwrap().version;
                    let ended = match uses_slot {
                        true => shown(slot.append(Batch { after, ..batch }).await),
                        false => "dropped".to_owned(),
                    };
                    format!("{missed:?} {ended}")
                }
                answer => shown(answer),
            }
        }
        Operation::Read { team, after, limit } => {
            shown(store.read(team_id(team), Version(after), limit).await)
        }
        Operation::Save { team, version, archived } => {
            let archived = archived.into_iter().map(|(number, body)| ArchivedTask {
                number,
                body: body.map(|body| vec![body; usize::from(body)]),
            });
            let snapshot =
                Snapshot { version: Version(version), state: vec![version as u8; 9].into() };
            shown(store.save_snapshot(team_id(team), snapshot, archived.collect()).await)
        }
        Operation::Look { team, number, limit } => {
            let id = team_id(team);
            let found = shown(store.read_archived(id, number).await);
            let list = shown(store.list_archived(id, number, limit).await);
            let snapshot = shown(store.load_snapshot(id).await);
            format!("{found} {list} {snapshot} {}", shown(store.teams().await))
        }
    }
}

/// Shows only the class of an error, because each backend words the place differently.
fn shown<T: std::fmt::Debug>(answer: StoreResult<T>) -> String {
    match answer {
        Ok(value) => format!("{value:?}"),
        Err(StoreError::Unavailable { what, .. }) => panic!("{what}"),
        Err(error) => format!("{error:?}").split(' ').next().unwrap().to_owned(),
    }
}

async fn agree(store: &TestStore, operations: &[Operation]) {
    for entry in store.teams().await.unwrap() {
        store.purge(entry.id).await.unwrap();
    }
    let memory = MemoryStore::default();
    for (nth, operation) in operations.iter().enumerate() {
        let (wanted, found) = (run(&memory, operation).await, run(&**store, operation).await);
        assert_eq!(found, wanted, "operation {nth}: {operation:?}");
    }
}

pub(crate) async fn any_operations_have_the_same_effect_as_in_memory(store: TestStore) {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &SEED);
    let operations = vec(operation(), 1..60);
    let outcome = TestRunner::new_with_rng(config, rng).run(&operations, |operations| {
        block_in_place(|| Handle::current().block_on(agree(&store, &operations)));
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("seed {SEED:?}: {failure}"));
}
