//! Whose task a file of the workspace belongs to.

use std::collections::{BTreeMap, BTreeSet};

use troop_model::{TaskNumber, WorkspaceFolder};

use super::completion::Departure;
use crate::workspace::FileStat;

/// The contents of a member's folder when it ended its last task there.
///
/// The disk's clock is too coarse to tell tasks apart that follow each other within milliseconds. But a file that was not there
/// when a member ended a task was not written for that task.
#[derive(Debug)]
pub(in crate::lead) struct LastEnd {
    folder: WorkspaceFolder,
    /// The tasks that the member has ended in this folder.
    ended: BTreeSet<TaskNumber>,
    files: BTreeMap<String, FileStat>,
}

impl LastEnd {
    /// The facts after a member's departure from a task.
    pub(in crate::lead) fn after(
        departure: &Departure,
        before: Option<Self>,
        files: BTreeMap<String, FileStat>,
    ) -> Self {
        let before = before.filter(|it| it.folder == departure.folder);
        let mut ended = before.map(|it| it.ended).unwrap_or_default();
        ended.insert(departure.task);
        Self { folder: departure.folder.clone(), ended, files }
    }

    fn had(&self, path: &str, stat: &FileStat) -> bool {
        self.files.get(path) == Some(stat)
    }
}

/// The owner of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lead) enum FileOwner {
    /// The task that its member is about to end.
    ThisTask,
    /// It may be of this task or of others.
    Unclear(Vec<TaskNumber>),
    Others,
}

/// Whose file it is. `then`: the tasks that were worked on when it was written, by the disk's clock.
pub(in crate::lead) fn owner_of(
    departure: &Departure,
    last: Option<&LastEnd>,
    path: &str,
    stat: &FileStat,
    mut then: Vec<TaskNumber>,
) -> FileOwner {
    if let Some(last) = last.filter(|it| it.folder == departure.folder && !it.had(path, stat)) {
        then.retain(|task| *task == departure.task || !last.ended.contains(task));
    }
    match then.as_slice() {
        [only] if *only == departure.task => FileOwner::ThisTask,
        several if several.contains(&departure.task) => FileOwner::Unclear(then),
        _ => FileOwner::Others,
    }
}

#[cfg(test)]
mod tests;
