//! The team's branch is troop's own: nobody else works on it, and nobody else moves it.
//!
//! While the team runs, it is checked out in a folder without files, so that git itself refuses it to everybody else. If somebody
//! moves it all the same, troop notices: it knows on which commit the branch should be.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::MutexGuard,
};

use troop_model::lock;

use super::{
    TaskAttempt, Worktrees, names,
    rules::{BranchPosition, PositionCase},
    worktree::free_name,
};
use crate::git::{Git, GitError, GitResult};

/// The name of the folder that holds the team's branch.
const HOLDER: &str = ".team";

/// How often a branch is put back that somebody moves again and again.
const MAX_ROUNDS: usize = 10;

impl Worktrees {
    /// Checks the team's branch out where there are no files, so that nobody else can.
    pub(super) async fn hold_branch(&self) -> GitResult<()> {
        let folder = self.holder();
        // One that a dead lead left may be of another repository.
        self.remove_own(&folder).await?;
        let path = folder.to_string_lossy();
        // By force, because a person may look at it in the project.
        let add = ["worktree", "add", "--quiet", "--force", "--no-checkout", &*path, self.branch()];
        self.inner.git.run(&add).await.map(drop)
    }

    /// Lets others have the team's branch again.
    pub(super) async fn release_branch(&self) -> GitResult<()> {
        self.remove_own(&self.holder()).await
    }

    fn holder(&self) -> PathBuf {
        self.inner.worktrees.join(HOLDER)
    }

    /// Removes a folder of troop's own, however much of it is left.
    pub(super) async fn remove_own(&self, folder: &Path) -> GitResult<()> {
        if !folder.exists() {
            return Ok(());
        }
        self.inner.git.ask(&["worktree", "remove", "--force", &folder.to_string_lossy()]).await?;
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(GitError::file(folder)(error)),
            _ => Ok(()),
        }
    }

    /// The commit that the team's branch is on. Where somebody else moved or deleted it, it is put back.
    pub(super) async fn team_commit(&self) -> GitResult<String> {
        let mut last = None;
        for _ in 0..MAX_ROUNDS {
            let found = self.found().await?;
            let case = self.known().check(found.as_deref());
            let expected = match case {
                PositionCase::Right(commit) => return Ok(commit),
                PositionCase::Moved { back_to } => back_to,
            };
            match self.put_back(found.as_deref(), &expected).await {
                Ok(()) => return Ok(expected),
                // It was moved meanwhile, maybe by ourselves.
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| self.inner.git.nonsense(&["update-ref", self.branch()])))
    }

    /// Whether it was troop that put the team's branch on a commit.
    pub(super) fn is_known(&self, commit: &str) -> bool {
        self.known().holds(commit)
    }

    /// Puts the team's branch back. What somebody else put there is kept on another.
    async fn put_back(&self, found: Option<&str>, commit: &str) -> GitResult<()> {
        let git = &self.inner.git;
        let name = self.full_name();
        let why = "troop: put back";
        git.run(&["update-ref", "-m", why, &name, commit, found.unwrap_or("")]).await?;
        let Some(found) = found else { return Ok(()) };
        if !git.is(&["merge-base", "--is-ancestor", found, commit]).await? {
            let kept = free_name(git, names::rescued(self.branch(), None)).await?;
            git.run(&["update-ref", &format!("refs/heads/{kept}"), found, ""]).await?;
        }
        Ok(())
    }

    /// Moves the team's branch. False if somebody else has meanwhile.
    pub(super) async fn advance(
        &self,
        work: &TaskAttempt,
        from: &str,
        to: &str,
    ) -> GitResult<bool> {
        if from == to {
            return Ok(true);
        }
        let name = self.full_name();
        let why = format!("troop: {}", work.task);
        self.known().next = Some(to.to_owned());
        let moved = self.inner.git.run(&["update-ref", "-m", &why, &name, to, from]).await;
        {
            let mut known = self.known();
            known.next = None;
            if moved.is_ok() {
                to.clone_into(&mut known.commit);
            }
        }
        match moved {
            Ok(_) => Ok(true),
            Err(error) if self.found().await?.as_deref() == Some(from) => Err(error),
            Err(_) => self.team_commit().await.map(|_| false),
        }
    }

    /// Takes a folder off the team's branch, so that what is in it counts as changed since its task began: what others finished
    /// since it went there is not in the folder, and would count as deleted. False if nobody knows where the task began.
    pub(super) async fn step_off(&self, work: &TaskAttempt, git: &Git) -> GitResult<bool> {
        let Some(branch) = self.newest_branch_of(work).await? else { return Ok(false) };
        let began = git.run(&["rev-parse", "--verify", &format!("refs/heads/{branch}")]).await?;
        git.run(&["update-ref", "--no-deref", "-m", "troop: stepped off", "HEAD", &began]).await?;
        self.team_commit().await.map(|_| true)
    }

    async fn found(&self) -> GitResult<Option<String>> {
        self.inner.git.ask(&["rev-parse", "--quiet", "--verify", &self.full_name()]).await
    }

    fn full_name(&self) -> String {
        format!("refs/heads/{}", self.branch())
    }

    fn known(&self) -> MutexGuard<'_, BranchPosition> {
        lock(&self.inner.known)
    }
}
