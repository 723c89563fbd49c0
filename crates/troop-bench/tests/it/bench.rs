//! The benchmark runs and reports every measure. Its numbers are not for tests: they say nothing about time.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// As small as it gets: each thing once, on a small board.
const QUICK: &str = "board --seconds 0 --tasks 100 --events 500 --folder .";

/// Runs the benchmark with the words of a line, in its own folder.
#[track_caller]
fn run(folder: &TempDir, line: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_troop-bench"));
    let is_built = program.with_file_name("troop").is_file();
    assert!(is_built, "build the program to measure first: `cargo build -p troop`");
    Command::new(program)
        .args(line.split_whitespace())
        .current_dir(folder.path())
        .env_clear()
        .env("TMPDIR", folder.path())
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Runs the benchmark for its JSON. It may warn: where tests run, files may be in memory.
#[track_caller]
fn measure(folder: &TempDir, line: &str) -> Value {
    let output = run(folder, &format!("{line} --json"));
    assert!(output.status.success(), "{output:#?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The benchmark cleans up.
#[track_caller]
fn assert_empty(folder: &TempDir) {
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 0, "{left:?}");
}

/// The comparisons, as part and subject, in order.
fn subjects(results: &Value) -> Vec<String> {
    let name = |it: &Value| format!("{}: {}", it["part"], it["what"]).replace('"', "");
    let mut names: Vec<_> = results["results"].as_array().unwrap().iter().map(name).collect();
    names.dedup();
    names
}

#[test]
fn the_board_benchmark_reports_every_measure() {
    let folder = TempDir::new().unwrap();
    let results = measure(&folder, QUICK);
    assert_eq!(
        subjects(&results),
        [
            "sqlite: 64 callers",
            "sqlite: 1 caller",
            "files: 1 caller",
            "files: 64 callers",
            "seen: sqlite",
            "seen: files",
            "open: 1 command, 1 caller, 1M events",
            "open: opening a team, 1M events",
            "start: troop task next",
            "start: memory, a full board open",
            "start: memory, all of it looked at",
        ]
    );
    for result in results["results"].as_array().unwrap() {
        assert!(result["ours"].is_f64() && result["baseline"].is_f64(), "{result}");
        assert!(result["ratio"].is_f64() && result["is_met"].is_boolean(), "{result}");
        assert_eq!(result["target"].as_object().unwrap().len(), 1, "{result}");
        assert!(result["against"].is_string() && result["unit"].is_string(), "{result}");
    }
    assert_empty(&folder);
}

#[test]
fn the_team_benchmark_reports_every_measure() {
    let folder = TempDir::new().unwrap();
    let results = measure(&folder, "team --seconds 0 --folder .");
    assert_eq!(
        subjects(&results),
        [
            "graph: time for a task of 100, 5 teammates",
            "graph: tasks given twice",
            "idle: from spawn to ready",
            "idle: memory of one",
            "idle: memory of its own",
            "idle: 100 of them and their lead, of a core",
            "mail: teammate to teammate, median",
            "mail: teammate to teammate, 99 of 100",
            "crash: from a crash until another has the task, 99 of 100",
        ]
    );
    // This one is about right and wrong, not about time.
    assert_eq!(results["results"][1]["ours"], 0.0, "no task is given twice");
    assert_empty(&folder);
}

#[tokio::test]
async fn postgres_is_measured_if_a_server_is_given() {
    let database = troop_testkit::postgres::database().await;
    let folder = TempDir::new().unwrap();
    let url = database.url();
    let line = format!("{QUICK} --only postgres --only seen --postgres {url}");
    let results = measure(&folder, &line);
    assert_eq!(
        subjects(&results),
        [
            "postgres: 64 callers",
            "postgres: 8 processes, by their lead",
            "postgres: 8 processes, by their lead, longest wait",
            "postgres: 8 processes without a lead",
            "postgres: 8 processes without a lead, longest wait",
            "seen: sqlite",
            "seen: files",
            "seen: postgres",
        ]
    );
}

#[test]
fn people_get_a_table() {
    let output = run(&TempDir::new().unwrap(), &format!("{QUICK} --only files"));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.starts_with("PART   WHAT        OURS"), "{table}");
    assert_eq!(table.lines().count(), 3, "{table}");
}

#[test]
fn postgres_without_a_server_is_wrong_use() {
    let output = run(&TempDir::new().unwrap(), "board --only postgres");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("hint: say where it is"), "{text}");
}

#[test]
fn the_work_is_measured_beside_plain_tools() {
    let folder = TempDir::new().unwrap();
    let results = measure(&folder, "work --seconds 0 --files 250 --folder .");
    let subjects = subjects(&results);
    let wanted = [
        "merge: finished branches of one file, all of them",
        "merge: one of them, the middle",
        "profile: troop profile of a large repository",
    ];
    assert_eq!(subjects, wanted);
    assert_empty(&folder);
}

#[test]
fn the_mcp_benchmark_compares_reads_and_durable_writes() {
    let folder = TempDir::new().unwrap();
    let results = measure(&folder, "mcp --seconds 0 --folder .");
    assert_eq!(
        subjects(&results),
        [
            "mcp: tool call that reads, one after another",
            "mcp: tool call that writes, one after another",
            "mcp: tool call that writes, eight at once",
        ]
    );
}

#[test]
fn the_observer_is_compared_with_parsing_and_with_its_limit() {
    let folder = TempDir::new().unwrap();
    let results = measure(&folder, "observe --seconds 0 --messages 2000 --megabytes 1");
    assert_eq!(
        subjects(&results),
        [
            "observe: the whole pipeline",
            "observe: memory, a long stream",
            "observe: memory, five tasks for each message",
        ]
    );
}

#[test]
fn the_benchmark_of_shared_files_measures_claims_and_messages() {
    let folder = TempDir::new().unwrap();
    let results = measure(&folder, "files --changes 3 --tasks 5 --folder .");
    assert_eq!(
        subjects(&results),
        [
            "files: a claim in a file becomes an event: half within",
            "files: a message in a file becomes an event: half within",
        ]
    );
}

#[test]
fn the_agent_benchmark_reports_every_measure() {
    let folder = TempDir::new().unwrap();
    let results = measure(&folder, "agent --seconds 0 --folder .");
    assert_eq!(
        subjects(&results),
        [
            "round: a tool round, over the time of the API",
            "round: a whole tool round",
            "context: a round with 1 MB of context",
            "idle: memory before its first work",
            "idle: memory after a piece of work",
            "shown: the first word, after it was sent",
        ]
    );
    for result in results["results"].as_array().unwrap() {
        assert!(result["ours"].is_f64() && result["baseline"].is_f64(), "{result}");
    }
    assert_empty(&folder);
}

#[test]
fn a_missing_program_to_measure_is_wrong_use() {
    let output = run(&TempDir::new().unwrap(), "--troop nowhere/troop board");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    let hint = "hint: build it: `cargo build --release -p troop`, or name it: `--troop PATH`";
    assert!(text.contains("`nowhere/troop`") && text.contains(hint), "{text}");
}
