//! The team's branch belongs to troop: nobody else works on it, and nobody else moves it.
//!
//! While the team runs, the branch is checked out in a folder without files, so that git refuses it to everybody else. If
//! somebody moves it anyway, troop notices: it knows on which commit the branch should be.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard},
};

use troop_model::{TaskNumber, lock};

use super::{
    TaskAttempt,
    effect::{OldValue, RefMove, RepositoryEffect},
    facts::{commit_of, free_name, is_ancestor},
    names,
    rules::{self, BranchPosition, ForkLines, ForkPoint, PositionCase, PutBackFacts},
};
use crate::git::{Git, GitError, GitResult};

/// The name of the folder that holds the team's branch.
const HOLDER: &str = ".team";

/// How often we put a branch back that somebody moves again and again.
const MAX_ROUNDS: usize = 10;

/// The branch into which finished work is merged.
#[derive(Debug)]
pub(super) struct TeamBranch {
    git: Git,
    name: String,
    /// The folder in which it is checked out.
    holder: PathBuf,
    /// Where troop put it.
    known: Mutex<BranchPosition>,
}

impl TeamBranch {
    /// Takes hold of a branch that exists.
    pub(super) async fn hold(git: &Git, name: &str, worktrees: &Path) -> GitResult<Self> {
        let commit = git.run(&["rev-parse", "--verify", &names::full(name)]).await?;
        let known = Mutex::new(BranchPosition::at(commit));
        let holder = worktrees.join(HOLDER);
        RepositoryEffect::run_all(&rules::hold(name, &holder), git).await?;
        Ok(Self { git: git.clone(), name: name.to_owned(), holder, known })
    }

