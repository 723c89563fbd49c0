//! A mirror that is killed at any moment leaves a file and a note that belong together.

use std::{fs, path::PathBuf};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::{super::disk, NotedFile, TargetPlace, WrittenNote};

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

    /// Begins to write, like a mirror that is killed before the file is in its place.
    fn begin(&self, word: &str) -> PathBuf {
        let raw = says(word);
        let (half, stamp) = disk::write_beside(&self.path, &disk::pretty(&raw).unwrap()).unwrap();
        let name = half.file_name().unwrap().to_str().unwrap().to_owned();
        self.noted().write_next(&WrittenNote { stamp, raw, half: Some(name) }).unwrap();
        half
    }
}

#[test]
fn a_later_mirror_knows_the_last_write() {
    let desk = desk();
    assert_eq!(desk.last(), None);
    desk.noted().write(&says("pending"), TargetPlace::Empty).unwrap().unwrap();
    desk.noted().write(&says("in_progress"), TargetPlace::Any).unwrap().unwrap();
    // Whatever happens to the file.
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
fn a_mirror_killed_before_the_rename_has_not_written() {
    let desk = desk();
    desk.noted().write(&says("pending"), TargetPlace::Any).unwrap();
    desk.begin("in_progress");
    assert_eq!(desk.last(), Some(says("pending")));
    // Not even the note was whole.
    fs::write(desk.noted().next(), "{\"stamp\"").unwrap();
    assert_eq!(desk.last(), Some(says("pending")));
}

#[test]
fn a_mirror_killed_after_the_rename_has_written() {
    for place in [TargetPlace::Any, TargetPlace::Empty] {
        let desk = desk();
        let half = desk.begin("in_progress");
        match place {
            TargetPlace::Any => disk::in_place(&half, &desk.path).unwrap(),
            // It has both names for a moment.
            TargetPlace::Empty => fs::hard_link(&half, &desk.path).unwrap(),
        }
        assert_eq!(desk.last(), Some(says("in_progress")), "{place:?}");
    }
}
