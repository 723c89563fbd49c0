//! Atomic file writes: a file is written beside its place and then renamed, so readers see all of it or none.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// The permission to read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAccess {
    /// Only its owner, from the moment it is created.
    Owner,
    /// The same readers as the file that it replaces; a new file gets the usual mode.
    LikeOthers,
}

/// A file that is being written and is not visible under its path yet.
#[derive(Debug)]
pub struct FileDraft {
    file: NamedTempFile,
    path: PathBuf,
}

/// Writes a whole file and replaces what is there.
pub fn write(path: &Path, bytes: &[u8], access: FileAccess) -> io::Result<()> {
    let mut draft = FileDraft::new(path)?;
    draft.write_all(bytes)?;
    draft.put(access)
}

/// Writes a whole file unless there is one. If two processes do this at once, the first wins.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = FileDraft::new(path)?;
    draft.write_all(bytes)?;
    draft.file.as_file().sync_all()?;
    match draft.file.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => Ok(()),
    }
}

/// The folder of a file.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl FileDraft {
    /// Starts a file that will get this path. Its folder must exist.
    pub fn new(path: &Path) -> io::Result<Self> {
        // People do not know the temporary name, so the error must not mention it.
        let nameless = |error: io::Error| io::Error::from(error.kind());
        let file = NamedTempFile::new_in(folder(path)).map_err(nameless)?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Syncs the file to disk and moves it to its path.
    pub fn put(self, access: FileAccess) -> io::Result<()> {
        if access == FileAccess::LikeOthers {
            let usual = || fs::Permissions::from_mode(0o644);
            let there = fs::metadata(&self.path).map(|found| found.permissions());
            self.file.as_file().set_permissions(there.unwrap_or_else(|_| usual()))?;
        }
        self.file.as_file().sync_all()?;
        self.file.persist(&self.path)?;
        Ok(())
    }
}

impl Write for FileDraft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

#[cfg(test)]
mod tests;
