//! Notes beside a team's files about what troop wrote into them last.
//!
//! A file says what somebody wants only as far as it differs from what troop wrote there: the board may have moved on since, and
//! the mirror may be another one by now. So each file that troop wrote has a note with the same content, which changes under the
//! same lock. Both change as one, whenever the mirror is killed.

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
pub struct WrittenNote {
    pub stamp: Stamp,
    pub raw: Map<String, Value>,
    /// The name under which it was written before it was put in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    half: Option<String>,
}

impl WrittenNote {
    /// A note of a file that is in its place.
    #[must_use]
    pub fn made(stamp: Stamp, raw: Map<String, Value>) -> Self {
        Self { stamp, raw, half: None }
    }
}

/// The handling of a file that exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetPlace {
    Any,
    Empty,
}

/// A file, and its note.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotedFile<'a> {
    pub(super) path: &'a Path,
    pub(super) note: &'a Path,
}

/// A step of writing a file with its note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoteStep {
    /// Writes the file beside its place.
    Half,
    /// Writes the next note, which names the half.
    NextNote,
    /// Puts the half in its place.
    Place,
    /// Puts the next note in the place of the note.
    Note,
}

impl NoteStep {
    /// Killed after `Half`, a mirror has written nothing. Killed after `NextNote` or `Place`, it leaves a next note, and whether
    /// its half is still there tells whether the file was put in its place.
    const ORDER: [Self; 4] = [Self::Half, Self::NextNote, Self::Place, Self::Note];
}

/// A file on its way to its place.
struct NotedWrite<'a> {
    file: NotedFile<'a>,
    raw: &'a Map<String, Value>,
    place: TargetPlace,
    half: PathBuf,
    /// None until the half is written.
    stamp: Option<Stamp>,
}

impl NotedWrite<'_> {
    /// Takes a step; says whether the others may follow.
    fn take(&mut self, step: NoteStep) -> io::Result<bool> {
        match step {
            NoteStep::Half => {
                let bytes = disk::pretty(self.raw)?;
                let (half, stamp) = disk::write_beside(self.file.path, &bytes)?;
                self.half = half;
                self.stamp = Some(stamp);
                Ok(true)
            }
            NoteStep::NextNote => {
                let Some(stamp) = self.stamp else { return Ok(false) };
                let half = self.half.file_name().map(|it| it.to_string_lossy().into_owned());
                let next = WrittenNote { stamp, raw: self.raw.clone(), half };
                self.file.write_next(&next).map(|()| true)
            }
            NoteStep::Place => match self.place {
                TargetPlace::Any => disk::in_place(&self.half, self.file.path).map(|()| true),
                TargetPlace::Empty => disk::in_empty_place(&self.half, self.file.path),
            },
            NoteStep::Note => self.file.keep_next().map(|()| true),
        }
    }

    /// Takes back what was written, if the file was not put in its place.
    fn take_back(&self) {
        if self.stamp.is_some() {
            drop(fs::remove_file(&self.half));
            drop(fs::remove_file(self.file.next()));
        }
    }
}

impl<'a> NotedFile<'a> {
    /// Writes a file and notes it; none if there is one where there must be none.
    pub(super) fn write(
        self,
        raw: &'a Map<String, Value>,
        place: TargetPlace,
    ) -> io::Result<Option<Stamp>> {
        let mut write = self.begin(raw, place);
        for step in NoteStep::ORDER {
            let taken = write.take(step);
            if step != NoteStep::Note && !matches!(taken, Ok(true)) {
                write.take_back();
            }
            if !taken? {
                return Ok(None);
            }
        }
        Ok(write.stamp)
    }

    fn begin(self, raw: &'a Map<String, Value>, place: TargetPlace) -> NotedWrite<'a> {
        NotedWrite { file: self, raw, place, half: PathBuf::new(), stamp: None }
    }

    /// Notes what somebody else wrote into a file, because the board says the same.
    pub(super) fn take(self, stamp: Stamp, raw: &Map<String, Value>) -> io::Result<()> {
        self.write_next(&WrittenNote { stamp, raw: raw.clone(), half: None })?;
        self.keep_next()
    }

    fn keep_next(self) -> io::Result<()> {
        fs::rename(self.next(), self.note)
    }

    fn write_next(self, written: &WrittenNote) -> io::Result<()> {
        fs::write(self.next(), serde_json::to_vec(written)?)
    }

    /// The last written contents, by any mirror. The file must be locked, so that nobody is about to write it.
    pub(super) fn under_lock(self) -> io::Result<Option<WrittenNote>> {
        if let Some(next) = read(&self.next())? {
            if self.is_in_place(&next) {
                self.keep_next()?;
            } else {
                disk::remove(&self.next())?;
            }
        }
        read(self.note)
    }

    /// Whether the file of a next note was put in its place.
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

/// Reads a note. One that cannot be understood counts as none: its file is judged as if troop had not written it.
pub(super) fn read(note: &Path) -> io::Result<Option<WrittenNote>> {
    let bytes = disk::read(note)?.and_then(|found| found.bytes);
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

#[cfg(test)]
mod tests;
