//! The changes. Writers of one team wait for its lock, which the server grants in line.

use std::sync::Arc;

use tokio_postgres::{Client, Transaction, error::SqlState, types::Type};
use troop_model::{TeamId, Version};

use super::{
    connect::SqlResult,
    failure::is_state,
    pool::{Checkout, Pool},
    read::{as_sql, log_with},
};
use crate::{
    Appended, Archived, Batch, BoxFuture, NewTeam, Snapshot, StoreResult, Turn, TurnWriter,
    bell::Bells,
    failure::{bug, id_taken, name_taken, unknown_team},
    hold::Hold,
    record::{Record, Standing, checksum, standing},
};

/// The server's lock for a team. Another team with the same key would wait, but nothing would break.
fn lock_key(team: TeamId) -> i64 {
    let (_, low) = team.0.as_u64_pair();
    low.cast_signed()
}

/// What the function `append` answers: where the log was, and where the batch ends if it is in.
struct Answer {
    head: Option<i64>,
    done: Option<i64>,
}

impl Answer {
    /// The end of the batch, or `None` if others appended first.
    fn end(&self, team: TeamId, batch: &Batch) -> StoreResult<Option<Version>> {
        let version = |number: i64| Version(u64::try_from(number).unwrap_or_default());
        if let Some(done) = self.done {
            return Ok(Some(version(done)));
        }
        let head = self.head.map(version).ok_or_else(|| unknown_team(team))?;
        match standing(batch, head, |_| Ok(None))? {
            Standing::Behind => Ok(None),
            Standing::Next | Standing::Repeated(_) => Err(bug("the server did not append")),
        }
    }
}

/// Locks, checks, inserts and notifies in one round trip; without a transaction around it, it also commits.
async fn call_append(client: &Client, team: TeamId, record: &Record) -> SqlResult<Answer> {
    let row = client
        .query_typed_one(
            "SELECT head, done FROM troop.append($1, $2, $3, $4, $5, $6, $7)",
            &[
                (&lock_key(team), Type::INT8),
                (&team.0, Type::UUID),
                (&as_sql(record.first.0.saturating_sub(1)), Type::INT8),
                (&record.operation.0, Type::UUID),
                (&as_sql(record.n_events), Type::INT8),
                (&i64::from(record.crc), Type::INT8),
                (&record.bodies.as_bytes(), Type::BYTEA),
            ],
        )
        .await?;
    Ok(Answer { head: row.try_get(0)?, done: row.try_get(1)? })
}

pub(super) async fn append(
    pool: &Arc<Pool>,
    bells: &Bells,
    team: TeamId,
    batch: Batch,
) -> StoreResult<Appended> {
    let record = Record::new(team, &batch)?;
    let mut link = pool.checkout().await?;
    let answer = call_append(link.client(), team, &record).await.map_err(link.failed())?;
    match answer.end(team, &batch) {
        Ok(None) => {
            let (turn, missed) = take_turn(link, team, batch.after).await?;
            let turn = PostgresTurn { hold: Hold::new(turn), bells: bells.clone(), team };
            Ok(Appended::Behind(Turn::new(missed, Box::new(turn))))
        }
        ended => {
            link.give_back();
            bells.ring(team);
            ended?.map(Appended::Done).ok_or_else(|| bug("an append ended nowhere"))
        }
    }
}

/// Begins a transaction that holds the team's lock, and reads what was missed, in one flight.
async fn take_turn(
    mut link: Checkout,
    team: TeamId,
    after: Version,
) -> StoreResult<(Checkout, Vec<crate::Entry>)> {
    let failed = link.failed();
    let client = &*link.client();
    let begin = format!("BEGIN; SELECT pg_advisory_xact_lock({})", lock_key(team));
    let (begun, missed) = tokio::join!(
        biased;
        client.batch_execute(&begin),
        log_with(client, &failed, team, after, usize::MAX),
    );
    begun.map_err(&failed)?;
    Ok((link, missed?))
}

/// A turn: a connection whose transaction holds the team's lock.
#[derive(Debug)]
struct PostgresTurn {
    hold: Hold<Checkout>,
    bells: Bells,
    team: TeamId,
}

impl TurnWriter for PostgresTurn {
    fn append(self: Box<Self>, batch: Batch) -> BoxFuture<'static, StoreResult<Version>> {
        Box::pin(async move {
            let record = Record::new(self.team, &batch)?;
            let mut link = self.hold.take()?;
            let client = &*link.client();
            let (answer, committed) = tokio::join!(
                biased;
                call_append(client, self.team, &record),
                client.batch_execute("COMMIT"),
            );
            let answer = answer.map_err(link.failed())?;
            committed.map_err(link.failed())?;
            link.give_back();
            self.bells.ring(self.team);
            let end = answer.end(self.team, &batch)?;
            end.ok_or_else(|| bug("a turn's batch was not decided on what it missed"))
        })
    }
}

