//! MCP servers of a project: started with the first work, asked for their tools, and ended with the agent.

mod config;
mod http;
mod schema;
mod stdio;

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::{sync::Semaphore, time::timeout};
use troop_protocol::Level;

pub use config::{CommandConsent, McpServer, McpTransport};

use super::{
    chat::ToolSpec,
    tools::{ToolOutcome, cut},
};
use crate::Turn;
use http::RemoteServer;
use stdio::LocalServer;

/// What the names of their tools begin with.
const PREFIX: &str = "mcp__";
/// The version of the protocol that we ask for. Servers answer with the one that they speak.
const VERSION: &str = "2025-06-18";
const MAX_PAGES: usize = 20;
const MAX_TOOLS: usize = 128;
/// How long a name of a tool may be for every API.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 2_000;

/// How long servers are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpTimeouts {
    /// Until one is ready.
    pub start: Duration,
    /// For what comes of a call.
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
    links: Vec<ConnectedServer>,
}

/// For whom servers run.
#[derive(Debug, Default)]
pub(crate) struct McpHost {
    folder: PathBuf,
    /// What they find in their environment besides what is in ours, as commands do.
    environment: Vec<(String, String)>,
    /// Variables that they do not get.
    hidden: Vec<String>,
}

/// A server, and the conversation with it, which may have to be begun again.
#[derive(Debug)]
struct ConnectedServer {
    server: McpServer,
    link: Mutex<Arc<McpConnection>>,
    /// Held by who begins it again: several calls may find at once that it is over.
    begins: Semaphore,
}

/// Why there is no answer.
#[derive(Debug)]
enum McpFault {
    /// The conversation is over, and why.
    Gone(String),
    /// What is wrong with this request.
    Told(String),
}

/// One tool of a server.
#[derive(Debug)]
struct McpTool {
    spec: ToolSpec,
    /// What its server calls it.
    name: String,
    /// Which server that is.
    link: usize,
    /// Whether it only looks at things, as its server says.
    reads_only: bool,
}

/// A conversation with a server.
#[derive(Debug)]
enum McpConnection {
    Local(LocalServer),
    Remote(RemoteServer),
}

/// Tools as servers tell of them.
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

/// What came of a call.
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
    /// Starts all of them at once. What does not come up in time is left out, and people are told.
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
                Ok((link, told)) => all.add(server, link, told),
                Err(why) => {
                    let text = format!("the MCP server `{}` is left out: {why}", server.name);
                    turn.log(Level::Warn, &text).await;
                }
            }
        }
        all
    }

    fn add(&mut self, server: &McpServer, link: McpConnection, told: Vec<McpToolListing>) {
        let nth = self.links.len();
        self.links.push(ConnectedServer {
            server: server.clone(),
            link: Mutex::new(Arc::new(link)),
            begins: Semaphore::new(1),
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
            self.tools.push(McpTool { spec, name, link: nth, reads_only });
        }
    }

    pub(crate) fn specs(&self) -> impl Iterator<Item = ToolSpec> {
        self.tools.iter().map(|tool| tool.spec.clone())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Whether a tool only looks at things, as its server says. It may run beside others then; leave it needs all the same.
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
        let Some((tool, linked)) = tool.and_then(|tool| Some((tool, self.links.get(tool.link)?)))
        else {
            return ToolOutcome::Bad(format!("there is no tool `{name}`"));
        };
        let params = json!({"name": tool.name, "arguments": input});
        let link = linked.now();
        let answered = match link.request("tools/call", &params, self.waits.call).await {
            Ok(answer) => understood(answer),
            Err(McpFault::Told(why)) => Err(why),
            Err(McpFault::Gone(why)) => Err(self.begin_again(linked, &link, &why, turn).await),
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

    /// Begins anew with a server that has gone. Whether the call was done nobody knows, so it is for the model to say whether
    /// it is made again.
    async fn begin_again(
        &self,
        linked: &ConnectedServer,
        gone: &Arc<McpConnection>,
        why: &str,
        turn: &Turn,
    ) -> String {
        let anew = format!(
            "{why}; it was started anew, and nobody knows whether this was done: look, and call again if it was not"
        );
        // It is never closed.
        let _one = linked.begins.acquire().await;
        if !Arc::ptr_eq(&linked.now(), gone) {
            return anew;
        }
        match begin(&linked.server, &self.host, self.waits.start).await {
            Ok((link, _)) => {
                *linked.link.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(link);
                anew
            }
            Err(again) => {
                let name = &linked.server.name;
                let text = format!("the MCP server `{name}` is not started anew: {again}");
                turn.log(Level::Warn, &text).await;
                format!("{why}; it cannot be started anew: {again}")
            }
        }
    }
}

impl ConnectedServer {
    fn now(&self) -> Arc<McpConnection> {
        Arc::clone(&self.link.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Starts a server and asks for its tools.
async fn begin(
    server: &McpServer,
    host: &McpHost,
    patience: Duration,
) -> Result<(McpConnection, Vec<McpToolListing>), String> {
    let begun = async {
        // At every start, because what was agreed to may have been changed since the last one.
        server.agreed.as_ref().map_or(Ok(()), |agreed| agreed.check(&host.folder))?;
        let link = match &server.how {
            McpTransport::Stdio { program, arguments, environment } => {
                McpConnection::Local(LocalServer::start(program, arguments, environment, host)?)
            }
            McpTransport::Http { url, headers } => {
                McpConnection::Remote(RemoteServer::new(url, headers)?)
            }
            McpTransport::Unclear { why } => return Err(why.clone()),
        };
        let told = link.greet().await.map_err(|(McpFault::Gone(why) | McpFault::Told(why))| why)?;
        Ok((link, told))
    };
    timeout(patience, begun)
        .await
        .unwrap_or_else(|_| Err("it takes too long to be ready".to_owned()))
}

impl McpConnection {
    /// Says who we are, and asks for tools.
    async fn greet(&self) -> Result<Vec<McpToolListing>, McpFault> {
        let client = json!({"name": "troop", "version": env!("CARGO_PKG_VERSION")});
        let hello = json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client});
        self.ask("initialize", &hello).await?;
        self.notify("notifications/initialized").await?;
        let (mut told, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let params =
                cursor.map_or_else(|| json!({}), |cursor: String| json!({"cursor": cursor}));
            let page = self.ask("tools/list", &params).await?;
            let page: McpToolPage = understood(page).map_err(McpFault::Told)?;
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

    /// The same, for no longer than this.
    async fn request(
        &self,
        method: &str,
        params: &Value,
        patience: Duration,
    ) -> Result<Value, McpFault> {
        let late = || {
            let seconds = patience.as_secs();
            Err(McpFault::Told(format!("it did not answer `{method}` in {seconds} seconds")))
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
    serde_json::from_value(value)
        .map_err(|error| format!("what it answers makes no sense: {error}"))
}

/// A name that every API takes.
fn shown(server: &str, tool: &str) -> String {
    let name = format!("{PREFIX}{server}__{tool}");
    let is_good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars().map(|c| if is_good(c) { c } else { '_' }).take(MAX_NAME).collect()
}

/// A part of a result as text.
fn text_of(part: &Value) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let kind = part.get("type").and_then(Value::as_str).unwrap_or("something");
    let own = part.get("text").and_then(text);
    own.or_else(|| part.get("resource")?.get("text").and_then(text))
        .unwrap_or_else(|| format!("[{kind}]"))
}
