//! The baseline of SQLite: the two tables that anybody would write, and nothing else.

use std::{path::Path, time::Duration};

use anyhow::Result;
use rusqlite::{Connection, config::DbConfig, params};
use tokio::time::Instant;

use crate::{outcome::Throughput, team};

/// With the same settings as our store.
const TABLES: &str = "
PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -16000;
CREATE TABLE task (id INTEGER PRIMARY KEY, status TEXT NOT NULL, owner TEXT, result TEXT) STRICT;
CREATE INDEX pending ON task (id) WHERE status = 'pending';
CREATE TABLE event (version INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
";
const CLAIM: &str = "
UPDATE task SET status = 'in_progress', owner = 'member-0'
WHERE id = (SELECT id FROM task WHERE status = 'pending' ORDER BY id LIMIT 1) RETURNING id";
const COMPLETE: &str = "
UPDATE task SET status = 'completed', result = 'done'
WHERE id = ? AND status = 'in_progress' RETURNING id";

/// One connection that claims and completes, durably.
#[derive(Debug)]
pub(crate) struct RawSqlite {
    connection: Connection,
    n_tasks: usize,
    line: String,
}

impl RawSqlite {
    pub(crate) fn new(path: &Path, n_tasks: usize) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch(TABLES)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(Self { connection, n_tasks, line: team::sample_line()? })
    }

    /// Claims and completes for a while, with `n_per_commit` operations in each commit.
    pub(crate) fn run(&self, span: Duration, n_per_commit: usize) -> Result<Throughput> {
        let mut tally = Throughput::default();
        loop {
            self.top_up()?;
            tally += self.drain(span.saturating_sub(tally.elapsed), n_per_commit)?;
            if tally.elapsed >= span {
                return Ok(tally);
            }
        }
    }

    /// Appends one event, durably.
    pub(crate) fn append(&self) -> Result<()> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.log()?;
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    fn log(&self) -> Result<()> {
        let log = "INSERT INTO event (body) VALUES (?)";
        self.connection.prepare_cached(log)?.execute(params![self.line])?;
        Ok(())
    }

    fn top_up(&self) -> Result<()> {
        let pending = "SELECT count(*) FROM task WHERE status = 'pending'";
        let n_pending: usize = self.connection.query_row(pending, [], |row| row.get(0))?;
        let transaction = self.connection.unchecked_transaction()?;
        for _ in n_pending..self.n_tasks {
            let insert = "INSERT INTO task (status) VALUES ('pending')";
            transaction.prepare_cached(insert)?.execute([])?;
        }
        Ok(transaction.commit()?)
    }

    fn drain(&self, span: Duration, n_per_commit: usize) -> Result<Throughput> {
        let start = Instant::now();
        let mut n_done = 0;
        while n_done < self.n_tasks {
            let n_next = n_per_commit.min(self.n_tasks - n_done);
            let claimed = self.commit((0..n_next).map(|_| None))?;
            n_done += self.commit(claimed.into_iter().map(Some))?.len();
            if start.elapsed() >= span {
                break;
            }
        }
        Ok(Throughput { n_operations: 2 * n_done as u64, elapsed: start.elapsed() })
    }

    /// Completes the given tasks, or claims one for each `None`, in one commit.
    fn commit(&self, tasks: impl Iterator<Item = Option<i64>>) -> Result<Vec<i64>> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut changed = Vec::new();
        for task in tasks {
            let id = match task {
                None => self.connection.prepare_cached(CLAIM)?.query_row([], |row| row.get(0)),
                Some(id) => {
                    self.connection.prepare_cached(COMPLETE)?.query_row([id], |row| row.get(0))
                }
            };
            changed.push(id?);
            self.log()?;
        }
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(changed)
    }
}
