//! The files of a repository: from git, or from a walk if there is no git.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use ignore::WalkBuilder;

use crate::git::Git;

/// How many entries a walk reads, and how deep it goes.
const MAX_WALKED: usize = 100_000;
const MAX_DEPTH: usize = 20;

/// The files of a repository, from its folder.
#[derive(Clone, Debug, Default)]
pub(super) struct RepositoryFiles {
    pub(super) paths: Vec<PathBuf>,
    pub(super) is_git: bool,
    pub(super) notes: Vec<String>,
}

pub(super) async fn files(root: &Path, environment: &[(OsString, OsString)]) -> RepositoryFiles {
    match tracked(root, environment).await {
        Ok(paths) => RepositoryFiles { paths, is_git: true, notes: Vec::new() },
        Err(why) => {
            let root = root.to_owned();
            let walked = tokio::task::spawn_blocking(move || walked(&root)).await;
            let mut list = walked.unwrap_or_default();
            list.notes.insert(0, format!("the files were listed without git: {why}"));
            list
        }
    }
}

/// The files that git tracks below the folder, in its order.
async fn tracked(
    root: &Path,
    environment: &[(OsString, OsString)],
) -> Result<Vec<PathBuf>, String> {
    let git = Git::new(root, environment);
    let output = git.output(&["ls-files", "-z"]).await.map_err(|error| error.chain())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or("git refused");
        return Err(said.trim_start_matches("fatal: ").to_owned());
    }
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
}

/// The files in the folder, in the order of names, without those that `.gitignore` excludes.
fn walked(root: &Path) -> RepositoryFiles {
    let mut walk = WalkBuilder::new(root);
    walk.follow_links(false).require_git(false).max_depth(Some(MAX_DEPTH));
    walk.sort_by_file_name(OsStr::cmp);
    let mut list = RepositoryFiles::default();
    for (n_walked, entry) in walk.build().enumerate() {
        if n_walked >= MAX_WALKED {
            list.notes.push(format!("only the first {MAX_WALKED} files and folders were read"));
            break;
        }
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|it| it.is_file()) => {
                if let Ok(path) = entry.path().strip_prefix(root) {
                    list.paths.push(path.to_owned());
                }
            }
            Ok(_) => {}
            Err(error) => list.notes.push(error.to_string()),
        }
    }
    list
}
