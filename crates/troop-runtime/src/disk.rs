//! Files on the disk: read and written whole or not at all.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use troop_model::Time;
use uuid::Uuid;

/// The largest file that is read.
pub(crate) const MAX_FILE: u64 = 16 << 20;

/// The longest file name, in bytes, that a suffix can be added to.
const LONGEST: usize = 240;

/// Changes whenever a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    pub at: Time,
    nanos: i64,
    inode: u64,
    pub size: u64,
}

impl Stamp {
    /// None if there is no such file.
    pub(crate) fn of(path: &Path) -> io::Result<Option<Self>> {
        match fs::symlink_metadata(path) {
            Ok(found) => Ok(Some(Self::new(&found))),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The stamp of a file that lies on no disk.
    #[must_use]
    pub fn made(at: Time, inode: u64) -> Self {
        Self { at, nanos: 0, inode, size: 0 }
    }

    /// Whether it was written before the other.
    #[must_use]
    pub fn is_before(self, other: Self) -> bool {
        (self.at, self.nanos) < (other.at, other.nanos)
    }

    /// Whether it is the same file, which may have been written since.
    pub(crate) fn is_same_file(self, other: Self) -> bool {
        self.inode == other.inode
    }

    fn new(found: &fs::Metadata) -> Self {
        let micros =
            found.mtime().saturating_mul(1_000_000).saturating_add(found.mtime_nsec() / 1_000);
        Self {
            at: Time::from_micros(micros),
            nanos: found.mtime_nsec(),
            inode: found.ino(),
            size: found.size(),
        }
    }
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct DiskFile {
    pub stamp: Stamp,
    /// None if it is too large to be read.
    pub bytes: Option<Vec<u8>>,
}

/// Reads a file; none if there is none. Pipes do not block, and links are not followed: they may lead anywhere.
pub(crate) fn read(path: &Path) -> io::Result<Option<DiskFile>> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32;
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => {
            let found = path.symlink_metadata()?;
            if found.is_file() {
                return Err(error);
            }
            return Ok(Some(DiskFile { stamp: Stamp::new(&found), bytes: None }));
        }
    };
    let found = file.metadata()?;
    let stamp = Stamp::new(&found);
    if !found.is_file() || stamp.size > MAX_FILE {
        return Ok(Some(DiskFile { stamp, bytes: None }));
    }
    let mut bytes = Vec::with_capacity(stamp.size as usize);
    file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    let is_whole = bytes.len() as u64 <= MAX_FILE;
    Ok(Some(DiskFile { stamp, bytes: is_whole.then_some(bytes) }))
}

/// Writes a value as a file in one step, so that nobody reads half of it.
pub(crate) fn write(path: &Path, value: &Value) -> io::Result<Stamp> {
    put(path, &pretty(value)?)
}

/// Writes bytes as a file in one step.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> io::Result<Stamp> {
    let (half, stamp) = write_beside(path, bytes)?;
    // No sync: the truth is in the log and in git, so nothing is lost if the machine stops before this is on the disk.
    in_place(&half, path).map(|()| stamp).inspect_err(|_| drop(fs::remove_file(&half)))
}

pub(crate) fn pretty(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Writes a file under a temporary name beside its place.
pub(crate) fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<(PathBuf, Stamp)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let half = path.with_file_name(format!(".{name}.tmp.{}", Uuid::now_v7().simple()));
    let mut file = File::options().create_new(true).write(true).open(&half)?;
    match file.write_all(bytes).and_then(|()| file.metadata()) {
        Ok(found) => Ok((half, Stamp::new(&found))),
        Err(error) => {
            drop(fs::remove_file(&half));
            Err(error)
        }
    }
}

/// Whether a file has a temporary name.
pub(crate) fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|it| it.as_encoded_bytes().starts_with(b"."))
}

/// Moves a temporary file into its place.
pub(crate) fn in_place(half: &Path, path: &Path) -> io::Result<()> {
    fs::rename(half, path)
}

/// Does so only if the place is empty; returns whether it was.
pub(crate) fn in_empty_place(half: &Path, path: &Path) -> io::Result<bool> {
    match fs::hard_link(half, path) {
        Ok(()) => fs::remove_file(half).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        // Not every file system has hard links.
        Err(_) if path.symlink_metadata().is_ok() => Ok(false),
        Err(_) => in_place(half, path).map(|()| true),
    }
}

/// Moves a refused file away, so that it is neither lost nor read again.
pub(crate) fn set_aside(path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // The name may already have the maximum length.
    let (name, _) = name.split_at(name.floor_char_boundary(LONGEST));
    let numbers = (2..).map(|nth: u32| format!(".{nth}"));
    for number in std::iter::once(String::new()).chain(numbers) {
        let aside = path.with_file_name(format!("{name}.refused{number}"));
        if aside.symlink_metadata().is_err() {
            return fs::rename(path, &aside);
        }
    }
    Ok(())
}

/// Removes a file that may be gone already.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if !is_missing(&error) => Err(error),
        _ => Ok(()),
    }
}

/// The names of the JSON files in a folder, without temporary and hidden ones.
pub(crate) fn list(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().into_string();
        names.extend(name.into_iter().filter(|it| is_meant(it)));
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether a file of this name counts.
pub(crate) fn is_meant(name: &str) -> bool {
    !name.starts_with('.') && name.ends_with(".json")
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
