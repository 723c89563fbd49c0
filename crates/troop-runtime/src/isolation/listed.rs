//! What git lists in a folder, also files that it was told not to look at (`--skip-worktree`, `--assume-unchanged`): changes to
//! them are work, too.

use std::fs;

use crate::git::{Git, GitResult, parts};

/// How many files are named in one call.
const AT_ONCE: usize = 500;

/// The mode of an entry that is a commit of another repository.
pub(super) const REFERENCE: &str = "160000";

/// The files that git lists in a folder.
pub(super) struct IndexListing {
    /// Files and folders that it does not know.
    pub(super) others: Vec<String>,
    /// Repositories of which it knows only a commit.
    pub(super) references: Vec<String>,
    /// Files that it was told not to look at.
    pub(super) hidden: Vec<String>,
}

/// Lists everything in a folder, but for what git ignores.
pub(super) async fn listed(git: &Git) -> GitResult<IndexListing> {
    let list = ["ls-files", "-v", "--stage", "--others", "--exclude-standard", "-z", "--", ":/"];
    let said = git.run(&list).await?;
    let mut listed =
        IndexListing { others: Vec::new(), references: Vec::new(), hidden: Vec::new() };
    for (tag, entry) in parts(&said).filter_map(|part| part.split_once(' ')) {
        // Files that git knows have their mode, commit and stage.
        let Some((known, path)) = entry.split_once('\t').filter(|_| tag != "?") else {
            listed.others.push(entry.to_owned());
            continue;
        };
        if known.starts_with(REFERENCE) {
            listed.references.push(path.to_owned());
        }
        match tag {
            // A file that is not there is left out on purpose: a sparse checkout has many of them.
            "S" | "s" if fs::symlink_metadata(git.folder().join(path)).is_err() => {}
            "S" => listed.hidden.push(path.to_owned()),
            tag if tag.chars().all(char::is_lowercase) => listed.hidden.push(path.to_owned()),
            _ => {}
        }
    }
    Ok(listed)
}

impl IndexListing {
    /// Has git look at everything again. Returns whether there was anything that it did not look at.
    pub(super) async fn reveal(&self, git: &Git) -> GitResult<bool> {
        reveal(git, &self.hidden).await?;
        Ok(!self.hidden.is_empty())
    }
}

/// Has git look at files that it was told not to look at.
pub(super) async fn reveal(git: &Git, hidden: &[String]) -> GitResult<()> {
    for files in hidden.chunks(AT_ONCE) {
        for how in ["--no-skip-worktree", "--no-assume-unchanged"] {
            let mut update = vec!["update-index", how, "--"];
            update.extend(files.iter().map(String::as_str));
            git.run(&update).await?;
        }
    }
    Ok(())
}
