//! A store that counts calls, and that can be held, shut down, and kept from saving.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
};

use tokio::sync::watch;
use troop_model::{TeamId, Version};
use troop_store::{
    AppendOutcome, ArchivedTask, Batch, Entry, NewTeam, Snapshot, Store, StoreError, StoreFuture,
    StoreResult, TeamEntry, Watch,
};

/// Passes calls on to a real store.
#[derive(Debug)]
pub(crate) struct Probe {
    inner: Arc<dyn Store>,
    /// How many entries were read.
    pub(crate) n_entries: AtomicUsize,
    /// How many appends were begun.
    pub(crate) n_appends: AtomicUsize,
    /// How many reads were begun.
    pub(crate) n_reads: AtomicUsize,
    /// How many snapshots were tried.
    pub(crate) n_saves: AtomicUsize,
    /// Whether reading and appending fail.
    pub(crate) is_down: AtomicBool,
    /// Whether freeing names fails.
    pub(crate) keeps_names: AtomicBool,
    /// Whether saving snapshots fails.
    pub(crate) is_full: AtomicBool,
    /// Whether snapshots are damaged.
    pub(crate) is_damaged: AtomicBool,
    /// Whether appending panics.
    pub(crate) is_broken: AtomicBool,
    lets_append: watch::Sender<bool>,
    lets_read: watch::Sender<bool>,
    lets_save: watch::Sender<bool>,
}

impl Probe {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            n_entries: AtomicUsize::new(0),
            n_appends: AtomicUsize::new(0),
            n_reads: AtomicUsize::new(0),
            n_saves: AtomicUsize::new(0),
            is_down: AtomicBool::new(false),
            keeps_names: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            is_damaged: AtomicBool::new(false),
            is_broken: AtomicBool::new(false),
            lets_append: watch::Sender::new(true),
            lets_read: watch::Sender::new(true),
            lets_save: watch::Sender::new(true),
        })
    }

    /// Appends wait from now on.
    pub(crate) fn hold_appends(&self) {
        self.lets_append.send_replace(false);
    }

    pub(crate) fn let_append(&self) {
        self.lets_append.send_replace(true);
    }

    /// Reading waits from now on.
    pub(crate) fn hold_reads(&self) {
        self.lets_read.send_replace(false);
    }

    pub(crate) fn let_read(&self) {
        self.lets_read.send_replace(true);
    }

    /// Saving waits from now on.
    pub(crate) fn hold_saves(&self) {
        self.lets_save.send_replace(false);
    }

    pub(crate) fn let_save(&self) {
        self.lets_save.send_replace(true);
    }

    fn check(&self, cannot: &AtomicBool) -> StoreResult<()> {
        if cannot.load(SeqCst) {
            return Err(StoreError::Unavailable {
                what: "the store is down on purpose".to_owned(),
                hint: "wait".into(),
                source: "a test".into(),
            });
        }
        Ok(())
    }
}

async fn pass(gate: &watch::Sender<bool>) {
    gate.subscribe().wait_for(|is_open| *is_open).await.unwrap();
}

impl Store for Probe {
    fn create(&self, team: NewTeam, first: Batch) -> StoreFuture<'_, Version> {
        self.inner.create(team, first)
    }

    fn teams(&self) -> StoreFuture<'_, Vec<TeamEntry>> {
        self.inner.teams()
    }

    fn retire(&self, team: TeamId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.check(&self.keeps_names)?;
            self.inner.retire(team).await
        })
    }

    fn purge(&self, team: TeamId) -> StoreFuture<'_, ()> {
        self.inner.purge(team)
    }

    fn append(&self, team: TeamId, batch: Batch) -> StoreFuture<'_, AppendOutcome> {
        Box::pin(async move {
            self.n_appends.fetch_add(1, SeqCst);
            pass(&self.lets_append).await;
            assert!(!self.is_broken.load(SeqCst), "broken on purpose");
            self.check(&self.is_down)?;
            self.inner.append(team, batch).await
        })
    }

    fn read(&self, team: TeamId, after: Version, limit: usize) -> StoreFuture<'_, Vec<Entry>> {
        Box::pin(async move {
            self.n_reads.fetch_add(1, SeqCst);
            pass(&self.lets_read).await;
            self.check(&self.is_down)?;
            let entries = self.inner.read(team, after, limit).await?;
            self.n_entries.fetch_add(entries.len(), SeqCst);
            Ok(entries)
        })
    }

    fn watch(&self, team: TeamId) -> StoreFuture<'_, Watch> {
        self.inner.watch(team)
    }

    fn load_snapshot(&self, team: TeamId) -> StoreFuture<'_, Option<Snapshot>> {
        if self.is_damaged.load(SeqCst) {
            let (what, hint) = ("a byte has changed".to_owned(), "wait".to_owned());
            return Box::pin(async { Err(StoreError::Corrupt { what, hint: hint.into() }) });
        }
        self.inner.load_snapshot(team)
    }

    fn save_snapshot(
        &self,
        team: TeamId,
        snapshot: Snapshot,
        archived: Vec<ArchivedTask>,
    ) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.n_saves.fetch_add(1, SeqCst);
            pass(&self.lets_save).await;
            self.check(&self.is_full)?;
            self.inner.save_snapshot(team, snapshot, archived).await
        })
    }

    fn read_archived(&self, team: TeamId, number: u32) -> StoreFuture<'_, Option<Vec<u8>>> {
        self.inner.read_archived(team, number)
    }

    fn list_archived(
        &self,
        team: TeamId,
        below: u32,
        limit: usize,
    ) -> StoreFuture<'_, Vec<(u32, Vec<u8>)>> {
        self.inner.list_archived(team, below, limit)
    }
}