/// Runs a change in a transaction that holds the team's lock.
async fn change<T>(
    pool: &Arc<Pool>,
    team: TeamId,
    work: impl AsyncFnOnce(&Transaction<'_>) -> SqlResult<T>,
) -> StoreResult<SqlResult<T>> {
    let mut link = pool.checkout().await?;
    let failed = link.failed();
    let changed = async |client: &mut Client| {
        let transaction = client.transaction().await?;
        let key = lock_key(team);
        transaction.batch_execute(&format!("SELECT pg_advisory_xact_lock({key})")).await?;
        let answer = work(&transaction).await?;
        transaction.commit().await?;
        Ok(answer)
    };
    match changed(link.client()).await {
        Ok(answer) => {
            link.give_back();
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
        let found = transaction.query_one(sql, &[&team.id.0, &first.operation.0]).await?;
        if found.try_get(0)? {
            return found.try_get(1);
        }
        let sql = "INSERT INTO troop.teams (id, name) VALUES ($1, $2)";
        transaction.execute(sql, &[&team.id.0, &team.name]).await?;
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
    let (crc, bodies) = (i64::from(record.crc), record.bodies.as_bytes());
    let (start, n_events) = (as_sql(record.first.0), as_sql(record.n_events));
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
        [&team.0, &start, &n_events, &record.operation.0, &crc, &bodies];
    transaction.execute(sql, &params).await.map(drop)
}

pub(super) async fn retire(pool: &Arc<Pool>, team: TeamId) -> StoreResult<()> {
    let retired = change(pool, team, async |transaction| {
        let sql = "UPDATE troop.teams SET is_retired = true WHERE id = $1";
        transaction.execute(sql, &[&team.0]).await
    });
    match retired.await? {
        Ok(0) => Err(unknown_team(team)),
        _ => Ok(()),
    }
}

pub(super) async fn purge(pool: &Arc<Pool>, team: TeamId) -> StoreResult<()> {
    let purged = change(pool, team, async |transaction| {
        for table in ["batches", "snapshots", "archive"] {
            let sql = format!("DELETE FROM troop.{table} WHERE team = $1");
            transaction.execute(&sql, &[&team.0]).await?;
        }
        transaction.execute("DELETE FROM troop.teams WHERE id = $1", &[&team.0]).await
    });
    purged.await.map(drop)
}

pub(super) async fn save_snapshot(
    pool: &Arc<Pool>,
    team: TeamId,
    snapshot: &Snapshot,
    archived: &[Archived],
) -> StoreResult<()> {
    let saved = change(pool, team, async |transaction| {
        let sql = "SELECT 1 FROM troop.teams WHERE id = $1";
        if transaction.query_opt(sql, &[&team.0]).await?.is_none() {
            return Ok(false);
        }
        let sql = "INSERT INTO troop.snapshots AS s VALUES ($1, $2, $3, $4)
                   ON CONFLICT (team) DO UPDATE
                   SET version = excluded.version, crc = excluded.crc, state = excluded.state
                   WHERE s.version < excluded.version";
        let crc = i64::from(checksum(team, snapshot.version.0, &snapshot.state));
        let version = as_sql(snapshot.version.0);
        let n_rows = transaction.execute(sql, &[&team.0, &version, &crc, &snapshot.state]).await?;
        if n_rows > 0 {
            for task in archived {
                archive(transaction, team, task).await?;
            }
        }
        Ok(true)
    });
    match saved.await? {
        Ok(true) => Ok(()),
        Ok(false) => Err(unknown_team(team)),
        Err(error) => Err(bug(error.to_string())),
    }
}

async fn archive(transaction: &Transaction<'_>, team: TeamId, task: &Archived) -> SqlResult<()> {
    let number = i64::from(task.number);
    let Some(body) = &task.body else {
        let sql = "DELETE FROM troop.archive WHERE team = $1 AND number = $2";
        return transaction.execute(sql, &[&team.0, &number]).await.map(drop);
    };
    let sql = "INSERT INTO troop.archive VALUES ($1, $2, $3, $4)
               ON CONFLICT (team, number) DO UPDATE SET crc = excluded.crc, body = excluded.body";
    let crc = i64::from(checksum(team, u64::from(task.number), body));
    transaction.execute(sql, &[&team.0, &number, &crc, body]).await.map(drop)
}
