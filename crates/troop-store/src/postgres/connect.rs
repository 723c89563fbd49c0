//! The URL of a server, and connections to it.

use std::{
    fmt,
    future::poll_fn,
    str::FromStr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::{task::JoinSet, time::timeout};
use tokio_postgres::{
    AsyncMessage, Client, Config, Connection, Error, NoTls, Notification, Socket, Statement,
    config::{Host, SslMode},
    tls::TlsStream,
};

use super::{
    failure::{is_unknown_option, no_answer, sql_failure},
    hosts,
    session::{self, Session},
    tls::{self, TlsTrust},
};
use crate::{StoreError, StoreResult, failure::refused};

/// How long a server may take until a connection is ready.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// After how much silence a connection is tried whether its other end is still there.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// How long that other end may then stay silent, and for how long sent bytes may go unacknowledged. A machine that lost its
/// power or its network says nothing.
const SILENCE: Duration = Duration::from_secs(10);
/// The library's default for [`KEEPALIVE`].
const UNSAID_KEEPALIVE: Duration = Duration::from_hours(2);

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

/// A server, or several of which one takes writes, and how to reach it.
#[derive(Debug)]
pub(super) struct Server {
    url: PostgresUrl,
    /// The settings for each host.
    hosts: Vec<Config>,
    trust: TlsTrust,
    /// The newest timeline that a server had.
    timeline: AtomicU32,
    session: OnceLock<Session>,
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
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENCE);
        }
        if config.get_keepalives_idle() == UNSAID_KEEPALIVE {
            config
                .keepalives_idle(KEEPALIVE)
                .keepalives_interval(SILENCE / 4)
                .keepalives_retries(4);
        }
        let timeline = AtomicU32::new(0);
        let hosts = hosts::each(&config);
        Ok(Self { url: url.clone(), hosts, trust, timeline, session: OnceLock::new() })
    }

    pub(super) fn url(&self) -> &PostgresUrl {
        &self.url
    }

    pub(super) fn user(&self) -> &str {
        self.any_host().and_then(Config::get_user).unwrap_or("CURRENT_USER")
    }

    pub(super) fn database(&self) -> &str {
        self.any_host().and_then(Config::get_dbname).unwrap_or_else(|| self.user())
    }

    fn any_host(&self) -> Option<&Config> {
        self.hosts.first()
    }

    pub(super) fn hosts(&self) -> &[Config] {
        &self.hosts
    }

    /// Whose the server's sessions are; known from the first connection on.
    pub(super) fn session(&self) -> Session {
        self.session.get().copied().unwrap_or(Session::Own)
    }

    /// Whether no server had a newer timeline than this one.
    pub(super) fn is_newest(&self, timeline: u32) -> bool {
        self.timeline.load(Ordering::SeqCst) <= timeline
    }

    /// Notes a timeline that a server has.
    pub(super) fn note_timeline(&self, timeline: u32) {
        self.timeline.fetch_max(timeline, Ordering::SeqCst);
    }

    /// Connects, and passes on what the server announces.
    pub(super) async fn connect(
        self: &Arc<Self>,
        heard: NotificationHandler,
    ) -> StoreResult<ServerConnection> {
        match self.hosts.as_slice() {
            [host] => {
                let connected = self.connect_to(host, heard).await;
                connected.map_err(|error| error.into_store_error(self))
            }
            _ => hosts::connect(self, &heard).await,
        }
    }

    /// Connects to one of the hosts.
    pub(super) async fn connect_to(
        &self,
        host: &Config,
        heard: NotificationHandler,
    ) -> Result<ServerConnection, ConnectError> {
        let ready = async {
            let connection = self.open_session(host, heard).await?;
            if self.session.get().is_none() {
                let session = session::of(&connection.client).await?;
                // Another connection may have found out just now; it found the same.
                self.session.get_or_init(|| session);
            }
            Ok(connection)
        };
        timeout(CONNECT_PATIENCE, ready).await.unwrap_or(Err(ConnectError::NoAnswer))
    }

    /// Asks for a session with our settings. A pooler may refuse to pass them on.
    async fn open_session(
        &self,
        host: &Config,
        heard: NotificationHandler,
    ) -> Result<ServerConnection, ConnectError> {
        if self.session() == Session::Own {
            let mut own = host.clone();
            own.options(session::options(host.get_options()));
            match self.dial(&own, heard.clone()).await {
                Err(ConnectError::Sql(error)) if is_unknown_option(&error) => {}
                dialled => return dialled,
            }
        }
        self.dial(host, heard).await
    }

    async fn dial(
        &self,
        host: &Config,
        heard: NotificationHandler,
    ) -> Result<ServerConnection, ConnectError> {
        let is_here = host.get_hosts().iter().all(|it| matches!(it, Host::Unix(_)));
        if host.get_ssl_mode() == SslMode::Disable || is_here {
            let (client, connection) = host.connect(NoTls).await?;
            return Ok(ServerConnection::new(client, connection, heard));
        }
        let tls = tls::connector(self.trust).map_err(ConnectError::Store)?;
        let (client, connection) = host.connect(tls).await?;
        Ok(ServerConnection::new(client, connection, heard))
    }
}

/// A handler of the server's announcements.
pub(super) type NotificationHandler = Arc<dyn Fn(&Notification) + Send + Sync>;

/// Why there is no connection.
pub(super) enum ConnectError {
    Sql(Error),
    Store(StoreError),
    NoAnswer,
}

impl From<Error> for ConnectError {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

impl ConnectError {
    pub(super) fn into_store_error(self, server: &Server) -> StoreError {
        match self {
            Self::Sql(error) => sql_failure(server, error),
            Self::Store(error) => error,
            Self::NoAnswer => no_answer(server),
        }
    }
}

/// A connection. It is closed when this is dropped, which undoes what was not committed.
#[derive(Debug)]
pub(super) struct ServerConnection {
    pub(super) client: Client,
    pub(super) append: StatementState,
    driver: JoinSet<()>,
}

/// The state of a prepared statement of a connection.
#[derive(Debug)]
pub(super) enum StatementState {
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
        heard: NotificationHandler,
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
        Self { client, append: StatementState::Unused, driver }
    }

    /// Waits until the connection ends.
    pub(super) async fn ended(&mut self) {
        self.driver.join_next().await;
    }
}

/// The result of a statement.
pub(super) type SqlResult<T> = Result<T, Error>;