    /// Lets others have the branch again.
    pub(super) async fn release(&self) -> GitResult<()> {
        RepositoryEffect::RemoveWorktree(self.holder.clone()).run(&self.git).await
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The commit that the branch is on. If somebody else moved or deleted the branch, troop puts it back.
    pub(super) async fn commit(&self) -> GitResult<String> {
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
                // Somebody moved it meanwhile, perhaps we ourselves.
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| self.git.nonsense(&["update-ref", &self.name])))
    }

    async fn put_back(&self, found: Option<&str>, back_to: &str) -> GitResult<()> {
        // The branch is put back even if nobody can tell what was on it.
        let rescue = self.rescue_name(found, back_to).await.unwrap_or_default();
        let name = self.full_name();
        let facts = PutBackFacts { name: &name, found, back_to, rescue: rescue.as_deref() };
        for step in rules::put_back(&facts) {
            step.run(&self.git).await?;
        }
        Ok(())
    }

    /// A free branch for what was found on the team's branch, if that holds something which `back_to` does not.
    async fn rescue_name(&self, found: Option<&str>, back_to: &str) -> GitResult<Option<String>> {
        let Some(found) = found else { return Ok(None) };
        if is_ancestor(&self.git, found, back_to).await? {
            return Ok(None);
        }
        let wanted = names::rescued(&self.name, None);
        let begin = names::full(&wanted);
        let kept =
            ["for-each-ref", "--count=1", "--contains", found, &begin, &format!("{begin}+*")];
        if !self.git.run(&kept).await?.is_empty() {
            return Ok(None);
        }
        let free = free_name(&self.git, wanted).await?;
        Ok(Some(names::full(&free)))
    }

    /// Moves the branch. False if somebody else has meanwhile.
    pub(super) async fn advance(&self, task: TaskNumber, from: &str, to: &str) -> GitResult<bool> {
        let step = rules::advance(&self.full_name(), from, to, &format!("troop: {task}"));
        self.known().next = Some(to.to_owned());
        let moved = step.run(&self.git).await;
        {
            let mut known = self.known();
            known.next = None;
            if moved.is_ok() {
                to.clone_into(&mut known.commit);
            }
        }
        match moved {
            Ok(()) => Ok(true),
            Err(error) if self.found().await?.as_deref() == Some(from) => Err(error),
            Err(_) => self.commit().await.map(|_| false),
        }
    }

    /// Where a commit and the branch forked; none if they have no commit in common.
    pub(super) async fn fork(&self, own: &str) -> GitResult<Option<ForkPoint>> {
        let both = format!("{}...{own}", self.full_name());
        let parse = ["rev-parse", &both];
        let said = match self.git.run(&parse).await {
            Err(GitError::Failed { .. }) => {
                // The branch may have been deleted; then this makes it again.
                self.commit().await?;
                self.git.run(&parse).await?
            }
            said => said?,
        };
        let is_ours = ForkLines::read(&said).team.is_none_or(|team| self.known().holds(team));
        let said = match is_ours {
            true => said,
            false => {
                self.commit().await?;
                self.git.run(&parse).await?
            }
        };
        let ForkLines { team, base } = ForkLines::read(&said);
        let Some(team) = team else { return Err(self.git.nonsense(&parse)) };
        Ok(base.map(|base| ForkPoint { team: team.to_owned(), base: base.to_owned() }))
    }

    /// The branch of some work that was last committed to, if there is one.
    pub(super) async fn newest_of(&self, work: &TaskAttempt) -> GitResult<Option<String>> {
        let name = names::full(&self.task_branch(work));
        let newest =
            ["for-each-ref", "--sort=-committerdate", "--count=1", "--format=%(refname:lstrip=2)"];
        let other = format!("{name}+*");
        let arguments: Vec<_> = newest.into_iter().chain([name.as_str(), &other]).collect();
        let found = self.git.run(&arguments).await?;
        Ok((!found.is_empty()).then_some(found))
    }

    /// The end of the newest branch of some work, if there is one.
    pub(super) async fn newest_commit_of(&self, work: &TaskAttempt) -> GitResult<Option<String>> {
        let Some(branch) = self.newest_of(work).await? else { return Ok(None) };
        self.git.run(&["rev-parse", "--verify", &names::full(&branch)]).await.map(Some)
    }

    /// The branches of members that hold something which the team's branch does not.
    pub(super) async fn unmerged(&self) -> GitResult<Vec<String>> {
        let unmerged = self.work_branches("--no-merged").await?;
        Ok(unmerged.into_iter().map(|(branch, _)| branch).collect())
    }

    /// The branches of members that hold nothing which the team's branch does not, with their commits.
    pub(super) async fn merged(&self) -> GitResult<Vec<(String, String)>> {
        self.work_branches("--merged").await
    }

    async fn work_branches(&self, which: &str) -> GitResult<Vec<(String, String)>> {
        let all = format!("refs/heads/{}/", names::work_branches(&self.name));
        let format = "--format=%(objectname) %(refname:lstrip=2)";
        let list = ["for-each-ref", format, which, &self.full_name(), &all];
        let said = self.git.run(&list).await?;
        let branches = said.lines().filter_map(|line| line.split_once(' '));
        Ok(branches.map(|(commit, branch)| (branch.to_owned(), commit.to_owned())).collect())
    }

    /// Forgets what was handed in for a task. A commit that no branch holds is kept anyway.
    pub(super) async fn forget_handed_in(&self, task: TaskNumber) -> GitResult<()> {
        let name = names::handed_in(&self.name, task);
        let Some(commit) = commit_of(&self.git, &name).await? else { return Ok(()) };
        let holding = ["for-each-ref", "--count=1", "--contains", &commit, "refs/heads/"];
        match self.git.run(&holding).await?.is_empty() {
            true => Ok(()),
            false => RefMove::delete(&name, OldValue::Is(commit)).run(&self.git).await,
        }
    }

    /// The branch for some work.
    pub(super) fn task_branch(&self, work: &TaskAttempt) -> String {
        names::task_branch(&self.name, &work.member, work.task, work.attempt)
    }

    fn full_name(&self) -> String {
        names::full(&self.name)
    }

    async fn found(&self) -> GitResult<Option<String>> {
        commit_of(&self.git, &self.full_name()).await
    }

    fn known(&self) -> MutexGuard<'_, BranchPosition> {
        lock(&self.known)
    }
}
