//! The queries, and the checks of their results.

use std::{ops::Range, sync::Arc};

use tokio_postgres::{
    Row,
    types::{ToSql, Type},
};
use troop_model::{OperationId, TeamId, Version};

use super::{
    connect::SqlResult,
    pool::{Checkout, Pool},
};
use crate::{
    Entry, Snapshot, StoreError, StoreResult, TeamEntry,
    failure::{corrupt, unknown_team},
    record::{Assembly, Record, checksum},
};

/// How many records are fetched at once.
const PAGE: i64 = 256;

/// PostgreSQL's integers have a sign; a log never gets long enough to notice.
pub(super) fn as_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) type SqlParams<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

async fn rows(pool: &Arc<Pool>, sql: &str, params: SqlParams<'_>) -> StoreResult<Vec<Row>> {
    match rows_by(pool.checkout().await?, sql, params).await {
        // The server may have closed the idle connection, and reading again changes nothing.
        Err(StoreError::Unavailable { .. }) => {
            rows_by(pool.checkout_new().await?, sql, params).await
        }
        said => said,
    }
}

async fn rows_by(
    mut connection: Checkout,
    sql: &str,
    params: SqlParams<'_>,
) -> StoreResult<Vec<Row>> {
    let rows = connection.client().query_typed(sql, params).await.map_err(connection.failed())?;
    connection.give_back();
    Ok(rows)
}

pub(super) async fn teams(pool: &Arc<Pool>) -> StoreResult<Vec<TeamEntry>> {
    let sql = "SELECT id, name, is_retired FROM troop.teams ORDER BY place";
    let entry = |row: &Row| -> SqlResult<TeamEntry> {
        Ok(TeamEntry {
            id: TeamId(row.try_get(0)?),
            name: row.try_get(1)?,
            is_retired: row.try_get(2)?,
        })
    };
    rows(pool, sql, &[])
        .await?
        .iter()
        .map(|row| entry(row).map_err(|error| damaged_row(&error)))
        .collect()
}

pub(super) async fn require(pool: &Arc<Pool>, team: TeamId) -> StoreResult<()> {
    let sql = "SELECT 1 FROM troop.batches WHERE team = $1 LIMIT 1";
    let found = rows(pool, sql, &[(&team.0, Type::UUID)]).await?;
    if found.is_empty() { Err(unknown_team(team)) } else { Ok(()) }
}

/// Reads a log from the record that holds the first wanted event; a team without any record is unknown.
///
/// A record that ends before it is skipped by its length, so a caller that is up to date reads little.
pub(super) async fn log(
    pool: &Arc<Pool>,
    team: TeamId,
    after: Version,
    limit: usize,
) -> StoreResult<Vec<Entry>> {
    let sql = "SELECT first_version, n_events, operation, crc, bodies FROM troop.batches
         WHERE team = $1 AND first_version + n_events > $2 AND first_version >= coalesce(
             (SELECT max(first_version) FROM troop.batches WHERE team = $1 AND first_version <= $2), 0)
         ORDER BY first_version LIMIT $3";
    let mut assembly = Assembly::new(team, after, limit);
    let mut from = after.next();
    let page = as_sql(limit as u64).clamp(1, PAGE);
    loop {
        let params: SqlParams<'_> =
            &[(&team.0, Type::UUID), (&as_sql(from.0), Type::INT8), (&page, Type::INT8)];
        let rows = rows(pool, sql, params).await?;
        if rows.is_empty() && from == after.next() {
            require(pool, team).await?;
        }
        for row in &rows {
            let record = record(row, 0)?;
            from = record.end().next();
            assembly.push(&record, &place(team))?;
        }
        if assembly.is_full() || (rows.len() as i64) < page {
            return Ok(assembly.finish());
        }
    }
}

/// Reads the missed events in the result of `append`, after its first two columns.
pub(super) fn missed(rows: &[Row], team: TeamId, after: Version) -> StoreResult<Vec<Entry>> {
    let mut assembly = Assembly::new(team, after, usize::MAX);
    for row in rows {
        assembly.push(&record(row, 2)?, &place(team))?;
    }
    Ok(assembly.finish())
}

