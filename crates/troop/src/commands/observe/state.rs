//! What is known, kept in a file, so that another run goes on from there.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use troop_app::whole_file::{self, FileAccess};
use troop_observe::Observer;

use super::pieces::ReadTail;
use crate::report::{Error, Hint, HintCommand, move_away};

/// Saving takes at most one part in this many of the time, while there is more to read.
const SHARE: u32 = 10;

/// Keeps what is known, if it is to be kept.
#[derive(Debug)]
pub(super) struct Keeper {
    path: Option<PathBuf>,
    place: Option<ReadPlace>,
    /// How far the file was read, and how that ends: it may be in the middle of a line.
    at: u64,
    tail: ReadTail,
    /// When it was saved, and how long that took.
    saved: Option<(Instant, Duration)>,
}

/// How far a file was taken in: to the end of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ReadPlace {
    file: PathBuf,
    inode: u64,
    offset: u64,
    /// What the bytes before it are, in short. A file that was written anew has others there.
    #[serde(default)]
    tail: String,
}

#[derive(Serialize, Deserialize)]
struct SavedObserver<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read: Option<ReadPlace>,
    #[serde(borrow)]
    observer: &'a RawValue,
}

impl Keeper {
    /// Reads what was kept, if there is anything, and goes on where that ended.
    pub(super) fn open(path: Option<&Path>, file: Option<&Path>) -> Result<(Self, Observer)> {
        path.map(check_folder).transpose()?;
        let mut observer = Observer::default();
        let mut place = file.and_then(begin);
        let mut tail = ReadTail::default();
        if let Some(kept) = path.map(read).transpose()?.flatten() {
            let path = path.unwrap_or(Path::new(""));
            let kept: SavedObserver<'_> =
                serde_json::from_str(&kept).map_err(|error| refuse(path, &error))?;
            observer = Observer::restore(kept.observer.get().as_bytes())
                .map_err(|error| refuse(path, &error))?;
            if let (Some(place), Some(read)) = (&mut place, kept.read)
                && (&place.file, place.inode) == (&read.file, read.inode)
                && let Some(found) = find(&read)
            {
                (*place, tail) = (read, found);
            }
        }
        let at = place.as_ref().map_or(0, |place| place.offset);
        Ok((Self { path: path.map(Path::to_owned), place, at, tail, saved: None }, observer))
    }

    /// How far the file was read, and how that ends.
    pub(super) fn read_so_far(&self) -> (u64, ReadTail) {
        (self.at, self.tail.clone())
    }

    /// These bytes came next. What is not a whole line yet will be read again.
    pub(super) fn advance(&mut self, bytes: &[u8]) {
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        if let (Some(place), Some(end)) = (&mut self.place, end) {
            let mut tail = self.tail.clone();
            tail.add(bytes.get(..=end).unwrap_or_default());
            place.move_to(self.at + end as u64 + 1, &tail);
        }
        self.at += bytes.len() as u64;
        self.tail.add(bytes);
    }

    /// The last line has no end, but is whole.
    pub(super) fn advance_to_the_end(&mut self) {
        if let Some(place) = &mut self.place {
            place.move_to(self.at, &self.tail);
        }
    }

    /// Whether what was not taken in will be read again.
    pub(super) fn has_a_place(&self) -> bool {
        self.path.is_some() && self.place.is_some()
    }

    /// The file is another one, or begins again.
    pub(super) fn restart(&mut self, inode: u64) {
        (self.at, self.tail) = (0, ReadTail::default());
        if let Some(place) = &mut self.place {
            place.inode = inode;
            place.move_to(0, &self.tail);
        }
    }

    /// Saves a change: at once where nothing else waits, else not so often that it would take all the time.
    pub(super) fn save_soon(&mut self, observer: &Observer, is_quiet: bool) -> Result<()> {
        let is_due = self.saved.is_none_or(|(at, took)| at.elapsed() >= took * SHARE);
        if is_quiet || is_due { self.save(observer) } else { Ok(()) }
    }

    pub(super) fn save(&mut self, observer: &Observer) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let start = Instant::now();
        let saved = String::from_utf8(observer.save())?;
        let kept =
            SavedObserver { read: self.place.clone(), observer: serde_json::from_str(&saved)? };
        whole_file::write(path, &serde_json::to_vec(&kept)?, FileAccess::Owner)
            .with_context(|| format!("`{}` cannot be written", path.display()))?;
        self.saved = Some((Instant::now(), start.elapsed()));
        Ok(())
    }
}

impl ReadPlace {
    fn move_to(&mut self, offset: u64, tail: &ReadTail) {
        self.offset = offset;
        self.tail = digest(tail);
    }
}

/// The beginning of a file, if there is one.
fn begin(file: &Path) -> Option<ReadPlace> {
    let path = fs::canonicalize(file).ok()?;
    let metadata = fs::metadata(file).ok()?;
    let tail = digest(&ReadTail::default());
    Some(ReadPlace { file: path, inode: metadata.ino(), offset: 0, tail })
}

/// How that ends which was read of a file, if it is still there.
fn find(place: &ReadPlace) -> Option<ReadTail> {
    let tail = ReadTail::before(&File::open(&place.file).ok()?, place.offset).ok()?;
    (digest(&tail) == place.tail).then_some(tail)
}

fn digest(tail: &ReadTail) -> String {
    Sha256::digest(tail.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(refuse(path, &error)),
        Err(error) => Err(error).with_context(|| format!("`{}` cannot be read", path.display())),
    }
}

fn refuse(path: &Path, error: &dyn std::error::Error) -> anyhow::Error {
    let message = format!("`{}` was not kept by `troop observe`: {error}", path.display());
    Error::refused(message, move_away(path)).into()
}

/// Refuses to begin what could not be kept.
fn check_folder(path: &Path) -> Result<()> {
    let folder = whole_file::folder(path);
    if folder.is_dir() {
        return Ok(());
    }
    let shown = path.display();
    let missing = folder.display();
    let message = format!("`{shown}` cannot be written: there is no folder `{missing}`");
    Err(Error::refused(
        message,
        Hint::to("make it", HintCommand::other("mkdir").word("-p").word(folder.display())),
    )
    .into())
}
