//! The contract at its shortest: a store that lasts as long as its process.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use tokio::{
    sync::{Mutex as Turnstile, OwnedMutexGuard},
    time::timeout,
};
use troop_model::{OperationId, TeamId, Version, lock};

use crate::{
    AppendOutcome, AppendSlot, ArchivedTask, Batch, Entry, NewTeam, SlotWriter, Snapshot, Store,
    StoreFuture, StoreResult, TeamEntry, Watch,
    bell::Bells,
    failure::{LINE_PATIENCE, id_taken, missed_ignored, name_taken, unknown_team, waited_too_long},
    hold::SlotHold,
    record::{Assembly, BatchStanding, Record, end_of_beginning, standing},
};

/// Keeps teams in memory. Clones share what they keep.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    shelf: Arc<Mutex<Vec<MemoryTeam>>>,
    bells: Bells,
}

#[derive(Debug)]
struct MemoryTeam {
    entry: TeamEntry,
    /// Tokio's lock is fair, so it is the line that writers wait in.
    turnstile: Arc<Turnstile<()>>,
    log: Vec<Record>,
    snapshot: Option<Snapshot>,
    archive: BTreeMap<u32, Vec<u8>>,
}

impl MemoryTeam {
    fn head(&self) -> Version {
        self.log.last().map_or(Version::ZERO, Record::end)
    }

    fn record_at(&self, first: Version) -> Option<(OperationId, Version)> {
        let nth = self.log.binary_search_by_key(&first, |record| record.first).ok()?;
        self.log.get(nth).map(|record| (record.operation, record.end()))
    }

    fn read(&self, after: Version, limit: usize) -> StoreResult<Vec<Entry>> {
        let mut assembly = Assembly::new(self.entry.id, after, limit);
        let start = self.log.partition_point(|record| record.end() <= after);
        for record in self.log.iter().skip(start) {
            if assembly.is_full() {
                break;
            }
            assembly.push(record, &"memory")?;
        }
        Ok(assembly.finish())
    }

    fn append(&mut self, batch: &Batch) -> StoreResult<Option<Version>> {
        let record = Record::new(self.entry.id, batch)?;
        Ok(match standing(batch, self.head(), |first| Ok(self.record_at(first)))? {
            BatchStanding::Next => {
                self.log.push(record);
                Some(batch.end())
            }
            BatchStanding::Repeated(end) => Some(end),
            BatchStanding::Behind => None,
        })
    }
}

impl MemoryStore {
    fn with<T>(
        &self,
        team: TeamId,
        work: impl FnOnce(&mut MemoryTeam) -> StoreResult<T>,
    ) -> StoreResult<T> {
        let mut shelf = lock(&self.shelf);
        let found = shelf.iter_mut().find(|found| found.entry.id == team);
        work(found.ok_or_else(|| unknown_team(team))?)
    }

    async fn enter(&self, team: TeamId) -> StoreResult<OwnedMutexGuard<()>> {
        let turnstile = self.with(team, |team| Ok(Arc::clone(&team.turnstile)))?;
        timeout(LINE_PATIENCE, turnstile.lock_owned()).await.map_err(|_| waited_too_long())
    }

    /// Appends while the caller holds the slot.
    fn put(&self, team: TeamId, batch: &Batch) -> StoreResult<Option<Version>> {
        let end = self.with(team, |team| team.append(batch))?;
        self.bells.ring(team);
        Ok(end)
    }

    fn create_now(&self, team: NewTeam, first: &Batch) -> StoreResult<Version> {
        let log = Record::beginning(team.id, first)?;
        let mut shelf = lock(&self.shelf);
        if let Some(same) = shelf.iter().find(|known| known.entry.id == team.id) {
            let end = end_of_beginning(first.operation, |version| Ok(same.record_at(version)))?;
            return end.ok_or_else(|| id_taken(team.id));
        }
        if shelf.iter().any(|known| !known.entry.is_retired && known.entry.name == team.name) {
            return Err(name_taken(&team.name));
        }
        shelf.push(MemoryTeam {
            entry: TeamEntry { id: team.id, name: team.name, is_retired: false },
            turnstile: Arc::default(),
            log,
            snapshot: None,
            archive: BTreeMap::new(),
        });
        Ok(first.end())
    }
}

