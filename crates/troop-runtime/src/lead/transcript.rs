//! Transcripts: a log of each member for people, as lines of JSON. A thread of their own writes them, because the disk may be
//! slow and the lead's loop must not wait for it.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    mem,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

use tokio::sync::oneshot;
use troop_model::{MemberName, lock};

pub use troop_protocol::{TranscriptEntry, TranscriptLine, TranscriptSource};

/// A transcript that grows beyond this is rotated.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Lines that would make a transcript wait for the disk with more than this are dropped.
const MAX_WAITING: usize = 8 * 1024 * 1024;
/// How long the end of a lead waits for its last lines to be written.
const LAST_LINES: Duration = Duration::from_secs(5);

/// The path of a member's transcript.
pub(crate) fn path(folder: &Path, member: &MemberName) -> PathBuf {
    folder.join("transcripts").join(format!("{member}.jsonl"))
}

/// The path of a rotated transcript.
pub(crate) fn former_path(path: &Path) -> PathBuf {
    path.with_extension("jsonl.1")
}

/// The transcripts of all members, as this lead writes them.
#[derive(Debug)]
pub(super) struct Transcripts {
    buffer: Arc<LineBuffer>,
    /// Whether lines came since the writer was last told.
    has_news: bool,
    /// Closes when the writer has ended.
    end: oneshot::Receiver<()>,
}

/// The lines that wait to be written.
#[derive(Debug, Default)]
struct LineBuffer {
    lines: Mutex<WaitingLines>,
    /// Notified when lines come, and at the end.
    news: Condvar,
}

#[derive(Debug, Default)]
struct WaitingLines {
    of_members: BTreeMap<MemberName, Vec<u8>>,
    is_over: bool,
}

/// Writes lines into the members' files, on a thread of its own.
#[derive(Debug)]
struct TranscriptWriter {
    folder: PathBuf,
    open: BTreeMap<MemberName, TranscriptFile>,
}

#[derive(Debug)]
struct TranscriptFile {
    file: File,
    n_bytes: u64,
}

impl Transcripts {
    pub(super) fn new(folder: &Path) -> Self {
        let buffer = Arc::new(LineBuffer::default());
        let mut writer = TranscriptWriter { folder: folder.to_owned(), open: BTreeMap::new() };
        let source = Arc::clone(&buffer);
        let (ended, end) = oneshot::channel::<()>();
        let write = move || {
            while let Some(lines) = source.next() {
                writer.write(lines);
            }
            drop(ended);
        };
        // Without a thread there are no transcripts, and the team goes on.
        drop(thread::Builder::new().name("transcripts".to_owned()).spawn(write));
        Self { buffer, has_news: false, end }
    }

    /// Buffers a line until the next flush.
    pub(super) fn write(&mut self, member: &MemberName, entry: &TranscriptEntry) {
        let Ok(mut line) = serde_json::to_vec(entry) else { return };
        line.push(b'\n');
        let mut lines = lock(&self.buffer.lines);
        let waiting = lines.of_members.entry(member.clone()).or_default();
        if waiting.len() + line.len() <= MAX_WAITING {
            waiting.append(&mut line);
            self.has_news = true;
        }
    }

    /// Has the buffered lines written.
    pub(super) fn flush(&mut self) {
        if mem::take(&mut self.has_news) {
            self.buffer.news.notify_one();
        }
    }

    /// Waits until all lines are written, unless the disk hangs.
    pub(super) async fn close(&mut self) {
        self.buffer.end();
        drop(tokio::time::timeout(LAST_LINES, &mut self.end).await);
    }
}

impl Drop for Transcripts {
    fn drop(&mut self) {
        self.buffer.end();
    }
}

impl LineBuffer {
    /// The lines that wait. None at the end, when all are written.
    fn next(&self) -> Option<BTreeMap<MemberName, Vec<u8>>> {
        let mut lines = lock(&self.lines);
        while lines.of_members.is_empty() && !lines.is_over {
            lines = self.news.wait(lines).unwrap_or_else(PoisonError::into_inner);
        }
        let waiting = mem::take(&mut lines.of_members);
        (!waiting.is_empty()).then_some(waiting)
    }

    fn end(&self) {
        lock(&self.lines).is_over = true;
        self.news.notify_one();
    }
}

impl TranscriptWriter {
    /// A transcript that cannot be written does not stop the team: a full disk costs these lines.
    fn write(&mut self, lines: BTreeMap<MemberName, Vec<u8>>) {
        for (member, lines) in lines {
            let path = path(&self.folder, &member);
            let Ok(transcript) = self.transcript(&member, &path) else { continue };
            drop(transcript.file.write_all(&lines));
            transcript.n_bytes += lines.len() as u64;
            if transcript.n_bytes > MAX_BYTES {
                self.open.remove(&member);
                drop(fs::rename(&path, former_path(&path)));
            }
        }
    }

    fn transcript(&mut self, member: &MemberName, path: &Path) -> io::Result<&mut TranscriptFile> {
        if !self.open.contains_key(member) {
            self.open.insert(member.clone(), TranscriptFile::open(path)?);
        }
        self.open.get_mut(member).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl TranscriptFile {
    fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let n_bytes = file.metadata()?.len();
        Ok(Self { file, n_bytes })
    }
}
