//! The writing thread's connection: every change, and the queue for the writers of all processes.

use std::{fs::File, os::unix::fs::FileExt, sync::Arc};

use rusqlite::{Connection, OptionalExtension, params};
use troop_model::{TeamId, Version};
use uuid::Uuid;

use super::{
    failure::sql_failure,
    open::{Database, open_sibling},
    read::{self, as_sql, head, record_at},
};
use crate::{
    ArchivedTask, Batch, Entry, NewTeam, Snapshot, StoreError, StoreResult,
    bell::Bells,
    failure::{cannot_lock, id_taken, name_taken, repeat, unknown_team},
    record::{BatchStanding, Record, checksum, end_of_beginning, standing},
    turnstile::Turnstile,
    writer::Journal,
};

/// The one writer of a process.
#[derive(Debug)]
pub(crate) struct SqliteJournal {
    database: Arc<Database>,
    connection: Connection,
    turnstile: Turnstile,
    bell: File,
    bells: Bells,
    is_inside: bool,
    /// The teams whose logs the open transaction extends.
    grown: Vec<TeamId>,
    /// Why the open transaction must not be committed.
    failure: Option<StoreError>,
}

impl SqliteJournal {
    pub(super) fn open(database: Arc<Database>, bells: Bells) -> StoreResult<Self> {
        let connection = database.connect_to_write()?;
        let bell = open_sibling(&database.sibling(".bell"))?;
        let write = open_sibling(&database.sibling(".turn"))?;
        // The bell file is also the queue before the write lock, which saves a file.
        let queue = open_sibling(&database.sibling(".bell"))?;
        Ok(Self {
            database,
            connection,
            turnstile: Turnstile::new(queue, write),
            bell,
            bells,
            is_inside: false,
            grown: Vec::new(),
            failure: None,
        })
    }

