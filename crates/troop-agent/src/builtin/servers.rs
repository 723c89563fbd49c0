//! The MCP servers of a project: started with the first work, asked for their tools, and ended with the agent.

mod config;
mod http;
mod schema;
mod stdio;

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::{sync::Semaphore, time::timeout};
use troop_model::lock;
use troop_protocol::Level;

pub use config::{CommandConsent, McpServer, McpTransport};

use super::{
    chat::ToolSpec,
    tools::{ToolOutcome, cut},
};
use crate::Turn;
use http::RemoteServer;
use stdio::LocalServer;

/// The prefix of the names of their tools.
const PREFIX: &str = "mcp__";
/// The protocol version that we ask for. Servers answer with their own.
const VERSION: &str = "2025-06-18";
const MAX_PAGES: usize = 20;
const MAX_TOOLS: usize = 128;
/// The longest tool name that every API accepts.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpTimeouts {
    /// Until a server is ready.
    pub start: Duration,
    /// For the result of a call.
    pub call: Duration,
}

impl Default for McpTimeouts {
    fn default() -> Self {
        Self { start: Duration::from_secs(30), call: Duration::from_secs(300) }
    }
}

/// All servers that are ready.
#[derive(Debug, Default)]
pub(crate) struct McpServers {
    waits: McpTimeouts,
    host: McpHost,
    tools: Vec<McpTool>,
    connected: Vec<ConnectedServer>,
}

/// The environment in which servers run.
#[derive(Debug, Default)]
pub(crate) struct McpHost {
    folder: PathBuf,
    /// Environment variables in addition to ours, as commands get them.
    environment: Vec<(String, String)>,
    /// Environment variables that they do not get.
    hidden: Vec<String>,
}

/// A server and its connection, which may have to be made again.
#[derive(Debug)]
struct ConnectedServer {
    config: McpServer,
    connection: Mutex<Arc<McpConnection>>,
    /// Held while the connection is made again: several calls may notice at once that it is lost.
    restarts: Semaphore,
}

/// Why there is no answer.
#[derive(Debug)]
enum McpFault {
    /// The connection is lost.
    Gone(String),
    /// This request failed.
    Failed(String),
}

#[derive(Debug)]
struct McpTool {
    spec: ToolSpec,
    /// The server's own name for it.
    name: String,
    /// The index of its server.
    server: usize,
    /// Whether the server says that it only reads.
    reads_only: bool,
}

/// A connection to a server.
#[derive(Debug)]
enum McpConnection {
    Local(LocalServer),
    Remote(RemoteServer),
}

