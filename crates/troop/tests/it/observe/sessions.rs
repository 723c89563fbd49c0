//! A folder of sessions: the newest is followed.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    path::Path,
    time::Duration,
};

use serde_json::Value;

use super::{FIRST_END, HEADLESS, Printing, Signal, Troop, V47, V177};

fn write(folder: &Path, name: &str, text: &str, minutes_ago: u64) {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    let written = fs::metadata(&path).unwrap().modified().unwrap();
    let at = written - Duration::from_secs(minutes_ago * 60);
    File::options().append(true).open(&path).unwrap().set_modified(at).unwrap();
}

#[test]
fn the_newest_session_of_a_folder_is_followed_and_then_a_newer_one() {
    let troop = Troop::new();
    let folder = troop.folder().join("sessions");
    fs::create_dir(&folder).unwrap();
    write(&folder, "a.jsonl", V47, 1);
    write(&folder, "b.jsonl", V177, 9);
    write(&folder, "agent-a0123.jsonl", HEADLESS, 0);
    let mut observer = Printing::new(troop.start("observe sessions --follow --state state.json"));
    observer.wait_for("team-lead → alice: sum");
    // A file that is made before it is written is no session yet.
    File::create(folder.join("c.jsonl")).unwrap();
    let (begin, rest) = HEADLESS.split_at(HEADLESS.find(FIRST_END).unwrap());
    fs::write(folder.join("c.jsonl"), begin).unwrap();
    observer.wait_for("team session-9039c45e");
    let mut file = File::options().append(true).open(folder.join("c.jsonl")).unwrap();
    file.write_all(rest.as_bytes()).unwrap();
    observer.wait_for("done task 1: Task A");
    observer.wait_for("alice is idle");
    observer.signal(Signal::TERM);
    let run = observer.end();
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(
        run.err,
        "reading `sessions/a.jsonl`\na newer session has begun: reading `sessions/c.jsonl`\n"
    );
    // The former team is shown as it was when the newer session began.
    assert!(run.out.contains("my-team  0 of 2 tasks done\n"), "{}", run.out);
    assert!(run.out.contains("session-9039c45e  1 of 2 tasks done\n"), "{}", run.out);
    // The next run goes on where this one ended.
    let kept = fs::read_to_string(troop.folder().join("state.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert!(kept["read"]["file"].as_str().unwrap().ends_with("sessions/c.jsonl"), "{kept}");
    let again = Printing::new(troop.start("observe sessions/c.jsonl --json --state state.json"));
    assert_eq!(again.end().out, "");
    // Of another session, nothing of this one is known.
    write(&folder, "a.jsonl", V47, 0);
    fs::remove_file(folder.join("c.jsonl")).unwrap();
    let mut other =
        Printing::new(troop.start("observe sessions --follow --json --state state.json"));
    let first = other.wait_for("team:created");
    assert!(first.contains("\"sequence\":1,"), "{first}");
    other.signal(Signal::TERM);
    other.end();
}

/// Starts an observer, and waits until it says that it waits.
fn waiting(troop: &Troop) -> Printing {
    let mut child = troop.start("observe sessions --follow --json");
    let stderr = child.stderr.as_mut().unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b"\n") {
        let mut byte = [0];
        stderr.read_exact(&mut byte).unwrap();
        said.extend(byte);
    }
    assert_eq!(String::from_utf8(said).unwrap(), "waiting for a session in `sessions`\n");
    Printing::new(child)
}

#[test]
fn an_empty_folder_is_watched_until_a_session_begins() {
    let troop = Troop::new();
    let folder = troop.folder().join("sessions");
    fs::create_dir(&folder).unwrap();
    let mut observer = waiting(&troop);
    fs::write(folder.join("a.jsonl"), V47).unwrap();
    observer.wait_for("team:message:received");
    observer.signal(Signal::INT);
    let run = observer.end();
    assert_eq!((run.code, run.err.as_str()), (0, "reading `sessions/a.jsonl`\n"));
    // A signal ends the waiting, too.
    fs::remove_file(folder.join("a.jsonl")).unwrap();
    let observer = waiting(&troop);
    observer.signal(Signal::TERM);
    assert_eq!(observer.end().code, 0);
}
