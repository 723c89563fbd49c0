//! `troop observe`: the stream of another program.

mod again;
mod headless;
mod killed;
mod listening;
mod sessions;
mod stopping;

use std::{
    fs::{self, File, OpenOptions},
    io::{Read as _, Write as _},
    process::Stdio,
};

use rustix::{
    fs::{FileType, Mode},
    process::Signal,
};
use serde_json::{Value, json};

use crate::troop::{Printing, Troop};

const V47: &str = include_str!("../../../troop-observe/tests/it/fixtures/stream-2.1.47.ndjson");
const V177: &str = include_str!("../../../troop-observe/tests/it/fixtures/stream-2.1.177.ndjson");

const HEADLESS: &str =
    include_str!("../../../troop-observe/tests/it/fixtures/headless-2.1.327.ndjson");

/// The first line in it that says that the agent has finished.
const FIRST_END: &str = "{\"type\":\"system\",\"subtype\":\"task_updated\"";

/// A home with both captured streams in files.
fn with_streams() -> Troop {
    let troop = Troop::new();
    fs::write(troop.folder().join("47.ndjson"), V47).unwrap();
    fs::write(troop.folder().join("177.ndjson"), V177).unwrap();
    troop
}

fn kinds(events: &str) -> Vec<String> {
    let kind = |line: &str| serde_json::from_str::<Value>(line).unwrap()["kind"].clone();
    events.lines().map(|line| kind(line).as_str().unwrap().to_owned()).collect()
}

/// Runs the program with bytes on its standard input; returns the bytes that it printed.
fn bytes_through(troop: &Troop, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = troop.command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut printed = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        stdout.read_to_end(&mut printed).unwrap();
    });
    assert!(child.wait().unwrap().success());
    printed
}

#[test]
fn events_come_one_per_line_from_a_file_and_from_a_pipe() {
    let troop = with_streams();
    let from_file = troop.ok("observe 177.ndjson --json");
    assert_eq!(
        kinds(&from_file),
        [
            "team:created",
            "team:task:created",
            "team:task:created",
            "team:task:updated",
            "team:member:joined",
            "team:message:received",
            "team:task:updated",
            "team:shutdown:requested",
            "team:shutdown:requested",
            "team:member:shutdown",
            "team:deleted",
        ]
    );
    let from_pipe = troop.with_input("observe --json", V177);
    assert_eq!((from_pipe.code, kinds(&from_pipe.out)), (0, kinds(&from_file)));
    assert!(!troop.folder().join("home/troop.db").exists(), "observing makes no store");
}

#[test]
fn observe_opens_neither_files_of_the_agent_nor_configuration() {
    let troop = with_streams();
    let theirs = troop.folder().join(".claude");
    for file in [
        ".claude/teams/my-team/config.json",
        ".claude/teams/my-team/inboxes/alice.json",
        ".claude/tasks/my-team/1.json",
        // The input of every other command.
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".troop/config.json",
        "home/config.json",
        "home/trust.json",
    ] {
        // Opening one of these blocks for ever.
        let path = troop.folder().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::from(0o600), 0).unwrap();
    }
    let mut command = troop.command(&["observe", "177.ndjson", "--json"]);
    command.env("HOME", troop.folder()).env("CLAUDE_CONFIG_DIR", &theirs);
    let output = command.output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains("\"team\":\"my-team\""));
}

#[test]
fn the_final_state_has_the_roster_and_the_board() {
    let troop = with_streams();
    let state: Value = serde_json::from_str(&troop.ok("observe 47.ndjson --state-json")).unwrap();
    assert_eq!(state["agents"], json!(["alice"]));
    assert_eq!(
        (&state["team"]["name"], &state["team"]["role"]),
        (&json!("my-team"), &json!("lead"))
    );
    assert_eq!(state["team"]["members"][0]["status"], "active");
    assert_eq!(state["team"]["tasks"][1]["blocked_by"], json!(["1"]));
    let state: Value = serde_json::from_str(&troop.ok("observe 177.ndjson --state-json")).unwrap();
    assert_eq!((state.get("team"), &state["agents"]), (None, &json!([])), "it was deleted");
    assert_eq!(state["counts"]["unreadable"], 0);
}

