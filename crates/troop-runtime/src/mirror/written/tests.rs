//! A mirror that is killed at any moment leaves a file and a note that belong together.

use std::{fs, path::PathBuf};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::{NoteStep, NotedFile, TargetPlace};

struct Desk {
    _folder: TempDir,
    path: PathBuf,
    note: PathBuf,
}

fn desk() -> Desk {
    let folder = TempDir::new().unwrap();
    let [path, note] = ["task-1.json", "note.json"].map(|it| folder.path().join(it));
    Desk { _folder: folder, path, note }
}

fn says(word: &str) -> Map<String, Value> {
    json!({"status": word}).as_object().unwrap().clone()
}

impl Desk {
    fn noted(&self) -> NotedFile<'_> {
        NotedFile { path: &self.path, note: &self.note }
    }

    fn last(&self) -> Option<Map<String, Value>> {
        self.noted().under_lock().unwrap().map(|it| it.raw)
    }

    /// Writes like a mirror that is killed after so many steps.
    fn write_and_die(&self, word: &str, n_steps: usize) {
        let raw = says(word);
        let mut write = self.noted().begin(&raw, TargetPlace::Any);
        for step in NoteStep::ORDER.into_iter().take(n_steps) {
            assert!(write.take(step).unwrap(), "{step:?}");
        }
    }

    /// The contents of the file.
    fn file(&self) -> Map<String, Value> {
        serde_json::from_slice(&fs::read(&self.path).unwrap()).unwrap()
    }
}

#[test]
fn a_later_mirror_knows_what_was_written_last() {
    let desk = desk();
    assert_eq!(desk.last(), None);
    desk.noted().write(&says("pending"), TargetPlace::Empty).unwrap().unwrap();
    desk.noted().write(&says("in_progress"), TargetPlace::Any).unwrap().unwrap();
    // The note stays, whatever becomes of the file.
    fs::write(&desk.path, "{}").unwrap();
    assert_eq!(desk.last(), Some(says("in_progress")));
    desk.noted().forget().unwrap();
    assert_eq!(desk.last(), None);
}

#[test]
fn an_existing_file_is_not_overwritten_and_nothing_is_noted() {
    let desk = desk();
    fs::write(&desk.path, "theirs").unwrap();
    assert_eq!(desk.noted().write(&says("pending"), TargetPlace::Empty).unwrap(), None);
    assert_eq!((fs::read(&desk.path).unwrap(), desk.last()), (b"theirs".to_vec(), None));
    let left: Vec<_> = fs::read_dir(desk.path.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn file_and_note_agree_whenever_a_mirror_is_killed() {
    for n_steps in 0..=NoteStep::ORDER.len() {
        let desk = desk();
        desk.noted().write(&says("pending"), TargetPlace::Any).unwrap();
        desk.write_and_die("in_progress", n_steps);
        let is_placed = n_steps > 2;
        let expect = says(if is_placed { "in_progress" } else { "pending" });
        assert_eq!(desk.last(), Some(expect.clone()), "after {n_steps} steps");
        assert_eq!(desk.file(), expect, "after {n_steps} steps");
    }
}

#[test]
fn half_a_note_counts_as_none() {
    let desk = desk();
    desk.noted().write(&says("pending"), TargetPlace::Any).unwrap();
    desk.write_and_die("in_progress", 1);
    fs::write(desk.noted().next(), "{\"stamp\"").unwrap();
    assert_eq!(desk.last(), Some(says("pending")));
}

#[test]
fn a_new_file_that_has_two_names_for_a_moment_is_in_its_place() {
    let desk = desk();
    let raw = says("in_progress");
    let mut write = desk.noted().begin(&raw, TargetPlace::Empty);
    assert!(write.take(NoteStep::Half).unwrap() && write.take(NoteStep::NextNote).unwrap());
    fs::hard_link(&write.half, &desk.path).unwrap();
    assert_eq!(desk.last(), Some(raw));
}
