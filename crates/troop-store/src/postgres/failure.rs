//! How PostgreSQL's errors become ours.

use tokio_postgres::{Error, error::SqlState};

use super::connect::Server;
use crate::{
    StoreError,
    failure::{bug, corrupt, not_found, refused, unavailable, waited_too_long},
};

pub(super) fn is_state(error: &Error, state: &SqlState) -> bool {
    error.code() == Some(state)
}

pub(super) fn sql_failure(server: &Server, error: Error) -> StoreError {
    let url = server.url();
    let Some(refusal) = error.as_db_error() else {
        return unavailable(
            format!("`{url}` does not answer"),
            format!("see whether the server runs: `psql {url}`"),
            error,
        );
    };
    let said = refusal.message().to_owned();
    let state = refusal.code().code();
    match state {
        "3D000" => not_found(
            format!("there is no database `{}`", server.database()),
            format!("make it: `createdb {}`", server.database()),
        ),
        "28P01" | "28000" => refused(
            format!("`{url}` rejects these credentials: {said}"),
            format!("see which work: `psql {url}`"),
        ),
        "42501" => refused(
            format!("`{}` may not do this in `{}`: {said}", server.user(), server.database()),
            format!(
                "as its owner run `GRANT CREATE ON DATABASE \"{}\" TO \"{}\"`",
                server.database(),
                server.user()
            ),
        ),
        "25006" => refused(
            format!("`{url}` is read-only: {said}"),
            "name the primary server, not a standby",
        ),
        "55P03" => waited_too_long(),
        "53100" => unavailable(
            format!("the disk of `{url}` is full"),
            "free some space on the server, then try again",
            error,
        ),
        "XX001" | "XX002" => {
            corrupt(format!("`{url}` is damaged: {said}"), "restore the database from a backup")
        }
        // Classes: out of resources, stopped by an operator, the system, the connection, a rolled back transaction.
        _ if ["53", "57", "58", "08", "40", "25"].iter().any(|class| state.starts_with(class)) => {
            unavailable(
                format!("`{url}` cannot do this now: {said}"),
                "try again; see the server's log if it goes on",
                error,
            )
        }
        _ => bug(format!("`{url}` does not understand us: {said} ({state})")),
    }
}
