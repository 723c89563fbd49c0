//! What is known, kept in a file, so that another run goes on from there.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tempfile::NamedTempFile;
use tokio::time::Instant;
use troop_observe::Observer;

use crate::report::Refused;

/// Saving takes at most one part in this many of the time, while there is more to read.
const SHARE: u32 = 10;

/// Keeps what is known, if it is to be kept.
#[derive(Debug)]
pub(super) struct Keeper {
    path: Option<PathBuf>,
    place: Option<Place>,
    /// When it was saved, and how long that took.
    saved: Option<(Instant, Duration)>,
}

/// How far a file was read: to the end of its last whole line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    file: PathBuf,
    inode: u64,
    offset: u64,
}

#[derive(Serialize, Deserialize)]
struct Kept<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read: Option<Place>,
    #[serde(borrow)]
    observer: &'a RawValue,
}

impl Keeper {
    /// Reads what was kept, if there is anything, and goes on where that ended.
    pub(super) fn open(path: Option<&Path>, file: Option<&Path>) -> Result<(Self, Observer)> {
        let mut place = file.and_then(|file| {
            let (file, metadata) = (fs::canonicalize(file).ok()?, fs::metadata(file).ok()?);
            Some((Place { file, inode: metadata.ino(), offset: 0 }, metadata.len()))
        });
        let mut observer = Observer::default();
        if let Some(kept) = path.map(read).transpose()?.flatten() {
            let path = path.unwrap_or(Path::new(""));
            let kept: Kept<'_> =
                serde_json::from_str(&kept).map_err(|error| refuse(path, &error))?;
            observer = Observer::restore(kept.observer.get().as_bytes())
                .map_err(|error| refuse(path, &error))?;
            if let (Some((place, length)), Some(read)) = (&mut place, kept.read) {
                let is_same = place.file == read.file && place.inode == read.inode;
                if is_same && read.offset <= *length {
                    *place = read;
                }
            }
        }
        let place = place.map(|(place, _)| place);
        Ok((Self { path: path.map(Path::to_owned), place, saved: None }, observer))
    }

    /// Where to begin to read.
    pub(super) fn offset(&self) -> u64 {
        self.place.as_ref().map_or(0, |place| place.offset)
    }

    /// So many bytes of whole lines were taken.
    pub(super) fn advance(&mut self, n_bytes: u64) {
        if let Some(place) = &mut self.place {
            place.offset += n_bytes;
        }
    }

    /// The file is another one, or begins again.
    pub(super) fn restart(&mut self, inode: u64) {
        if let Some(place) = &mut self.place {
            (place.inode, place.offset) = (inode, 0);
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
        let kept = Kept { read: self.place.clone(), observer: serde_json::from_str(&saved)? };
        write(path, &serde_json::to_vec(&kept)?)
            .with_context(|| format!("`{}` cannot be written", path.display()))?;
        self.saved = Some((Instant::now(), start.elapsed()));
        Ok(())
    }
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
    let shown = path.display();
    let message = format!("`{shown}` was not kept by `troop observe`: {error}");
    Refused::new(message, format!("move it away: `mv {shown} {shown}.old`")).into()
}

/// Whole or not at all, whenever the program ends.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}
