//! A team's folder: its files, and how readers and writers open them.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use troop_model::{TeamId, Version};

use super::log;
use crate::{
    Entry, StoreError, StoreResult,
    failure::{bug, corrupt, io_failure, restore_hint},
    turnstile::Turnstile,
};

pub(super) const CARD: &str = "team.json";
pub(super) const LOG: &str = "log.jsonl";
pub(super) const HEAD: &str = "head";

/// How often we read a head again that may have been read during a write.
const HEAD_LOOKS: usize = 100;

/// The contents of `team.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Card {
    pub(super) id: TeamId,
    pub(super) name: String,
    /// Counts teams in the order in which they were made.
    pub(super) created: u64,
}

impl Card {
    /// Reads the card in a folder; `None` if the folder or the card is not there.
    pub(super) fn read(folder: &Path) -> StoreResult<Option<Self>> {
        let path = folder.join(CARD);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(io_failure("read", &path, error)),
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| {
            let what = format!("`{}` is damaged: {error}", path.display());
            corrupt(what, restore_hint(&path))
        })
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// How much of a log is committed. It is written after the log's bytes are on the disk, and in one small write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LogHead {
    pub(super) version: Version,
    pub(super) bytes: u64,
}

impl LogHead {
    const WIDTH: usize = 51;

    pub(super) fn encode(self, team: TeamId) -> String {
        let text = format!("{:>20} {:>20} ", self.version.0, self.bytes);
        format!("{text}{:08x}\n", head_crc(team, &text))
    }

    fn decode(team: TeamId, text: &str) -> Option<Self> {
        let (numbers, crc) = text.strip_suffix('\n')?.split_at_checked(Self::WIDTH - 9)?;
        let mut words = numbers.split_whitespace();
        let version = Version(words.next()?.parse().ok()?);
        let bytes = words.next()?.parse().ok()?;
        let is_whole = u32::from_str_radix(crc, 16).ok()? == head_crc(team, numbers);
        is_whole.then_some(Self { version, bytes })
    }

    /// Reads a head. During another process's write we may read a mixture for a moment.
    pub(super) fn read(file: &File, team: TeamId) -> io::Result<Option<Self>> {
        for _ in 0..HEAD_LOOKS {
            let mut bytes = [0; Self::WIDTH];
            match file.read_exact_at(&mut bytes, 0) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                Err(error) => return Err(error),
            }
            let head = str::from_utf8(&bytes).ok().and_then(|text| Self::decode(team, text));
            if head.is_some() {
                return Ok(head);
            }
            std::thread::yield_now();
        }
        Ok(None)
    }
}

fn head_crc(team: TeamId, text: &str) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(team.0.as_bytes());
    hasher.update(text.as_bytes());
    hasher.finalize()
}

/// A folder that holds a certain team.
#[derive(Clone, Debug)]
pub(super) struct TeamFolder {
    pub(super) team: TeamId,
    path: PathBuf,
}

impl TeamFolder {
    pub(super) fn new(team: TeamId, path: PathBuf) -> Self {
        Self { team, path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether the team is still here: others may retire or purge it at any time.
    pub(super) fn is_current(&self) -> bool {
        Card::read(&self.path).is_ok_and(|card| card.is_some_and(|card| card.id == self.team))
    }

    /// Opens a file that every team has from its beginning, so that its absence is damage.
    pub(super) fn open(&self, name: &str, options: &OpenOptions) -> StoreResult<File> {
        let path = self.file(name);
        options.open(&path).map_err(|error| {
            if is_absent(&error) {
                return self.damaged(name, "it is missing");
            }
            io_failure("opened", &path, error)
        })
    }

    pub(super) fn damaged(&self, name: &str, how: &str) -> StoreError {
        let path = self.file(name);
        corrupt(format!("`{}` is damaged: {how}", path.display()), restore_hint(&self.path))
    }

    pub(super) fn io(&self, name: &str, act: &str) -> impl Fn(io::Error) -> StoreError {
        let path = self.file(name);
        let act = act.to_owned();
        move |error| io_failure(&act, &path, error)
    }

    /// The queue for writers of this team: `head` is the queue's lock, `log.jsonl` the write lock.
    pub(super) fn turnstile(&self, head: &File, log: &File) -> StoreResult<Turnstile> {
        let queue = head.try_clone().map_err(self.io(HEAD, "opened"))?;
        let write = log.try_clone().map_err(self.io(LOG, "opened"))?;
        Ok(Turnstile::new(queue, write))
    }

    /// Reads the head and checks that the log is at least as long.
    pub(super) fn head(&self, head: &File, log: &File) -> StoreResult<LogHead> {
        let found = LogHead::read(head, self.team).map_err(self.io(HEAD, "read"))?;
        let found = found.ok_or_else(|| self.damaged(HEAD, "its checksum does not match"))?;
        let length = log.metadata().map_err(self.io(LOG, "read"))?.len();
        if length < found.bytes {
            let how = format!("it has {length} bytes, but {} were committed", found.bytes);
            return Err(self.damaged(LOG, &how));
        }
        Ok(found)
    }

    /// Reads up to the committed end. Bytes beyond it were never acknowledged.
    pub(super) fn read(&self, after: Version, limit: usize) -> StoreResult<Vec<Entry>> {
        let (head, file) = self.open_to_read()?;
        log::read(self, &file, self.head(&head, &file)?, after, limit)
    }

    /// Opens the head and the log.
    pub(super) fn open_to_read(&self) -> StoreResult<(File, File)> {
        let mut options = OpenOptions::new();
        options.read(true);
        Ok((self.open(HEAD, &options)?, self.open(LOG, &options)?))
    }
}

/// Makes a change of a folder's entries durable.
pub(super) fn sync_folder(path: &Path) -> StoreResult<()> {
    let synced = File::open(path).and_then(|folder| folder.sync_all());
    synced.map_err(|error| io_failure("written", path, error))
}

/// Writes a new file and waits until it is on the disk.
pub(super) fn write_new(path: &Path, text: &[u8]) -> StoreResult<()> {
    let written = File::create_new(path).and_then(|file| {
        file.write_all_at(text, 0)?;
        file.sync_all()
    });
    written.map_err(|error| io_failure("written", path, error))
}

pub(super) fn to_json(value: &impl Serialize) -> StoreResult<Vec<u8>> {
    let mut text = serde_json::to_vec(value).map_err(|error| bug(error.to_string()))?;
    text.push(b'\n');
    Ok(text)
}
