//! Merging late: work on a task that is done already, because it was completed where nobody could merge it.

use super::merge::WorkMerge;
use crate::git::GitResult;

/// How a task came to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateCompletion {
    /// Somebody completed it.
    Completed,
    /// Somebody approved what was handed in for it.
    Approved,
}

/// The work to merge for a task that is already done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LateWork {
    HandedIn,
    /// Everything in the member's folder, which is still on the task's branch.
    Folder,
    /// The end of the task's branch.
    Commit(String),
    Nothing,
}

impl WorkMerge<'_> {
    pub(super) async fn late_work(&self, done: LateCompletion) -> GitResult<LateWork> {
        if done == LateCompletion::Approved && self.handed_in().await?.is_some() {
            return Ok(LateWork::HandedIn);
        }
        if self.folder().is_on(self.work).await? {
            return Ok(LateWork::Folder);
        }
        let left = self.team.newest_commit_of(self.work).await?;
        Ok(left.map_or(LateWork::Nothing, LateWork::Commit))
    }
}