impl Store for MemoryStore {
    fn create(&self, team: NewTeam, first: Batch) -> StoreFuture<'_, Version> {
        Box::pin(async move { self.create_now(team, &first) })
    }

    fn teams(&self) -> StoreFuture<'_, Vec<TeamEntry>> {
        Box::pin(async { Ok(lock(&self.shelf).iter().map(|team| team.entry.clone()).collect()) })
    }

    fn retire(&self, team: TeamId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.with(team, |team| {
                team.entry.is_retired = true;
                Ok(())
            })
        })
    }

    fn purge(&self, team: TeamId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            lock(&self.shelf).retain(|known| known.entry.id != team);
            Ok(())
        })
    }

    fn append(&self, team: TeamId, batch: Batch) -> StoreFuture<'_, AppendOutcome> {
        Box::pin(async move {
            let guard = self.enter(team).await?;
            if let Some(end) = self.put(team, &batch)? {
                return Ok(AppendOutcome::Done(end));
            }
            let missed = self.with(team, |team| team.read(batch.after, usize::MAX))?;
            let writer = MemorySlot { store: self.clone(), team, hold: SlotHold::new(guard) };
            Ok(AppendOutcome::Behind(AppendSlot::new(missed, Box::new(writer))))
        })
    }

    fn read(&self, team: TeamId, after: Version, limit: usize) -> StoreFuture<'_, Vec<Entry>> {
        Box::pin(async move { self.with(team, |team| team.read(after, limit)) })
    }

    fn watch(&self, team: TeamId) -> StoreFuture<'_, Watch> {
        Box::pin(async move { self.with(team, |_| Ok(self.bells.watch(team))) })
    }

    fn load_snapshot(&self, team: TeamId) -> StoreFuture<'_, Option<Snapshot>> {
        Box::pin(async move { self.with(team, |team| Ok(team.snapshot.clone())) })
    }

    fn save_snapshot(
        &self,
        team: TeamId,
        snapshot: Snapshot,
        archived: Vec<ArchivedTask>,
    ) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.with(team, |team| {
                if team.snapshot.as_ref().is_some_and(|stored| stored.version >= snapshot.version) {
                    return Ok(());
                }
                for task in archived {
                    match task.body {
                        Some(body) => team.archive.insert(task.number, body),
                        None => team.archive.remove(&task.number),
                    };
                }
                team.snapshot = Some(snapshot);
                Ok(())
            })
        })
    }

    fn read_archived(&self, team: TeamId, number: u32) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move { self.with(team, |team| Ok(team.archive.get(&number).cloned())) })
    }

    fn list_archived(
        &self,
        team: TeamId,
        below: u32,
        limit: usize,
    ) -> StoreFuture<'_, Vec<(u32, Vec<u8>)>> {
        Box::pin(async move {
            self.with(team, |team| {
                let found = team.archive.range(..below).rev().take(limit);
                Ok(found.map(|(number, body)| (*number, body.clone())).collect())
            })
        })
    }
}

#[derive(Debug)]
struct MemorySlot {
    store: MemoryStore,
    team: TeamId,
    hold: SlotHold<OwnedMutexGuard<()>>,
}

impl SlotWriter for MemorySlot {
    fn append(self: Box<Self>, batch: Batch) -> StoreFuture<'static, Version> {
        Box::pin(async move {
            let _guard = self.hold.take()?;
            let end = self.store.put(self.team, &batch)?;
            end.ok_or_else(missed_ignored)
        })
    }
}
