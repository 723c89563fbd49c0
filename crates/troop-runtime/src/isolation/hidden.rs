//! Files that git was told not to look at (`--skip-worktree`, `--assume-unchanged`): what was done to them is work all the same.

use std::fs;

use crate::git::{Git, GitResult, parts};

/// How many files are named in one call.
const AT_ONCE: usize = 500;

/// What git lists in a folder.
pub(super) struct Listed {
    /// Files and folders that it does not know.
    pub(super) others: Vec<String>,
    /// Files that it does not look at.
    hidden: Vec<String>,
}

/// Lists all that is in a folder, but for what git ignores.
pub(super) async fn listed(git: &Git) -> GitResult<Listed> {
    let list = ["ls-files", "-v", "--cached", "--others", "--exclude-standard", "-z", "--", ":/"];
    let said = git.run(&list).await?;
    let mut listed = Listed { others: Vec::new(), hidden: Vec::new() };
    for (tag, path) in parts(&said).filter_map(|part| part.split_once(' ')) {
        match tag {
            "?" => listed.others.push(path.to_owned()),
            // One that is not there is left out on purpose: a sparse checkout has many of them.
            "S" | "s" if fs::symlink_metadata(git.folder().join(path)).is_err() => {}
            "S" => listed.hidden.push(path.to_owned()),
            tag if tag.chars().all(char::is_lowercase) => listed.hidden.push(path.to_owned()),
            _ => {}
        }
    }
    Ok(listed)
}

impl Listed {
    /// Lets git look at everything again. Whether there was anything that it did not look at.
    pub(super) async fn reveal(&self, git: &Git) -> GitResult<bool> {
        for files in self.hidden.chunks(AT_ONCE) {
            for how in ["--no-skip-worktree", "--no-assume-unchanged"] {
                let mut update = vec!["update-index", how, "--"];
                update.extend(files.iter().map(String::as_str));
                git.run(&update).await?;
            }
        }
        Ok(!self.hidden.is_empty())
    }
}
