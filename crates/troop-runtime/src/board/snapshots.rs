//! Saves snapshots in the background, so that opening a team need not replay its log.

use std::sync::Arc;

use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until},
};
use tokio_util::task::TaskTracker;
use troop_model::{State, Task, TaskNumber, TeamId, Version};
use troop_store::{ArchivedTask, Snapshot, Store};

/// How many events a snapshot may be behind before a new one is worth its cost.
const MIN_TAIL: u64 = 256;
/// How long to rest after saving a snapshot, as a multiple of the time that it took: in a flood, commands come first.
const REST: u32 = 20;

/// One board's snapshots. They are only a cache: the log has everything.
pub(super) struct Snapshots {
    team: TeamId,
    store: Arc<dyn Store>,
    tracker: TaskTracker,
    /// The version of the last snapshot that was saved.
    saved: Version,
    /// The version of the last one that was tried, so that a failing store is not asked all the time.
    tried: Version,
    saving: Option<oneshot::Receiver<SavedSnapshot>>,
    /// When saving the last one began.
    begun: Instant,
    /// The end of the current rest.
    rest: Option<Instant>,
}

/// A snapshot that was saved.
struct SavedSnapshot {
    version: Version,
    n_departed: usize,
}

impl Snapshots {
    pub(super) fn new(
        team: TeamId,
        store: Arc<dyn Store>,
        tracker: TaskTracker,
        saved: Version,
    ) -> Self {
        let begun = Instant::now();
        Self { team, store, tracker, saved, tried: saved, saving: None, begun, rest: None }
    }

    /// Begins to save a snapshot if it is time to, without keeping commands waiting.
    pub(super) fn save_if_due(&mut self, state: &State) {
        // The larger the state, the longer its snapshot must last. Departed tasks are written once in any case.
        let tasks = state.tasks();
        let price = tasks.len() as u64;
        let is_due = state.version().0.saturating_sub(self.tried.0) >= MIN_TAIL.max(price);
        if !is_due || self.saving.is_some() || self.rest.is_some() {
            return;
        }
        self.begun = Instant::now();
        let snapshot = snapshot(state);
        let departed = tasks.all_departed().to_vec();
        let saved = SavedSnapshot { version: snapshot.version, n_departed: departed.len() };
        self.tried = saved.version;
        let store = Arc::clone(&self.store);
        let team = self.team;
        let (done, saving) = oneshot::channel();
        // Writing many tasks as JSON takes long; the board goes on meanwhile.
        let archived = self.tracker.spawn_blocking(move || archive(&departed));
        self.tracker.spawn(async move {
            let Ok(archived) = archived.await else { return };
            if store.save_snapshot(team, snapshot, archived).await.is_ok() {
                // The board may be gone.
                drop(done.send(saved));
            }
        });
        self.saving = Some(saving);
    }

    /// Waits until the next snapshot can be saved; returns how many departed tasks were archived with the last one.
    pub(super) async fn settled(&mut self) -> usize {
        if let Some(rest) = self.rest {
            sleep_until(rest).await;
            self.rest = None;
            return 0;
        }
        let Some(saving) = &mut self.saving else { return std::future::pending().await };
        let saved = saving.await;
        self.saving = None;
        self.rest = Some(Instant::now() + self.begun.elapsed() * REST);
        // If it failed, the next snapshot tries again.
        saved.map_or(0, |saved| {
            self.saved = saved.version;
            saved.n_departed
        })
    }

    /// Leaves a fresh snapshot behind, so that the next process that opens the team need not replay much.
    pub(super) async fn close(mut self, mut state: State) {
        if self.saving.is_some() {
            let n_departed = self.settled().await;
            state.forget_departed(n_departed);
        }
        if state.version().0.saturating_sub(self.saved.0) >= MIN_TAIL {
            let archived = archive(state.tasks().all_departed());
            drop(self.store.save_snapshot(self.team, snapshot(&state), archived).await);
        }
    }
}

fn snapshot(state: &State) -> Snapshot {
    Snapshot { version: state.version(), state: state.to_snapshot().into() }
}

fn archive(departed: &[(TaskNumber, Option<Arc<Task>>)]) -> Vec<ArchivedTask> {
    let archived = departed.iter().map(|(number, task)| ArchivedTask {
        number: number.0,
        body: task.as_ref().map(|task| {
            serde_json::to_vec(task.as_ref()).expect("a task has no part that JSON cannot hold")
        }),
    });
    archived.collect()
}