/// A page of the server's tool list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpToolPage {
    #[serde(default)]
    tools: Vec<McpToolListing>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpToolListing {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    input_schema: Value,
    #[serde(default)]
    annotations: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpCallResult {
    #[serde(default)]
    content: Vec<Value>,
    structured_content: Option<Value>,
    #[serde(default)]
    is_error: bool,
}

impl McpHost {
    pub(crate) fn of(turn: &Turn, hidden: &[String]) -> Self {
        let place = turn.place();
        let mut environment = place.environment.clone();
        environment.push(("TROOP_TEAM".to_owned(), place.team.clone()));
        environment.push(("TROOP_MEMBER".to_owned(), place.name.clone()));
        Self { folder: turn.path().to_owned(), environment, hidden: hidden.to_vec() }
    }
}

impl McpServers {
    /// Starts all of them at once. Servers that are not ready in time are left out, with a warning.
    pub(crate) async fn start(
        servers: &[McpServer],
        host: McpHost,
        waits: McpTimeouts,
        turn: &Turn,
    ) -> Self {
        let begun = servers.iter().map(|server| begin(server, &host, waits.start));
        let begun = join_all(begun).await;
        let mut all = Self { waits, host, ..Self::default() };
        for (server, begun) in servers.iter().zip(begun) {
            match begun {
                Ok((connection, told)) => all.add(server, connection, told),
                Err(why) => {
                    let text = format!("the MCP server `{}` is left out: {why}", server.name);
                    turn.log(Level::Warn, &text).await;
                }
            }
        }
        all
    }

    fn add(&mut self, server: &McpServer, connection: McpConnection, told: Vec<McpToolListing>) {
        let nth = self.connected.len();
        self.connected.push(ConnectedServer {
            config: server.clone(),
            connection: Mutex::new(Arc::new(connection)),
            restarts: Semaphore::new(1),
        });
        let mut known: BTreeSet<_> = self.tools.iter().map(|tool| tool.spec.name.clone()).collect();
        for McpToolListing { name, description, input_schema, annotations } in told {
            let shown = shown(&server.name, &name);
            if self.tools.len() >= MAX_TOOLS || !known.insert(shown.clone()) {
                continue;
            }
            let description =
                troop_model::preview(&description.unwrap_or_default(), MAX_DESCRIPTION);
            let spec = ToolSpec { name: shown, description, input: schema::object(input_schema) };
            let reads_only = annotations.get("readOnlyHint") == Some(&Value::Bool(true));
            self.tools.push(McpTool { spec, name, server: nth, reads_only });
        }
    }

    pub(crate) fn specs(&self) -> impl Iterator<Item = ToolSpec> {
        self.tools.iter().map(|tool| tool.spec.clone())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Whether the server says that a tool only reads. Then it may run beside other calls, but it needs permission
    /// anyway.
    pub(crate) fn reads_only(&self, name: &str) -> bool {
        self.find(name).is_some_and(|tool| tool.reads_only)
    }

    fn find(&self, name: &str) -> Option<&McpTool> {
        self.tools.iter().find(|tool| tool.spec.name == name)
    }

    pub(crate) async fn run(
        &self,
        name: &str,
        input: &Map<String, Value>,
        turn: &Turn,
    ) -> ToolOutcome {
        let tool = self.find(name);
        let Some((tool, server)) =
            tool.and_then(|tool| Some((tool, self.connected.get(tool.server)?)))
        else {
            return ToolOutcome::Bad(format!("there is no tool `{name}`"));
        };
        let params = json!({"name": tool.name, "arguments": input});
        let connection = server.now();
        let answered = match connection.request("tools/call", &params, self.waits.call).await {
            Ok(answer) => understood(answer),
            Err(McpFault::Failed(why)) => Err(why),
            Err(McpFault::Gone(why)) => {
                Err(self.begin_again(server, &connection, &why, turn).await)
            }
        };
        match answered {
            Ok(McpCallResult { content, structured_content, is_error }) => {
                let mut text = content.iter().map(text_of).collect::<Vec<_>>().join("\n");
                if text.is_empty() {
                    text = structured_content.map(|it| it.to_string()).unwrap_or_default();
                }
                if is_error { ToolOutcome::Bad(cut(text)) } else { ToolOutcome::Good(cut(text)) }
            }
            Err(why) => ToolOutcome::Bad(why),
        }
    }

    /// Restarts a server that is gone. We do not know whether the call was done, so the model decides whether to
    /// repeat it.
    async fn begin_again(
        &self,
        server: &ConnectedServer,
        gone: &Arc<McpConnection>,
        why: &str,
        turn: &Turn,
    ) -> String {
        let anew = format!(
            "{why}; it was restarted. It is unknown whether this call was done: check, and call again if it was not"
        );
        // Never closed.
        let _one = server.restarts.acquire().await;
        if !Arc::ptr_eq(&server.now(), gone) {
            return anew;
        }
        match begin(&server.config, &self.host, self.waits.start).await {
            Ok((connection, _)) => {
                *lock(&server.connection) = Arc::new(connection);
                anew
            }
            Err(again) => {
                let name = &server.config.name;
                let text = format!("the MCP server `{name}` is not restarted: {again}");
                turn.log(Level::Warn, &text).await;
                format!("{why}; it cannot be restarted: {again}")
            }
        }
    }
}

impl ConnectedServer {
    fn now(&self) -> Arc<McpConnection> {
        Arc::clone(&lock(&self.connection))
    }
}

/// Starts a server and asks for its tools.
async fn begin(
    server: &McpServer,
    host: &McpHost,
    patience: Duration,
) -> Result<(McpConnection, Vec<McpToolListing>), String> {
    let begun = async {
        // At every start, because the files may have changed since a person agreed.
        server.agreed.as_ref().map_or(Ok(()), |agreed| agreed.check(&host.folder))?;
        let connection = match &server.how {
            McpTransport::Stdio { program, arguments, environment } => {
                McpConnection::Local(LocalServer::start(program, arguments, environment, host)?)
            }
            McpTransport::Http { url, headers } => {
                McpConnection::Remote(RemoteServer::new(url, headers)?)
            }
            McpTransport::Unclear { why } => return Err(why.clone()),
        };
        let told = connection
            .greet()
            .await
            .map_err(|(McpFault::Gone(why) | McpFault::Failed(why))| why)?;
        Ok((connection, told))
    };
    timeout(patience, begun)
        .await
        .unwrap_or_else(|_| Err("it takes too long to be ready".to_owned()))
}

impl McpConnection {
    /// Initializes the connection, and asks for tools.
    async fn greet(&self) -> Result<Vec<McpToolListing>, McpFault> {
        let client = json!({"name": "troop", "version": env!("CARGO_PKG_VERSION")});
        let hello = json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client});
        self.ask("initialize", &hello).await?;
        self.notify("notifications/initialized").await?;
        let mut told = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let params =
                cursor.map_or_else(|| json!({}), |cursor: String| json!({"cursor": cursor}));
            let page = self.ask("tools/list", &params).await?;
            let page: McpToolPage = understood(page).map_err(McpFault::Failed)?;
            told.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(told)
    }

    async fn ask(&self, method: &str, params: &Value) -> Result<Value, McpFault> {
        match self {
            Self::Local(local) => local.request(method, params).await,
            Self::Remote(remote) => remote.request(method, params).await,
        }
    }

    /// A request with a timeout.
    async fn request(
        &self,
        method: &str,
        params: &Value,
        patience: Duration,
    ) -> Result<Value, McpFault> {
        let late = || {
            let seconds = patience.as_secs();
            Err(McpFault::Failed(format!("it did not answer `{method}` in {seconds} seconds")))
        };
        timeout(patience, self.ask(method, params)).await.unwrap_or_else(|_| late())
    }

    async fn notify(&self, method: &str) -> Result<(), McpFault> {
        match self {
            Self::Local(local) => local.notify(method).await,
            Self::Remote(remote) => remote.notify(method).await,
        }
    }
}

fn understood<T: for<'de> Deserialize<'de>>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| format!("its answer is malformed: {error}"))
}

/// A name that every API accepts.
fn shown(server: &str, tool: &str) -> String {
    let name = format!("{PREFIX}{server}__{tool}");
    let is_good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars().map(|c| if is_good(c) { c } else { '_' }).take(MAX_NAME).collect()
}

fn text_of(part: &Value) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let kind = part.get("type").and_then(Value::as_str).unwrap_or("something");
    let own = part.get("text").and_then(text);
    own.or_else(|| part.get("resource")?.get("text").and_then(text))
        .unwrap_or_else(|| format!("[{kind}]"))
}
