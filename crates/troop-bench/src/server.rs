//! A PostgreSQL server, and a database on it that goes away afterwards.

use anyhow::{Context as _, Result, ensure};
use tokio::task::JoinSet;
use tokio_postgres::{AsyncMessage, Client, NoTls, Notification};
use uuid::Uuid;

/// A connection, driven in the background.
#[derive(Debug)]
pub(crate) struct ServerSession {
    client: Client,
    /// Ends with the session.
    _connection: JoinSet<()>,
}

impl ServerSession {
    /// Connects; `heard` gets every notice.
    pub(crate) async fn open(
        url: &str,
        heard: impl Fn(&Notification) + Send + 'static,
    ) -> Result<Self> {
        let (client, mut connection) = tokio_postgres::connect(url, NoTls)
            .await
            .context("the benchmark cannot connect to the PostgreSQL server")?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            let next = |cx: &mut std::task::Context<'_>| connection.poll_message(cx);
            let mut next = next;
            while let Some(Ok(message)) = std::future::poll_fn(&mut next).await {
                if let AsyncMessage::Notification(notice) = message {
                    heard(&notice);
                }
            }
        });
        Ok(Self { client, _connection: driver })
    }

    pub(crate) async fn execute(&self, sql: &str) -> Result<()> {
        Ok(self.client.batch_execute(sql).await?)
    }
}

/// A temporary database on a server.
#[derive(Debug)]
pub(crate) struct BenchDatabase {
    server: ServerSession,
    name: String,
    url: String,
}

impl BenchDatabase {
    pub(crate) async fn create(url: &str) -> Result<Self> {
        let server = ServerSession::open(url, |_| ()).await?;
        let name = format!("troop_bench_{}", Uuid::now_v7().simple());
        let url = with_database(url, &name)?;
        server.execute(&format!("CREATE DATABASE {name}")).await?;
        Ok(Self { server, name, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) async fn remove(self) -> Result<()> {
        self.server.execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name)).await
    }
}

/// The URL of another database on this server.
fn with_database(url: &str, name: &str) -> Result<String> {
    let (scheme, rest) = url.split_once("://").context("a server is given as `postgres://…`")?;
    let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
    let host = place.split('/').next().unwrap_or_default();
    ensure!(scheme.starts_with("postgres"), "a server is given as `postgres://…`");
    let separator = if options.is_empty() { "" } else { "?" };
    Ok(format!("{scheme}://{host}/{name}{separator}{options}"))
}
