//! The files of the working folder, for agents that change them directly. No path and no symbolic link leads out of
//! it.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fmt, fs,
    io::{self, Read as _, Write as _},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use cap_std::{
    ambient_authority,
    fs::{Dir, File, OpenOptions, OpenOptionsExt as _},
};
use rustix::fs::OFlags;

/// How many symbolic links may follow each other.
const MAX_SYMLINKS: usize = 40;

/// The working folder, held open by its handle.
#[derive(Clone, Debug)]
pub(crate) struct WorkFolder {
    root: PathBuf,
    dir: Arc<Dir>,
}

/// A path for rules: relative to the working folder, as given and with links resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RulePath {
    pub(crate) given: String,
    pub(crate) real: String,
}

impl WorkFolder {
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(root)?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority())?;
        Ok(Self { root, dir: Arc::new(dir) })
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path relative to the working folder that does not lead out of it.
    pub(crate) fn inside(&self, path: &str) -> Result<PathBuf, String> {
        let path = Path::new(path.trim());
        let relative = if path.is_absolute() {
            path.strip_prefix(&self.root).map_err(|_| self.outside(path))?
        } else {
            path
        };
        let mut inside = without_dots(relative).ok_or_else(|| self.outside(path))?;
        // A shell would expand it to the home folder, and `rm -r` of a folder with that name deletes everything
        // there.
        let is_home = path.starts_with("~");
        if is_home || self.followed(&inside).is_none() {
            return Err(self.outside(path));
        }
        if inside.as_os_str().is_empty() {
            inside.push(".");
        }
        Ok(inside)
    }

    /// The path that rules are checked against. A path that leads out stays as it is, and is refused when it is used.
    pub(crate) fn rule_path(&self, path: &str) -> RulePath {
        let Ok(inside) = self.inside(path) else {
            return RulePath { given: path.to_owned(), real: path.to_owned() };
        };
        let real = self.followed(&inside).unwrap_or_else(|| inside.clone());
        RulePath { given: inside.display().to_string(), real: real.display().to_string() }
    }

    /// Resolves the links of a path, whether or not it exists: writing follows a link to a missing file. None if they
    /// lead out.
    fn followed(&self, inside: &Path) -> Option<PathBuf> {
        let names = |path: &Path| -> Vec<OsString> {
            path.components().map(|it| it.as_os_str().to_owned()).collect()
        };
        let mut real = PathBuf::new();
        let mut rest = VecDeque::from(names(inside));
        let mut n_links = 0;
        while let Some(name) = rest.pop_front() {
            if name == "." {
                continue;
            }
            if name == ".." {
                real.pop().then_some(())?;
                continue;
            }
            let next = real.join(&name);
            match fs::read_link(self.root.join(&next)) {
                // Not a link, or missing.
                Err(_) => real = next,
                Ok(target) => {
                    n_links += 1;
                    if n_links > MAX_SYMLINKS {
                        return None;
                    }
                    let target = if target.is_absolute() {
                        real = PathBuf::new();
                        target.strip_prefix(&self.root).ok()?.to_owned()
                    } else {
                        target
                    };
                    names(&target).into_iter().rev().for_each(|name| rest.push_front(name));
                }
            }
        }
        if real.as_os_str().is_empty() {
            real.push(".");
        }
        Some(real)
    }

    /// Opens a file without blocking. Everything but a regular file, such as a pipe, is refused.
    pub(crate) fn open_file(&self, path: &Path, options: &mut OpenOptions) -> io::Result<File> {
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        let file = self.dir.open_with(path, options.custom_flags(flags))?;
        let kind = file.metadata()?;
        if kind.is_dir() {
            Err(io::ErrorKind::IsADirectory.into())
        } else if kind.is_file() {
            Ok(file)
        } else {
            Err(io::Error::other(NoFile))
        }
    }

    /// Reads a whole text file.
    pub(crate) fn read(&self, path: &Path) -> io::Result<String> {
        let mut text = String::new();
        self.open_file(path, OpenOptions::new().read(true))?.read_to_string(&mut text)?;
        Ok(text)
    }

    /// Writes a whole file and creates its parent folders. The old content is only truncated once it is known to be a
    /// file.
    pub(crate) fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        self.make_folder_of(path)?;
        let mut file = self.open_file(path, OpenOptions::new().write(true).create(true))?;
        file.set_len(0)?;
        file.write_all(text.as_bytes())
    }

    /// Appends to a file, which is created if it is missing.
    pub(crate) fn append(&self, path: &Path, text: &str) -> io::Result<()> {
        self.make_folder_of(path)?;
        let mut file = self.open_file(path, OpenOptions::new().append(true).create(true))?;
        file.write_all(text.as_bytes())
    }

    fn make_folder_of(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.map_or(Ok(()), |folder| self.dir.create_dir_all(folder))
    }

    fn outside(&self, path: &Path) -> String {
        let path = path.display();
        let root = self.root.display();
        format!("`{path}` is outside your working folder `{root}`; use a path in it")
    }
}

/// A relative path without `.` and `..`; none if it leads out, or is not relative.
pub(crate) fn without_dots(path: &Path) -> Option<PathBuf> {
    let mut inside = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            Component::ParentDir => inside.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(inside)
}

/// The error for pipes, sockets and devices, which may block or do something else than store bytes.
#[derive(Debug)]
pub(crate) struct NoFile;

impl fmt::Display for NoFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is not a file, but a pipe, a socket or a device")
    }
}

impl std::error::Error for NoFile {}

#[cfg(test)]
mod tests;
