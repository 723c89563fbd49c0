//! Keeps what an observer knows in a file, so that another run continues from there.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use troop_model::{Hint, HintCommand};
use troop_observe::Observer;

use super::ReadPosition;
use crate::{
    Error, FileAct, Result,
    hint::move_away,
    whole_file::{self, FileAccess},
};

/// While there is more to read, saving takes at most this fraction of the time: one in ten.
const SHARE: u32 = 10;

/// Keeps what is known, if there is a file for it.
#[derive(Debug)]
pub struct Keeper {
    path: Option<PathBuf>,
    place: Option<ReadPlace>,
    /// How far the file was read, which may be in the middle of a line.
    position: ReadPosition,
    last_save: Option<LastSave>,
}

#[derive(Clone, Copy, Debug)]
struct LastSave {
    at: Instant,
    took: Duration,
}

/// How far a file was taken in, up to the end of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ReadPlace {
    file: PathBuf,
    inode: u64,
    offset: u64,
    /// A digest of the bytes before the offset. A file that was rewritten has others there.
    #[serde(default)]
    tail: String,
}

/// The contents of the file.
#[derive(Serialize, Deserialize)]
struct KeptObserver<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read: Option<ReadPlace>,
    #[serde(borrow)]
    observer: &'a RawValue,
}

impl Keeper {
    /// Restores what was kept. If the same file is observed again, it is read on from where that ended.
    pub fn open(path: Option<&Path>, file: Option<&Path>) -> Result<(Self, Observer)> {
        path.map(check_folder).transpose()?;
        let mut observer = Observer::default();
        let mut place = file.and_then(ReadPlace::beginning);
        let mut position = ReadPosition::default();
        if let Some(path) = path
            && let Some(text) = read(path)?
        {
            let kept: KeptObserver<'_> =
                serde_json::from_str(&text).map_err(|error| refuse(path, &error))?;
            observer = Observer::restore(kept.observer.get().as_bytes())
                .map_err(|error| refuse(path, &error))?;
            if let (Some(place), Some(read)) = (&mut place, kept.read)
                && (&place.file, place.inode) == (&read.file, read.inode)
                && let Some(found) = read.find()
            {
                *place = read;
                position = found;
            }
        }
        let path = path.map(Path::to_owned);
        Ok((Self { path, place, position, last_save: None }, observer))
    }

    /// Restores what was kept of this session. What was kept of another one is dropped.
    pub fn open_session(path: Option<&Path>, file: &Path) -> Result<(Self, Observer)> {
        let (keeper, observer) = Self::open(path, Some(file))?;
        let is_same = keeper.position != ReadPosition::default();
        Ok((keeper, if is_same { observer } else { Observer::default() }))
    }

    /// Notes that another file is read now, from its beginning.
    pub fn switch(&mut self, file: &Path) {
        self.place = ReadPlace::beginning(file);
        self.position = ReadPosition::default();
    }

    /// How far the file was read.
    #[must_use]
    pub fn position(&self) -> &ReadPosition {
        &self.position
    }

    /// Notes that these bytes were read. A line that is not complete yet will be read again by the next run.
    pub fn advance(&mut self, bytes: &[u8]) {
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        if let (Some(place), Some(end)) = (&mut self.place, end) {
            let mut line_end = self.position.clone();
            line_end.advance(bytes.get(..=end).unwrap_or_default());
            place.move_to(&line_end);
        }
        self.position.advance(bytes);
    }

    /// Notes that the last line is complete although it does not end with a line break.
    pub fn advance_to_the_end(&mut self) {
        if let Some(place) = &mut self.place {
            place.move_to(&self.position);
        }
    }

    /// Whether the next run reads an incomplete line again.
    #[must_use]
    pub fn has_a_place(&self) -> bool {
        self.path.is_some() && self.place.is_some()
    }

    /// Notes that the file was replaced or rewritten.
    pub fn restart(&mut self, inode: u64) {
        self.position = ReadPosition::default();
        if let Some(place) = &mut self.place {
            place.inode = inode;
            place.move_to(&self.position);
        }
    }

    /// Saves a change: at once if nothing else waits, else so seldom that saving takes only its share of the time.
    pub fn save_soon(&mut self, observer: &Observer, is_quiet: bool) -> Result<()> {
        let is_due = self.last_save.is_none_or(|it| it.at.elapsed() >= it.took * SHARE);
        if is_quiet || is_due { self.save(observer) } else { Ok(()) }
    }

    pub fn save(&mut self, observer: &Observer) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let start = Instant::now();
        let write = || {
            let saved = observer.save();
            let observer = serde_json::from_slice(&saved)?;
            let kept = KeptObserver { read: self.place.clone(), observer };
            whole_file::write(path, &serde_json::to_vec(&kept)?, FileAccess::Owner)
        };
        write().map_err(Error::file(path, FileAct::Written))?;
        self.last_save = Some(LastSave { at: Instant::now(), took: start.elapsed() });
        Ok(())
    }
}

impl ReadPlace {
    /// The beginning of a file, if the file exists.
    fn beginning(file: &Path) -> Option<Self> {
        let path = fs::canonicalize(file).ok()?;
        let inode = fs::metadata(file).ok()?.ino();
        let tail = digest(&ReadPosition::default());
        Some(Self { file: path, inode, offset: 0, tail })
    }

    /// The position in the file, unless the file was rewritten.
    fn find(&self) -> Option<ReadPosition> {
        let position = ReadPosition::at(&File::open(&self.file).ok()?, self.offset).ok()?;
        (digest(&position) == self.tail).then_some(position)
    }

    fn move_to(&mut self, position: &ReadPosition) {
        self.offset = position.offset();
        self.tail = digest(position);
    }
}

fn digest(position: &ReadPosition) -> String {
    Sha256::digest(position.tail()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(refuse(path, &error)),
        Err(error) => Err(Error::file(path, FileAct::Read)(error)),
    }
}

fn refuse(path: &Path, error: &dyn std::error::Error) -> Error {
    let message = format!("`{}` was not kept by `troop observe`: {error}", path.display());
    Error::refused(message, move_away(path))
}

/// Refuses to start if nothing could be kept.
fn check_folder(path: &Path) -> Result<()> {
    let folder = whole_file::folder(path);
    if folder.is_dir() {
        return Ok(());
    }
    let shown = path.display();
    let missing = folder.display();
    let message = format!("`{shown}` cannot be written: there is no folder `{missing}`");
    let make = HintCommand::other("mkdir").word("-p").word(folder.display());
    Err(Error::refused(message, Hint::to("make it", make)))
}
