//! A store that loses one answer, or is slow.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use troop_model::{TeamId, Version};
use troop_store::{
    AppendOutcome, AppendSlot, ArchivedTask, Batch, BoxFuture, Entry, GrowthNotice, NewTeam,
    SlotWriter, Snapshot, Store, StoreError, StoreResult, TeamEntry, Watch,
};

/// A fault of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The work is done, its answer is lost.
    LosesAnswer,
    /// The work is not done.
    FailsBefore,
}

/// Passes calls on to a real store, and answers the nth with `Unavailable`; the zeroth never comes.
#[derive(Clone, Debug)]
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    fault: Fault,
    nth: usize,
    n_calls: Arc<AtomicUsize>,
    delay: Duration,
}

impl FaultyStore {
    /// Makes the `nth` call, counted from one, go wrong. A slot's append is a call too.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>, fault: Fault, nth: usize) -> Self {
        Self { inner, fault, nth, n_calls: Arc::default(), delay: Duration::ZERO }
    }

    /// Makes every call take this long, as on a slow disk.
    #[must_use]
    pub fn slowed(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// The store behind.
    #[must_use]
    pub fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    /// Whether there were enough calls for the fault to happen.
    #[must_use]
    pub fn has_fired(&self) -> bool {
        self.n_calls.load(Ordering::SeqCst) >= self.nth
    }

    async fn call<T>(&self, work: impl Future<Output = StoreResult<T>>) -> StoreResult<T> {
        let is_nth = self.n_calls.fetch_add(1, Ordering::SeqCst) + 1 == self.nth;
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        if is_nth && self.fault == Fault::FailsBefore {
            return Err(fault());
        }
        let answer = work.await;
        if is_nth { Err(fault()) } else { answer }
    }
}

fn fault() -> StoreError {
    StoreError::Unavailable {
        what: "this answer is lost on purpose".to_owned(),
        hint: "repeat it".into(),
        source: "a test".into(),
    }
}

impl Store for FaultyStore {
    fn create(&self, team: NewTeam, first: Batch) -> BoxFuture<'_, StoreResult<Version>> {
        Box::pin(self.call(self.inner.create(team, first)))
    }

    fn teams(&self) -> BoxFuture<'_, StoreResult<Vec<TeamEntry>>> {
        Box::pin(self.call(self.inner.teams()))
    }

    fn retire(&self, team: TeamId) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(self.call(self.inner.retire(team)))
    }

    fn purge(&self, team: TeamId) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(self.call(self.inner.purge(team)))
    }

    fn append(&self, team: TeamId, batch: Batch) -> BoxFuture<'_, StoreResult<AppendOutcome>> {
        Box::pin(async move {
            Ok(match self.call(self.inner.append(team, batch)).await? {
                AppendOutcome::Done(end) => AppendOutcome::Done(end),
                AppendOutcome::Behind(mut slot) => {
                    let missed = slot.take_missed();
                    let writer = FaultySlot { store: self.clone(), slot };
                    AppendOutcome::Behind(AppendSlot::new(missed, Box::new(writer)))
                }
            })
        })
    }

    fn read(
        &self,
        team: TeamId,
        after: Version,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Entry>>> {
        Box::pin(self.call(self.inner.read(team, after, limit)))
    }

    fn watch(&self, team: TeamId) -> BoxFuture<'_, StoreResult<Watch>> {
        Box::pin(self.call(self.inner.watch(team)))
    }

    fn notice(&self) -> GrowthNotice {
        self.inner.notice()
    }

    fn load_snapshot(&self, team: TeamId) -> BoxFuture<'_, StoreResult<Option<Snapshot>>> {
        Box::pin(self.call(self.inner.load_snapshot(team)))
    }

    fn save_snapshot(
        &self,
        team: TeamId,
        snapshot: Snapshot,
        archived: Vec<ArchivedTask>,
    ) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(self.call(self.inner.save_snapshot(team, snapshot, archived)))
    }

    fn read_archived(
        &self,
        team: TeamId,
        number: u32,
    ) -> BoxFuture<'_, StoreResult<Option<Vec<u8>>>> {
        Box::pin(self.call(self.inner.read_archived(team, number)))
    }

    fn list_archived(
        &self,
        team: TeamId,
        below: u32,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<(u32, Vec<u8>)>>> {
        Box::pin(self.call(self.inner.list_archived(team, below, limit)))
    }
}

#[derive(Debug)]
struct FaultySlot {
    store: FaultyStore,
    slot: AppendSlot,
}

impl SlotWriter for FaultySlot {
    fn append(self: Box<Self>, batch: Batch) -> BoxFuture<'static, StoreResult<Version>> {
        Box::pin(async move {
            let Self { store, slot } = *self;
            store.call(slot.append(batch)).await
        })
    }
}
