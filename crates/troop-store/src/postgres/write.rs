//! The changes. Writers of one team wait for its lock, which the server grants in line.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::time::timeout;
use tokio_postgres::{
    Client, IsolationLevel, Row, Transaction,
    error::SqlState,
    types::{ToSql, Type},
};
use troop_model::{TeamId, Version};

use super::{
    connect::SqlResult,
    failure::is_state,
    pool::{Checkout, Pool},
    read::{SqlParams, as_sql, missed},
    session::{self, Session},
};
use crate::{
    AppendOutcome, AppendSlot, ArchivedTask, Batch, NewTeam, SlotWriter, Snapshot, StoreFuture,
    StoreResult,
    bell::Bells,
    failure::{LINE_PATIENCE, bug, id_taken, missed_ignored, name_taken, unknown_team},
    hold::SlotHold,
    record::{BatchStanding, Record, checksum, standing},
};

/// The server's lock for a team. Another team with the same key would wait, but nothing would break.
fn lock_key(team: TeamId) -> i64 {
    let (_, low) = team.0.as_u64_pair();
    low.cast_signed()
}

/// The answer of the function `append`: the head of the log, the end of the batch if it is in, or else the missed records.
struct AppendAnswer {
    head: Option<i64>,
    done: Option<i64>,
    rows: Vec<Row>,
}

impl AppendAnswer {
    /// Whether others appended first, so that the server gave the caller the slot.
    fn is_behind(&self) -> bool {
        !self.rows.is_empty() && self.done.is_none() && self.head.is_some()
    }

    /// The end of the batch, or `None` if others appended first. Then the connection holds the team's lock.
    fn end(&self, team: TeamId, batch: &Batch) -> StoreResult<Option<Version>> {
        let version = |number: i64| Version(u64::try_from(number).unwrap_or_default());
        if let Some(done) = self.done {
            return Ok(Some(version(done)));
        }
        let head = self.head.map(version).ok_or_else(|| unknown_team(team))?;
        match standing(batch, head, |_| Ok(None))? {
            BatchStanding::Behind => Ok(None),
            BatchStanding::Next | BatchStanding::Repeated(_) => {
                Err(bug("the server did not append"))
            }
        }
    }
}

const APPEND: &str = "SELECT * FROM troop.append($1, $2, $3, $4, $5, $6, $7, $8, $9)";
/// How long the server lets an append slot idle, in milliseconds. We take it back sooner, unless our process is
/// stopped.
const PATIENCE: i32 = 1_000 * (AppendSlot::PATIENCE.as_secs() as i32 + 1);

/// How long an append may take. It waits for other writers, and a primary server also waits for its synchronous standby: if
/// that is gone, without end.
const ANSWER_PATIENCE: Duration = LINE_PATIENCE.saturating_add(Duration::from_secs(15));

/// Whether an append is the one that a slot was granted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    First,
    InSlot,
}

/// Locks, checks, inserts and notifies in one round trip, and commits.
///
/// A connection's first append is sent as it is; from the second one on, the server prepares it.
async fn call_append(
    connection: &mut Checkout,
    stage: Stage,
    team: TeamId,
    record: &Record,
) -> SqlResult<AppendAnswer> {
    let has_slot = stage == Stage::InSlot;
    let key = lock_key(team);
    let after = as_sql(record.first.0.saturating_sub(1));
    let n_events = as_sql(record.n_events);
    let crc = i64::from(record.crc);
    let params: [(&(dyn ToSql + Sync), Type); 9] = [
        (&key, Type::INT8),
        (&has_slot, Type::BOOL),
        (&PATIENCE, Type::INT4),
        (&team.0, Type::UUID),
        (&after, Type::INT8),
        (&record.operation.0, Type::UUID),
        (&n_events, Type::INT8),
        (&crc, Type::INT8),
        (&record.bodies.as_bytes(), Type::BYTEA),
    ];
    let rows = match connection
        .prepared(APPEND, &params.each_ref().map(|(_, kind)| kind.clone()))
        .await?
    {
        Some(statement) => {
            connection.client().query(&statement, &params.map(|(param, _)| param)).await?
        }
        None => connection.client().query_typed(APPEND, &params).await?,
    };
    let number = |column| rows.first().map_or(Ok(None), |row| row.try_get(column));
    Ok(AppendAnswer { head: number(0)?, done: number(1)?, rows })
}

