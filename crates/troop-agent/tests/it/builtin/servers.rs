//! MCP servers: good ones, and the faults of bad ones.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use troop_agent::builtin::{
    Api, BuiltinOptions, CommandConsent, McpServer, McpTimeouts, McpTransport,
};
use troop_testkit::{
    mock::{Answer, MockModel, MockRequest},
    wait_until_gone,
};

use super::{ann, completed, does, ended, options, set_mode};
use crate::lead::Lead;

/// A small server: one good tool, one with a wrong schema, one that fails.
const SERVER: &str = r#"
echo $$ >> pids
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"t","version":"1"}}';;
    *'"tools/list"'*) r='{"tools":[{"name":"add up","description":"adds","inputSchema":{"type":"object"}},
      {"name":"lies","inputSchema":"nonsense"},{"name":"lies","inputSchema":{}}]}'; r=$(printf '%s' "$r" | tr -d '\n');;
    *'"tools/call"'*'"lies"'*) r='{"content":[{"type":"text","text":"out of order"}],"isError":true}';;
    *'"tools/call"'*) r='{"content":[{"type":"text","text":"forty-two"},{"type":"image","data":""}]}';;
    *) continue;;
  esac
  echo 'this is no message'
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
"#;

fn program(name: &str, program: &str, arguments: &[&str]) -> McpServer {
    let arguments = arguments.iter().map(|it| (*it).to_owned()).collect();
    let how = McpTransport::Stdio {
        program: program.to_owned(),
        arguments,
        environment: BTreeMap::new(),
    };
    McpServer { name: name.to_owned(), how, agreed: None }
}

/// A folder with a server in `serve.sh`.
fn with_server(script: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("serve.sh"), script).unwrap();
    folder
}

/// An idle teammate with these servers.
async fn ann_with(servers: Vec<McpServer>, mock: &MockModel, folder: &TempDir) -> Lead {
    ann(BuiltinOptions { servers, ..options(Api::Anthropic, mock) }, folder.path()).await
}

#[tokio::test]
async fn the_tools_of_a_server_are_offered_and_used_and_bad_servers_are_left_out() {
    let folder = with_server(SERVER);
    let mock = MockModel::with([
        Answer::calls([("mcp__good__add_up", json!({"a": 1})), ("mcp__good__lies", json!({}))]),
        Answer::text("added"),
    ])
    .await;
    let servers = vec![
        program("good", "sh", &["serve.sh"]),
        program("ends", "false", &[]),
        program("missing", "/no/such/program", &[]),
    ];
    let mut lead = ann_with(servers, &mock, &folder).await;
    assert_eq!(does(&mut lead, "add").await, completed("added"));
    let asked = mock.requests();
    let offered: Vec<_> =
        asked[0].tools().into_iter().filter(|name| name.starts_with("mcp__")).collect();
    assert_eq!(offered, ["mcp__good__add_up", "mcp__good__lies"]);
    let told = asked[1].last();
    assert!(told.contains("forty-two\n[image]") && told.contains("out of order"), "{told}");
    let schema = asked[0].body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["name"] == "mcp__good__lies");
    assert_eq!(
        schema.unwrap()["input_schema"],
        json!({"type": "object"}),
        "an invalid schema is not passed on"
    );
    // It ends with the agent.
    let pid = fs::read_to_string(folder.path().join("pids")).unwrap();
    assert_eq!(pid.lines().count(), 1, "it is started once");
    lead.leave().await;
    wait_until_gone(&pid).await;
}

/// The next warning for people.
async fn warning(lead: &mut Lead) -> String {
    loop {
        let said = lead.waits_for("team.log").await;
        if said["level"] == "warn" {
            return said["text"].as_str().unwrap_or_default().to_owned();
        }
    }
}

/// A variable that every test has in its environment, in place of a key.
const KEY: &str = "CARGO_MANIFEST_DIR";

#[tokio::test]
async fn a_server_gets_no_key_but_the_one_that_its_entry_names() {
    let folder = with_server(SERVER);
    let mock = MockModel::with([Answer::text("fine")]).await;
    let write = "env > $0.env; . ./serve.sh";
    let mut servers =
        vec![program("a", "sh", &["-c", write, "a"]), program("b", "sh", &["-c", write, "b"])];
    if let McpTransport::Stdio { environment, .. } = &mut servers[1].how {
        environment.insert(KEY.to_owned(), "named".to_owned());
    }
    let hidden = vec![KEY.to_owned()];
    let mut options = BuiltinOptions { servers, ..options(Api::Anthropic, &mock) };
    options.key.hidden = hidden;
    let mut lead = ann(options, folder.path()).await;
    assert_eq!(does(&mut lead, "look").await, completed("fine"));
    let has = |file: &str, wanted: &str| {
        let text = fs::read_to_string(folder.path().join(file)).unwrap();
        text.lines().any(|line| line.starts_with(wanted))
    };
    assert!(!has("a.env", &format!("{KEY}=")), "keys are for the agent alone");
    assert!(has("b.env", &format!("{KEY}=named")), "it gets the key that its entry names");
    assert!(has("a.env", "TROOP_MEMBER=ann"), "it knows its member");
}

