//! The MCP server over HTTP, as a client sees it: bytes on a socket, without our own client code.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{PATIENCE, texts};
use crate::troop::{Printing, Run, Troop};

/// A running server.
pub(super) struct Server {
    process: Printing,
    pub(super) url: String,
    pub(super) token_file: PathBuf,
}

struct Answer {
    status: u16,
    session: Option<String>,
    /// The messages in it.
    said: Vec<Value>,
}

impl Server {
    pub(super) fn start(troop: &Troop, arguments: &str) -> Self {
        let line = format!("mcp --json --listen 127.0.0.1:0 {arguments}");
        let mut process = Printing::new(troop.start(&line));
        let said: Value = serde_json::from_str(&process.wait_for("url")).unwrap();
        let url = said["url"].as_str().unwrap().to_owned();
        Self { process, url, token_file: said["token_file"].as_str().unwrap().into() }
    }

    pub(super) fn token(&self) -> String {
        std::fs::read_to_string(&self.token_file).unwrap().trim().to_owned()
    }

    fn address(&self) -> &str {
        self.url.trim_start_matches("http://").trim_end_matches("/mcp")
    }

    /// Sends a request and returns the stream with the answer. A later header replaces an earlier one.
    fn send(&self, start: &str, headers: &[(&str, &str)], body: &str) -> BufReader<TcpStream> {
        let mut all = vec![
            ("host", self.address()),
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
            ("connection", "close"),
        ];
        for (name, value) in headers {
            all.retain(|(it, _)| it != name);
            all.push((name, value));
        }
        let lines: String =
            all.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!("{start} HTTP/1.1\r\n{lines}content-length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).unwrap();
        // The server may refuse before it has read the body.
        drop(stream.write_all(body.as_bytes()));
        BufReader::new(stream)
    }

    fn post(&self, headers: &[(&str, &str)], body: &Value) -> Answer {
        read(self.send("POST /mcp", headers, &body.to_string()))
    }

    /// Calls a tool without a session.
    fn ask_alone(&self, tool: &str, arguments: &Value) -> Vec<String> {
        let about = |name: &str| format!("io.modelcontextprotocol/{name}");
        let meta = json!({
            about("protocolVersion"): "2026-07-28", about("clientCapabilities"): {},
            about("clientInfo"): {"name": "test", "version": "0"},
        });
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let bearer = format!("Bearer {}", self.token());
        let headers = [
            ("authorization", bearer.as_str()),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", tool),
        ];
        let answer = self.post(&headers, &body);
        assert_eq!((answer.status, &answer.session), (200, &None), "{:?}", answer.said);
        texts(&answer.said.last().unwrap()["result"])
    }

    /// Ends it with SIGTERM.
    fn end(self) -> Run {
        self.process.signal(Signal::TERM);
        self.process.end()
    }
}

/// Reads an answer to its end.
fn read(mut stream: BufReader<TcpStream>) -> Answer {
    let head = head(&mut stream);
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let header = |name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(name));
        line.map(|value| value.trim().to_owned())
    };
    let mut bytes = Vec::new();
    if header("transfer-encoding:").as_deref() == Some("chunked") {
        while let Some(chunk) = chunk(&mut stream) {
            bytes.extend(chunk);
        }
    } else {
        stream.read_to_end(&mut bytes).unwrap();
    }
    let said = events(&String::from_utf8(bytes).unwrap());
    Answer { status, session: header("mcp-session-id:"), said }
}

fn head(stream: &mut BufReader<TcpStream>) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(stream.read_line(&mut head).unwrap(), 0, "{head}");
    }
    head
}

/// The next chunk of a chunked answer; none after the last.
fn chunk(stream: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    let length = usize::from_str_radix(line.trim(), 16).unwrap();
    let mut bytes = vec![0; length + 2];
    stream.read_exact(&mut bytes).unwrap();
    bytes.truncate(length);
    Some(bytes).filter(|bytes| !bytes.is_empty())
}

/// The messages in a body: a stream of events, or a single one.
fn events(text: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line));
    lines.filter_map(|line| serde_json::from_str(line.trim()).ok()).collect()
}

/// An initialized client.
struct Session<'a> {
    server: &'a Server,
    bearer: String,
    id: String,
    n_asked: u64,
}

