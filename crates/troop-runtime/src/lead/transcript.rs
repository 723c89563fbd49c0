//! Transcripts: a log of each member for people, as lines of JSON.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use troop_model::MemberName;

pub use troop_protocol::{TranscriptEntry, TranscriptLine, TranscriptSource};

/// A transcript that grows beyond this is rotated.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

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
    folder: PathBuf,
    open: BTreeMap<MemberName, Transcript>,
}

#[derive(Debug)]
struct Transcript {
    file: File,
    n_bytes: u64,
    waiting: Vec<u8>,
}

impl Transcripts {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), open: BTreeMap::new() }
    }

    /// Buffers a line until the next flush. A transcript that cannot be written does not stop the team.
    pub(super) fn write(&mut self, member: &MemberName, entry: &TranscriptEntry) {
        if !self.open.contains_key(member) {
            let Ok(transcript) = Transcript::open(&path(&self.folder, member)) else { return };
            self.open.insert(member.clone(), transcript);
        }
        let Some(transcript) = self.open.get_mut(member) else { return };
        if serde_json::to_writer(&mut transcript.waiting, entry).is_ok() {
            transcript.waiting.push(b'\n');
        }
    }

    /// Writes the buffered lines.
    pub(super) fn flush(&mut self) {
        let mut full = Vec::new();
        for (member, transcript) in &mut self.open {
            transcript.flush();
            if transcript.n_bytes > MAX_BYTES {
                full.push(member.clone());
            }
        }
        for member in full {
            self.open.remove(&member);
            let path = path(&self.folder, &member);
            drop(fs::rename(&path, former_path(&path)));
        }
    }
}

impl Transcript {
    fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let n_bytes = file.metadata()?.len();
        Ok(Self { file, n_bytes, waiting: Vec::new() })
    }

    fn flush(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        // A full disk costs these lines; the team goes on.
        drop(self.file.write_all(&self.waiting));
        self.n_bytes += self.waiting.len() as u64;
        self.waiting.clear();
    }
}
