//! `troop log`: the transcript of a member.

use std::fs;

use serde_json::Value;

use crate::troop::{Printing, Troop};

const LEAD: &str = r#"
when mail * from user
    log I will see to it
    call task/create {"subject": "shout", "description": "echo one; echo two >&2; printf '\\033[2Jthree\\n'"}
    wait until all tasks are done
"#;

fn worked() -> Troop {
    let troop = Troop::new();
    fs::write(troop.folder().join("lead.script"), LEAD).unwrap();
    troop.succeed("run hi --agent script:lead.script -m ann=command");
    troop
}

#[test]
fn a_transcript_has_the_members_lines_and_those_of_troop() {
    let troop = worked();
    let text = troop.ok("log ann");
    let lines: Vec<_> =
        text.lines().map(|line| line.get("2026-11-16 02:03:36  ".len()..).unwrap()).collect();
    assert!(lines[0].starts_with("troop   started in process "), "{text}");
    assert_eq!(lines[1], "troop   given task-1: shout");
    for line in ["        one", "        two", "        \\u{1b}[2Jthree"] {
        assert!(lines.contains(&line), "`{line}` is missing from:\n{text}");
    }
    assert_eq!(lines.last(), Some(&"troop   exit code 0"));
    assert!(troop.ok("log lead").contains("I will see to it"));
    assert!(!text.contains('\u{1b}'), "no colours in a pipe");
    assert!(troop.ok("log ann --color always").contains('\u{1b}'));
}

#[test]
fn a_transcript_can_be_limited_and_printed_as_json() {
    let troop = worked();
    assert_eq!(troop.ok("log ann --lines 2").lines().count(), 2);
    assert_eq!(troop.ok("log ann -n 0"), "");
    let out = troop.ok("log ann --json");
    let first: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!((&first["source"], &first["level"]), (&"troop".into(), &"info".into()));
    assert!(first["at"].is_string() && first["text"].as_str().unwrap().starts_with("started in"));
}

#[test]
fn a_member_that_has_never_run_has_no_transcript() {
    let troop = Troop::with_team();
    assert_eq!(troop.ok("log ann"), "ann has no transcript: it has not run yet\n");
}

#[test]
fn a_transcript_is_followed_as_it_grows() {
    let troop = Troop::new();
    fs::write(troop.folder().join("lead.script"), "when mail *\n    log heard {mail}\n").unwrap();
    let mut team = Printing::new(troop.start("run first --agent script:lead.script --keep"));
    team.wait_for("leads");
    let mut log = Printing::new(troop.start("log lead --follow"));
    log.wait_for("heard first");
    for said in ["second", "third"] {
        troop.ok(&format!("message send lead {said}"));
        log.wait_for(&format!("heard {said}"));
    }
    troop.ok("stop");
    assert_eq!(team.end().code, 0);
    log.wait_for("troop   ended");
}
