//! Transcripts of members, read page by page from either end, and followed as they grow.
//!
//! A transcript that has grown too long is rotated: a new file begins, and the one before it is kept. A position names its
//! file by inode, so that a reader continues in the right one.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::{sync::mpsc, time::timeout};
use troop_model::MemberName;
use troop_protocol::{TranscriptEdge, TranscriptEntry, TranscriptPage};

use crate::lead::{former_transcript_path, transcript_path};

/// How many entries a page has at most ...
const MAX_ENTRIES: usize = 1_000;
/// ... and about how many bytes.
const MAX_BYTES: usize = 1024 * 1024;
/// How much is read at a time from the end of a file.
const CHUNK: u64 = 64 * 1024;
/// How often we look at a folder without a notice: not every file system sends any.
const LOOK: Duration = Duration::from_secs(2);

/// A position in a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TranscriptPosition {
    /// The inode of the file.
    file: u64,
    offset: u64,
}

impl std::fmt::Display for TranscriptPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}-{:x}", self.file, self.offset)
    }
}

impl FromStr for TranscriptPosition {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let parse = || {
            let (file, offset) = text.split_once('-')?;
            let file = u64::from_str_radix(file, 16).ok()?;
            Some(Self { file, offset: u64::from_str_radix(offset, 16).ok()? })
        };
        let what = "this is not a position in a transcript: use the `next` or the `end` of a page";
        parse().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, what))
    }
}

/// Reads the transcript of one member.
#[derive(Clone, Debug)]
pub struct TranscriptReader {
    path: PathBuf,
    former: PathBuf,
}

/// One of the files of a transcript.
struct TranscriptPart {
    file: File,
    number: u64,
    /// Where its last whole line ends. A line that is being written is left for later.
    end: u64,
}

impl TranscriptReader {
    /// For a member of the team with this folder.
    #[must_use]
    pub fn new(folder: &Path, member: &MemberName) -> Self {
        let path = transcript_path(folder, member);
        Self { former: former_transcript_path(&path), path }
    }

    /// Reads a page: the first one from an edge, or the one that `cursor` names.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or the cursor is invalid. A transcript that does not exist has no entries.
    pub fn page(
        &self,
        from: TranscriptEdge,
        cursor: Option<&str>,
        limit: usize,
    ) -> io::Result<TranscriptPage> {
        let cursor = cursor.map(TranscriptPosition::from_str).transpose()?;
        let limit = limit.clamp(1, MAX_ENTRIES);
        let mut parts = self.parts()?;
        match from {
            TranscriptEdge::Beginning => forwards(&mut parts, cursor, limit),
            TranscriptEdge::End => backwards(&mut parts, cursor, limit),
        }
    }

    /// Whether anything was ever written.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.path.exists() || self.former.exists()
    }

    /// The files that exist, oldest first.
    fn parts(&self) -> io::Result<Vec<TranscriptPart>> {
        let mut parts = Vec::new();
        // In this order, so that no file is missed if the transcript is rotated meanwhile: then both are the same file.
        for path in [&self.path, &self.former] {
            match TranscriptPart::open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                part => parts.push(part?),
            }
        }
        parts.dedup_by_key(|part| part.number);
        parts.reverse();
        Ok(parts)
    }
}

impl TranscriptPart {
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        let end = whole_lines_end(&mut file, metadata.len())?;
        Ok(Self { file, number: metadata.ino(), end })
    }

    fn position(&self, offset: u64) -> TranscriptPosition {
        TranscriptPosition { file: self.number, offset }
    }
}

