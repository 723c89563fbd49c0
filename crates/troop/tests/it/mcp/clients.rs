//! Clients of other people: the official Python SDK and the MCP inspector. `cargo xtask test` installs both.

use std::{
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::Value;
use troop_testkit::repository;

use crate::troop::Troop;

/// A program that `cargo xtask test` installs into the target folder. Where it is missing the test fails and says how to
/// get it: a test that is skipped in silence holds nothing.
fn installed(path: &str) -> PathBuf {
    let program = repository().join("target").join(path);
    assert!(program.exists(), "{} is not there; `cargo xtask test` installs it", program.display());
    program
}

/// Runs a client against a server for `ann`.
fn run(troop: &Troop, program: PathBuf, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    // The inspector gives its server an environment of its own.
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
fn the_python_sdk_uses_all_that_the_server_has() {
    let troop = Troop::with_team();
    troop.ok("task create Write");
    troop.ok("message send ann 'hello' --as bob");
    let script = repository().join("crates/troop/tests/it/mcp_client.py");
    let python = installed("mcp-venv/bin/python");
    let output = run(&troop, python, &[script.to_str().unwrap(), "SERVER"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.ends_with("all good\n"), "{said}");
}

#[test]
fn the_inspector_lists_and_calls_tools() {
    let troop = Troop::with_team();
    troop.ok("task create Write");
    let inspector = || installed("mcp-inspector/node_modules/.bin/mcp-inspector");
    let json = |output: Output| -> Value {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"))
    };
    let tools = json(run(&troop, inspector(), &["--cli", "SERVER", "--method", "tools/list"]));
    assert_eq!(tools["tools"][0]["name"], "team_tasks");
    let called = json(run(
        &troop,
        inspector(),
        &[
            "--cli",
            "SERVER",
            "--method",
            "tools/call",
            "--tool-name",
            "team_tasks",
            "--tool-arg",
            "action=list",
        ],
    ));
    assert!(called["content"][0]["text"].as_str().unwrap().contains("Write"), "{called}");
}
