//! A headless session of the newest Claude Code, as its stream was captured.

use std::fs;

use serde_json::{Value, json};

use super::{FIRST_END, HEADLESS, Printing, Signal, Troop, append};

#[test]
fn a_headless_session_is_shown_with_its_board_its_agents_and_their_mail() {
    let troop = Troop::new();
    let told = troop.with_input("observe", HEADLESS);
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    for line in [
        "  team session-9039c45e\n",
        "  new task 2: Task B\n",
        "  alice joined (general-purpose)\n",
        "  alice does task 1: Task A\n",
        "  team-lead → alice: begin (queued)\n",
        "  alice is idle\n",
        "  alice works again\n",
        "  team-lead → alice: more (delivered)\n",
        "  alice → team-lead: hi (queued)\n",
        "session-9039c45e  1 of 2 tasks done\n",
        "  ○ alice (general-purpose)  idle, 157 tokens\n",
    ] {
        assert!(told.out.contains(line), "{line:?} in {}", told.out);
    }
    let state = troop.with_input("observe --state-json", HEADLESS).out;
    let state: Value = serde_json::from_str(&state).unwrap();
    assert_eq!(state["agents"], json!(["alice"]));
    let alice = &state["team"]["members"][0];
    assert_eq!((&alice["status"], &alice["tokens"]), (&json!("idle"), &json!(157)));
    assert_eq!(state["team"]["tasks"][1]["blocked_by"], json!(["1"]));
}

#[test]
fn people_see_members_and_tasks_change_while_the_file_grows() {
    let (before, after) = HEADLESS.split_at(HEADLESS.find(FIRST_END).unwrap());
    let troop = Troop::new();
    fs::write(troop.folder().join("session.jsonl"), before).unwrap();
    let line = format!(
        "stty rows 24 cols 100; {} observe session.jsonl --follow --watch; true",
        env!("CARGO_BIN_EXE_troop")
    );
    let mut screen = Printing::new(troop.on_terminal(&line).spawn().unwrap());
    let mut lines = Printing::new(troop.start("observe session.jsonl --follow"));
    let alice = screen.wait_for("active, 135 tokens");
    assert!(alice.contains("alice (general-purpose)"), "{alice}");
    lines.wait_for("alice does task 1: Task A");
    append(&troop, after);
    screen.wait_for("1 of 2 tasks done");
    let alice = screen.wait_for("idle, 157 tokens");
    assert!(alice.contains("alice (general-purpose)"), "{alice}");
    for news in ["alice is idle", "done task 1: Task A", "alice works again", "alice is idle"] {
        lines.wait_for(news);
    }
    lines.signal(Signal::TERM);
    let told = lines.end().out;
    assert!(told.contains("session-9039c45e  1 of 2 tasks done\n"), "{told}");
    screen.signal(Signal::TERM);
    screen.end();
}

#[test]
fn a_tool_use_in_a_recorded_stream_does_not_stay_unconfirmed() {
    let troop = Troop::new();
    let used = json!({"type": "assistant", "message": {"id": "m", "content": [{"type": "tool_use", "id": "c",
        "name": "TaskCreate", "input": {"subject": "Task C"}}]}, "timestamp": "2026-11-18T21:17:00.000Z"});
    let later = |second: u32| {
        let content = json!([{"type": "text", "text": "I work"}]);
        json!({"type": "assistant", "message": {"id": second, "content": content},
            "timestamp": format!("2026-11-18T21:17:{second}.000Z")})
    };
    let stream = |last: u32| format!("{HEADLESS}{used}\n{}\n{}\n", later(10), later(last));
    let told = troop.with_input("observe", &stream(30)).out;
    assert!(told.contains("not confirmed"), "{told}");
    let told = troop.with_input("observe", &stream(31)).out;
    assert!(!told.contains("not confirmed") && !told.contains("Task C"), "{told}");
}