/// Where the last whole line ends in the first `length` bytes of a file.
fn whole_lines_end(file: &mut File, length: u64) -> io::Result<u64> {
    let mut end = length;
    while end > 0 {
        let begin = end.saturating_sub(CHUNK);
        let bytes = read_range(file, begin, end)?;
        if let Some(nth) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(begin + nth as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}

fn read_range(file: &mut File, begin: u64, end: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(end - begin).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads forwards from a position. If its file is gone, from the oldest entry that exists.
fn forwards(
    parts: &mut [TranscriptPart],
    cursor: Option<TranscriptPosition>,
    limit: usize,
) -> io::Result<TranscriptPage> {
    let nth = cursor.and_then(|at| parts.iter().position(|part| part.number == at.file));
    let mut offset = nth.and(cursor).map_or(0, |at| at.offset);
    let mut page = TranscriptPage::default();
    let mut n_bytes = 0;
    let mut parts = parts.iter_mut().skip(nth.unwrap_or(0)).peekable();
    while let Some(part) = parts.next() {
        offset = offset.min(part.end);
        part.file.seek(SeekFrom::Start(offset))?;
        let mut reader = BufReader::new(&part.file).take(part.end - offset);
        let mut line = Vec::new();
        let mut is_full = false;
        while !is_full && reader.read_until(b'\n', &mut line)? > 0 {
            offset += line.len() as u64;
            n_bytes += line.len();
            // A line that is not an entry was not written by troop.
            page.entries.extend(serde_json::from_slice::<TranscriptEntry>(&line));
            line.clear();
            is_full = page.entries.len() >= limit || n_bytes >= MAX_BYTES;
        }
        let end = part.position(offset).to_string();
        let has_more = offset < part.end || parts.peek().is_some_and(|part| part.end > 0);
        page.end = Some(end.clone());
        if is_full {
            page.next = Some(end).filter(|_| has_more);
            break;
        }
        offset = 0;
    }
    Ok(page)
}

/// Reads backwards from a position, or from the end.
fn backwards(
    parts: &mut [TranscriptPart],
    cursor: Option<TranscriptPosition>,
    limit: usize,
) -> io::Result<TranscriptPage> {
    let n_parts = match cursor {
        // If its file is gone, so is everything before it.
        Some(at) => parts.iter().position(|part| part.number == at.file).map_or(0, |nth| nth + 1),
        None => parts.len(),
    };
    let mut end = cursor.map(|at| at.offset);
    let mut page = TranscriptPage::default();
    let mut newest_first = Vec::new();
    let mut begin = None;
    for part in parts.iter_mut().take(n_parts).rev() {
        if newest_first.len() >= limit {
            break;
        }
        let mut offset = end.take().unwrap_or(part.end).min(part.end);
        page.end.get_or_insert_with(|| part.position(offset).to_string());
        for line in lines_before(&mut part.file, offset, limit - newest_first.len())? {
            offset -= line.len() as u64;
            newest_first.extend(serde_json::from_slice::<TranscriptEntry>(&line));
        }
        begin = Some(part.position(offset));
        if offset > 0 {
            break;
        }
    }
    newest_first.reverse();
    page.entries = newest_first;
    let oldest = parts.first().map(|part| part.position(0));
    page.next = begin.filter(|begin| Some(*begin) != oldest).map(|begin| begin.to_string());
    Ok(page)
}

/// The lines that end at a position, newest first.
fn lines_before(file: &mut File, end: u64, limit: usize) -> io::Result<Vec<Vec<u8>>> {
    let mut begin = end;
    let mut bytes = Vec::new();
    let mut n_lines = 0;
    // The first line that was read may have begun before.
    while begin > 0 && (n_lines <= 1 || n_lines <= limit && bytes.len() < MAX_BYTES) {
        let from = begin.saturating_sub(CHUNK);
        let mut chunk = read_range(file, from, begin)?;
        n_lines += chunk.iter().filter(|byte| **byte == b'\n').count();
        chunk.append(&mut bytes);
        bytes = chunk;
        begin = from;
    }
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').skip(usize::from(begin > 0));
    let mut lines: Vec<_> = lines.map(<[u8]>::to_vec).collect();
    lines.reverse();
    lines.truncate(limit);
    Ok(lines)
}

/// Follows a transcript as it grows.
#[derive(Debug)]
pub struct TranscriptFeed {
    reader: TranscriptReader,
    at: Option<String>,
    changes: mpsc::Receiver<()>,
    /// None if the system has no watch left: then news come late, but they come.
    _watcher: Option<RecommendedWatcher>,
}

impl TranscriptFeed {
    /// Follows a transcript from a position on, or from its oldest entry.
    #[must_use]
    pub fn new(reader: TranscriptReader, after: Option<String>) -> Self {
        let (tell, changes) = mpsc::channel(1);
        let watcher = reader.path.parent().and_then(|folder| watch(folder, tell));
        Self { reader, at: after, changes, _watcher: watcher }
    }

    /// The next entries; waits for them.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or the position is invalid.
    pub async fn next(&mut self) -> io::Result<TranscriptPage> {
        loop {
            let reader = self.reader.clone();
            let at = self.at.clone();
            let read = move || reader.page(TranscriptEdge::Beginning, at.as_deref(), MAX_ENTRIES);
            let page = tokio::task::spawn_blocking(read).await.map_err(io::Error::other)??;
            self.at = page.end.clone().or(self.at.take());
            if !page.entries.is_empty() {
                return Ok(page);
            }
            if page.next.is_none() {
                // Whether a notice came or not: look again.
                drop(timeout(LOOK, self.changes.recv()).await);
            }
        }
    }
}

/// Sends a notice when something in a folder changes.
fn watch(folder: &Path, tell: mpsc::Sender<()>) -> Option<RecommendedWatcher> {
    std::fs::create_dir_all(folder).ok()?;
    let hear = move |event: notify::Result<notify::Event>| {
        // Our own reading is not a change.
        if event.is_ok_and(|event| !event.kind.is_access()) {
            // One waiting notice is enough.
            tell.try_send(()).unwrap_or_default();
        }
    };
    let mut watcher = notify::recommended_watcher(hear).ok()?;
    watcher.watch(folder, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

#[cfg(test)]
mod tests;
