//! The files of the working folder. No path and no link leads out of it.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};

/// The working folder, held by its handle.
#[derive(Debug)]
pub(crate) struct Files {
    root: PathBuf,
    dir: Dir,
}

impl Files {
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let root = std::fs::canonicalize(root)?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority())?;
        Ok(Self { root, dir })
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
        if inside.as_os_str().is_empty() {
            inside.push(".");
        }
        Ok(inside)
    }

    /// A path as rules mean it. One that leads out stays as it is.
    pub(crate) fn shown(&self, path: &str) -> String {
        self.inside(path).map_or_else(|_| path.to_owned(), |path| path.display().to_string())
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