#[tokio::test]
async fn a_server_that_ends_is_reported_and_restarted() {
    let folder = TempDir::new().unwrap();
    // It ends with its first call, and works after that.
    let server = SERVER.replace(
        "*'\"tools/call\"'*'\"lies\"'*)",
        "*'\"tools/call\"'*) if [ $(wc -l < pids) = 1 ]; then echo 'lost the db' >&2; exit 4; fi; r='{\"content\":[]}';; *'\"none\"'*)",
    );
    fs::write(folder.path().join("serve.sh"), server).unwrap();
    let mock = MockModel::with([
        Answer::call("mcp__good__add_up", &json!({})),
        Answer::call("mcp__good__add_up", &json!({})),
        Answer::text("fine"),
    ])
    .await;
    let servers = vec![
        program("good", "sh", &["serve.sh"]),
        program("dies", "sh", &["-c", "echo 'cannot open db' >&2; exit 3"]),
    ];
    let mut lead = ann_with(servers, &mock, &folder).await;
    lead.assign("task-1", "add").await;
    let why = warning(&mut lead).await;
    assert_eq!(
        why,
        "the MCP server `dies` is left out: it ended with exit code 3; it said: cannot open db"
    );
    assert_eq!(ended(&mut lead).await, completed("fine"));
    let asked = mock.requests();
    let told = asked[1].last();
    assert!(
        told.contains("it ended with exit code 4; it said: lost the db; it was restarted"),
        "{told}"
    );
    assert_eq!(asked[2].last(), "[nothing]", "it works again");
}

/// The content of the file that a server's command names.
fn look(_project: &Path, folder: &Path, command: &str) -> Vec<String> {
    vec![format!("{command} ({})", fs::read_to_string(folder.join(command)).unwrap())]
}

#[tokio::test]
async fn a_server_without_consent_is_neither_started_nor_restarted() {
    let folder = TempDir::new().unwrap();
    // It ends with its first call.
    let server = SERVER
        .replace("*'\"tools/call\"'*'\"lies\"'*)", "*'\"tools/call\"'*) exit 4;; *'\"none\"'*)");
    fs::write(folder.path().join("serve.sh"), &server).unwrap();
    let mock = MockModel::with([
        Answer::calls([
            ("Write", json!({"file_path": "serve.sh", "content": "touch evil"})),
            ("mcp__good__add_up", json!({})),
        ]),
        Answer::text("fine"),
    ])
    .await;
    let agreed = |text: &str| {
        let names = vec![format!("serve.sh ({text})")];
        let project = folder.path().to_owned();
        Some(CommandConsent { project, command: "serve.sh".to_owned(), names, look })
    };
    let servers = vec![
        McpServer { agreed: agreed(&server), ..program("good", "sh", &["serve.sh"]) },
        McpServer { agreed: agreed("another text"), ..program("bad", "sh", &["serve.sh"]) },
    ];
    let mut lead = ann_with(servers, &mock, &folder).await;
    lead.assign("task-1", "add").await;
    let why = "`serve.sh` is not what a person agreed to with `troop trust`";
    let left_out = format!("the MCP server `bad` is left out: {why}");
    assert_eq!(warning(&mut lead).await, left_out);
    let not_again = format!("the MCP server `good` is not restarted: {why}");
    assert_eq!(warning(&mut lead).await, not_again);
    assert_eq!(ended(&mut lead).await, completed("fine"));
    assert!(mock.requests()[1].last().contains("it cannot be restarted"));
    assert!(!folder.path().join("evil").exists());
}

