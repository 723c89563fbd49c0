//! Which session of a folder is the newest.

use std::{fs::File, time::Duration};

use tempfile::TempDir;

use super::*;

fn write(folder: &TempDir, name: &str, minute: u64) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, "{}\n").unwrap();
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(minute * 60);
    File::options().append(true).open(&path).unwrap().set_modified(at).unwrap();
    path
}

#[test]
fn the_newest_session_is_the_one_that_was_written_last() {
    let folder = TempDir::new().unwrap();
    assert_eq!(SessionFolder::open(folder.path()).unwrap().1, None);
    write(&folder, "b.jsonl", 1);
    let newest = write(&folder, "a.jsonl", 3);
    write(&folder, "c.ndjson", 2);
    for other in ["agent-a0123.jsonl", "notes.txt", "jsonl"] {
        write(&folder, other, 9);
    }
    fs::create_dir(folder.path().join("subagents.jsonl")).unwrap();
    File::create(folder.path().join("empty.jsonl")).unwrap();
    assert_eq!(SessionFolder::open(folder.path()).unwrap().1, Some(newest));
}

#[test]
fn a_session_is_newer_once_and_only_if_it_began_after_the_last_look() {
    let folder = TempDir::new().unwrap();
    write(&folder, "a.jsonl", 1);
    let (mut sessions, _) = SessionFolder::open(folder.path()).unwrap();
    write(&folder, "a.jsonl", 5);
    assert_eq!(sessions.take_newer(), None, "it goes on, but it is not new");
    File::create(folder.path().join("b.jsonl")).unwrap();
    assert_eq!(sessions.take_newer(), None, "it has not begun yet");
    let b = write(&folder, "b.jsonl", 2);
    assert_eq!(sessions.take_newer(), Some(b));
    write(&folder, "c.jsonl", 3);
    let d = write(&folder, "d.jsonl", 4);
    assert_eq!(sessions.take_newer(), Some(d));
    assert_eq!(sessions.take_newer(), None);
}

#[test]
fn a_folder_that_cannot_be_read_is_named() {
    let folder = TempDir::new().unwrap();
    let error = SessionFolder::open(&folder.path().join("none")).unwrap_err();
    assert!(error.to_string().contains("none` cannot be read"), "{error}");
}
