//! Foreign clients: the official Python SDK and the MCP inspector. `cargo xtask test` installs them.

use std::{
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::Value;
use troop_testkit::repository;

use super::http::Server;
use crate::troop::Troop;

/// A program that `cargo xtask test` installs into the target folder. If it is missing, the test fails and says how to
/// get it: a silent skip would prove nothing.
pub(super) fn installed(path: &str) -> PathBuf {
    let program = repository().join("target").join(path);
    assert!(program.exists(), "{} is not there; `cargo xtask test` installs it", program.display());
    program
}

fn python() -> Command {
    Command::new(installed("mcp-venv/bin/python"))
}

/// A newer Node than Debian has. It is also the `node` that its clients start by name.
pub(super) fn node() -> Command {
    let folder = installed("mcp-clients/node_modules/.bin");
    let mut command = Command::new(folder.join("node"));
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
    command
}

/// The output of a client, which must succeed.
#[track_caller]
fn said(output: Output) -> String {
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// Runs a client against a server for `ann`.
fn run(troop: &Troop, mut command: Command, arguments: &[&str]) -> Output {
    // The inspector clears the environment of its server.
    let home = troop.folder().join("home");
    let home = home.to_str().unwrap();
    let server = [env!("CARGO_BIN_EXE_troop"), "mcp", "--as", "ann", "--home", home];
    command.args(arguments.iter().flat_map(|it| match *it {
        "SERVER" => server.to_vec(),
        other => vec![other],
    }));
    command.current_dir(troop.folder());
    command.output().unwrap()
}

#[test]
fn the_python_sdk_uses_every_feature() {
    let troop = Troop::with_team();
    troop.ok("task create Write");
    troop.ok("message send ann 'hello' --as bob");
    let script = repository().join("crates/troop/tests/it/mcp_client.py");
    let output = run(&troop, python(), &[script.to_str().unwrap(), "stdio", "SERVER"]);
    assert!(said(output).ends_with("all good\n"));
}

#[test]
fn the_python_sdk_uses_every_feature_over_http() {
    over_http("session");
}

#[test]
fn the_python_sdk_uses_every_feature_over_http_without_a_session() {
    over_http("stateless");
}

#[track_caller]
fn over_http(way: &str) {
    let troop = Troop::with_team();
    troop.ok("task create Write");
    troop.ok("message send ann 'hello' --as bob");
    let server = Server::start(&troop, "--as ann");
    let script = repository().join("crates/troop/tests/it/mcp_client.py");
    let token = server.token_file.to_str().unwrap();
    let arguments = [script.to_str().unwrap(), way, &server.url, token];
    let output = run(&troop, python(), &arguments);
    assert!(said(output).ends_with("all good\n"));
}

#[test]
fn the_inspector_lists_and_calls_tools() {
    let troop = Troop::with_team();
    troop.ok("task create Write");
    inspect(&troop, &["SERVER"]);
}

#[test]
fn the_inspector_lists_and_calls_tools_over_http() {
    let troop = Troop::with_team();
    troop.ok("task create Write");
    let server = Server::start(&troop, "--as ann");
    let header = format!("Authorization: Bearer {}", server.token());
    inspect(&troop, &[&server.url, "--transport", "http", "--header", &header]);
}

#[track_caller]
fn inspect(troop: &Troop, server: &[&str]) {
    let ask = |question: &[&str]| -> Value {
        let mut inspector = node();
        inspector.arg(installed("mcp-clients/node_modules/.bin/mcp-inspector"));
        let said = said(run(troop, inspector, &[&["--cli"], server, question].concat()));
        serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"))
    };
    let tools = ask(&["--method", "tools/list"]);
    assert_eq!(tools["tools"][0]["name"], "team_tasks");
    let list = ["--method", "tools/call", "--tool-name", "team_tasks", "--tool-arg", "action=list"];
    let called = ask(&list);
    assert!(called["content"][0]["text"].as_str().unwrap().contains("Write"), "{called}");
    let read = ask(&["--method", "resources/read", "--uri", "troop://task/1"]);
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("Write"), "{read}");
}