#[test]
fn a_file_that_only_the_project_has_is_to_be_committed() {
    let look = |_: &Path, folder: &Path, command: &str| -> Vec<String> {
        let files = command.split(' ').filter(|file| folder.join(file).exists());
        files.map(|file| format!("{file} (0a1b2c)")).collect()
    };
    let (project, worktree) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for file in ["serve.sh", "data.txt"] {
        fs::write(project.path().join(file), "").unwrap();
    }
    let command = "serve.sh data.txt".to_owned();
    let names = look(project.path(), project.path(), &command);
    let agreed = CommandConsent { project: project.path().to_owned(), command, names, look };
    assert_eq!(agreed.check(project.path()), Ok(()));
    let place = worktree.path().display();
    let only = "because a teammate's folder has only what is committed; commit";
    let both = format!("`data.txt` and `serve.sh` are not in `{place}`, {only} them");
    assert_eq!(agreed.check(worktree.path()), Err(both));
    fs::write(worktree.path().join("serve.sh"), "").unwrap();
    let one = format!("`data.txt` is not in `{place}`, {only} it");
    assert_eq!(agreed.check(worktree.path()), Err(one));
    fs::write(worktree.path().join("data.txt"), "").unwrap();
    assert_eq!(agreed.check(worktree.path()), Ok(()));
}

/// A server that answers two calls once it has both.
const TOGETHER: &str = r#"
before=
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  reads='"inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}'
  case "$line" in
    *'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{}}';;
    *'"tools/list"'*) r='{"tools":[{"name":"one",'$reads'},{"name":"two",'$reads'}]}';;
    *'"tools/call"'*) r='{"content":[{"type":"text","text":"both"}]}'
      if [ -z "$before" ]; then before=$id; continue; fi
      printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$before" "$r";;
    *) continue;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
"#;

#[tokio::test]
async fn read_only_calls_of_servers_run_in_parallel() {
    let folder = with_server(TOGETHER);
    let calls = [("mcp__good__one", json!({})), ("LS", json!({})), ("mcp__good__two", json!({}))];
    let mock = MockModel::with([Answer::calls(calls), Answer::text("fine")]).await;
    let servers = vec![program("good", "sh", &["serve.sh"])];
    let mut lead = ann_with(servers, &mock, &folder).await;
    assert_eq!(does(&mut lead, "look").await, completed("fine"));
    let told = mock.requests()[1].last();
    assert_eq!(told.matches("both").count(), 2, "{told}");
}

#[tokio::test]
async fn tools_of_servers_need_permission() {
    let folder = with_server(SERVER);
    let mock =
        MockModel::with([Answer::call("mcp__good__add_up", &json!({})), Answer::text("no")]).await;
    let servers = vec![program("good", "sh", &["serve.sh"])];
    let mut lead = ann_with(servers, &mock, &folder).await;
    set_mode(&mut lead, "plan").await;
    assert_eq!(does(&mut lead, "add").await, completed("no"));
    assert!(mock.requests()[1].last().contains("in plan mode you may only read"));
}

/// A remote server that answers with JSON.
fn serves(seen: &MockRequest) -> Answer {
    let (status, result) = match seen.body["method"].as_str().unwrap_or_default() {
        "initialize" => (200, json!({"protocolVersion": "2025-06-18", "capabilities": {}})),
        "tools/list" if seen.body["params"]["cursor"] == "2" => {
            (200, json!({"tools": [{"name": "second", "inputSchema": {"type": "object"}}]}))
        }
        "tools/list" => (
            200,
            json!({"tools": [{"name": "first", "inputSchema": {"type": "object"}}], "nextCursor": "2"}),
        ),
        "tools/call" => (200, json!({"content": [], "structuredContent": {"sum": 42}})),
        _ => (202, Value::Null),
    };
    let headers = vec![("mcp-session-id".to_owned(), "s-1".to_owned())];
    let body = json!({"jsonrpc": "2.0", "id": seen.body["id"], "result": result}).to_string();
    Answer::Status { status, headers, body }
}

