//! The files of the working folder, for every agent that changes them itself. No path and no link leads out of it.

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

/// How many links may lead from one to another.
const MAX_LINKS: usize = 40;

/// The working folder, held by its handle.
#[derive(Clone, Debug)]
pub(crate) struct WorkFolder {
    root: PathBuf,
    dir: Arc<Dir>,
}

/// A path as rules mean it: from the working folder on, as it was given, and with its links followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spot {
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

    /// A path as it is from the working folder on, with nothing in it that leads out.
    pub(crate) fn inside(&self, path: &str) -> Result<PathBuf, String> {
        let path = Path::new(path.trim());
        let relative = if path.is_absolute() {
            path.strip_prefix(&self.root).map_err(|_| self.outside(path))?
        } else {
            path
        };
        let mut inside = PathBuf::new();
        for part in relative.components() {
            match part {
                Component::Normal(name) => inside.push(name),
                Component::ParentDir => {
                    if !inside.pop() {
                        return Err(self.outside(path));
                    }
                }
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        // A shell would look at home, and a folder of that name is deleted with all that is there.
        let is_home = path.starts_with("~");
        if is_home || self.followed(&inside).is_none() {
            return Err(self.outside(path));
        }
        if inside.as_os_str().is_empty() {
            inside.push(".");
        }
        Ok(inside)
    }

    /// The one place where a path is judged: what rules are to be asked about. One that leads out stays as it is, and is
    /// refused when it is used.
    pub(crate) fn spot(&self, path: &str) -> Spot {
        let Ok(inside) = self.inside(path) else {
            return Spot { given: path.to_owned(), real: path.to_owned() };
        };
        let real = self.followed(&inside).unwrap_or_else(|| inside.clone());
        Spot { given: inside.display().to_string(), real: real.display().to_string() }
    }

    /// Where the links of a path lead, whether there is anything or not: a link to what is not there yet is followed when
    /// something is written. None if they lead out.
    fn followed(&self, inside: &Path) -> Option<PathBuf> {
        let names = |path: &Path| -> Vec<OsString> {
            path.components().map(|it| it.as_os_str().to_owned()).collect()
        };
        let (mut real, mut rest) = (PathBuf::new(), VecDeque::from(names(inside)));
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
                // It is no link, or not there.
                Err(_) => real = next,
                Ok(target) => {
                    n_links += 1;
                    if n_links > MAX_LINKS {
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

    /// Opens a file without waiting for anybody: what is no file, such as a pipe that nobody writes to, is refused.
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

    /// All of a text.
    pub(crate) fn read(&self, path: &Path) -> io::Result<String> {
        let mut text = String::new();
        self.open_file(path, OpenOptions::new().read(true))?.read_to_string(&mut text)?;
        Ok(text)
    }

    /// Writes a whole file, and makes the folders on the way. What is there is only emptied once it is known to be a file.
    pub(crate) fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        self.make_folder_of(path)?;
        let mut file = self.open_file(path, OpenOptions::new().write(true).create(true))?;
        file.set_len(0)?;
        file.write_all(text.as_bytes())
    }

    /// Writes at the end of a file, which is made if it is not there.
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
        let (path, root) = (path.display(), self.root.display());
        format!("`{path}` is not in your working folder `{root}`; use a path in it")
    }
}

/// What keeps whoever opens it waiting, or does something else than keep bytes.
#[derive(Debug)]
pub(crate) struct NoFile;

impl fmt::Display for NoFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is no file, but a pipe, a socket or a device")
    }
}

impl std::error::Error for NoFile {}

#[cfg(test)]
mod tests;