/// Calls an append in a shared session: only a transaction holds it, so the slot is an open transaction instead of a lock of the
/// session.
async fn call_shared_append(
    connection: &mut Checkout,
    stage: Stage,
    team: TeamId,
    record: &Record,
) -> SqlResult<AppendAnswer> {
    if stage == Stage::First {
        let settings = session::transaction_settings();
        let begin = format!("BEGIN ISOLATION LEVEL READ COMMITTED; {settings}");
        connection.client().batch_execute(&begin).await?;
    }
    // Without a slot, the function neither takes the lock of the session back nor limits the session.
    let answer = call_append(connection, Stage::First, team, record).await?;
    let then = match answer.is_behind() {
        // The transaction holds the team's lock, too.
        true => format!("SELECT pg_advisory_unlock({}), troop.limit_idling(0)", lock_key(team)),
        false => "COMMIT".to_owned(),
    };
    connection.client().batch_execute(&then).await?;
    Ok(answer)
}

/// Appends in the way that the session allows.
async fn try_append(
    connection: &mut Checkout,
    stage: Stage,
    team: TeamId,
    batch: &Batch,
) -> StoreResult<AppendAnswer> {
    let record = Record::new(team, batch)?;
    let failed = connection.failed();
    let unanswered = connection.unanswered();
    let answer = async {
        match connection.session() {
            Session::Own => call_append(connection, stage, team, &record).await,
            Session::Shared => call_shared_append(connection, stage, team, &record).await,
        }
    };
    match timeout(ANSWER_PATIENCE, answer).await {
        Ok(answer) => answer.map_err(failed),
        Err(_) => Err(unanswered()),
    }
}

pub(super) async fn append(
    pool: &Arc<Pool>,
    bells: &Bells,
    team: TeamId,
    batch: Batch,
) -> StoreResult<AppendOutcome> {
    let mut connection = pool.checkout().await?;
    let answer = try_append(&mut connection, Stage::First, team, &batch).await?;
    match answer.end(team, &batch) {
        Ok(None) => {
            let missed = missed(&answer.rows, team, batch.after)?;
            let slot = PostgresSlot { hold: SlotHold::new(connection), bells: bells.clone(), team };
            Ok(AppendOutcome::Behind(AppendSlot::new(missed, Box::new(slot))))
        }
        ended => {
            connection.give_back();
            bells.ring(team);
            ended?.map(AppendOutcome::Done).ok_or_else(|| bug("an append ended nowhere"))
        }
    }
}

/// A connection whose session, or whose open transaction, holds the team's lock. Closing it gives the slot back.
#[derive(Debug)]
struct PostgresSlot {
    hold: SlotHold<Checkout>,
    bells: Bells,
    team: TeamId,
}

impl SlotWriter for PostgresSlot {
    fn append(self: Box<Self>, batch: Batch) -> StoreFuture<'static, Version> {
        Box::pin(async move {
            let mut connection = self.hold.take()?;
            let answer = try_append(&mut connection, Stage::InSlot, self.team, &batch).await?;
            let end = answer.end(self.team, &batch)?;
            let end = end.ok_or_else(missed_ignored)?;
            connection.give_back();
            self.bells.ring(self.team);
            Ok(end)
        })
    }
}