impl<'a> Session<'a> {
    fn start(server: &'a Server) -> Self {
        let bearer = format!("Bearer {}", server.token());
        let answer = server.post(&[("authorization", bearer.as_str())], &hello());
        assert_eq!(answer.said[0]["result"]["serverInfo"]["name"], "troop");
        let session = Self { server, bearer, id: answer.session.unwrap(), n_asked: 0 };
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(server.post(&session.headers(), &initialized).status, 202);
        session
    }

    fn headers(&self) -> [(&str, &str); 3] {
        [
            ("authorization", &self.bearer),
            ("mcp-session-id", &self.id),
            ("mcp-protocol-version", "2025-11-25"),
        ]
    }

    #[track_caller]
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.n_asked += 1;
        let id = self.n_asked;
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = self.server.post(&self.headers(), &body);
        let found = answer.said.into_iter().find(|it| it["id"] == json!(id)).unwrap();
        assert_eq!(found["error"], Value::Null, "{found}");
        found["result"].clone()
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Vec<String> {
        texts(&self.ask("tools/call", &json!({"name": tool, "arguments": arguments})))
    }

    /// Opens the stream of notifications.
    fn listen(&self) -> BufReader<TcpStream> {
        let mut stream = self.server.send("GET /mcp", &self.headers(), "");
        assert!(head(&mut stream).starts_with("HTTP/1.1 200 "));
        stream
    }
}

