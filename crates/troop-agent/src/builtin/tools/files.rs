//! The files of the working folder. No path and no link leads out of it.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs, io,
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
pub(crate) struct Files {
    root: PathBuf,
    dir: Arc<Dir>,
}

/// A path as rules mean it: from the working folder on, as it was given, and with its links followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) given: String,
    pub(crate) real: String,
}

impl Files {
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(root)?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority())?;
        Ok(Self { root, dir: Arc::new(dir) })
    }

    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path as it is from the working folder on, with nothing in it that leads out.
    pub(super) fn inside(&self, path: &str) -> Result<PathBuf, String> {
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
    pub(super) fn open_file(&self, path: &Path, options: &mut OpenOptions) -> Result<File, String> {
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        let wrong = |error| fault(path, &error);
        let file = self.dir.open_with(path, options.custom_flags(flags)).map_err(wrong)?;
        let kind = file.metadata().map_err(wrong)?;
        if kind.is_dir() {
            Err(fault(path, &io::ErrorKind::IsADirectory.into()))
        } else if kind.is_file() {
            Ok(file)
        } else {
            Err(format!("`{}` is no file, but a pipe, a socket or a device", path.display()))
        }
    }

    fn outside(&self, path: &Path) -> String {
        let (path, root) = (path.display(), self.root.display());
        format!("`{path}` is not in your working folder `{root}`; use a path in it")
    }
}

/// What went wrong with a file, for a model.
pub(super) fn fault(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    let (is_missing, is_folder) =
        (error.kind() == io::ErrorKind::NotFound, error.kind() == io::ErrorKind::IsADirectory);
    if is_missing {
        format!("there is no `{path}`; look with LS or Glob what there is")
    } else if is_folder {
        format!("`{path}` is a folder; look into it with LS")
    } else {
        format!("`{path}`: {error}")
    }
}
