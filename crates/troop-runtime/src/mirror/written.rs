//! What troop itself wrote last, noted beside a team's files.
//!
//! A file says what somebody wants only as far as it differs from what troop wrote there: the board may have moved on since, and
//! the mirror may be another one by now. So each file that troop wrote has a note with the same content, which is changed under
//! the same lock. Both change as one: a mirror that is killed between them leaves a next note and, until the file is in its
//! place, the file's own half.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::disk::{self, Stamp};

/// A file as troop wrote or took it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WrittenNote {
    pub(super) stamp: Stamp,
    pub(super) raw: Map<String, Value>,
    /// The name under which it was written before it was put in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    half: Option<String>,
}

#[cfg(test)]
impl WrittenNote {
    pub(super) fn made(stamp: Stamp, raw: Map<String, Value>) -> Self {
        Self { stamp, raw, half: None }
    }
}

/// What to do where there is a file already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetPlace {
    Any,
    Empty,
}

/// A file, and its note.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotedFile<'a> {
    pub(super) path: &'a Path,
    pub(super) note: &'a Path,
}

impl NotedFile<'_> {
    /// Writes a file and notes it; none if there is one where there must be none.
    pub(super) fn write(
        self,
        raw: &Map<String, Value>,
        place: TargetPlace,
    ) -> io::Result<Option<Stamp>> {
        let (half, stamp) = disk::write_beside(self.path, &disk::pretty(raw)?)?;
        let name = half.file_name().map(|it| it.to_string_lossy().into_owned());
        let written = WrittenNote { stamp, raw: raw.clone(), half: name };
        let put = self.write_next(&written).and_then(|()| match place {
            TargetPlace::Any => disk::in_place(&half, self.path).map(|()| true),
            TargetPlace::Empty => disk::in_empty_place(&half, self.path),
        });
        if !matches!(put, Ok(true)) {
            drop(fs::remove_file(&half));
            drop(fs::remove_file(self.next()));
        }
        if !put? {
            return Ok(None);
        }
        fs::rename(self.next(), self.note).map(|()| Some(stamp))
    }

    /// Notes what a file says that somebody else wrote, and that is so.
    pub(super) fn take(self, stamp: Stamp, raw: &Map<String, Value>) -> io::Result<()> {
        self.write_next(&WrittenNote { stamp, raw: raw.clone(), half: None })?;
        fs::rename(self.next(), self.note)
    }

    fn write_next(self, written: &WrittenNote) -> io::Result<()> {
        fs::write(self.next(), serde_json::to_vec(written)?)
    }

    /// What was written last, whoever looks; under the file's lock, so that nobody is about to write it.
    pub(super) fn under_lock(self) -> io::Result<Option<WrittenNote>> {
        if let Some(next) = read(&self.next())? {
            if self.is_in_place(&next) {
                fs::rename(self.next(), self.note)?;
            } else {
                disk::remove(&self.next())?;
            }
        }
        read(self.note)
    }

    /// Whether a file was put in its place that was about to be. A note that is half written is older than that.
    fn is_in_place(self, next: &WrittenNote) -> bool {
        let Some(half) = next.half.as_ref().and_then(|it| Path::new(it).file_name()) else {
            return true;
        };
        let inode = |path: &Path| fs::symlink_metadata(path).ok().map(|it| it.ino());
        let half = inode(&self.path.with_file_name(half));
        half.is_none() || half == inode(self.path)
    }

    /// Forgets a file that is gone.
    pub(super) fn forget(self) -> io::Result<()> {
        disk::remove(&self.next())?;
        disk::remove(self.note)
    }

    fn next(self) -> PathBuf {
        self.note.with_extension("next")
    }
}

/// Reads a note. One that cannot be understood says nothing: what it is about is judged as if troop had not written it.
pub(super) fn read(note: &Path) -> io::Result<Option<WrittenNote>> {
    let bytes = disk::read(note)?.and_then(|found| found.bytes);
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

#[cfg(test)]
mod tests;
