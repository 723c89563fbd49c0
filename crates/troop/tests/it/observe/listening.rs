//! Agents that connect.

use std::{
    fs,
    io::{Read as _, Write as _},
    process::{Child, Stdio},
};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::{io::AsyncWriteExt as _, net::TcpStream};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest as _, protocol::frame::coding::CloseCode},
};

use super::{Troop, V47, with_streams};

/// Starts an observer that agents can connect to; returns it and its address.
pub(super) fn listening(troop: &Troop, arguments: &[&str]) -> (Child, String) {
    let mut command = troop.command(&[&["observe", "--listen", "127.0.0.1:0"], arguments].concat());
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stderr = child.stderr.as_mut().unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b"\n") {
        let mut byte = [0];
        stderr.read_exact(&mut byte).unwrap();
        said.extend(byte);
    }
    let said = String::from_utf8(said).unwrap();
    let (_, address) = said.trim().split_once("ws://").unwrap();
    (child, address.to_owned())
}

pub(super) async fn dial(address: &str) -> WebSocketStream<TcpStream> {
    let stream = TcpStream::connect(address).await.unwrap();
    client_async(format!("ws://{address}/"), stream).await.unwrap().0
}

#[tokio::test]
async fn an_agent_connects_sends_and_receives() {
    let troop = with_streams();
    let (mut child, address) = listening(&troop, &["--pass-through", "--state", "heard.json"]);
    let mut agent = dial(&address).await;
    let prompt = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n";
    child.stdin.as_mut().unwrap().write_all(prompt.as_bytes()).unwrap();
    let heard = agent.next().await.unwrap().unwrap();
    assert_eq!(heard.to_text().unwrap(), prompt, "the input arrives unchanged");
    let (first, second) = V47.split_at(V47.match_indices('\n').nth(6).unwrap().0 + 1);
    for line in first.lines() {
        agent.send(Message::text(line)).await.unwrap();
    }
    // The connection breaks; the agent connects again, and repeats its last lines.
    agent.flush().await.unwrap();
    drop(agent);
    let mut agent = dial(&address).await;
    for line in first.lines().skip(3).chain(second.lines()) {
        agent.send(Message::text(format!("{line}\n"))).await.unwrap();
    }
    agent.close(None).await.unwrap();
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert!(child.wait().unwrap().success());
    let added = printed.lines().filter(|line| line.starts_with("{\"type\":\"team_")).count();
    assert_eq!(added, 2 * V47.matches("\"type\":\"tool_use\"").count());
    // The state is the same as after an unbroken stream.
    troop.ok("observe 47.ndjson --json --state read.json");
    let known = |file: &str| {
        let kept = fs::read_to_string(troop.folder().join(file)).unwrap();
        let kept: Value = serde_json::from_str(&kept).unwrap();
        kept["observer"]["memory"]["session"].clone()
    };
    assert_eq!(known("heard.json"), known("read.json"));
    assert_eq!(known("heard.json")["team"]["members"][0]["name"], "alice");
}

#[tokio::test]
async fn a_message_too_long_to_parse_is_passed_on() {
    let troop = Troop::new();
    let (mut child, address) = listening(&troop, &["--pass-through"]);
    let mut agent = dial(&address).await;
    let long = "x".repeat(17 << 20);
    let sending = async {
        for text in [&long, "", "next"] {
            agent.send(Message::text(text)).await.unwrap();
        }
        agent.close(None).await.unwrap();
    };
    let mut stdout = child.stdout.take().unwrap();
    let reading = tokio::task::spawn_blocking(move || {
        let mut printed = String::new();
        stdout.read_to_string(&mut printed).unwrap();
        printed
    });
    let ((), printed) = tokio::join!(sending, reading);
    assert!(child.wait().unwrap().success());
    assert!(printed.unwrap() == format!("{long}\nnext\n"), "something else came out");
}

#[tokio::test]
async fn an_oversized_message_closes_the_connection_with_a_warning() {
    let troop = Troop::new();
    let (mut child, address) = listening(&troop, &["--json"]);
    let mut agent = dial(&address).await;
    // A frame header that announces one gigabyte.
    let head = [&[0x81, 0xff][..], &(1_u64 << 30).to_be_bytes(), &[0; 4]].concat();
    agent.get_mut().write_all(&head).await.unwrap();
    // The observer waits for the next connection.
    dial(&address).await.close(None).await.unwrap();
    assert!(child.wait().unwrap().success());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let warning =
        "warning: the agent sent a message of more than 256 MiB, so its connection was closed\n";
    assert_eq!(said, warning);
}

#[tokio::test]
async fn a_web_page_cannot_connect() {
    let troop = Troop::new();
    let (mut child, address) = listening(&troop, &["--state-json"]);
    let stream = TcpStream::connect(&address).await.unwrap();
    let mut request = format!("ws://{address}/").into_client_request().unwrap();
    request.headers_mut().insert("origin", "https://example.com".parse().unwrap());
    let error = client_async(request, stream).await.unwrap_err();
    assert!(error.to_string().contains("403"), "{error}");
    // A page whose name was made to mean this machine.
    for host in ["evil.example", "127.0.0.1.evil.example:80"] {
        let stream = TcpStream::connect(&address).await.unwrap();
        let mut request = format!("ws://{address}/").into_client_request().unwrap();
        request.headers_mut().insert("host", host.parse().unwrap());
        let error = client_async(request, stream).await.unwrap_err();
        assert!(error.to_string().contains("403"), "{host}: {error}");
    }
    // A connection that is not an agent's does not block the agent.
    drop(TcpStream::connect(&address).await.unwrap());
    let mut agent = dial(&address).await;
    agent.close(None).await.unwrap();
    assert!(child.wait().unwrap().success());
}

#[tokio::test]
async fn a_second_agent_is_refused_and_a_close_is_answered() {
    let troop = Troop::new();
    let (mut child, address) = listening(&troop, &["--json"]);
    // A silent connection blocks nobody.
    let silent = TcpStream::connect(&address).await.unwrap();
    let mut first = dial(&address).await;
    let mut second = dial(&address).await;
    let told = second.next().await.unwrap().unwrap();
    let Message::Close(Some(frame)) = told else { panic!("{told:?}") };
    assert_eq!(frame.code, CloseCode::Again);
    assert_eq!(frame.reason, "another agent is connected; try again when it has ended");
    first.send(Message::text("{}")).await.unwrap();
    first.close(None).await.unwrap();
    let heard = first.next().await.unwrap().unwrap();
    assert!(matches!(heard, Message::Close(_)), "{heard:?}");
    drop(silent);
    assert!(child.wait().unwrap().success());
}
