//! Whose a session of the server is: ours alone, or shared with others behind a connection pooler.
//!
//! A pooler in transaction mode, such as `PgBouncer`, gives every transaction whichever session is free. What belongs to a
//! session is then nobody's: settings, prepared statements, locks that outlast a transaction, and LISTEN.

use tokio_postgres::Client;

use super::connect::SqlResult;
use crate::{AppendSlot, failure::LINE_PATIENCE};

/// Whose a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Session {
    /// It is the connection's, for as long as the connection lasts.
    Own,
    /// It is the transaction's; the next one gets another session.
    Shared,
}

/// How long the server lets a transaction idle. We end it sooner, unless our process is stopped.
const IDLE_MILLIS: u128 = AppendSlot::PATIENCE.as_millis() + 1000;

/// The settings of a session of our own, after those of the URL.
///
/// The server takes a slot back from a process that was stopped. Appends check the log after they have waited for the lock, so
/// every statement needs a fresh snapshot. `troop.session` is there for [`of`].
pub(super) fn options(of_url: Option<&str>) -> String {
    format!(
        "{} -c default_transaction_isolation=read\\ committed -c lock_timeout={} \
         -c idle_in_transaction_session_timeout={IDLE_MILLIS} -c troop.session=own",
        of_url.unwrap_or_default(),
        LINE_PATIENCE.as_millis(),
    )
}

/// The settings for one transaction of a shared session.
pub(super) fn transaction_settings() -> String {
    format!(
        "SET LOCAL lock_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = {IDLE_MILLIS}",
        LINE_PATIENCE.as_millis(),
    )
}

/// Whose the session is: a pooler does not pass on the settings of one client to a session that others use too.
pub(super) async fn of(client: &Client) -> SqlResult<Session> {
    let row = client.query_typed_one("SELECT current_setting('troop.session', true)", &[]).await?;
    let own: Option<String> = row.try_get(0)?;
    Ok(match own.as_deref() {
        Some("own") => Session::Own,
        _ => Session::Shared,
    })
}
