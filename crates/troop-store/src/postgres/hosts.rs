//! Several servers of which one takes writes: a primary and its standbys.
//!
//! After a failover the old primary may come back and take writes too. What it has is old, and what is written there is lost.
//! The standby began a new timeline when it was promoted, so the server with the highest one is asked, and one with a lower
//! timeline than this process has seen never.

use std::{sync::Arc, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, timeout_at},
};
use tokio_postgres::{
    Client, Config,
    config::{Host, TargetSessionAttrs},
};

use super::{
    connect::{ConnectError, NotificationHandler, Server, ServerConnection, SqlResult},
    failure::{is_standby, no_primary, old_primary},
};
use crate::{StoreError, StoreResult, failure::bug};

/// How long the other hosts have once one takes writes.
const GRACE: Duration = Duration::from_secs(1);
/// Until one does, each host has its own patience.
const FAR: Duration = Duration::from_mins(1);

/// The settings for each host alone. Of several hosts, only those that take writes will do.
pub(super) fn each(config: &Config) -> Vec<Config> {
    let n_hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
    if n_hosts < 2 {
        return vec![config.clone()];
    }
    (0..n_hosts).map(|nth| only(config, nth)).collect()
}

fn only(config: &Config, nth: usize) -> Config {
    let mut one = without_hosts(config);
    match config.get_hosts().get(nth) {
        Some(Host::Tcp(name)) => drop(one.host(name)),
        Some(Host::Unix(path)) => drop(one.host_path(path)),
        None => {}
    }
    if let Some(address) = config.get_hostaddrs().get(nth) {
        one.hostaddr(*address);
    }
    let ports = config.get_ports();
    if let Some(port) = ports.get(nth).or_else(|| ports.first()) {
        one.port(*port);
    }
    one.target_session_attrs(TargetSessionAttrs::ReadWrite);
    one
}

/// The library can add a host, but not take one away.
fn without_hosts(config: &Config) -> Config {
    let mut copy = Config::new();
    config.get_user().map(|it| copy.user(it));
    config.get_password().map(|it| copy.password(it));
    config.get_dbname().map(|it| copy.dbname(it));
    config.get_options().map(|it| copy.options(it));
    config.get_application_name().map(|it| copy.application_name(it));
    config.get_connect_timeout().map(|it| copy.connect_timeout(*it));
    config.get_tcp_user_timeout().map(|it| copy.tcp_user_timeout(*it));
    config.get_keepalives_interval().map(|it| copy.keepalives_interval(it));
    config.get_keepalives_retries().map(|it| copy.keepalives_retries(it));
    copy.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .channel_binding(config.get_channel_binding());
    copy
}

/// A host that takes writes.
struct Primary {
    timeline: u32,
    connection: ServerConnection,
}

/// Asks all hosts at once and keeps the connection to the one with the highest timeline.
pub(super) async fn connect(
    server: &Arc<Server>,
    heard: &NotificationHandler,
) -> StoreResult<ServerConnection> {
    let mut asked = JoinSet::new();
    for host in server.hosts() {
        let host = host.clone();
        let server = Arc::clone(server);
        let heard = Arc::clone(heard);
        asked.spawn(async move {
            let asked = ask(&server, &host, heard).await;
            asked.map_err(|error| HostRefusal { name: name(&host), error })
        });
    }
    let mut best: Option<Primary> = None;
    let mut refusals = Vec::new();
    let mut deadline = Instant::now() + FAR;
    while let Ok(Some(answer)) = timeout_at(deadline, asked.join_next()).await {
        match answer {
            Ok(Ok(primary)) => {
                deadline = deadline.min(Instant::now() + GRACE);
                server.note_timeline(primary.timeline);
                if best.as_ref().is_none_or(|it| it.timeline < primary.timeline) {
                    best = Some(primary);
                }
            }
            Ok(Err(refusal)) => refusals.push(refusal),
            Err(fault) => return Err(bug(format!("asking a server ended early: {fault}"))),
        }
    }
    match best {
        Some(primary) if server.is_newest(primary.timeline) => Ok(primary.connection),
        Some(_) => Err(old_primary(server)),
        None => Err(none_of(server, refusals)),
    }
}

async fn ask(
    server: &Server,
    host: &Config,
    heard: NotificationHandler,
) -> Result<Primary, ConnectError> {
    let connection = server.connect_to(host, heard).await?;
    let timeline = timeline(&connection.client).await?;
    Ok(Primary { timeline, connection })
}

/// The timeline that a server writes to: the first digits of the name of its current log file.
async fn timeline(client: &Client) -> SqlResult<u32> {
    let sql = "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)";
    match client.query_typed_one(sql, &[]).await {
        Ok(row) => {
            let digits: String = row.try_get(0)?;
            Ok(u32::from_str_radix(&digits, 16).unwrap_or_default())
        }
        // A server that is not quite PostgreSQL has no timelines.
        Err(error) if error.as_db_error().is_some() => Ok(0),
        Err(error) => Err(error),
    }
}

/// A host that is not used, and why.
struct HostRefusal {
    name: String,
    error: ConnectError,
}

/// An error that is not about who is primary comes first: a wrong password is no failover.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other class is the answer as it is")]
fn none_of(server: &Server, refusals: Vec<HostRefusal>) -> StoreError {
    let mut said = Vec::new();
    for HostRefusal { name, error } in refusals {
        let is_standby = matches!(&error, ConnectError::Sql(error) if is_standby(error));
        match error.into_store_error(server) {
            StoreError::Unavailable { .. } if is_standby => {
                said.push(format!("`{name}` is a standby"));
            }
            StoreError::Unavailable { source, .. } => said.push(format!("`{name}`: {source}")),
            other => return other,
        }
    }
    no_primary(server, &said)
}

fn name(host: &Config) -> String {
    match (host.get_hosts().first(), host.get_hostaddrs().first()) {
        (Some(Host::Tcp(name)), _) => name.clone(),
        (Some(Host::Unix(path)), _) => path.display().to_string(),
        (None, address) => address.map(ToString::to_string).unwrap_or_default(),
    }
}
