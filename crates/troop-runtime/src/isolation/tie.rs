//! The link between a folder and its repository: checked before git runs in the folder, and put back where it is missing.
//!
//! A worktree has a file `.git` that names a place in the repository, and that place names the file. Without the file git would
//! find no repository, or another one around the folder, and would not see what is in the folder.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use troop_model::MemberName;

use super::names;
use crate::git::{GitError, GitResult};

/// How a folder differs from what was made for a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderFault {
    /// It is not there.
    Gone,
    /// Somebody made it a separate repository.
    Replaced,
    /// The repository does not know it.
    Unknown,
    /// Its project is not there, so that nobody knows.
    Away,
}

impl fmt::Display for FolderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gone => "is gone",
            Self::Replaced => "is now a separate repository",
            Self::Unknown => "is not known to the repository of its project",
            Self::Away => "belongs to a project that is not there",
        })
    }
}

/// How a folder is tied to a repository.
enum Tie {
    Whole,
    /// Only the file is missing, or names nothing; it has to name this place.
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

/// Whether the repository has a place for a folder, whether or not the folder exists.
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
    if is_ours && named.as_deref().is_some_and(|it| refers_to(it, folder)) {
        return Tie::Whole;
    }
    match place(shared, folder) {
        // The folder was moved; git still finds the repository from there.
        None if is_ours => Tie::Whole,
        None => Tie::Torn(FolderFault::Unknown),
        Some(_) if !is_ours && (named.is_some() || file.is_dir()) => {
            Tie::Torn(FolderFault::Replaced)
        }
        // This includes the file of another folder, which came with a copy of that folder.
        Some(place) => Tie::Cut(place),
    }
}

/// The places in a repository of folders below another, whether or not those exist.
pub(super) fn places_below(shared: &Path, folder: &Path) -> Vec<PathBuf> {
    let places = fs::read_dir(shared.join("worktrees")).into_iter().flatten().flatten();
    let is_below = |place: &PathBuf| {
        folder_of(place).is_some_and(|it| it.parent().is_some_and(|it| real(it) == real(folder)))
    };
    places.map(|it| it.path()).filter(is_below).collect()
}

/// The folder that a place in a repository is for.
pub(super) fn folder_of(place: &Path) -> Option<PathBuf> {
    Some(read_path(&place.join("gitdir"), "")?.parent()?.to_owned())
}

/// The place in a repository that names the file in a folder.
pub(super) fn place(shared: &Path, folder: &Path) -> Option<PathBuf> {
    let places = fs::read_dir(shared.join("worktrees")).ok()?.flatten().map(|it| it.path());
    places.into_iter().find(|place| refers_to(place, folder))
}

/// Whether a place in a repository names the file in a folder.
fn refers_to(place: &Path, folder: &Path) -> bool {
    let named = read_path(&place.join("gitdir"), "");
    named.is_some_and(|named| named.parent().is_some_and(|it| real(it) == real(folder)))
}

/// The path in a file after some words. It may be relative to the file's folder.
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

/// The place for things of one member that are in the way and that git cannot keep. Nobody deletes them there.
#[derive(Clone, Debug)]
pub(super) struct AsidePlace {
    folder: PathBuf,
    team_branch: String,
    member: MemberName,
}

impl AsidePlace {
    pub(super) fn new(folder: &Path, team_branch: &str, member: &MemberName) -> Self {
        let team_branch = team_branch.to_owned();
        Self { folder: folder.to_owned(), team_branch, member: member.clone() }
    }

    /// Moves something in a folder here; the folder itself, if `what` is empty. Returns where it is then.
    pub(super) fn take(&self, folder: &Path, what: &str) -> GitResult<PathBuf> {
        let path = if what.is_empty() { folder.to_owned() } else { folder.join(what) };
        let name = match what {
            "" | ".git" => what.to_owned(),
            inside => format!("-{inside}"),
        };
        let name = names::aside(&self.team_branch, &self.member, &name);
        fs::create_dir_all(&self.folder).map_err(GitError::file(&self.folder))?;
        let free = free_path(&self.folder, &name);
        fs::rename(&path, &free).map_err(GitError::file(&path))?;
        Ok(free)
    }
}

/// A path in a folder with the wanted name, or one like it that is free.
pub(super) fn free_path(folder: &Path, name: &str) -> PathBuf {
    let others = (2_u32..).map(|nth| folder.join(format!("{name}+{nth}")));
    let mut paths = std::iter::once(folder.join(name)).chain(others);
    let free = paths.find(|it| fs::symlink_metadata(it).is_err());
    free.unwrap_or_else(|| folder.join(name))
}
