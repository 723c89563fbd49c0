//! Work whose history has nothing in common with the team's: an amended first commit, a branch that begins anew.

use super::{
    TaskAttempt, Worktrees,
    merge::message,
    names,
    worktree::{head, is_named},
};
use crate::git::{Git, GitResult};

impl Worktrees {
    /// Joins work to where its branch began, so that what was changed since then can be merged: the commit with both. None if
    /// the folder is not on the branch of the task, or nobody knows where that began: then nobody knows what was changed.
    pub(super) async fn rooted(
        &self,
        work: &TaskAttempt,
        git: &Git,
        own: &str,
    ) -> GitResult<Option<String>> {
        let wanted = names::task_branch(self.branch(), &work.member, work.task, work.attempt);
        let branch = head(git).await?.branch.filter(|it| is_named(it, &wanted));
        let Some(branch) = branch else { return Ok(None) };
        let moves = ["reflog", "show", "--format=%H", &format!("refs/heads/{branch}")];
        let moves = git.ask(&moves).await?.unwrap_or_default();
        let Some(began) = moves.lines().last() else { return Ok(None) };
        let team = self.team_commit().await?;
        if git.ask(&["merge-base", began, &team]).await?.is_none() {
            return Ok(None);
        }
        let tree = format!("{own}^{{tree}}");
        let message = message(work);
        let join = ["commit-tree", &tree, "-p", began, "-p", own, "-m", &message];
        let commit = git.run(&join).await?;
        git.run(&["update-ref", "-m", "troop: joined", "HEAD", &commit, own]).await?;
        Ok(Some(commit))
    }
}
