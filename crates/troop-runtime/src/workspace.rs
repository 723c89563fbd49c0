//! A team's workspace: files that its members share, in folders that no path leads out of.
//!
//! Every step into a folder is taken from the folder before it, by its handle and without following symlinks. So nothing outside
//! is reached, whatever somebody swaps on the way. The rules for paths are only about names.

mod error;
mod files;
mod folder;
mod path;
mod walk;

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::{
    ambient_authority,
    fs::{Dir, DirBuilder, DirBuilderExt as _, MetadataExt as _, OpenOptions, OpenOptionsExt as _},
};
use rustix::fs::OFlags;
use troop_model::WorkspaceFolder;
use uuid::Uuid;

pub use error::WorkspaceError;
pub use files::{FileRecord, FileRequest, WorkspaceFiles};
pub use path::FilePath;
pub use walk::Listing;

#[cfg(test)]
mod tests;

/// The largest file.
pub const MAX_FILE: u64 = 10 * error::MB;
/// How many files a folder of the workspace has at most.
pub const MAX_FILES: usize = 100;
/// How many entries we read before we give up.
const MAX_ENTRIES: usize = 100_000;

/// Folders are for the owner and its group.
const FOLDER_MODE: u32 = 0o750;
const FILE_MODE: u32 = 0o640;
/// The workspace in a team's folder.
const ROOT: &str = "workspace";
/// The lock of writers, so that nobody counts files that another is about to add.
const LOCK: &str = ".lock";
/// Where files are until they are whole. Leftovers of a killed writer are in no folder that anybody sees.
const WRITING: &str = ".writing";

/// The files of a team on this machine. Everything here waits for the disk.
#[derive(Clone, Debug)]
pub struct Workspace {
    team: PathBuf,
}

/// The size and time of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// In bytes.
    pub size: u64,
    /// When it changed last.
    pub modified: SystemTime,
}

/// The handling of a missing folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MissingFolder {
    Make,
    Refuse,
}

impl Workspace {
    /// The workspace in a team's folder. Nothing is made until something is written.
    #[must_use]
    pub fn new(team: &Path) -> Self {
        Self { team: team.to_owned() }
    }

    /// Where a folder is, for people and for programs that bring their own tools.
    #[must_use]
    pub fn path_of(&self, folder: &WorkspaceFolder) -> PathBuf {
        let mut path = self.team.join(ROOT);
        path.extend(folder::names(folder));
        path
    }

    /// Makes a folder, and returns its path.
    pub fn prepare(&self, folder: &WorkspaceFolder) -> Result<PathBuf, WorkspaceError> {
        self.enter(folder, MissingFolder::Make).map_err(|error| self.unusable(folder, error))?;
        Ok(self.path_of(folder))
    }

    /// The files of a folder; none before something was written to it.
    pub fn list(&self, folder: &WorkspaceFolder) -> Result<Listing, WorkspaceError> {
        match self.enter(folder, MissingFolder::Refuse) {
            Ok(dir) => walk::list(&dir, &self.path_of(folder)),
            Err(error) if is_missing(&error) => Ok(Listing::default()),
            Err(error) => Err(self.unusable(folder, error)),
        }
    }