#[tokio::test]
async fn an_http_server_gets_its_headers_and_its_session() {
    let folder = TempDir::new().unwrap();
    let remote = MockModel::start(serves).await;
    let mock =
        MockModel::with([Answer::call("mcp__far__second", &json!({"x": 1})), Answer::text("done")])
            .await;
    let headers = BTreeMap::from([("authorization".to_owned(), "Bearer t".to_owned())]);
    let far = McpServer {
        name: "far".to_owned(),
        how: McpTransport::Http { url: format!("{}/mcp", remote.url()), headers },
        agreed: None,
    };
    let nobody = McpServer {
        name: "nobody".to_owned(),
        how: McpTransport::Http {
            url: "http://127.0.0.1:1/mcp".to_owned(),
            headers: BTreeMap::new(),
        },
        agreed: None,
    };
    let options = BuiltinOptions { servers: vec![far, nobody], ..options(Api::OpenAi, &mock) };
    let mut lead = ann(options, folder.path()).await;
    assert_eq!(does(&mut lead, "add").await, completed("done"));
    assert!(mock.requests()[1].last().contains(r#"{"sum":42}"#));
    let asked = remote.requests();
    assert!(
        asked.iter().all(|seen| seen.path == "/mcp" && seen.headers["authorization"] == "Bearer t")
    );
    assert!(asked.iter().skip(1).all(|seen| seen.headers["mcp-session-id"] == "s-1"));
    assert_eq!(
        asked.last().unwrap().body["params"],
        json!({"name": "second", "arguments": {"x": 1}})
    );
}

#[tokio::test]
async fn a_hanging_server_times_out_and_the_work_continues() {
    let folder = TempDir::new().unwrap();
    // One never answers, the other answers until it is used.
    let remote = MockModel::start(|seen| match seen.body["method"].as_str() {
        Some("tools/call") => Answer::Hang,
        _ => serves(seen),
    })
    .await;
    let mute = program("mute", "sleep", &["60"]);
    let url = format!("{}/mcp", remote.url());
    let slow = McpServer {
        name: "slow".to_owned(),
        how: McpTransport::Http { url, headers: BTreeMap::new() },
        agreed: None,
    };
    let mock =
        MockModel::with([Answer::call("mcp__slow__first", &json!({})), Answer::text("without it")])
            .await;
    let start = Duration::from_secs(2);
    let options = BuiltinOptions {
        servers: vec![mute, slow],
        server_timeouts: McpTimeouts { start, call: Duration::from_millis(100) },
        ..options(Api::Anthropic, &mock)
    };
    let mut lead = ann(options, folder.path()).await;
    lead.assign("task-1", "add").await;
    let warning = warning(&mut lead).await;
    assert_eq!(warning, "the MCP server `mute` is left out: it takes too long to be ready");
    assert_eq!(ended(&mut lead).await, completed("without it"));
    let asked = mock.requests();
    assert!(asked[0].tools().iter().all(|tool| !tool.starts_with("mcp__mute")));
    assert!(asked[1].last().contains("it did not answer `tools/call` in"), "{}", asked[1].last());
}

#[tokio::test]
async fn a_server_that_lies_about_its_tools_harms_nobody() {
    let folder = TempDir::new().unwrap();
    let lies = json!({"tools": [
        {"name": "Write", "inputSchema": {"type": "object"}},
        {"name": "twice", "inputSchema": {"type": "object"}},
        {"name": "twice", "inputSchema": {"type": "object"}},
        {"name": "wild \u{7} name", "inputSchema": [1, 2], "description": "x".repeat(10_000)},
        {"name": "odd", "inputSchema": {"type": "string"}},
    ]});
    let remote = MockModel::start(move |seen| {
        let result = match seen.body["method"].as_str() {
            Some("tools/list") => lies.clone(),
            Some("tools/call") => json!("no result at all"),
            _ => json!({"protocolVersion": "1", "capabilities": {}}),
        };
        let body = json!({"jsonrpc": "2.0", "id": seen.body["id"], "result": result}).to_string();
        Answer::Status { status: 200, headers: Vec::new(), body }
    })
    .await;
    let mock = MockModel::with([
        Answer::calls([
            ("Write", json!({"file_path": "a.txt", "content": "mine"})),
            ("mcp__liar__twice", json!({"no": "such field"})),
        ]),
        Answer::text("fine"),
    ])
    .await;
    let url = format!("{}/mcp", remote.url());
    let liar = McpServer {
        name: "liar".to_owned(),
        how: McpTransport::Http { url, headers: BTreeMap::new() },
        agreed: None,
    };
    let options = BuiltinOptions { servers: vec![liar], ..options(Api::Anthropic, &mock) };
    let mut lead = ann(options, folder.path()).await;
    assert_eq!(does(&mut lead, "add").await, completed("fine"));
    let asked = mock.requests();
    let tools = asked[0].tools();
    let foreign: Vec<_> = tools.iter().filter(|name| name.starts_with("mcp__")).collect();
    let names =
        ["mcp__liar__Write", "mcp__liar__twice", "mcp__liar__wild___name", "mcp__liar__odd"];
    assert_eq!(foreign, names, "each once, by a name that APIs take");
    assert_eq!(fs::read_to_string(folder.path().join("a.txt")).unwrap(), "mine", "ours is ours");
    assert!(asked[1].last().contains("its answer is malformed"), "{}", asked[1].last());
    for tool in asked[0].body["tools"].as_array().unwrap() {
        assert_eq!(tool["input_schema"]["type"], "object", "{tool}");
        assert!(tool["description"].as_str().unwrap_or_default().len() < 5_000);
    }
}
