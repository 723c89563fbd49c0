//! Pages from either end, across a rotation.

use std::{fs, io::Write as _, path::Path};

use tempfile::TempDir;
use troop_protocol::{TranscriptEdge, TranscriptPage};

use super::{TranscriptFeed, TranscriptReader};

struct Stage {
    folder: TempDir,
    reader: TranscriptReader,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let reader = TranscriptReader::new(folder.path(), &"ann".parse().unwrap());
        fs::create_dir_all(reader.path.parent().unwrap()).unwrap();
        Self { folder, reader }
    }

    fn write(&self, texts: impl IntoIterator<Item = u32>) {
        append(&self.reader.path, texts);
    }

    fn rotate(&self) {
        fs::rename(&self.reader.path, &self.reader.former).unwrap();
    }

    fn page(&self, from: TranscriptEdge, cursor: Option<&str>, limit: usize) -> TranscriptPage {
        self.reader.page(from, cursor, limit).unwrap()
    }

    /// All pages from an edge.
    fn all(&self, from: TranscriptEdge, limit: usize) -> Vec<Vec<u32>> {
        let mut cursor: Option<String> = None;
        let mut pages = Vec::new();
        loop {
            let page = self.page(from, cursor.as_deref(), limit);
            pages.push(numbers(&page));
            match page.next {
                Some(next) => cursor = Some(next),
                None => return pages,
            }
        }
    }
}

fn append(path: &Path, texts: impl IntoIterator<Item = u32>) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    for text in texts {
        let at = "2026-01-01T10:00:00Z";
        writeln!(file, r#"{{"at":"{at}","source":"member","level":"info","text":"{text}"}}"#)
            .unwrap();
    }
}

fn numbers(page: &TranscriptPage) -> Vec<u32> {
    page.entries.iter().map(|entry| entry.line.text.parse().unwrap()).collect()
}

#[test]
fn a_transcript_is_paged_from_either_end() {
    let stage = Stage::new();
    stage.write(0..7);
    assert_eq!(stage.all(TranscriptEdge::End, 3), [vec![4, 5, 6], vec![1, 2, 3], vec![0]]);
    assert_eq!(stage.all(TranscriptEdge::Beginning, 3), [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
    assert_eq!(stage.all(TranscriptEdge::End, 100), [vec![0, 1, 2, 3, 4, 5, 6]]);
}

#[test]
fn pages_continue_in_the_former_file() {
    let stage = Stage::new();
    stage.write(0..4);
    stage.rotate();
    stage.write(4..6);
    assert_eq!(stage.all(TranscriptEdge::End, 4), [vec![2, 3, 4, 5], vec![0, 1]]);
    assert_eq!(stage.all(TranscriptEdge::Beginning, 3), [vec![0, 1, 2], vec![3, 4, 5]]);
}

#[test]
fn a_position_stays_valid_when_the_transcript_is_rotated() {
    let stage = Stage::new();
    stage.write(0..4);
    let newest = stage.page(TranscriptEdge::End, None, 2);
    stage.write(4..6);
    stage.rotate();
    stage.write(6..9);
    let earlier = stage.page(TranscriptEdge::End, newest.next.as_deref(), 10);
    assert_eq!(numbers(&earlier), [0, 1]);
    let later = stage.page(TranscriptEdge::Beginning, newest.end.as_deref(), 10);
    assert_eq!(numbers(&later), [4, 5, 6, 7, 8]);
}

#[test]
fn an_unfinished_line_is_not_read_yet() {
    let stage = Stage::new();
    stage.write(0..1);
    let mut file = fs::OpenOptions::new().append(true).open(&stage.reader.path).unwrap();
    file.write_all(b"{\"at\":").unwrap();
    for edge in [TranscriptEdge::End, TranscriptEdge::Beginning] {
        let page = stage.page(edge, None, 10);
        assert_eq!((numbers(&page), page.next), (vec![0], None));
    }
}

#[test]
fn entries_longer_than_a_chunk_are_read_backwards_too() {
    let stage = Stage::new();
    stage.write(0..1);
    let long = "9".repeat(200_000);
    let line = format!(
        "{{\"at\":\"2026-01-01T10:00:00Z\",\"source\":\"troop\",\"level\":\"info\",\"text\":\"{long}\"}}\n"
    );
    let mut file = fs::OpenOptions::new().append(true).open(&stage.reader.path).unwrap();
    file.write_all(line.as_bytes()).unwrap();
    let page = stage.page(TranscriptEdge::End, None, 1);
    assert_eq!(page.entries[0].line.text.len(), 200_000);
    assert_eq!(numbers(&stage.page(TranscriptEdge::End, page.next.as_deref(), 1)), [0]);
}

#[test]
fn a_transcript_that_was_never_written_is_empty() {
    let stage = Stage::new();
    for edge in [TranscriptEdge::End, TranscriptEdge::Beginning] {
        assert_eq!(stage.page(edge, None, 10), TranscriptPage::default());
    }
    assert!(stage.folder.path().exists());
}

#[test]
fn an_invalid_cursor_is_refused() {
    let stage = Stage::new();
    for cursor in ["", "7", "x-1", "1-"] {
        assert!(stage.reader.page(TranscriptEdge::End, Some(cursor), 1).is_err(), "{cursor}");
    }
}

#[tokio::test]
async fn a_follower_gets_every_entry_once() {
    let stage = Stage::new();
    let mut feed = TranscriptFeed::new(stage.reader.clone(), None);
    stage.write(0..2);
    assert_eq!(numbers(&feed.next().await.unwrap()), [0, 1]);
    stage.write(2..3);
    stage.rotate();
    stage.write(3..4);
    assert_eq!(numbers(&feed.next().await.unwrap()), [2, 3]);
}