/// Runs a change in a transaction that holds the team's lock.
async fn change<T>(
    pool: &Arc<Pool>,
    team: TeamId,
    work: impl AsyncFnOnce(&Transaction<'_>) -> SqlResult<T>,
) -> StoreResult<SqlResult<T>> {
    transact(pool, async |transaction| {
        let key = lock_key(team);
        transaction.batch_execute(&format!("SELECT pg_advisory_xact_lock({key})")).await?;
        work(transaction).await
    })
    .await
}

async fn transact<T>(
    pool: &Arc<Pool>,
    work: impl AsyncFnOnce(&Transaction<'_>) -> SqlResult<T>,
) -> StoreResult<SqlResult<T>> {
    let mut connection = pool.checkout().await?;
    let failed = connection.failed();
    let session = connection.session();
    let changed = async |client: &mut Client| {
        let transaction = client.build_transaction();
        let transaction =
            transaction.isolation_level(IsolationLevel::ReadCommitted).start().await?;
        if session == Session::Shared {
            transaction.batch_execute(&session::transaction_settings()).await?;
        }
        let answer = work(&transaction).await?;
        transaction.commit().await?;
        Ok(answer)
    };
    match changed(connection.client()).await {
        Ok(answer) => {
            connection.give_back();
            Ok(Ok(answer))
        }
        Err(error) if is_state(&error, &SqlState::UNIQUE_VIOLATION) => Ok(Err(error)),
        Err(error) => Err(failed(error)),
    }
}

pub(super) async fn create(
    pool: &Arc<Pool>,
    team: &NewTeam,
    first: &Batch,
) -> StoreResult<Version> {
    let records = Record::beginning(team.id, first)?;
    let created = change(pool, team.id, async |transaction| {
        // A long beginning is several records of one operation.
        let sql =
            "SELECT count(*) > 0, max(first_version + n_events - 1) FILTER (WHERE operation = $2)
                   FROM troop.batches WHERE team = $1";
        let found = transaction
            .query_typed_one(sql, &[(&team.id.0, Type::UUID), (&first.operation.0, Type::UUID)])
            .await?;
        if found.try_get(0)? {
            return found.try_get(1);
        }
        let sql = "INSERT INTO troop.teams (id, name) VALUES ($1, $2)";
        transaction
            .execute_typed(sql, &[(&team.id.0, Type::UUID), (&team.name, Type::TEXT)])
            .await?;
        for record in &records {
            insert(transaction, team.id, record).await?;
        }
        Ok(Some(as_sql(first.end().0)))
    })
    .await?;
    match created {
        Ok(Some(end)) => Ok(Version(u64::try_from(end).unwrap_or_default())),
        Ok(None) => Err(id_taken(team.id)),
        Err(_) => Err(name_taken(&team.name)),
    }
}

async fn insert(transaction: &Transaction<'_>, team: TeamId, record: &Record) -> SqlResult<()> {
    let sql = "INSERT INTO troop.batches VALUES ($1, $2, $3, $4, $5, $6)";
    let crc = i64::from(record.crc);
    let bodies = record.bodies.as_bytes();
    let start = as_sql(record.first.0);
    let n_events = as_sql(record.n_events);
    let params: SqlParams<'_> = &[
        (&team.0, Type::UUID),
        (&start, Type::INT8),
        (&n_events, Type::INT8),
        (&record.operation.0, Type::UUID),
        (&crc, Type::INT8),
        (&bodies, Type::BYTEA),
    ];
    transaction.execute_typed(sql, params).await.map(drop)
}

pub(super) async fn retire(pool: &Arc<Pool>, team: TeamId) -> StoreResult<()> {
    let retired = change(pool, team, async |transaction| {
        let sql = "UPDATE troop.teams SET is_retired = true WHERE id = $1";
        transaction.execute_typed(sql, &[(&team.0, Type::UUID)]).await
    });
    match retired.await? {
        Ok(0) => Err(unknown_team(team)),
        _ => Ok(()),
    }
}

pub(super) async fn purge(pool: &Arc<Pool>, team: TeamId) -> StoreResult<()> {
    let purged = change(pool, team, async |transaction| {
        // The team goes first: a process that is saving a snapshot locks it until there is something to erase.
        let sql = "DELETE FROM troop.teams WHERE id = $1";
        transaction.execute_typed(sql, &[(&team.0, Type::UUID)]).await?;
        for table in ["batches", "snapshots", "archive"] {
            let sql = format!("DELETE FROM troop.{table} WHERE team = $1");
            transaction.execute_typed(&sql, &[(&team.0, Type::UUID)]).await?;
        }
        Ok(())
    });
    purged.await.map(drop)
}

/// Saves without the lock for appends: a snapshot may be large, and appends need not wait for it.
pub(super) async fn save_snapshot(
    pool: &Arc<Pool>,
    team: TeamId,
    snapshot: &Snapshot,
    archived: &[ArchivedTask],
) -> StoreResult<()> {
    let saved = transact(pool, async |transaction| {
        let sql = "SELECT 1 FROM troop.teams WHERE id = $1 FOR UPDATE";
        if transaction.query_typed_opt(sql, &[(&team.0, Type::UUID)]).await?.is_none() {
            return Ok(false);
        }
        let sql = "INSERT INTO troop.snapshots AS s VALUES ($1, $2, $3, $4)
                   ON CONFLICT (team) DO UPDATE
                   SET version = excluded.version, crc = excluded.crc, state = excluded.state
                   WHERE s.version < excluded.version";
        let crc = i64::from(checksum(team, snapshot.version.0, &snapshot.state));
        let version = as_sql(snapshot.version.0);
        let params: SqlParams<'_> = &[
            (&team.0, Type::UUID),
            (&version, Type::INT8),
            (&crc, Type::INT8),
            (&snapshot.state.as_ref(), Type::BYTEA),
        ];
        let n_rows = transaction.execute_typed(sql, params).await?;
        if n_rows > 0 {
            archive(transaction, team, archived).await?;
        }
        Ok(true)
    });
    match saved.await? {
        Ok(true) => Ok(()),
        Ok(false) => Err(unknown_team(team)),
        Err(error) => Err(bug(error.to_string())),
    }
}