#[test]
fn observe_prints_a_story_and_the_team_at_the_end() {
    let troop = with_streams();
    for flag in ["", " --watch"] {
        let text = troop.ok(&format!("observe 47.ndjson{flag}"));
        assert!(text.contains("  alice joined (general-purpose)\n"), "{text}");
        assert!(text.contains("  team-lead → alice: sum\n"), "{text}");
        assert!(text.ends_with("  ○ 1  Task A  alice\n  ◌ 2  Task B  after 1\n"), "{text}");
    }
}

#[test]
fn a_resized_screen_is_redrawn_from_the_top() {
    let troop = with_streams();
    let used = json!({"type": "assistant", "message": {"id": "m", "content": [
        {"type": "tool_use", "id": "more", "name": "TaskCreate", "input": {"subject": "Task C"}}]}});
    let result = json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "more", "content": "Task #3 created successfully: Task C"}]}});
    fs::write(troop.folder().join("more"), format!("{used}\n{result}\n")).unwrap();
    let line = format!(
        "stty rows 24 cols 80; {} observe 47.ndjson --follow --watch & read key; \
         stty rows 12 cols 50; cat more >> 47.ndjson; read key; kill $!; wait; true",
        env!("CARGO_BIN_EXE_troop")
    );
    let mut terminal = troop.on_terminal(&line).spawn().unwrap();
    let mut keyboard = terminal.stdin.take().unwrap();
    let mut screen = Printing::new(terminal);
    screen.wait_for("Task B");
    keyboard.write_all(b"\n").unwrap();
    screen.wait_for("Task C");
    keyboard.write_all(b"\n").unwrap();
    drop(keyboard);
    let drawn = screen.end().out;
    let (_, last) = drawn.rsplit_once("\u{1b}[H").unwrap_or_else(|| panic!("{drawn:?}"));
    assert!(last.contains("my-team") && last.contains("Task C"), "{last:?}");
}

#[test]
fn the_stream_is_passed_on_byte_for_byte_with_messages_added() {
    let troop = with_streams();
    for stream in [V47, V177] {
        let passed = bytes_through(&troop, &["observe", "--pass-through"], stream.as_bytes());
        let passed = String::from_utf8(passed).unwrap();
        let is_added = |line: &&str| line.starts_with("{\"type\":\"team_");
        let original: String =
            passed.split_inclusive('\n').filter(|line| !is_added(line)).collect();
        assert_eq!(original, stream);
        let mut last_id = String::new();
        let mut n_added = 0;
        for line in passed.lines() {
            if is_added(&line) {
                let added: Value = serde_json::from_str(line).unwrap();
                let id = added["metadata"]["teamToolUseId"].as_str().unwrap();
                assert!(last_id.contains(id), "it follows the line that it is about: {line}");
                n_added += 1;
            } else {
                last_id = line.to_owned();
            }
        }
        assert_eq!(n_added, 2 * stream.matches("\"type\":\"tool_use\"").count());
    }
}

#[test]
fn a_stream_without_a_team_is_not_changed_and_yields_nothing() {
    let troop = Troop::new();
    let mut stream = b"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\
        \"name\":\"TaskCreate\",\"input\":{\"subject\":\"a plain list\"}}]}}\r\n\
        {\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\
        \"content\":\"Task #1 created successfully: x\"}]}}\n\n\xff\xfe \"Task\x00\n"
        .to_vec();
    stream.extend(vec![b'x'; 100_000_000]);
    stream.extend(b"\nno end");
    assert!(bytes_through(&troop, &["observe", "--pass-through"], &stream) == stream);
    assert_eq!(bytes_through(&troop, &["observe", "--json"], &stream), b"");
    assert_eq!(bytes_through(&troop, &["observe"], &stream), b"");
    let state = bytes_through(&troop, &["observe", "--state-json"], &stream);
    let state: Value = serde_json::from_slice(&state).unwrap();
    assert_eq!((state.get("team"), &state["agents"]), (None, &json!([])));
}

#[test]
fn a_line_without_a_time_gets_the_last_known_time() {
    let troop = Troop::new();
    let said = V177.split("\"timestamp\":\"").skip(1).filter_map(|rest| rest.split("Z\"").next());
    let last = said.max().unwrap();
    let events = troop.with_input("observe --json", V177).out;
    // Without its last letter, an earlier time is also a smaller text.
    let at = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        event["at"].as_str().unwrap().trim_end_matches('Z').to_owned()
    };
    let times: Vec<_> = events.lines().map(at).collect();
    assert!(!times.is_empty() && times.is_sorted(), "{times:?}");
    assert!(times.iter().all(|at| at.as_str() <= last), "after {last}: {times:?}");
}

