//! The URL of a server, and connections to it.

use std::{fmt, future::poll_fn, str::FromStr, time::Duration};

use tokio::task::JoinSet;
use tokio_postgres::{
    AsyncMessage, Client, Config, Connection, Error, NoTls, Notification, Socket, Statement,
    config::{Host, SslMode},
    tls::TlsStream,
};

use super::{
    failure::sql_failure,
    tls::{self, TlsTrust},
};
use crate::{
    AppendSlot, StoreResult,
    failure::{LINE_PATIENCE, refused},
};

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// A PostgreSQL URL that was understood. It shows no password.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    text: String,
}

impl PostgresUrl {
    /// Reads `postgres://…` or `postgresql://…`.
    pub fn parse(text: &str) -> StoreResult<Self> {
        let url = Self { text: text.to_owned() };
        url.config()?;
        Ok(url)
    }

    fn config(&self) -> StoreResult<(Config, TlsTrust)> {
        // libpq's `verify-full` is `require` with a check of the certificate.
        let is_verified = self.text.contains("sslmode=verify-full");
        let text = self.text.replace("sslmode=verify-full", "sslmode=require");
        let config = Config::from_str(&text).map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            refused(
                format!("`{self}` is not understood{}", cause.unwrap_or_default()),
                "use `--store postgres://USER@HOST/DATABASE`",
            )
        })?;
        Ok((config, if is_verified { TlsTrust::Certificate } else { TlsTrust::Anyone }))
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_password(&self.text))
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresUrl({self})")
    }
}

/// The URL as it may be shown.
///
/// A password may hold any character, so everything before the *last* `@` is the login: it is better to hide too much than
/// too little.
pub(crate) fn without_password(url: &str) -> String {
    let without_login = || {
        let (scheme, rest) = url.split_once(':')?;
        let start = rest.trim_start_matches('/');
        let slashes = "/".repeat(rest.len() - start.len());
        let (login, rest) = start.rsplit_once('@')?;
        let (user, _) = login.split_once(':')?;
        Some(format!("{scheme}:{slashes}{user}:***@{rest}"))
    };
    let url = without_login().unwrap_or_else(|| url.to_owned());
    let Some((place, query)) = url.split_once('?') else { return url };
    let shown = |part: &str| match part.split_once('=') {
        Some((key, _)) if key.ends_with("password") => format!("{key}=***"),
        _ => part.to_owned(),
    };
    let parts: Vec<_> = query.split('&').map(shown).collect();
    format!("{place}?{}", parts.join("&"))
}

/// A server and how to reach it.
#[derive(Debug)]
pub(super) struct Server {
    url: PostgresUrl,
    config: Config,
    trust: TlsTrust,
}

impl Server {
    pub(super) fn new(url: &PostgresUrl) -> StoreResult<Self> {
        let (mut config, trust) = url.config()?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_PATIENCE);
        }
        if config.get_application_name().is_none() {
            config.application_name("troop");
        }
        // The server takes a slot back from a process that was stopped. Appends check the log after they have waited
        // for the lock, so every statement needs a fresh snapshot.
        let options = format!(
            "{} -c default_transaction_isolation=read\\ committed -c lock_timeout={} -c idle_in_transaction_session_timeout={}",
            config.get_options().unwrap_or_default(),
            LINE_PATIENCE.as_millis(),
            AppendSlot::PATIENCE.as_millis() + 1000,
        );
        config.options(options);
        Ok(Self { url: url.clone(), config, trust })
    }

    pub(super) fn url(&self) -> &PostgresUrl {
        &self.url
    }

    pub(super) fn user(&self) -> &str {
        self.config.get_user().unwrap_or("CURRENT_USER")
    }

    pub(super) fn database(&self) -> &str {
        self.config.get_dbname().unwrap_or_else(|| self.user())
    }

    fn is_on_this_machine(&self) -> bool {
        self.config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)))
    }

    /// Connects, and passes on what the server announces.
    pub(super) async fn connect(
        &self,
        heard: impl Fn(&Notification) + Send + 'static,
    ) -> StoreResult<ServerConnection> {
        let connected =
            if self.config.get_ssl_mode() == SslMode::Disable || self.is_on_this_machine() {
                self.config
                    .connect(NoTls)
                    .await
                    .map(|(client, connection)| ServerConnection::new(client, connection, heard))
            } else {
                let tls = tls::connector(self.trust)?;
                self.config
                    .connect(tls)
                    .await
                    .map(|(client, connection)| ServerConnection::new(client, connection, heard))
            };
        connected.map_err(|error| sql_failure(self, error))
    }
}

/// A connection. It is closed when this is dropped, which undoes what was not committed.
#[derive(Debug)]
pub(super) struct ServerConnection {
    pub(super) client: Client,
    pub(super) append: Prepared,
    driver: JoinSet<()>,
}

/// Whether a connection has prepared a statement.
#[derive(Debug)]
pub(super) enum Prepared {
    /// It was never used.
    Unused,
    /// It was used once; preparing it pays off the next time.
    Wanted,
    Done(Statement),
}

impl ServerConnection {
    fn new<T>(
        client: Client,
        mut connection: Connection<Socket, T>,
        heard: impl Fn(&Notification) + Send + 'static,
    ) -> Self
    where
        T: TlsStream + Unpin + Send + 'static,
    {
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // The user of the connection gets the error; the driver just stops.
            while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                if let AsyncMessage::Notification(notification) = message {
                    heard(&notification);
                }
            }
        });
        Self { client, append: Prepared::Unused, driver }
    }

    /// Waits until the connection ends.
    pub(super) async fn ended(&mut self) {
        self.driver.join_next().await;
    }
}

/// The result of a statement.
pub(super) type SqlResult<T> = Result<T, Error>;
