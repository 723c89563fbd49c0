//! What ties a folder to its repository: looked at before git is let in, and put back where it is missing.
//!
//! A worktree has a file `.git` that names a place in the repository, and that place names the file. Without the file git would
//! not find the repository, or another one around it, and what is in the folder would count as not there.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use crate::git::{GitError, GitResult};

/// In which way a folder is not what was made for a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderFault {
    /// It is not there.
    Gone,
    /// Somebody made it a repository of its own.
    Replaced,
    /// The repository knows nothing of it.
    Unknown,
    /// Its project is not there, so nobody knows.
    Away,
}

impl fmt::Display for FolderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gone => "is gone",
            Self::Replaced => "is a repository of its own now",
            Self::Unknown => "is not known to the repository of its project",
            Self::Away => "belongs to a project that is not there",
        })
    }
}

/// How a folder is tied to a repository, by what all its folders share.
enum Tie {
    Whole,
    /// Only the file is missing, or names nothing. This is the place that it has to name.
    Cut(PathBuf),
    Torn(FolderFault),
}

/// Refuses a folder that is not tied to its repository.
pub(super) fn check(shared: &Path, folder: &Path) -> GitResult<()> {
    match look(shared, folder) {
        Tie::Whole => Ok(()),
        Tie::Cut(_) => Err(torn(folder, FolderFault::Unknown)),
        Tie::Torn(how) => Err(torn(folder, how)),
    }
}

/// Ties a folder to its repository again, if only the file is missing.
pub(super) fn mend(shared: &Path, folder: &Path) -> GitResult<()> {
    match look(shared, folder) {
        Tie::Whole => Ok(()),
        Tie::Cut(place) => {
            let file = folder.join(".git");
            let written = fs::write(&file, format!("gitdir: {}\n", place.display()));
            written.map_err(GitError::file(&file))
        }
        Tie::Torn(how) => Err(torn(folder, how)),
    }
}

/// Whether the repository has a place for a folder, be that there or not.
pub(super) fn is_known(shared: &Path, folder: &Path) -> bool {
    place(shared, folder).is_some()
}

/// The place in a repository that the file in a folder names.
pub(super) fn place_of(folder: &Path) -> Option<PathBuf> {
    read_path(&folder.join(".git"), "gitdir: ").filter(|it| it.is_dir())
}

fn torn(folder: &Path, how: FolderFault) -> GitError {
    GitError::Torn { folder: folder.to_owned(), how }
}

fn look(shared: &Path, folder: &Path) -> Tie {
    if !folder.is_dir() {
        return Tie::Torn(FolderFault::Gone);
    }
    let file = folder.join(".git");
    let named = place_of(folder);
    let is_ours = named.as_deref().is_some_and(|it| is_below(it, &shared.join("worktrees")));
    if is_ours && named.as_deref().is_some_and(|it| names(it, folder)) {
        return Tie::Whole;
    }
    match place(shared, folder) {
        // The folder was moved: git finds the repository from there all the same.
        None if is_ours => Tie::Whole,
        None => Tie::Torn(FolderFault::Unknown),
        Some(_) if !is_ours && (named.is_some() || file.is_dir()) => {
            Tie::Torn(FolderFault::Replaced)
        }
        // Also if it is the file of somebody else's folder, which came with a copy of that.
        Some(place) => Tie::Cut(place),
    }
}

/// The place in a repository that names the file in a folder.
fn place(shared: &Path, folder: &Path) -> Option<PathBuf> {
    let places = fs::read_dir(shared.join("worktrees")).ok()?.flatten().map(|it| it.path());
    places.into_iter().find(|place| names(place, folder))
}

/// Whether a place in a repository names the file in a folder.
fn names(place: &Path, folder: &Path) -> bool {
    let named = read_path(&place.join("gitdir"), "");
    named.is_some_and(|named| named.parent().is_some_and(|it| real(it) == real(folder)))
}

/// The path that is written in a file behind some words. It may begin where the file is.
fn read_path(file: &Path, words: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    let path = text.strip_prefix(words)?.trim_end_matches('\n');
    Some(file.parent()?.join(path))
}

fn is_below(path: &Path, folder: &Path) -> bool {
    real(path).starts_with(real(folder))
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Moves something out of the way, to where nobody deletes it. Where it is then.
pub(super) fn set_aside(path: &Path, aside: &Path, name: &str) -> GitResult<PathBuf> {
    fs::create_dir_all(aside).map_err(GitError::file(aside))?;
    let free = free_path(aside, name);
    fs::rename(path, &free).map_err(GitError::file(path))?;
    Ok(free)
}

/// A place in a folder with the name that is wanted, or one like it that is free.
pub(super) fn free_path(folder: &Path, name: &str) -> PathBuf {
    let others = (2_u32..).map(|nth| folder.join(format!("{name}+{nth}")));
    let mut paths = std::iter::once(folder.join(name)).chain(others);
    let free = paths.find(|it| fs::symlink_metadata(it).is_err());
    free.unwrap_or_else(|| folder.join(name))
}
