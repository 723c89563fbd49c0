//! The queries, and the checks of their results.

use std::{ops::Range, path::Path};

use bytes::Bytes;
use memmap2::MmapMut;
use rusqlite::{Connection, MAIN_DB, OptionalExtension, Row, blob::Blob, params};
use troop_model::{OperationId, TeamId, Version};
use uuid::Uuid;

use super::{failure::sql_failure, open::Database};
use crate::{
    Entry, Snapshot, StoreError, StoreResult, TeamEntry,
    failure::{corrupt, restore_hint, unknown_team},
    record::{Assembly, Record, checksum},
};

/// How much of a database is mapped into memory at most, in bytes: all that SQLite can.
const MAPPED: i64 = 0x7fff_0000;

/// How large the system's large pages are.
const LARGE_PAGE: usize = 2 << 20;

/// SQLite's integers have a sign; a log never gets long enough to notice.
pub(super) fn as_sql(version: Version) -> i64 {
    i64::try_from(version.0).unwrap_or(i64::MAX)
}

pub(super) fn teams(connection: &Connection, db: &Database) -> StoreResult<Vec<TeamEntry>> {
    let rows = || -> rusqlite::Result<Vec<_>> {
        connection
            .prepare_cached("SELECT id, name, is_retired FROM teams ORDER BY place")?
            .query_map([], |row| {
                Ok(TeamEntry {
                    id: TeamId(row.get::<_, Uuid16>(0)?.0),
                    name: row.get(1)?,
                    is_retired: row.get(2)?,
                })
            })?
            .collect()
    };
    rows().map_err(|error| read_failure(db, error))
}

/// Reads a log from the record that holds the first wanted event; a team without any record is unknown.
///
/// A record that ends before it is skipped by its length, without touching its bodies, so a caller that is up to date
/// reads little.
pub(super) fn log(
    connection: &Connection,
    db: &Database,
    team: TeamId,
    after: Version,
    limit: usize,
) -> StoreResult<Vec<Entry>> {
    let failed = |error| read_failure(db, error);
    let mut statement = connection
        .prepare_cached(
            "SELECT first_version, n_events, operation, crc, bodies FROM batches
             WHERE team = ?1 AND first_version >= coalesce(
                 (SELECT max(first_version) FROM batches WHERE team = ?1 AND first_version <= ?2), 0)
             AND first_version + n_events > ?2
             ORDER BY first_version",
        )
        .map_err(failed)?;
    let mut rows =
        statement.query(params![team.0.as_bytes(), as_sql(after.next())]).map_err(failed)?;
    let mut assembly = Assembly::new(team, after, limit);
    let place = RowPlace { path: db.path(), team };
    let mut is_known = false;
    while let Some(row) = rows.next().map_err(failed)? {
        is_known = true;
        assembly.push(&record(row).map_err(failed)?, &place)?;
        if assembly.is_full() {
            break;
        }
    }
    if !is_known {
        require(connection, db, team)?;
    }
    Ok(assembly.finish())
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        first: Version(row.get(0)?),
        n_events: row.get(1)?,
        operation: OperationId(row.get::<_, Uuid16>(2)?.0),
        crc: row.get(3)?,
        bodies: row.get(4)?,
    })
}

/// The end of a log, or `None` if there is no such team.
pub(super) fn head(connection: &Connection, team: TeamId) -> rusqlite::Result<Option<Version>> {
    connection
        .prepare_cached(
            "SELECT first_version + n_events - 1 FROM batches
             WHERE team = ? ORDER BY first_version DESC LIMIT 1",
        )?
        .query_row([team.0.as_bytes()], |row| row.get(0).map(Version))
        .optional()
}

/// The operation whose record begins at a version, and where the record ends.
pub(super) fn record_at(
    connection: &Connection,
    team: TeamId,
    first: Version,
) -> rusqlite::Result<Option<(OperationId, Version)>> {
    connection
        .prepare_cached(
            "SELECT operation, first_version + n_events - 1 FROM batches
             WHERE team = ? AND first_version = ?",
        )?
        .query_row(params![team.0.as_bytes(), as_sql(first)], |row| {
            Ok((OperationId(row.get::<_, Uuid16>(0)?.0), Version(row.get(1)?)))
        })
        .optional()
}

pub(super) fn require(connection: &Connection, db: &Database, team: TeamId) -> StoreResult<()> {
    let head = head(connection, team).map_err(|error| read_failure(db, error))?;
    head.map(drop).ok_or_else(|| unknown_team(team))
}

pub(super) fn snapshot(
    connection: &Connection,
    db: &Database,
    team: TeamId,
) -> StoreResult<Option<Snapshot>> {
    let found = read_snapshot(connection, team).map_err(|error| read_failure(db, error))?;
    let Some((version, crc, state)) = found else {
        return require(connection, db, team).map(|()| None);
    };
    let state = checked(db, team, "snapshot of version", version, crc, state)?;
    Ok(Some(Snapshot { version: Version(version), state }))
}

