//! Merging late: work on a task that is done already, because whoever said so could not merge it.

use super::{
    Aim, TaskAttempt, WorkReport, Worktrees, names,
    worktree::{head, is_named},
};
use crate::{
    Checks,
    git::{GitError, GitResult},
};

/// How a task came to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateCompletion {
    /// Somebody said that it is.
    Completed,
    /// What was handed in for it was approved.
    Approved,
}

impl Worktrees {
    /// Merges what was made for a task that is done already: what was handed in, if that was approved, else all that its last
    /// attempt left. None if that left nothing. If it does not fit, or a check is not content, all stays as it is.
    pub async fn finish_late(
        &self,
        work: &TaskAttempt,
        done: LateCompletion,
        checks: &Checks,
    ) -> Result<Option<WorkReport>, GitError> {
        if done == LateCompletion::Approved && self.handed_in(work).await?.is_some() {
            return self.approve(work, checks).await.map(Some);
        }
        if self.is_on(work).await? {
            return self.finish(work, Aim::Merge, checks).await.map(Some);
        }
        let Some(own) = self.left_by(work).await? else { return Ok(None) };
        let _turn = self.inner.turn.acquire().await;
        self.merge_apart(work, &own, checks).await.map(Some)
    }

    /// Whether the folder of a member is on the branch of its work.
    async fn is_on(&self, work: &TaskAttempt) -> GitResult<bool> {
        if !names::folder(&self.inner.worktrees, &work.member).is_dir() {
            return Ok(false);
        }
        let wanted = self.branch_of(work);
        let branch = head(&self.git_of(&work.member)?).await?.branch;
        Ok(branch.is_some_and(|branch| is_named(&branch, &wanted)))
    }

    /// The end of the branch of some work, if there is one.
    async fn left_by(&self, work: &TaskAttempt) -> GitResult<Option<String>> {
        let Some(branch) = self.newest_branch_of(work).await? else { return Ok(None) };
        let name = format!("refs/heads/{branch}");
        self.inner.git.run(&["rev-parse", "--verify", &name]).await.map(Some)
    }

    fn branch_of(&self, work: &TaskAttempt) -> String {
        names::task_branch(self.branch(), &work.member, work.task, work.attempt)
    }
}
