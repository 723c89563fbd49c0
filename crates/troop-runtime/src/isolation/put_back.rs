//! Undoes a landing that failed in the middle, for example on a full disk. Only files that are provably of
//! that landing is touched.

use std::{
    collections::HashSet,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    facts::{head, is_ancestor},
    rules::{FolderHead, IndexSide, LandingUndo, ProjectAfter, landing_undo},
};
use crate::{
    disk,
    git::{Git, GitError, GitResult, parts},
};

/// How many files we name in one command.
const MAX_AT_ONCE: usize = 500;

/// Tries, without changing a file, whether the project could go from one commit to another. Waits a while for another git
/// command in the project.
pub(super) async fn try_out(git: &Git, now: &str, next: &str) -> GitResult<()> {
    // Exit code 1: files are changed, which does not matter here. With `-q` git would not name a lock.
    git.run_until(&["update-index", "--refresh"], |it| matches!(it.status.code(), Some(0 | 1)))
        .await?;
    git.run(&["read-tree", "--dry-run", "-m", "-u", now, next]).await.map(drop)
}

/// Looks where the project is after a landing from one commit to another has failed.
pub(super) async fn look_after(git: &Git, now: &str, next: &str) -> GitResult<ProjectAfter> {
    let head = head(git).await?;
    let is_there = is_ancestor(git, next, &head.commit).await?;
    let changed = changed_between(git, now, next).await?;
    let agrees = async |commit: &str| {
        let differ = ["diff-index", "--cached", "--name-only", "--no-renames", "-z", commit];
        let differ = git.run(&differ).await?;
        Ok::<_, GitError>(parts(&differ).all(|it| !changed.contains(it)))
    };
    let index = if agrees(now).await? {
        IndexSide::Before
    } else if agrees(next).await? {
        IndexSide::Team
    } else {
        IndexSide::Other
    };
    Ok(ProjectAfter { head, is_there, index })
}

/// Puts back what a landing from one commit to another left.
pub(super) async fn undo(git: &Git, undo: &LandingUndo, now: &str, next: &str) -> GitResult<()> {
    match undo {
        LandingUndo::Landed | LandingUndo::Nothing => Ok(()),
        LandingUndo::Files => put_files_back(git, now, next).await,
        // Git keeps what a person changed meanwhile, or refuses before it touches anything.
        LandingUndo::Index { to } => git.exchange(&["read-tree", "-m", "-u", next, to]).await,
    }
}

async fn changed_between(git: &Git, now: &str, next: &str) -> GitResult<HashSet<String>> {
    let differ = ["diff", "--name-only", "--no-renames", "-z", now, next];
    Ok(parts(&git.run(&differ).await?).map(str::to_owned).collect())
}

/// Puts files back as they are in the index, where git began to make them those of another commit.
async fn put_files_back(git: &Git, now: &str, next: &str) -> GitResult<()> {
    let added = ["diff", "--diff-filter=A", "--name-only", "--no-renames", "-z", now, next];
    // First the new files, which makes room for the rest.
    for added in parts(&git.run(&added).await?) {
        if is_begun(git, next, added).await? {
            remove(git.folder(), added)?;
        }
    }
    let changed = changed_between(git, now, next).await?;
    let other = git.run(&["diff-files", "--name-only", "-z"]).await?;
    let mut torn = Vec::new();
    for file in parts(&other).filter(|it| changed.contains(*it)) {
        if is_begun(git, next, file).await? {
            torn.push(file);
        }
    }
    for some in torn.chunks(MAX_AT_ONCE) {
        let mut write = vec!["checkout-index", "--force", "--"];
        write.extend(some);
        git.exchange(&write).await?;
    }
    Ok(())
}

/// Whether a file is as git leaves it that began to write it: gone, or the beginning of what a commit has. What a person wrote
/// in its place meanwhile is not.
async fn is_begun(git: &Git, commit: &str, file: &str) -> GitResult<bool> {
    let path = git.folder().join(file);
    let found = match fs::symlink_metadata(&path) {
        Ok(found) if found.is_symlink() => {
            fs::read_link(&path).map(|it| it.as_os_str().as_bytes().to_vec())
        }
        Ok(found) if found.is_file() => fs::read(&path),
        Ok(_) => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => Err(error),
    };
    let found = found.map_err(GitError::file(&path))?;
    let whole = ["cat-file", "--filters", &format!("{commit}:{file}")];
    let output = git.output(&whole).await?;
    // Without the file, git removes it.
    Ok(output.status.success() && output.stdout.starts_with(&found))
}

/// Removes a file, and the folders that hold nothing else.
fn remove(top: &Path, file: &str) -> GitResult<()> {
    let path = top.join(file);
    if fs::symlink_metadata(&path).is_ok_and(|it| !it.is_dir()) {
        fs::remove_file(&path).map_err(GitError::file(&path))?;
    }
    let mut folders = path.ancestors().skip(1).take_while(|it| *it != top);
    // Up to the first that is not empty.
    while folders.next().is_some_and(|it| fs::remove_dir(it).is_ok()) {}
    Ok(())
}

/// A landing that began. It is kept in the team's folder until it ends, so that the next lead puts back what a killed one left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LandingNote {
    /// The commit and the branch that the project was on.
    pub(super) commit: String,
    pub(super) branch: Option<String>,
    /// The commit of the team.
    pub(super) team: String,
    /// Whether no file of a person was in the way.
    pub(super) is_clear: bool,
}

impl LandingNote {
    fn path(folder: &Path) -> PathBuf {
        folder.join("landing.json")
    }

    pub(super) fn write(&self, folder: &Path) -> GitResult<()> {
        let path = Self::path(folder);
        let written = disk::pretty(self).and_then(|text| disk::put(&path, &text));
        written.map(drop).map_err(GitError::file(&path))
    }

    /// The landing that a killed process left, if there is one.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(Self::path(folder)).ok()?).ok()
    }

    /// The landing has ended.
    pub(super) fn remove(folder: &Path) {
        // A note that stays is read again, and finds nothing to put back.
        drop(fs::remove_file(Self::path(folder)));
    }

    /// Puts back what the landing left, unless it had ended.
    pub(super) async fn undo(&self, git: &Git) -> GitResult<()> {
        let before = FolderHead { commit: self.commit.clone(), branch: self.branch.clone() };
        let after = look_after(git, &self.commit, &self.team).await?;
        match self.is_clear {
            true => undo(git, &landing_undo(&before, &after), &self.commit, &self.team).await,
            false => Ok(()),
        }
    }
}