/// Reads a state straight into the buffer that is given away: as the result of a query it would be copied.
fn read_snapshot(
    connection: &Connection,
    team: TeamId,
) -> rusqlite::Result<Option<(u64, u32, Bytes)>> {
    // Mapped into memory, a large state is read several times faster than page by page. The mapping is short-lived:
    // truncating a mapped file kills every process that reads it.
    connection.pragma_update(None, "mmap_size", MAPPED)?;
    let found = read_mapped_snapshot(connection, team);
    connection.pragma_update(None, "mmap_size", 0)?;
    found
}

fn read_mapped_snapshot(
    connection: &Connection,
    team: TeamId,
) -> rusqlite::Result<Option<(u64, u32, Bytes)>> {
    // The two steps must see the same snapshot.
    let _both = connection.unchecked_transaction()?;
    let found = connection
        .prepare_cached("SELECT rowid, version, crc FROM snapshots WHERE team = ?")?
        .query_row([team.0.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((place, version, crc)) = found else { return Ok(None) };
    let blob = connection.blob_open(MAIN_DB, "snapshots", "state", place, true)?;
    Ok(Some((version, crc, read_whole(&blob)?)))
}

fn read_whole(blob: &Blob<'_>) -> rusqlite::Result<Bytes> {
    let n_bytes = blob.len();
    if let Some(mut room) = large_room(n_bytes) {
        blob.read_at_exact(room.get_mut(..n_bytes).unwrap_or_default(), 0)?;
        return Ok(Bytes::from_owner(room).slice(..n_bytes));
    }
    let mut state = vec![0; n_bytes];
    blob.read_at_exact(&mut state, 0)?;
    Ok(state.into())
}

/// Memory in large pages, for a state that is large enough: allocating small pages takes longer than reading the state.
fn large_room(n_bytes: usize) -> Option<MmapMut> {
    if n_bytes < LARGE_PAGE / 2 {
        return None;
    }
    let room = MmapMut::map_anon(n_bytes.next_multiple_of(LARGE_PAGE)).ok()?;
    // It is only advice: small pages work too.
    #[cfg(target_os = "linux")]
    drop(room.advise(memmap2::Advice::HugePage));
    Some(room)
}

pub(super) fn archived(
    connection: &Connection,
    db: &Database,
    team: TeamId,
    number: u32,
) -> StoreResult<Option<Vec<u8>>> {
    let first = u64::from(number);
    let found = archive_rows(connection, db, team, first..first + 1, 1)?;
    Ok(found.into_iter().next().map(|(_, body)| body))
}

pub(super) fn archive_list(
    connection: &Connection,
    db: &Database,
    team: TeamId,
    below: u32,
    limit: usize,
) -> StoreResult<Vec<(u32, Vec<u8>)>> {
    archive_rows(connection, db, team, 0..u64::from(below), limit)
}

fn archive_rows(
    connection: &Connection,
    db: &Database,
    team: TeamId,
    numbers: Range<u64>,
    limit: usize,
) -> StoreResult<Vec<(u32, Vec<u8>)>> {
    let failed = |error| read_failure(db, error);
    let mut statement = connection
        .prepare_cached(
            "SELECT number, crc, body FROM archive
             WHERE team = ? AND number >= ? AND number < ? ORDER BY number DESC LIMIT ?",
        )
        .map_err(failed)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement
        .query_map(params![team.0.as_bytes(), numbers.start, numbers.end, limit], |row| {
            Ok((row.get::<_, u32>(0)?, row.get::<_, u32>(1)?, row.get::<_, Vec<u8>>(2)?))
        })
        .map_err(failed)?;
    let mut found = Vec::new();
    for row in rows {
        let (number, crc, body) = row.map_err(failed)?;
        found.push((number, checked(db, team, "archived task", u64::from(number), crc, body)?));
    }
    if found.is_empty() {
        require(connection, db, team)?;
    }
    Ok(found)
}

fn checked<B: AsRef<[u8]>>(
    db: &Database,
    team: TeamId,
    kind: &str,
    number: u64,
    crc: u32,
    bytes: B,
) -> StoreResult<B> {
    if checksum(team, number, bytes.as_ref()) == crc {
        return Ok(bytes);
    }
    Err(corrupt(
        format!(
            "the {kind} {number} in {} is damaged: its checksum does not match",
            RowPlace { path: db.path(), team }
        ),
        restore_hint(db.path()),
    ))
}

/// A value that does not fit its column's type was not written by troop.
pub(super) fn read_failure(db: &Database, error: rusqlite::Error) -> StoreError {
    if error.sqlite_error_code().is_some() {
        return sql_failure(db.path(), error);
    }
    corrupt(
        format!("a row in `{}` is damaged: {error}", db.path().display()),
        restore_hint(db.path()),
    )
}

/// Where a row was found, for error messages.
struct RowPlace<'a> {
    path: &'a Path,
    team: TeamId,
}

impl std::fmt::Display for RowPlace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` (team `{}`)", self.path.display(), self.team)
    }
}

/// An id as it is stored.
struct Uuid16(Uuid);

impl rusqlite::types::FromSql for Uuid16 {
    fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
        <[u8; 16]>::column_result(value).map(|bytes| Self(Uuid::from_bytes(bytes)))
    }
}