    /// Runs statements of the open transaction. After one has failed, no other runs: the transaction is lost.
    fn sql<T>(&mut self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> StoreResult<T> {
        if let Some(failure) = &self.failure {
            return Err(repeat(failure));
        }
        work(&self.connection).map_err(|error| {
            let error = sql_failure(self.database.path(), error);
            self.failure = Some(repeat(&error));
            error
        })
    }

    fn insert(&mut self, team: TeamId, record: &Record) -> StoreResult<()> {
        self.sql(|connection| {
            connection.prepare_cached("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?)")?.execute(
                params![
                    team.0.as_bytes(),
                    as_sql(record.first),
                    record.n_events,
                    record.operation.0.as_bytes(),
                    record.crc,
                    record.bodies,
                ],
            )
        })?;
        self.grown.push(team);
        Ok(())
    }

    pub(super) fn create(&mut self, team: &NewTeam, first: &Batch) -> StoreResult<Version> {
        let records = Record::beginning(team.id, first)?;
        if self.sql(|connection| head(connection, team.id))?.is_some() {
            let end = end_of_beginning(first.operation, |version| {
                self.sql(|connection| record_at(connection, team.id, version))
            })?;
            return end.ok_or_else(|| id_taken(team.id));
        }
        let is_taken = self.sql(|connection| {
            connection
                .query_row(
                    "SELECT 1 FROM teams WHERE name = ? AND is_retired = 0",
                    [&team.name],
                    |_| Ok(()),
                )
                .optional()
        })?;
        if is_taken.is_some() {
            return Err(name_taken(&team.name));
        }
        self.sql(|connection| {
            connection.execute(
                "INSERT INTO teams (id, name) VALUES (?, ?)",
                params![team.id.0.as_bytes(), team.name],
            )
        })?;
        for record in &records {
            self.insert(team.id, record)?;
        }
        Ok(first.end())
    }

    pub(super) fn retire(&mut self, team: TeamId) -> StoreResult<()> {
        let n_rows = self.sql(|connection| {
            let id = team.0.as_bytes();
            connection.execute("UPDATE teams SET is_retired = 1 WHERE id = ?", [id])
        })?;
        if n_rows == 0 { Err(unknown_team(team)) } else { Ok(()) }
    }

    pub(super) fn purge(&mut self, team: TeamId) -> StoreResult<()> {
        self.sql(|connection| {
            for table in ["batches", "snapshots", "archive"] {
                let sql = format!("DELETE FROM {table} WHERE team = ?");
                connection.execute(&sql, [team.0.as_bytes()])?;
            }
            connection.execute("DELETE FROM teams WHERE id = ?", [team.0.as_bytes()])
        })?;
        // A glance at the bell must not conclude that the team is unchanged.
        self.grown.push(team);
        Ok(())
    }

    pub(super) fn save_snapshot(
        &mut self,
        team: TeamId,
        snapshot: &Snapshot,
        archived: &[ArchivedTask],
    ) -> StoreResult<()> {
        let id = team.0.as_bytes();
        let (is_known, stored) = self.sql(|connection| {
            let stored = connection
                .prepare_cached("SELECT version FROM snapshots WHERE team = ?")?
                .query_row([id], |row| row.get(0).map(Version))
                .optional()?;
            Ok((head(connection, team)?.is_some(), stored))
        })?;
        if !is_known {
            return Err(unknown_team(team));
        }
        if stored.is_some_and(|stored| stored >= snapshot.version) {
            return Ok(());
        }
        let crc = checksum(team, snapshot.version.0, &snapshot.state);
        self.sql(|connection| {
            connection
                .prepare_cached("REPLACE INTO snapshots VALUES (?, ?, ?, ?)")?
                .execute(params![id, as_sql(snapshot.version), crc, snapshot.state.as_ref()])?;
            archived.iter().try_for_each(|task| archive(connection, team, task))
        })
    }

    fn ring(&mut self) {
        // Others watch the bell, not the database: a commit becomes visible through shared memory, without an event, and
        // writes to the write-ahead log can be seen before they count. A bell that cannot be written is a lost notice,
        // which a watch survives. Every ring writes new bytes, so that a glance notices it.
        drop(self.bell.write_all_at(Uuid::now_v7().as_bytes(), 0));
        for team in self.grown.drain(..) {
            self.bells.ring(team);
        }
    }
}

fn archive(connection: &Connection, team: TeamId, task: &ArchivedTask) -> rusqlite::Result<()> {
    let id = team.0.as_bytes();
    match &task.body {
        Some(body) => {
            let crc = checksum(team, u64::from(task.number), body);
            let mut replace =
                connection.prepare_cached("REPLACE INTO archive VALUES (?, ?, ?, ?)")?;
            replace.execute(params![id, task.number, crc, body])?;
        }
        None => {
            let sql = "DELETE FROM archive WHERE team = ? AND number = ?";
            connection.prepare_cached(sql)?.execute(params![id, task.number])?;
        }
    }
    Ok(())
}

impl Journal for SqliteJournal {
    fn begin(&mut self) -> StoreResult<()> {
        if !self.is_inside {
            let entered = self.turnstile.enter();
            entered.map_err(|error| cannot_lock(&self.database.sibling(".turn"), error))?;
            self.is_inside = true;
        }
        self.sql(|connection| connection.prepare_cached("BEGIN IMMEDIATE")?.execute([]))?;
        Ok(())
    }

    fn append(&mut self, team: TeamId, batch: &Batch) -> StoreResult<Option<Version>> {
        let record = Record::new(team, batch)?;
        let head = self.sql(|connection| head(connection, team))?;
        let head = head.ok_or_else(|| unknown_team(team))?;
        let found = standing(batch, head, |first| {
            self.sql(|connection| record_at(connection, team, first))
        });
        Ok(match found? {
            BatchStanding::Next => {
                self.insert(team, &record)?;
                Some(batch.end())
            }
            BatchStanding::Repeated(end) => Some(end),
            BatchStanding::Behind => None,
        })
    }

    fn missed(&mut self, team: TeamId, after: Version) -> StoreResult<Vec<Entry>> {
        read::log(&self.connection, &self.database, team, after, usize::MAX)
    }

    fn commit(&mut self) -> StoreResult<()> {
        self.sql(|connection| connection.prepare_cached("COMMIT")?.execute([]))?;
        if !self.grown.is_empty() {
            self.ring();
        }
        Ok(())
    }

    fn leave(&mut self) {
        if !self.connection.is_autocommit() {
            // If even this fails, the next `BEGIN` does too, and says why.
            drop(self.connection.execute_batch("ROLLBACK"));
        }
        self.grown.clear();
        self.failure = None;
        if std::mem::take(&mut self.is_inside) {
            self.turnstile.leave();
        }
    }
}