    /// Reads a file.
    pub fn read(
        &self,
        folder: &WorkspaceFolder,
        path: &FilePath,
    ) -> Result<Vec<u8>, WorkspaceError> {
        let (dir, name) = self.find(folder, path)?;
        let unreadable = |source| failed(path, "read", source);
        let mut options = OpenOptions::new();
        // Opening a pipe without a writer must not block.
        options.read(true).follow(FollowSymlinks::No).custom_flags(flag(OFlags::NONBLOCK));
        let file = dir.open_with(name, &options).map_err(unreadable)?;
        let found = file.metadata().map_err(unreadable)?;
        check_is_file(path, &found)?;
        if found.nlink() > 1 {
            // It may be a hard link to a file outside, which somebody put here for others to read.
            let what = "a file with a second name elsewhere (a hard link)";
            return Err(WorkspaceError::NotAFile { path: path.to_string(), what });
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        check_size(path, bytes.len() as u64)?;
        Ok(bytes)
    }

    /// The metadata of a file.
    pub fn stat(
        &self,
        folder: &WorkspaceFolder,
        path: &FilePath,
    ) -> Result<FileStat, WorkspaceError> {
        let (dir, name) = self.find(folder, path)?;
        stat(&dir, name, path)?.ok_or_else(|| not_found(path))
    }

    /// Writes a file in one step, over what was there. `quota` is how many bytes all files of the team may have.
    pub fn write(
        &self,
        folder: &WorkspaceFolder,
        path: &FilePath,
        bytes: &[u8],
        quota: Option<u64>,
    ) -> Result<FileStat, WorkspaceError> {
        check_size(path, bytes.len() as u64)?;
        let root = self.root(MissingFolder::Make).map_err(|error| self.unusable(folder, error))?;
        let _lock = lock(&root).map_err(|error| self.unusable(folder, error))?;
        let dir = self
            .enter(folder, MissingFolder::Make)
            .map_err(|error| self.unusable(folder, error))?;
        let unwritten = |source| failed(path, "written", source);
        // Limits are checked before anything is made.
        let old = match descend(&dir, path, MissingFolder::Refuse) {
            Ok((parent, name)) => stat(&parent, name, path)?,
            Err(error) if is_missing(&error) => None,
            Err(error) => return Err(through(path, error)),
        };
        self.check_room(&root, folder, path, FileReplacement { old: old.as_ref(), bytes, quota })?;
        let (parent, name) =
            descend(&dir, path, MissingFolder::Make).map_err(|error| through(path, error))?;
        replace(&root, &parent, name, bytes).map_err(unwritten)?;
        stat(&parent, name, path)?.ok_or_else(|| not_found(path))
    }

    /// Deletes a file, and the folders that it leaves empty. Returns how many bytes it had.
    pub fn delete(&self, folder: &WorkspaceFolder, path: &FilePath) -> Result<u64, WorkspaceError> {
        let missing = |error: io::Error| self.missing(folder, path, error);
        let root = self.root(MissingFolder::Refuse).map_err(missing)?;
        let _lock = lock(&root).map_err(missing)?;
        let dir = self.enter(folder, MissingFolder::Refuse).map_err(missing)?;
        let (parent, name) =
            descend(&dir, path, MissingFolder::Refuse).map_err(|error| through(path, error))?;
        let undeleted = |source| failed(path, "deleted", source);
        let old = parent.symlink_metadata(name).map_err(missing)?;
        if old.is_dir() {
            check_is_file(path, &old)?;
        }
        // A symlink is deleted, not its target.
        parent.remove_file(name).map_err(undeleted)?;
        sync(&parent).map_err(undeleted)?;
        remove_empty(&dir, path);
        Ok(old.len())
    }

    fn check_room(
        &self,
        root: &Dir,
        folder: &WorkspaceFolder,
        path: &FilePath,
        change: FileReplacement<'_>,
    ) -> Result<(), WorkspaceError> {
        let path = path.to_string();
        let size = change.bytes.len() as u64;
        if change.old.is_none() {
            let n_files = self.list(folder)?.n_entries();
            if n_files >= MAX_FILES {
                return Err(WorkspaceError::TooMany { path, n_files });
            }
        }
        // A file that does not grow is accepted, even above the limits.
        let grows = change.old.is_none_or(|old| size > old.size);
        let Some(quota) = change.quota.filter(|_| grows) else { return Ok(()) };
        let used = walk::size(root, &self.team.join(ROOT), &[LOCK, WRITING])?;
        let used = used.saturating_sub(change.old.map_or(0, |old| old.size));
        if used.saturating_add(size) > quota {
            return Err(WorkspaceError::OverQuota { path, size, used, quota });
        }
        Ok(())
    }

    /// The folder of a file, and the file's name there.
    fn find<'a>(
        &self,
        folder: &WorkspaceFolder,
        path: &'a FilePath,
    ) -> Result<(Dir, &'a str), WorkspaceError> {
        let dir = self
            .enter(folder, MissingFolder::Refuse)
            .map_err(|error| self.missing(folder, path, error))?;
        let (parent, name) =
            descend(&dir, path, MissingFolder::Refuse).map_err(|error| through(path, error))?;
        match stat(&parent, name, path)? {
            Some(_) => Ok((parent, name)),
            None => Err(not_found(path)),
        }
    }

    fn root(&self, missing: MissingFolder) -> io::Result<Dir> {
        if missing == MissingFolder::Make {
            std::fs::create_dir_all(&self.team)?;
        }
        let team = Dir::open_ambient_dir(&self.team, ambient_authority())?;
        step(&team, ROOT, missing)
    }

    fn enter(&self, folder: &WorkspaceFolder, missing: MissingFolder) -> io::Result<Dir> {
        let root = self.root(missing)?;
        folder::names(folder).iter().try_fold(root, |dir, name| step(&dir, name, missing))
    }

    /// Nobody has written to the folder yet, or it cannot be used.
    fn missing(
        &self,
        folder: &WorkspaceFolder,
        path: &FilePath,
        error: io::Error,
    ) -> WorkspaceError {
        if is_missing(&error) { not_found(path) } else { self.unusable(folder, error) }
    }

    fn unusable(&self, folder: &WorkspaceFolder, source: io::Error) -> WorkspaceError {
        WorkspaceError::Unusable { path: self.path_of(folder), source }
    }
}

/// A change that is about to be made.
#[derive(Clone, Copy)]
struct FileReplacement<'a> {
    old: Option<&'a FileStat>,
    bytes: &'a [u8],
    quota: Option<u64>,
}

