//! Git commands in a folder that are not at their end: a rebase, a series of picks, a mail that does not apply.

use std::path::Path;

use super::tie;
use crate::git::{Git, GitResult};

/// What git keeps as long as such a command is not at its end, and what continues it.
const KEPT: [(&str, &str); 4] = [
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "am"),
    ("rebase-apply", "rebase"),
    ("sequencer", "cherry-pick"),
];

/// The command in a folder that is not at its end, if there is one.
pub(super) fn unended(folder: &Path) -> Option<&'static str> {
    let place = tie::place_of(folder)?;
    let found = KEPT.iter().find(|(kept, _)| place.join(kept).exists());
    found.map(|(_, command)| match *command {
        "cherry-pick" if place.join("REVERT_HEAD").exists() => "revert",
        command => command,
    })
}

/// Whether the next commit in a folder ends a merge, however little that changes.
pub(super) fn is_merging(folder: &Path) -> bool {
    tie::place_of(folder).is_some_and(|place| place.join("MERGE_HEAD").exists())
}

/// Leaves such a command where it is: files and branches stay as they are.
pub(super) async fn quit(git: &Git) -> GitResult<()> {
    match unended(git.folder()) {
        Some(command) => git.run(&[command, "--quit"]).await.map(drop),
        None => Ok(()),
    }
}
