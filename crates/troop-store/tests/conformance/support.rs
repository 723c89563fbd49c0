//! Helpers of the cases.

use std::{fs, path::Path, time::Duration};

use tokio::time::Instant;
use troop_model::{OperationId, TeamId, Version};
use troop_store::{AppendOutcome, Batch, NewTeam, Store, StoreError, StoreResult, Watch};
use troop_testkit::TestStore;
use uuid::Uuid;

pub(crate) fn operation() -> OperationId {
    OperationId(Uuid::now_v7())
}

pub(crate) fn batch(after: u64, bodies: &[&str]) -> Batch {
    let bodies = bodies.iter().map(|body| (*body).to_owned()).collect();
    Batch { operation: operation(), after: Version(after), bodies }
}

pub(crate) fn new_team(name: &str) -> NewTeam {
    NewTeam { id: TeamId(Uuid::now_v7()), name: name.to_owned() }
}

/// Makes a team whose log has one event.
pub(crate) async fn create(store: &dyn Store, name: &str) -> TeamId {
    let team = new_team(name);
    let id = team.id;
    assert_eq!(store.create(team, batch(0, &[r#"{"begin":1}"#])).await.unwrap(), Version(1));
    id
}

/// Appends like a board: if it is behind, it decides once more, on everything that it missed.
pub(crate) async fn append(
    store: &dyn Store,
    team: TeamId,
    seen: &mut Version,
    bodies: Vec<String>,
) -> StoreResult<Version> {
    let batch = Batch { operation: operation(), after: *seen, bodies };
    *seen = match store.append(team, batch.clone()).await? {
        AppendOutcome::Done(end) => end,
        AppendOutcome::Behind(mut slot) => {
            let after = slot.take_missed().last().unwrap().version;
            slot.append(Batch { after, ..batch }).await?
        }
    };
    Ok(*seen)
}

pub(crate) async fn append_at(store: &dyn Store, team: TeamId, batch: Batch) -> Version {
    match store.append(team, batch).await.unwrap() {
        AppendOutcome::Done(end) => end,
        AppendOutcome::Behind(slot) => panic!("behind: {slot:?}"),
    }
}

/// All bodies of a log, after a check that its versions have no gap.
pub(crate) async fn bodies(store: &dyn Store, team: TeamId) -> Vec<String> {
    let entries = store.read(team, Version::ZERO, usize::MAX).await.unwrap();
    for (nth, entry) in entries.iter().enumerate() {
        assert_eq!(entry.version, Version(nth as u64 + 1));
    }
    entries.into_iter().map(|entry| entry.body).collect()
}

/// How long a watch takes to report growth that begins when the watch is made.
///
/// The watch is a new one, so without its bell this is never less than [`Watch::PATIENCE`].
pub(crate) async fn notice(store: &dyn Store, team: TeamId, grow: impl Future) -> Duration {
    let after = Version(bodies(store, team).await.len() as u64);
    let asked_at = Instant::now();
    let mut watch = store.watch(team).await.unwrap();
    let seen = async {
        loop {
            watch.changed().await;
            if !store.read(team, after, 1).await.unwrap().is_empty() {
                return asked_at.elapsed();
            }
        }
    };
    tokio::join!(seen, grow).0
}

/// A busy machine may delay some notices, but without the bell even the fastest would take the full patience.
pub(crate) fn assert_some_are_prompt(notices: &[Duration]) {
    assert!(notices.iter().any(|notice| *notice < Watch::PATIENCE / 2), "{notices:?}");
}

/// The class, the text and the hint of an error, as a person reads them.
pub(crate) fn told<T>(answer: StoreResult<T>) -> String {
    match answer.map(drop).unwrap_err() {
        StoreError::Refused { what, hint } => format!("refused: {what}\nhint: {hint}"),
        StoreError::NotFound { what, hint } => format!("not found: {what}\nhint: {hint}"),
        StoreError::Conflict { what, hint } => format!("conflict: {what}\nhint: {hint}"),
        StoreError::Unavailable { what, hint, .. } => {
            format!("unavailable: {what}\nhint: {hint}")
        }
        StoreError::Corrupt { what, hint } => format!("corrupt: {what}\nhint: {hint}"),
        StoreError::Bug { what } => format!("bug: {what}"),
        _ => panic!("a new class of error"),
    }
}

/// Flips a bit in the first place where a file holds `part`.
pub(crate) fn flip(path: &Path, part: &[u8]) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.windows(part.len()).position(|window| window == part).unwrap();
    bytes[at + part.len() / 2] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// The text with the store's folder taken out, so that it is the same every time.
pub(crate) fn in_folder(store: &TestStore, text: impl Into<String>) -> String {
    text.into().replace(store.folder().unwrap().to_str().unwrap(), "DIR")
}
