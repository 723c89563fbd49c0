//! What a killed process leaves of worktrees: half-made ones, places of folders that are gone, copies of indexes. None of it holds
//! anybody's work.

use std::{fs, io, path::Path};

use super::{names, tie};
use crate::locks;

/// Whether git was killed while it made the worktree of a folder. Nobody has worked in it.
pub(super) fn is_half_made(shared: &Path, folder: &Path) -> bool {
    tie::place(shared, folder).is_some_and(|place| locks::is_half_made(&place))
}

/// Whether git was killed while it removed a worktree of troop: then nobody can tell any more where its folder was. One that is just
/// being made is locked. Without `HEAD` nobody knows whose it is: another git may have only just begun it.
fn is_half_removed(place: &Path) -> bool {
    let is_troops = fs::read_to_string(place.join("HEAD")).is_ok_and(|head| {
        names::ROOTS.iter().any(|it| head.starts_with(&format!("ref: refs/heads/{it}/")))
    });
    is_troops && !place.join("gitdir").exists() && !place.join("locked").exists()
}

/// Removes a worktree of which git made only a half, so that it can be made again.
pub(super) fn remove_half_made(shared: &Path, folder: &Path) {
    let Some(place) = tie::place(shared, folder).filter(|it| locks::is_half_made(it)) else {
        return;
    };
    // Git reports remains when it makes the folder next. The place goes last: it shows that nobody owns the folder.
    if fs::remove_dir_all(folder).is_ok() || !folder.exists() {
        drop(fs::remove_dir_all(place));
    }
}

/// Removes what killed processes left below the folder of a team's worktrees, and in the repository about it. Nothing may run for
/// the team.
pub(super) fn clear(shared: &Path, worktrees: &Path) {
    for entry in fs::read_dir(worktrees).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with(".index-") {
            // The copy of an index, with which a watcher looked at a folder.
            drop(fs::remove_file(&path));
        } else if is_half_made(shared, &path) {
            remove_half_made(shared, &path);
        } else {
            // Only if it is empty.
            drop(fs::remove_dir(&path));
        }
    }
    for place in tie::places_below(shared, worktrees) {
        let is_gone = tie::folder_of(&place).is_some_and(|folder| !folder.exists());
        // A commit on no branch is only here.
        let has_no_commit = match fs::read_to_string(place.join("HEAD")) {
            Ok(head) => head.starts_with("ref: "),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if is_gone && (has_no_commit || locks::is_half_made(&place)) {
            drop(fs::remove_dir_all(place));
        }
    }
    let places = fs::read_dir(shared.join("worktrees")).into_iter().flatten().flatten();
    for place in places.map(|it| it.path()).filter(|it| is_half_removed(it)) {
        drop(fs::remove_dir_all(place));
    }
    // As git does with the last one. Only if it is empty.
    drop(fs::remove_dir(shared.join("worktrees")));
}
