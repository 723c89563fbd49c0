//! A store of plain files: one folder per team, its log readable with any tool. No server, no database.

mod archive;
mod folder;
mod journal;
mod log;
mod root;
mod snapshot;

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex},
};

use tokio::time::timeout;
use troop_model::{TeamId, Version, lock};

use self::{folder::TeamFolder, journal::FilesJournal, root::Root};
use crate::{
    AppendOutcome, ArchivedTask, Batch, Entry, Missing, NewTeam, Snapshot, Store, StoreFuture,
    StoreResult, TeamEntry, Watch,
    bell::{Bells, Concerns, Ear},
    failure::{LINE_PATIENCE, waited_too_long},
    worker::Worker,
    writer::JournalWriter,
};

/// Keeps teams in a folder.
///
/// Every team that is written has a separate thread, so that waiting for one team's lock holds up no other.
/// Reading needs no lock and is done by one thread.
#[derive(Debug)]
pub struct FilesStore {
    root: Arc<Root>,
    writers: Mutex<HashMap<TeamId, Arc<JournalWriter<FilesJournal>>>>,
    reader: Worker<()>,
    /// Creates, retires and purges teams, which may wait for other processes.
    keeper: Worker<()>,
    bells: Bells,
    ear: Ear,
}

impl FilesStore {
    /// Opens the store in the folder at `path`. An empty folder is not a store yet.
    pub fn open(path: &Path, missing: Missing) -> StoreResult<Self> {
        let bells = Bells::default();
        Ok(Self {
            root: Arc::new(Root::open(path, missing)?),
            writers: Mutex::default(),
            reader: Worker::new("troop-read", || Ok(())),
            keeper: Worker::new("troop-keep", || Ok(())),
            ear: Ear::new(bells.clone()),
            bells,
        })
    }

    fn writer(&self, team: TeamId) -> Arc<JournalWriter<FilesJournal>> {
        let writer = || {
            let root = Arc::clone(&self.root);
            let bells = self.bells.clone();
            let open = move || Ok(FilesJournal::new(Arc::clone(&root), team, bells.clone()));
            Arc::new(JournalWriter::new(open))
        };
        Arc::clone(lock(&self.writers).entry(team).or_insert_with(writer))
    }

    async fn look<T: Send + 'static>(
        &self,
        team: TeamId,
        work: impl Fn(&TeamFolder) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let root = Arc::clone(&self.root);
        self.reader.run(move |()| root.with_team(team, work)).await
    }

    async fn keep<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Root) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let root = Arc::clone(&self.root);
        let kept = self.keeper.run(move |()| work(&root));
        timeout(LINE_PATIENCE, kept).await.unwrap_or_else(|_| Err(waited_too_long()))
    }
}

impl Store for FilesStore {
    fn create(&self, team: NewTeam, first: Batch) -> StoreFuture<'_, Version> {
        Box::pin(self.keep(move |root| root.create(&team, &first)))
    }

    fn teams(&self) -> StoreFuture<'_, Vec<TeamEntry>> {
        let root = Arc::clone(&self.root);
        Box::pin(self.reader.run(move |()| root.teams()))
    }

    fn retire(&self, team: TeamId) -> StoreFuture<'_, ()> {
        Box::pin(self.keep(move |root| root.retire(team)))
    }

    fn purge(&self, team: TeamId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.keep(move |root| root.purge(team)).await?;
            lock(&self.writers).remove(&team);
            Ok(())
        })
    }

    fn append(&self, team: TeamId, batch: Batch) -> StoreFuture<'_, AppendOutcome> {
        Box::pin(async move { self.writer(team).append(team, batch).await })
    }

    fn read(&self, team: TeamId, after: Version, limit: usize) -> StoreFuture<'_, Vec<Entry>> {
        Box::pin(self.look(team, move |folder| folder.read(after, limit)))
    }

    fn watch(&self, team: TeamId) -> StoreFuture<'_, Watch> {
        Box::pin(async move {
            let folder = self.look(team, |folder| Ok(folder.path().to_owned())).await?;
            self.ear.listen(&folder, folder::HEAD, Concerns::Team(team));
            Ok(self.bells.watch(team).with_sign(&folder.join(folder::HEAD)))
        })
    }

    fn load_snapshot(&self, team: TeamId) -> StoreFuture<'_, Option<Snapshot>> {
        Box::pin(self.look(team, snapshot::load))
    }

    fn save_snapshot(
        &self,
        team: TeamId,
        snapshot: Snapshot,
        archived: Vec<ArchivedTask>,
    ) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let save = move |journal: &mut FilesJournal| {
                snapshot::save(journal.folder()?, &snapshot, &archived)
            };
            self.writer(team).change(save).await
        })
    }

    fn read_archived(&self, team: TeamId, number: u32) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(self.look(team, move |folder| snapshot::read_archived(folder, number)))
    }

    fn list_archived(
        &self,
        team: TeamId,
        below: u32,
        limit: usize,
    ) -> StoreFuture<'_, Vec<(u32, Vec<u8>)>> {
        Box::pin(self.look(team, move |folder| snapshot::list_archived(folder, below, limit)))
    }
}
