//! Git commands of several steps that somebody left unfinished in a folder: a rebase, a series of picks, a mail that does not
//! apply.

use std::path::Path;

use super::tie;

/// The file that git keeps while such a command is unfinished, and the command that continues it.
const KEPT: [(&str, &str); 4] = [
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "am"),
    ("rebase-apply", "rebase"),
    ("sequencer", "cherry-pick"),
];

/// The unfinished command in a folder, if there is one.
pub(super) fn unfinished_command(folder: &Path) -> Option<&'static str> {
    let place = tie::place_of(folder)?;
    let found = KEPT.iter().find(|(kept, _)| place.join(kept).exists());
    found.map(|(_, command)| match *command {
        "cherry-pick" if place.join("REVERT_HEAD").exists() => "revert",
        command => command,
    })
}

/// Whether the next commit in a folder ends a merge.
pub(super) fn is_merging(folder: &Path) -> bool {
    tie::place_of(folder).is_some_and(|place| place.join("MERGE_HEAD").exists())
}