#[test]
fn unknown_tools_and_unreadable_lines_are_reported() {
    let troop = Troop::new();
    let run = troop.with_input(
        "observe",
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"TeamPause\"}]}}\n\
         {\"TeamCreate\":\ngarbage\n{\"type\":\n\n{\"type\":\"user\"}\n",
    );
    assert_eq!((run.code, run.out.as_str()), (0, ""));
    assert!(run.err.contains("tools unknown to this version: `TeamPause` (1)"), "{}", run.err);
    assert!(run.err.contains("3 lines could not be read"), "{}", run.err);
    // The other forms warn too, and have the same numbers.
    for form in ["--json", "--state-json", "--pass-through"] {
        let run = troop.with_input(&format!("observe {form}"), "{}\ngarbage\n");
        assert_eq!(run.err, "warning: 1 line could not be read\n", "{form}");
        assert!(form != "--state-json" || run.out.contains("\"unreadable\":1"), "{}", run.out);
    }
}

#[test]
fn an_observers_state_survives_a_restart() {
    let troop = Troop::new();
    let lines: Vec<_> = V177.split_inclusive('\n').collect();
    let whole = troop.with_input("observe --json", V177).out;
    for cut in [0, 2, 9, 20] {
        let state = format!("state-{cut}.json");
        let mut events = String::new();
        for part in [lines[..cut].concat(), lines[cut..].concat()] {
            let run = troop.with_input(&format!("observe --json --state {state}"), &part);
            assert_eq!((run.code, run.err.as_str()), (0, ""));
            events += &run.out;
        }
        assert_eq!(kinds(&events), kinds(&whole), "cut after {cut}");
        // A reconnection that replays everything yields nothing new.
        let again = troop.with_input(&format!("observe --json --state {state}"), V177);
        assert_eq!((again.code, again.out.as_str()), (0, ""));
    }
}

#[test]
fn a_session_file_is_read_on_from_where_it_was() {
    let troop = Troop::new();
    let path = troop.folder().join("session.jsonl");
    let cut = V47.find("\"Task B\"").unwrap();
    let (before, after) = V47.split_at(cut);
    fs::write(&path, before).unwrap();
    let observe = "observe session.jsonl --json --state state.json";
    let first = troop.ok(observe);
    assert_eq!(kinds(&first), ["team:created", "team:task:created"]);
    let kept: Value =
        serde_json::from_slice(&fs::read(troop.folder().join("state.json")).unwrap()).unwrap();
    let whole_lines = before.rfind('\n').unwrap() + 1;
    assert_eq!(kept["read"]["offset"], whole_lines, "an incomplete line is read again");
    assert_eq!(troop.ok(observe), "");
    OpenOptions::new().append(true).open(&path).unwrap().write_all(after.as_bytes()).unwrap();
    assert_eq!(kinds(&troop.ok(observe)).len(), 5);
    assert_eq!(troop.ok(observe), "");
}

