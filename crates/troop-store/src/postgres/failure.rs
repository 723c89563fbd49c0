//! How PostgreSQL's errors become ours.

use std::io;

use tokio_postgres::{Error, error::SqlState};

use super::connect::Server;
use crate::{
    StoreError,
    failure::{bug, corrupt, not_found, refused, unavailable, waited_too_long},
};

pub(super) fn is_state(error: &Error, state: &SqlState) -> bool {
    error.code() == Some(state)
}

/// Whether something between us and the server refuses to pass our settings on: `PgBouncer`, unless it ignores them.
pub(super) fn is_unknown_option(error: &Error) -> bool {
    let is_about_options =
        |said: &str| said.contains("startup parameter") && said.contains("options");
    is_state(error, &SqlState::PROTOCOL_VIOLATION)
        && error.as_db_error().is_some_and(|it| is_about_options(it.message()))
}

/// Whether a server that should take writes does not.
pub(super) fn is_standby(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|it| it.downcast_ref::<io::Error>());
    source.is_some_and(|it| it.kind() == io::ErrorKind::PermissionDenied)
}

pub(super) fn no_answer(server: &Server) -> StoreError {
    let url = server.url();
    unavailable(
        format!("`{url}` does not answer"),
        format!("see whether the server runs and is not waiting for a standby: `psql {url}`"),
        "it took too long",
    )
}

/// The only server that takes writes was replaced by another one.
pub(super) fn old_primary(server: &Server) -> StoreError {
    unavailable(
        format!("the only server of `{}` that takes writes is an old primary", server.url()),
        "stop it, and start the server that was promoted in its place",
        "what it has was continued on another server",
    )
}

/// Several hosts, and none of them can be written to.
pub(super) fn no_primary(server: &Server, said: &[String]) -> StoreError {
    unavailable(
        format!("no server of `{}` takes writes: {}", server.url(), said.join("; ")),
        "start the primary server, or promote the standby: `pg_ctl promote`",
        "there is no primary server",
    )
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
