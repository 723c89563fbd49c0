//! The embedded default: one SQLite database for any number of teams and processes.

mod failure;
mod journal;
mod open;
mod read;
mod schema;

use std::{path::Path, sync::Arc};

use rusqlite::Connection;
use troop_model::{TeamId, Version};

use self::{
    journal::SqliteJournal,
    open::{Database, Sight},
};
use crate::{
    AppendOutcome, ArchivedTask, Batch, Entry, Missing, NewTeam, Snapshot, Store, StoreFuture,
    StoreResult, TeamEntry, Watch,
    bell::{Bells, Concerns, Ear},
    worker::Worker,
    writer::JournalWriter,
};

/// Keeps teams in one SQLite database.
///
/// One thread writes and one reads, each with its own connection. Both start when they are first needed: a process
/// that only reads takes no lock and starts no writer.
#[derive(Debug)]
pub struct SqliteStore {
    database: Arc<Database>,
    writer: JournalWriter<SqliteJournal>,
    reader: Worker<ReadConnection>,
    bells: Bells,
    ear: Ear,
}

impl SqliteStore {
    /// Opens the database at `path`.
    pub fn open(path: &Path, missing: Missing) -> StoreResult<Self> {
        let database = Arc::new(Database::open(path, missing)?);
        let bells = Bells::default();
        let writer = {
            let database = Arc::clone(&database);
            let bells = bells.clone();
            JournalWriter::new(move || SqliteJournal::open(Arc::clone(&database), bells.clone()))
        };
        let reader = {
            let database = Arc::clone(&database);
            Worker::new("troop-read", move || ReadConnection::open(Arc::clone(&database)))
        };
        Ok(Self { database, writer, reader, ear: Ear::new(bells.clone()), bells })
    }

    async fn query<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &Database) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.reader.run(move |reader| reader.run(work)).await
    }
}

/// The reading thread's connection.
#[derive(Debug)]
struct ReadConnection {
    database: Arc<Database>,
    connection: Connection,
    /// A frozen connection is replaced for every job.
    sight: Sight,
}

impl ReadConnection {
    fn open(database: Arc<Database>) -> StoreResult<Self> {
        let (connection, sight) = database.connect_to_read()?;
        Ok(Self { database, connection, sight })
    }

    fn run<T>(
        &mut self,
        work: impl FnOnce(&Connection, &Database) -> StoreResult<T>,
    ) -> StoreResult<T> {
        if self.sight == Sight::Frozen {
            (self.connection, self.sight) = self.database.connect_to_read()?;
        }
        work(&self.connection, &self.database)
    }
}

impl Store for SqliteStore {
    fn create(&self, team: NewTeam, first: Batch) -> StoreFuture<'_, Version> {
        Box::pin(self.writer.change(move |journal| journal.create(&team, &first)))
    }

    fn teams(&self) -> StoreFuture<'_, Vec<TeamEntry>> {
        Box::pin(self.query(read::teams))
    }

    fn retire(&self, team: TeamId) -> StoreFuture<'_, ()> {
        Box::pin(self.writer.change(move |journal| journal.retire(team)))
    }

    fn purge(&self, team: TeamId) -> StoreFuture<'_, ()> {
        Box::pin(self.writer.change(move |journal| journal.purge(team)))
    }

    fn append(&self, team: TeamId, batch: Batch) -> StoreFuture<'_, AppendOutcome> {
        Box::pin(self.writer.append(team, batch))
    }

    fn read(&self, team: TeamId, after: Version, limit: usize) -> StoreFuture<'_, Vec<Entry>> {
        Box::pin(self.query(move |connection, db| read::log(connection, db, team, after, limit)))
    }

    fn watch(&self, team: TeamId) -> StoreFuture<'_, Watch> {
        Box::pin(async move {
            self.query(move |connection, db| read::require(connection, db, team)).await?;
            let (folder, bell) = self.database.bell();
            self.ear.listen(folder, &bell, Concerns::Everyone);
            Ok(self.bells.watch(team).with_sign(&folder.join(bell)))
        })
    }

    fn load_snapshot(&self, team: TeamId) -> StoreFuture<'_, Option<Snapshot>> {
        Box::pin(self.query(move |connection, db| read::snapshot(connection, db, team)))
    }

    fn save_snapshot(
        &self,
        team: TeamId,
        snapshot: Snapshot,
        archived: Vec<ArchivedTask>,
    ) -> StoreFuture<'_, ()> {
        Box::pin(
            self.writer.change(move |journal| journal.save_snapshot(team, &snapshot, &archived)),
        )
    }

    fn read_archived(&self, team: TeamId, number: u32) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(self.query(move |connection, db| read::archived(connection, db, team, number)))
    }

    fn list_archived(
        &self,
        team: TeamId,
        below: u32,
        limit: usize,
    ) -> StoreFuture<'_, Vec<(u32, Vec<u8>)>> {
        Box::pin(
            self.query(move |connection, db| {
                read::archive_list(connection, db, team, below, limit)
            }),
        )
    }
}