fn hello() -> Value {
    let client = json!({"name": "test", "version": "0"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

#[test]
fn only_clients_with_the_token_are_admitted() {
    let troop = Troop::with_team();
    let server = Server::start(&troop, "--as ann");
    let mode = std::fs::metadata(&server.token_file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let good = format!("Bearer {}", server.token());
    let of_bob = Server::start(&troop, "--as bob");
    let of_bob = format!("Bearer {}", of_bob.token());
    for (shown, status) in [
        (None, 401),
        (Some("Bearer"), 401),
        (Some("Bearer 00000000000000000000000000000000"), 401),
        (Some(of_bob.as_str()), 401),
        (Some(good.as_str()), 200),
    ] {
        let shown: Vec<_> = shown.into_iter().map(|shown| ("authorization", shown)).collect();
        assert_eq!(server.post(&shown, &hello()).status, status, "{shown:?}");
    }
    let elsewhere = server.send("GET /.well-known/oauth-protected-resource", &[], "");
    assert_eq!(read(elsewhere).status, 404);
}

#[test]
fn dns_rebinding_is_refused() {
    let troop = Troop::with_team();
    let server = Server::start(&troop, "--as ann");
    let bearer = format!("Bearer {}", server.token());
    for (name, value, status) in [
        ("host", "evil.example.com", 403),
        ("host", "127.0.0.1.evil.example.com:80", 403),
        ("origin", "http://evil.example.com", 403),
        ("origin", "null", 403),
        ("origin", "http://localhost:6274", 200),
        ("host", "localhost:1", 200),
    ] {
        let headers = [("authorization", bearer.as_str()), (name, value)];
        assert_eq!(server.post(&headers, &hello()).status, status, "{name}: {value}");
    }
}

#[test]
fn an_mcp_server_listens_only_on_loopback() {
    let troop = Troop::with_team();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:7007"] {
        let (code, said) = troop.refused(&format!("mcp --as ann --listen {address}"));
        assert_eq!(code, 2, "{said}");
        let first = format!("error: `{address}` can be reached from other machines");
        assert_eq!(said.lines().next(), Some(first.as_str()));
    }
}

#[test]
fn an_address_in_use_is_refused() {
    let troop = Troop::with_team();
    let server = Server::start(&troop, "--as ann");
    let (code, said) = troop.refused(&format!("mcp --as bob --listen {}", server.address()));
    assert_eq!(code, 1);
    assert!(said.contains("cannot listen on `"), "{said}");
    assert!(
        said.contains("\nhint: let the system choose a port: `--listen 127.0.0.1:0`"),
        "{said}"
    );
}

#[test]
fn the_token_survives_a_restart_of_the_server() {
    let troop = Troop::with_team();
    let server = Server::start(&troop, "--as ann");
    let token = server.token();
    let end = server.end();
    assert_eq!((end.code, end.err.as_str()), (0, ""));
    let server = Server::start(&troop, "--as ann");
    assert_eq!(server.token(), token);
    let file = server.token_file.clone();
    drop(server);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let (_, said) = troop.refused("mcp --as ann --listen 127.0.0.1:0");
    assert!(said.starts_with("error: other users can read the token in "), "{said}");
}

#[test]
fn mail_of_a_dead_http_client_comes_again() {
    let troop = Troop::with_team();
    troop.ok("message send ann 'hello' --as bob");
    let server = Server::start(&troop, "--as ann");
    let list = json!({"action": "list"});
    assert_eq!(Session::start(&server).call("team_tasks", &list).len(), 2);
    let mut second = Session::start(&server);
    assert_eq!(second.call("team_tasks", &list).len(), 2, "the first may never have seen it");
    assert_eq!(second.call("team_tasks", &list).len(), 1, "the second has");
    assert_eq!(Session::start(&server).call("team_tasks", &list).len(), 1);
}

#[test]
fn mail_goes_with_results_even_without_a_session() {
    let troop = Troop::with_team();
    let server = Server::start(&troop, "--as ann");
    let list = json!({"action": "list"});
    assert_eq!(server.ask_alone("team_tasks", &list).len(), 1);
    troop.ok("message send ann 'hello' --as bob");
    assert_eq!(server.ask_alone("team_tasks", &list).len(), 2);
    assert_eq!(server.ask_alone("team_tasks", &list).len(), 1);
}

#[test]
fn a_client_that_calls_now_and_then_keeps_its_task() {
    let troop = Troop::with_team();
    troop.ok("team set lease_seconds=3");
    troop.ok("task create Write");
    let server = Server::start(&troop, "--as ann");
    server.ask_alone("team_tasks", &json!({"action": "claim"}));
    let until = |task: &Value| task["lease_until"].as_str().unwrap().to_owned();
    let claimed_until = until(&troop.json("task get 1"));
    // A query renews nothing while the claim is fresh, and renews it once a third of the lease is over.
    while until(&troop.json("task get 1")) == claimed_until {
        server.ask_alone("team_tasks", &json!({"action": "list"}));
    }
    let task = troop.json("task get 1");
    assert_eq!((&task["owner"], &task["attempts"]), (&json!("ann"), &json!(1)));
    server.end();
}

#[test]
fn a_client_over_http_hears_of_changes() {
    let troop = Troop::with_team();
    let server = Server::start(&troop, "--as ann");
    let mut ann = Session::start(&server);
    let mut stream = ann.listen();
    ann.ask("resources/subscribe", &json!({"uri": "troop://board"}));
    // This makes sure that the subscription has started.
    ann.call("team_tasks", &json!({"action": "list"}));
    troop.ok("task create Write");
    troop.ok("message send ann 'look' --summary 'a look'");
    let mut heard = Vec::new();
    while heard.len() < 2 {
        let chunk = chunk(&mut stream).unwrap();
        heard.extend(events(&String::from_utf8(chunk).unwrap()));
    }
    assert_eq!(heard[0]["params"]["uri"], "troop://board", "{heard:?}");
    assert_eq!(heard[1]["params"]["data"]["text"], "mail from user: a look", "{heard:?}");
}

#[test]
fn a_large_file_can_be_sent_over_http() {
    let troop = Troop::with_team();
    let server = Server::start(&troop, "--as ann");
    let content = "0123456789abcde\n".repeat(8 * 1024 * 1024 / 16);
    let write = json!({"action": "write", "path": "big.txt", "content": content});
    Session::start(&server).call("team_workspace", &write);
    assert_eq!(troop.ok("workspace read big.txt").len(), content.len());
}

#[test]
fn localhost_is_an_address_to_listen_on() {
    let troop = Troop::with_team();
    let (code, said) = troop.refused("mcp --as ann --listen localhost");
    assert_eq!(code, 2, "{said}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let (_, said) = troop.refused(&format!("mcp --as ann --listen localhost:{port}"));
    assert!(said.starts_with(&format!("error: cannot listen on `127.0.0.1:{port}`: ")), "{said}");
}
