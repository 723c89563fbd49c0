//! The official conformance tests against the server over HTTP.
//!
//! All of them run. Many are about the tools, resources and prompts of the suite's example server, which ours does not have:
//! of those only the check counts that every message is valid by the protocol's schema.

use std::{fs, path::Path, process::Stdio};

use serde_json::Value;
use troop_testkit::repository;

use super::{
    clients::{installed, node},
    http::Server,
};
use crate::troop::{Printing, Troop};

/// Scenarios about tools, resources and prompts of the example server.
const ABOUT_EXAMPLES: [&str; 7] = [
    "http-custom-header-server-validation",
    "json-schema-2020-12",
    "prompts-get-",
    "resources-read-",
    "resources-templates-read",
    "server-sse-polling",
    "tools-call-",
];

/// Scenarios about asking the client for input during a call, which none of our tools does.
const ABOUT_ASKING: [&str; 2] = ["elicitation-", "input-required-result-"];

/// Checks of other scenarios that call a tool of the example server.
const BY_EXAMPLES: [&str; 2] =
    ["sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"];

/// The check that all scenarios have: every message is valid by the protocol's schema.
const FORM: &str = "wire-schema-valid";

#[test]
fn the_conformance_tests_of_2025_11_25_are_passed() {
    let expected = [
        "completion-complete",
        "dns-rebinding-protection",
        "logging-set-level",
        "ping",
        "prompts-list",
        "resources-list",
        "resources-subscribe",
        "resources-unsubscribe",
        "server-initialize",
        "server-session-lifecycle",
        "server-sse-multiple-streams",
        "tools-list",
    ];
    assert_eq!(passed("2025-11-25"), expected);
}

#[test]
fn the_conformance_tests_of_2026_07_28_are_passed() {
    let expected = [
        "caching",
        "completion-complete",
        "dns-rebinding-protection",
        "http-header-validation",
        "prompts-list",
        "resources-list",
        "sep-2164-resource-not-found",
        "server-sse-multiple-streams",
        "server-stateless",
        "tools-list",
    ];
    assert_eq!(passed("2026-07-28"), expected);
}

/// Runs all scenarios for a version of the protocol; returns those that passed completely.
fn passed(version: &str) -> Vec<String> {
    let troop = Troop::with_team();
    troop.ok("task create Write");
    let server = Server::start(&troop, "--as ann");
    let results = troop.folder().join("results");
    run(&server, version, &results);
    let mut passed = Vec::new();
    for (scenario, checks) in read(&results) {
        let is_about = |names: &[&str]| names.iter().any(|name| scenario.starts_with(name));
        let counts_whole = !is_about(&ABOUT_EXAMPLES) && !is_about(&ABOUT_ASKING);
        for check in checks.as_array().unwrap() {
            let id = check["id"].as_str().unwrap();
            let counts = id == FORM || counts_whole && !BY_EXAMPLES.contains(&id);
            let is_good =
                ["SUCCESS", "INFO", "SKIPPED"].contains(&check["status"].as_str().unwrap());
            assert!(is_good || !counts, "{scenario}: {check:#}");
        }
        passed.extend(Some(scenario).filter(|_| counts_whole));
    }
    passed
}

fn run(server: &Server, version: &str, results: &Path) {
    let mut door = node();
    door.arg(repository().join("crates/troop/tests/it/mcp_token.mjs"));
    door.arg(&server.url).arg(&server.token_file);
    let door = door.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut door = Printing::new(door.spawn().unwrap());
    let url = door.wait_for("http://");
    let mut tests = node();
    tests.arg(installed("mcp-clients/node_modules/.bin/conformance"));
    tests.args(["server", "--suite", "all", "--spec-version", version, "--url", url.trim()]);
    let output = tests.arg("--output-dir").arg(results).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("=== SUMMARY ==="), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// The checks of each scenario, from the folders `server-NAME-TIME`.
fn read(results: &Path) -> Vec<(String, Value)> {
    let folders = fs::read_dir(results).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = folders
        .map(|folder| {
            let name = folder.file_name().unwrap().to_str().unwrap();
            let name = name.strip_prefix("server-").unwrap();
            // A time is six parts: 2026-11-16T19-37-43-565Z.
            let name = name.rsplitn(7, '-').last().unwrap();
            let checks = fs::read_to_string(folder.join("checks.json")).unwrap();
            (name.to_owned(), serde_json::from_str(&checks).unwrap())
        })
        .collect();
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}