/// Stores and erases many tasks in two statements. The last entry for a task counts.
async fn archive(
    transaction: &Transaction<'_>,
    team: TeamId,
    archived: &[ArchivedTask],
) -> SqlResult<()> {
    let latest: BTreeMap<u32, Option<&[u8]>> =
        archived.iter().map(|task| (task.number, task.body.as_deref())).collect();
    let mut numbers = Vec::new();
    let mut crcs = Vec::new();
    let mut bodies = Vec::new();
    let mut erased = Vec::new();
    for (number, body) in latest {
        let Some(body) = body else {
            erased.push(i64::from(number));
            continue;
        };
        numbers.push(i64::from(number));
        crcs.push(i64::from(checksum(team, u64::from(number), body)));
        bodies.push(body);
    }
    if !numbers.is_empty() {
        let sql = "INSERT INTO troop.archive
                   SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[])
                   ON CONFLICT (team, number) DO UPDATE
                   SET crc = excluded.crc, body = excluded.body";
        let params: SqlParams<'_> = &[
            (&team.0, Type::UUID),
            (&numbers, Type::INT8_ARRAY),
            (&crcs, Type::INT8_ARRAY),
            (&bodies, Type::BYTEA_ARRAY),
        ];
        transaction.execute_typed(sql, params).await?;
    }
    if !erased.is_empty() {
        let sql = "DELETE FROM troop.archive WHERE team = $1 AND number = ANY($2)";
        let params: SqlParams<'_> = &[(&team.0, Type::UUID), (&erased, Type::INT8_ARRAY)];
        transaction.execute_typed(sql, params).await?;
    }
    Ok(())
}
