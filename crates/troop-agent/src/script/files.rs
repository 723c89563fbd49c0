//! Files of the working folder, and no others.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Component, Path, PathBuf},
};

/// A file of a folder, by a path that does not lead out of it.
pub(super) fn inside(folder: &Path, file: &str) -> Result<PathBuf, String> {
    let path = Path::new(file);
    let stays =
        path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !stays || file.is_empty() {
        return Err(format!("`{file}` is not inside the working folder"));
    }
    // A link on the way may lead anywhere; what is not there yet is none.
    let mut reached = folder.to_owned();
    for part in path.components() {
        reached.push(part);
        if fs::symlink_metadata(&reached).is_ok_and(|it| it.is_symlink()) {
            return Err(format!("`{file}` goes through a link, which may lead out of the folder"));
        }
    }
    Ok(reached)
}

pub(super) fn write(path: &Path, content: &str) -> io::Result<()> {
    make_folder(path)?;
    fs::write(path, content)
}

pub(super) fn append(path: &Path, content: &str) -> io::Result<()> {
    make_folder(path)?;
    OpenOptions::new().create(true).append(true).open(path)?.write_all(content.as_bytes())
}

/// Replaces the first place where a text stands. False if there is none.
pub(super) fn replace(path: &Path, old: &str, new: &str) -> io::Result<bool> {
    let text = fs::read_to_string(path)?;
    if !text.contains(old) {
        return Ok(false);
    }
    fs::write(path, text.replacen(old, new, 1)).map(|()| true)
}

fn make_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}
