//! Files that are there whole or not at all, whenever the program ends: written beside their place, then put there.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Its owner alone, from the beginning.
    Owner,
    /// Whoever may read what was there; a new one is as open as files usually are.
    LikeOthers,
}

/// A file that nobody sees yet.
#[derive(Debug)]
pub(crate) struct Draft {
    file: NamedTempFile,
    path: PathBuf,
}

/// Writes a whole file, in the place of what is there.
pub(crate) fn write(path: &Path, bytes: &[u8], access: Access) -> io::Result<()> {
    let mut draft = Draft::new(path)?;
    draft.write_all(bytes)?;
    draft.put(access)
}

/// Writes a whole file unless there is one. Of two at once the first one's counts.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = Draft::new(path)?;
    draft.write_all(bytes)?;
    draft.file.as_file().sync_all()?;
    match draft.file.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => Ok(()),
    }
}

/// The folder of a file.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Draft {
    /// Begins a file that is to have this path. Its folder must be there.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        // Nobody knows the name that it has until it is whole.
        let nameless = |error: io::Error| io::Error::from(error.kind());
        let file = NamedTempFile::new_in(folder(path)).map_err(nameless)?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Puts it in its place, once it is on the disk.
    pub(crate) fn put(self, access: Access) -> io::Result<()> {
        if access == Access::LikeOthers {
            let usual = || fs::Permissions::from_mode(0o644);
            let there = fs::metadata(&self.path).map(|found| found.permissions());
            self.file.as_file().set_permissions(there.unwrap_or_else(|_| usual()))?;
        }
        self.file.as_file().sync_all()?;
        self.file.persist(&self.path)?;
        Ok(())
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

#[cfg(test)]
mod tests;