fn place(team: TeamId) -> String {
    format!("the database (team `{team}`)")
}

/// A record whose columns begin at `start`.
fn record(row: &Row, start: usize) -> StoreResult<Record> {
    let fields = || -> SqlResult<_> {
        Ok((
            row.try_get::<_, i64>(start)?,
            row.try_get::<_, i64>(start + 1)?,
            row.try_get(start + 2)?,
            row.try_get::<_, i64>(start + 3)?,
            row.try_get::<_, Vec<u8>>(start + 4)?,
        ))
    };
    let (first, n_events, operation, crc, bodies) =
        fields().map_err(|error| damaged_row(&error))?;
    let record = || {
        Some(Record {
            first: Version(u64::try_from(first).ok()?),
            n_events: u64::try_from(n_events).ok()?,
            operation: OperationId(operation),
            crc: u32::try_from(crc).ok()?,
            bodies: String::from_utf8(bodies).ok()?,
        })
    };
    record().ok_or_else(|| damaged(&format!("the record of version {first}")))
}

pub(super) async fn snapshot(pool: &Arc<Pool>, team: TeamId) -> StoreResult<Option<Snapshot>> {
    let sql = "SELECT version, crc, state FROM troop.snapshots WHERE team = $1";
    let found = rows(pool, sql, &[(&team.0, Type::UUID)]).await?;
    let Some(row) = found.first() else {
        return require(pool, team).await.map(|()| None);
    };
    let (version, state) = checked(row, team, "the snapshot of version")?;
    Ok(Some(Snapshot { version: Version(version), state: state.into() }))
}

pub(super) async fn archived(
    pool: &Arc<Pool>,
    team: TeamId,
    number: u32,
) -> StoreResult<Option<Vec<u8>>> {
    let range = i64::from(number)..i64::from(number) + 1;
    let found = archive_list(pool, team, range, 1).await?;
    Ok(found.into_iter().next().map(|(_, body)| body))
}

pub(super) async fn archive_list(
    pool: &Arc<Pool>,
    team: TeamId,
    range: Range<i64>,
    limit: usize,
) -> StoreResult<Vec<(u32, Vec<u8>)>> {
    let sql = "SELECT number, crc, body FROM troop.archive
         WHERE team = $1 AND number >= $2 AND number < $3 ORDER BY number DESC LIMIT $4";
    let limit = as_sql(limit as u64);
    let params: SqlParams<'_> = &[
        (&team.0, Type::UUID),
        (&range.start, Type::INT8),
        (&range.end, Type::INT8),
        (&limit, Type::INT8),
    ];
    let rows = rows(pool, sql, params).await?;
    if rows.is_empty() {
        require(pool, team).await?;
    }
    let task = |row| {
        let (number, body) = checked(row, team, "the archived task")?;
        let number = u32::try_from(number).map_err(|_| damaged("the archive"))?;
        Ok((number, body))
    };
    rows.iter().map(task).collect()
}

/// Takes a number, the checksum of the bytes, and the bytes out of a row.
fn checked(row: &Row, team: TeamId, kind: &str) -> StoreResult<(u64, Vec<u8>)> {
    let fields = || -> SqlResult<_> {
        Ok((row.try_get::<_, i64>(0)?, row.try_get::<_, i64>(1)?, row.try_get::<_, Vec<u8>>(2)?))
    };
    let (number, crc, bytes) = fields().map_err(|error| damaged_row(&error))?;
    match u64::try_from(number) {
        Ok(number) if i64::from(checksum(team, number, &bytes)) == crc => Ok((number, bytes)),
        _ => Err(damaged(&format!("{kind} {number}"))),
    }
}

fn damaged(what: &str) -> StoreError {
    corrupt(
        format!("{what} in the database is damaged: its checksum does not match"),
        "restore the database from a backup; nothing was changed",
    )
}

fn damaged_row(error: &tokio_postgres::Error) -> StoreError {
    corrupt(
        format!("a row in the database is damaged: {error}"),
        "restore the database from a backup; nothing was changed",
    )
}