#[test]
fn state_is_kept_even_if_the_output_is_closed() {
    let troop = with_streams();
    let mut command = troop.command(&["observe", "47.ndjson", "--json", "--state", "state.json"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success(), "a reader that has seen enough is no error");
    let kept = fs::read_to_string(troop.folder().join("state.json")).unwrap();
    assert!(kept.contains("\"alice@my-team\""), "{kept}");
    assert_eq!(troop.refused("observe missing.jsonl --state other.json").0, 1);
    assert!(!troop.folder().join("other.json").exists(), "nothing was seen");
}

#[test]
fn an_invalid_state_file_is_refused_and_left_alone() {
    let troop = with_streams();
    for text in ["", "{", "{\"observer\":{}}", "{\"observer\":{\"format\":99}}", "\u{0}"] {
        fs::write(troop.folder().join("state.json"), text).unwrap();
        let (code, error) = troop.refused("observe 47.ndjson --state state.json");
        assert_eq!(code, 1);
        assert!(error.contains("`state.json` was not kept by `troop observe`"), "{error}");
        assert!(error.contains("hint: move it away: `mv state.json state.json.old`"), "{error}");
        assert_eq!(fs::read_to_string(troop.folder().join("state.json")).unwrap(), text);
    }
}

#[test]
fn wrong_use_of_observe_is_refused() {
    let troop = with_streams();
    let (_, error) = troop.refused("observe .");
    assert!(error.contains("`troop observe --follow .`"), "{error}");
    for line in [
        "observe 47.ndjson --json --state-json",
        "observe 47.ndjson --watch --pass-through",
        "observe 47.ndjson --listen 127.0.0.1:0",
        "observe --follow",
        "observe --listen nowhere",
        "observe .",
    ] {
        assert_eq!(troop.refused(line).0, 2, "{line}");
    }
    let (code, error) = troop.refused("observe missing.jsonl");
    assert_eq!(code, 1);
    assert!(error.contains("`missing.jsonl` cannot be read"), "{error}");
    // The folder is checked before anything is read.
    let (code, error) = troop.refused("observe missing.jsonl --state no/dir/state.json");
    assert_eq!(code, 1);
    assert!(error.contains("there is no folder `no/dir`"), "{error}");
    assert!(error.contains("hint: make it: `mkdir -p no/dir`"), "{error}");
    let (code, error) = troop.refused("observe --listen 0.0.0.0:0");
    assert_eq!(code, 1);
    assert!(error.contains("is open to other machines"), "{error}");
}

#[test]
fn capabilities_lists_every_source() {
    let troop = Troop::new();
    let text = troop.ok("observe --capabilities");
    assert!(text.contains("claude-stream  yes    yes   no\n"), "{text}");
    assert!(text.contains("codex          no "), "{text}");
    let all = troop.json("observe --capabilities");
    assert_eq!(
        all[3],
        json!({"source": "agent-sdk", "capabilities": {"teams": true, "live": true, "history": false}})
    );
}

fn append(troop: &Troop, text: &str) {
    let path = troop.folder().join("session.jsonl");
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_growing_replaced_and_rewritten_file_is_followed() {
    let troop = Troop::new();
    let path = troop.folder().join("session.jsonl");
    File::create(&path).unwrap();
    let mut observer =
        Printing::new(troop.start("observe session.jsonl --follow --json --state state.json"));
    let (team, rest) = V47.split_at(V47.find("\"Task A\"").unwrap());
    append(&troop, team);
    observer.wait_for("team:created");
    // The rest of the line, and further lines, in pieces.
    for piece in rest.as_bytes().chunks(1000) {
        append(&troop, std::str::from_utf8(piece).unwrap());
    }
    observer.wait_for("team:message:received");
    // The file is replaced.
    let end = "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"d\",\"name\":\"TeamDelete\",\"input\":{}}]}}\n";
    fs::write(troop.folder().join("new"), end).unwrap();
    fs::rename(troop.folder().join("new"), &path).unwrap();
    append(
        &troop,
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"d\",\"content\":\"ok\"}]}}\n",
    );
    observer.wait_for("team:deleted");
    // The file is truncated and rewritten, and is longer than before at the next look.
    observer.signal(Signal::STOP);
    File::create(&path).unwrap();
    append(
        &troop,
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"TeamCreate\",\"input\":{\"team_name\":\"red\"}}]}}\n",
    );
    append(
        &troop,
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"ok\"}]}}\n",
    );
    observer.signal(Signal::CONT);
    observer.wait_for("\"team\":\"red\"");
    observer.signal(Signal::TERM);
    let run = observer.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let kept = fs::read_to_string(troop.folder().join("state.json")).unwrap();
    assert!(kept.contains("\"name\":\"red\""), "{kept}");
}

#[test]
fn an_interrupted_observer_shows_its_state() {
    let troop = with_streams();
    let mut child = troop.start("observe 47.ndjson --follow --state-json --state state.json");
    let state = troop.folder().join("state.json");
    // The state is kept once everything has been read.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(troop_testkit::wait_for("the state is kept", async || {
        fs::read_to_string(&state).ok().filter(|it| it.contains("\"alice\""))
    }));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert!(child.wait().unwrap().success());
    let state: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(state["agents"], json!(["alice"]));
}

#[test]
fn fuzz_pass_through() {
    let troop = Troop::new();
    let examples = [V47.as_bytes().to_vec(), V177.as_bytes().to_vec()];
    troop_testkit::fuzz(&["\"tool_use\"", "\r\n"], &examples, 8, |bytes| {
        // Nothing can be added after a line without a line break.
        let stream = [bytes, b"\n"].concat();
        let passed = bytes_through(&troop, &["observe", "--pass-through"], &stream);
        let is_added = |line: &&[u8]| line.starts_with(b"{\"type\":\"team_");
        let original = passed.split_inclusive(|it| *it == b'\n').filter(|it| !is_added(it));
        assert!(original.collect::<Vec<_>>().concat() == stream, "something else came out");
    });
}
