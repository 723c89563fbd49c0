//! Puts files of the project back that git began to exchange and could not finish, as on a full disk.

use std::{collections::HashSet, fs, path::Path};

use crate::git::{Git, GitError, GitResult, parts};

/// How many files we name in one command.
const MAX_AT_ONCE: usize = 500;

/// Whether no file of a person is where a commit has something else. Only then may files be put back.
pub(super) async fn is_clear(git: &Git, now: &str, next: &str) -> GitResult<bool> {
    // It fails if anything is changed, which does not matter here.
    git.ask(&["update-index", "-q", "--refresh"]).await?;
    let try_out = ["read-tree", "--dry-run", "-m", "-u", now, next];
    Ok(git.ask(&try_out).await?.is_some())
}

/// Puts files back as they are in one commit, where git began to make them those of another.
pub(super) async fn put_back(git: &Git, now: &str, next: &str) -> GitResult<()> {
    let differ = ["diff", "--name-only", "--no-renames", "-z"];
    let differ = async |which: &str| {
        let arguments: Vec<_> = differ.into_iter().chain([which, now, next]).collect();
        git.run(&arguments).await
    };
    // First the new files, which makes room for the rest.
    for added in parts(&differ("--diff-filter=A").await?) {
        remove(git.folder(), added)?;
    }
    let changed = differ("--diff-filter=a").await?;
    let changed: HashSet<_> = parts(&changed).collect();
    let other = git.run(&["diff-files", "--name-only", "-z"]).await?;
    let torn: Vec<_> = parts(&other).filter(|it| changed.contains(it)).collect();
    for some in torn.chunks(MAX_AT_ONCE) {
        let mut write = vec!["checkout-index", "--force", "--"];
        write.extend(some);
        git.exchange(&write).await?;
    }
    Ok(())
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