/// Takes one step into a folder. A symlink is none.
fn step(dir: &Dir, name: &str, missing: MissingFolder) -> io::Result<Dir> {
    match dir.open_dir_nofollow(name) {
        Err(error) if is_missing(&error) && missing == MissingFolder::Make => {
            match dir.create_dir_with(name, DirBuilder::new().mode(FOLDER_MODE)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => sync(dir)?,
            }
            dir.open_dir_nofollow(name)
        }
        opened => opened,
    }
}

/// The folder at the end of a path, and the name of the file.
fn descend<'a>(
    dir: &Dir,
    path: &'a FilePath,
    missing: MissingFolder,
) -> io::Result<(Dir, &'a str)> {
    let (folders, name) = path.parts();
    let parent =
        folders.iter().try_fold(dir.try_clone()?, |dir, name| step(&dir, name, missing))?;
    Ok((parent, name))
}

/// The size and time of a file in a folder; none if there is none.
fn stat(dir: &Dir, name: &str, path: &FilePath) -> Result<Option<FileStat>, WorkspaceError> {
    let found = match dir.symlink_metadata(name) {
        Ok(found) => found,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(source) => return Err(failed(path, "looked at", source)),
    };
    check_is_file(path, &found)?;
    let modified = found.modified().map_err(|source| failed(path, "looked at", source))?;
    Ok(Some(FileStat { size: found.len(), modified: modified.into_std() }))
}

fn check_is_file(path: &FilePath, found: &cap_std::fs::Metadata) -> Result<(), WorkspaceError> {
    let what = match found {
        found if found.is_file() => return Ok(()),
        found if found.is_dir() => "a folder",
        found if found.is_symlink() => "a link",
        _ => "a pipe, a socket or a device",
    };
    Err(WorkspaceError::NotAFile { path: path.to_string(), what })
}

fn check_size(path: &FilePath, size: u64) -> Result<(), WorkspaceError> {
    if size > MAX_FILE {
        return Err(WorkspaceError::TooLarge { path: path.to_string(), size });
    }
    Ok(())
}

/// Puts a whole file in the place of what was there. Other hard links to the old file keep it.
fn replace(root: &Dir, dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let writing = step(root, WRITING, MissingFolder::Make)?;
    // The holder of the lock is the only writer: whatever is here was left behind.
    for left in writing.entries()?.flatten() {
        // A leftover that cannot be removed is in nobody's way.
        drop(writing.remove_file(left.file_name()));
    }
    let draft = Uuid::now_v7().simple().to_string();
    let written = fill(&writing, &draft, bytes).and_then(|()| writing.rename(&draft, dir, name));
    if written.is_err() {
        // If it cannot be removed now, the next writer does it.
        drop(writing.remove_file(&draft));
    }
    written?;
    sync(dir)
}

fn fill(dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(FILE_MODE);
    let mut file = dir.open_with(name, &options)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes changes to the names in a folder durable.
fn sync(dir: &Dir) -> io::Result<()> {
    dir.open(".")?.sync_all()
}

/// Waits for the writers' lock. It is held until the file is dropped.
fn lock(root: &Dir) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(FILE_MODE).follow(FollowSymlinks::No);
    let file = root.open_with(LOCK, &options)?.into_std();
    file.lock()?;
    Ok(file)
}

fn remove_empty(dir: &Dir, path: &FilePath) {
    let (mut folders, _) = path.parts();
    while let Some(name) = folders.pop() {
        let into = |dir: Dir, name: &&str| step(&dir, name, MissingFolder::Refuse);
        let parent = dir.try_clone().and_then(|dir| folders.iter().try_fold(dir, into));
        // A folder that is not empty stays, and so do those that it is in.
        if parent.and_then(|parent| parent.remove_dir(name)).is_err() {
            return;
        }
    }
}

fn flag(flag: OFlags) -> i32 {
    i32::try_from(flag.bits()).expect("the flags of the system fit into its own type for them")
}

fn not_found(path: &FilePath) -> WorkspaceError {
    WorkspaceError::NotFound { path: path.to_string() }
}

fn failed(path: &FilePath, act: &'static str, source: io::Error) -> WorkspaceError {
    WorkspaceError::Io { path: path.to_string(), act, source }
}

/// Whether something on the way is a file or a symlink.
fn is_no_folder(error: &io::Error) -> bool {
    let is_loop = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    error.kind() == io::ErrorKind::NotADirectory || is_loop
}

/// The error for a folder on the way.
fn through(path: &FilePath, error: io::Error) -> WorkspaceError {
    if is_missing(&error) {
        not_found(path)
    } else if is_no_folder(&error) {
        WorkspaceError::NotAFile { path: path.to_string(), what: "behind a file or a link" }
    } else {
        failed(path, "reached", error)
    }
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}
