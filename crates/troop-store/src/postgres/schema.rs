//! The tables, and the function that appends in one round trip.

use tokio_postgres::{Client, error::SqlState};

use super::{
    connect::{Server, SqlResult},
    failure::{is_state, sql_failure},
};
use crate::{
    Missing, StoreResult,
    failure::{no_store, refused, written_by_newer},
};

/// Counts up with every change of the tables.
const SCHEMA: i32 = 1;

/// Names the lock under which the schema is made: the letters `troop`.
const LOCK: i64 = 0x0074_726f_6f70;

/// Bodies are bytes: the server need not know their encoding, and gives them back unchanged.
///
/// `append` first waits for the team's lock, in line, and only then looks at the log: in PostgreSQL's `read committed`
/// each statement of a function sees what was committed before that statement began. A caller that is behind gets all that
/// it missed and keeps the lock, now as a lock of its session, so that it waits in line only once. The server ends a
/// session that idles for longer than `patience`, and with it the lock: its process may have been stopped.
/// The append in the slot gives the session's lock back; the transaction's own lasts until it is committed.
const TABLES: &str = "
CREATE TABLE troop.format (schema int NOT NULL);

CREATE TABLE troop.teams (
    place      bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         uuid    NOT NULL UNIQUE,
    name       text    NOT NULL,
    is_retired boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX names_in_use ON troop.teams (name) WHERE NOT is_retired;

CREATE TABLE troop.batches (
    team          uuid   NOT NULL,
    first_version bigint NOT NULL,
    n_events      bigint NOT NULL,
    operation     uuid   NOT NULL,
    crc           bigint NOT NULL,
    bodies        bytea  NOT NULL,
    PRIMARY KEY (team, first_version)
);

CREATE TABLE troop.snapshots (
    team    uuid   PRIMARY KEY,
    version bigint NOT NULL,
    crc     bigint NOT NULL,
    state   bytea  NOT NULL
);
ALTER TABLE troop.snapshots ALTER COLUMN state SET STORAGE EXTERNAL;

CREATE TABLE troop.archive (
    team   uuid   NOT NULL,
    number bigint NOT NULL,
    crc    bigint NOT NULL,
    body   bytea  NOT NULL,
    PRIMARY KEY (team, number)
);

CREATE FUNCTION troop.limit_idling(millis int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('server_version_num')::int >= 140000 THEN
        PERFORM set_config('idle_session_timeout', millis::text, false);
    END IF;
END $$;

CREATE FUNCTION troop.append(
    lock_key bigint, has_turn boolean, patience int,
    team_id uuid, after bigint, operation_id uuid, n bigint, crc bigint, bodies bytea
) RETURNS TABLE (
    head bigint, done bigint,
    missed_first bigint, missed_n bigint, missed_operation uuid, missed_crc bigint, missed_bodies bytea
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(lock_key);
    SELECT b.first_version + b.n_events - 1 INTO head FROM troop.batches b
        WHERE b.team = team_id ORDER BY b.first_version DESC LIMIT 1;
    IF head = after THEN
        INSERT INTO troop.batches VALUES (team_id, after + 1, n, operation_id, crc, bodies);
        PERFORM pg_notify('troop', team_id::text);
        done := after + n;
        IF has_turn THEN
            PERFORM pg_advisory_unlock(lock_key);
            PERFORM troop.limit_idling(0);
        END IF;
    ELSIF head > after THEN
        SELECT b.first_version + b.n_events - 1 INTO done FROM troop.batches b
            WHERE b.team = team_id AND b.first_version = after + 1 AND b.operation = operation_id;
        IF done IS NULL THEN
            PERFORM pg_advisory_lock(lock_key);
            PERFORM troop.limit_idling(patience);
            RETURN QUERY
                SELECT head, done, b.first_version, b.n_events, b.operation, b.crc, b.bodies
                FROM troop.batches b
                WHERE b.team = team_id AND b.first_version + b.n_events > after + 1
                    AND b.first_version >= (SELECT max(e.first_version) FROM troop.batches e
                        WHERE e.team = team_id AND e.first_version <= after + 1)
                ORDER BY b.first_version;
            RETURN;
        END IF;
    END IF;
    RETURN NEXT;
END $$;
";

/// Checks that the schema is ours and known, or makes it if there is none.
pub(super) async fn prepare(
    server: &Server,
    client: &mut Client,
    missing: Missing,
) -> StoreResult<()> {
    let found = match version(client).await {
        Err(error)
            if is_state(&error, &SqlState::UNDEFINED_TABLE)
                || is_state(&error, &SqlState::INVALID_SCHEMA_NAME) =>
        {
            match missing {
                Missing::Make => make(client).await,
                Missing::Refuse => return Err(no_store(&server.url().to_string())),
            }
        }
        found => found,
    };
    match found {
        Ok(SCHEMA) => Ok(()),
        Ok(newer) => Err(written_by_newer(server.url(), newer, SCHEMA)),
        Err(error) if is_state(&error, &SqlState::DUPLICATE_TABLE) => Err(refused(
            format!("`{}` has a schema `troop` that is another program's", server.url()),
            "give troop a separate database: `createdb troop`",
        )),
        Err(error) => Err(sql_failure(server, error)),
    }
}

async fn version(client: &Client) -> SqlResult<i32> {
    client.query_typed_one("SELECT schema FROM troop.format", &[]).await?.try_get(0)
}

/// Makes the schema in one transaction. Many processes may try at once; the first does it.
async fn make(client: &mut Client) -> SqlResult<i32> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(&format!("SELECT pg_advisory_xact_lock({LOCK})")).await?;
    let sql = "SELECT to_regnamespace('troop') IS NULL, to_regclass('troop.format') IS NULL";
    let found = transaction.query_typed_one(sql, &[]).await?;
    if found.try_get(0)? {
        transaction.batch_execute("CREATE SCHEMA troop").await?;
    }
    if found.try_get(1)? {
        transaction.batch_execute(TABLES).await?;
        let sql = format!("INSERT INTO troop.format VALUES ({SCHEMA})");
        transaction.batch_execute(&sql).await?;
    }
    transaction.commit().await?;
    version(client).await
}
