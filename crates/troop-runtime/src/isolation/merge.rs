//! Merging what a teammate finished into the team's branch: all of it, or nothing.

use std::{
    fs,
    path::{Path, PathBuf},
};

use troop_model::{Evidence, TaskNumber};

use super::{
    TaskAttempt, Worktrees,
    listed::listed,
    names,
    refusal::{Conflict, MAX_NAMED, MergeRefusal},
    rules::{self, FolderStatus, ForkLines, ForkPoint, JoinCase, UnmergedFile},
    submodules,
    tie::FolderFault,
    unended::{is_merging, unended},
    worktree::{commit_all, free_name, head, new_repositories, stay_on},
};
use crate::{
    Checks,
    git::{Git, GitError, GitResult, parts},
};

/// How often a merge is made anew because somebody else moved the team's branch meanwhile.
const MAX_ROUNDS: usize = 10;

/// Work that is in the team's branch now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    /// The team's branch.
    pub into: String,
    /// The commit that the team's branch is on with it.
    pub commit: String,
    /// Whether there was anything that the team's branch did not have yet.
    pub is_new: bool,
}

/// What is to become of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// It waits for approval.
    HandIn,
    /// It is done.
    Merge,
}

/// How the end of a piece of work went.
#[derive(Debug)]
pub struct WorkReport {
    /// What became of it.
    pub outcome: MergeOutcome,
    /// What the checks said.
    pub evidence: Vec<Evidence>,
}

/// What became of a piece of work.
#[derive(Debug)]
pub enum MergeOutcome {
    /// It is good, and was not to be merged now.
    Ready,
    /// It is in the team's branch.
    Merged(Merge),
    /// It is not, and the team's branch is as it was.
    Not(MergeRefusal),
}

/// What came of bringing a commit and the team's branch together, which is in no branch yet.
struct MergeTrial {
    /// The commit that is to be merged.
    own: String,
    parted: ForkPoint,
    merged: Result<String, Conflict>,
}

impl WorkReport {
    /// What was checked, and is not to be merged now.
    pub(crate) fn without_merge(evidence: Vec<Evidence>) -> Self {
        let is_good = evidence.iter().all(Evidence::is_good);
        let outcome =
            if is_good { MergeOutcome::Ready } else { MergeOutcome::Not(MergeRefusal::Unproved) };
        Self { outcome, evidence }
    }
}

impl From<MergeRefusal> for WorkReport {
    fn from(why: MergeRefusal) -> Self {
        Self { outcome: MergeOutcome::Not(why), evidence: Vec::new() }
    }
}

/// The name of a folder in which a result is checked that nobody works on any more.
const CHECKED: &str = ".checked";

impl Worktrees {
    /// Commits all that is in a member's folder. Then, to be handed in, that is checked; to be done, it is merged with what
    /// the team has, the result is checked in the folder, and the team's branch moves. What is there already is merged
    /// already.
    pub async fn finish(
        &self,
        work: &TaskAttempt,
        aim: Aim,
        checks: &Checks,
    ) -> Result<WorkReport, GitError> {
        let _turn = self.inner.turn.acquire().await;
        let _folder = self.hold(&work.member).await;
        if !checks.wanted.is_still().await {
            return Ok(MergeRefusal::Unwanted.into());
        }
        let git = match self.tied(work).await? {
            Ok(git) => git,
            Err(why) => return Ok(why.into()),
        };
        let folder = names::folder(&self.inner.worktrees, &work.member);
        // At once, because it is waited for both.
        let (mut seen, listed) = tokio::try_join!(status_of(&git), listed(&git))?;
        if !seen.is_dirty && listed.reveal(&git).await? {
            seen = status_of(&git).await?;
        }
        if let Some(why) = unended_in(&folder, &seen) {
            return Ok(why.into());
        }
        if seen.branch.as_deref() == Some(self.branch()) {
            if !self.step_off(work, &git).await? {
                return Ok(self.unrelated(&seen.commit).into());
            }
            seen = status_of(&git).await?;
        }
        let dirty = submodules::dirty(&git, &folder).await?;
        if !dirty.is_empty() {
            return Ok(MergeRefusal::Submodules(dirty).into());
        }
        submodules::keep(&git, &folder, &self.inner.git).await?;
        let (mut own, mut inside) = match seen.is_dirty {
            true => self.commit(work, &git).await?,
            false => (seen.commit, Vec::new()),
        };
        let mut parted = self.parted(&own).await?;
        if parted.is_none()
            && let Some(rooted) = self.rooted(work, &git, &own).await?
        {
            own = rooted;
            parted = self.parted(&own).await?;
        }
        let Some(parted) = parted else { return Ok(self.unrelated(&own).into()) };
        // What is committed is what was listed, so that a look for references into it can be spared.
        let holds_references = seen.is_dirty || !listed.references.is_empty();
        let found = async {
            match holds_references {
                true => new_repositories(&git, &parted.base, &own).await,
                false => Ok(Vec::new()),
            }
        };
        // At once, because it is waited for both. What was merged for nothing is in no branch.
        let merge = async {
            match aim {
                Aim::Merge => self.merged(work, &parted, &own).await.map(Some),
                Aim::HandIn => Ok(None),
            }
        };
        let (found, merged) = tokio::try_join!(found, merge)?;
        inside.extend(found);
        if !inside.is_empty() {
            return Ok(MergeRefusal::Repositories(inside).into());
        }
        let Some(merged) = merged else {
            let evidence = checks.run(&self.below(&folder), Some(&own)).await;
            if !checks.wanted.is_still().await {
                return Ok(MergeRefusal::Unwanted.into());
            }
            self.hand_in(work, &own).await?;
            return Ok(WorkReport::without_merge(evidence));
        };
        let tried = MergeTrial { own, parted, merged };
        self.merge(work, tried, checks, &folder).await
    }

    /// Git in the folder in which some work was done, if that is still what was made for it.
    async fn tied(&self, work: &TaskAttempt) -> GitResult<Result<Git, MergeRefusal>> {
        match self.git_of(&work.member) {
            Err(GitError::Torn { how: FolderFault::Replaced, .. }) => {
                Ok(Err(MergeRefusal::Replaced))
            }
            Err(GitError::Torn { how: FolderFault::Gone, .. }) => {
                self.go_back_held(work).await?;
                Ok(Err(MergeRefusal::Gone))
            }
            git => git.map(Ok),
        }
    }

    /// Merges what a member handed in for a task, as it was then, after it is checked in a folder apart.
    pub async fn approve(
        &self,
        work: &TaskAttempt,
        checks: &Checks,
    ) -> Result<WorkReport, GitError> {
        let _turn = self.inner.turn.acquire().await;
        let own = match self.handed_in(work).await? {
            Some(own) => own,
            // Nothing was made for it in a folder of its own.
            None => self.team_commit().await?,
        };
        let finished = self.merge_apart(work, &own, checks).await;
        if let Ok(WorkReport { outcome: MergeOutcome::Merged(_), .. }) = &finished {
            let handed_in = names::handed_in(self.branch(), work.task);
            self.inner.git.run(&["update-ref", "-d", &handed_in]).await?;
        }
        finished
    }

    /// What was handed in for a task.
    pub(super) async fn handed_in(&self, work: &TaskAttempt) -> GitResult<Option<String>> {
        let handed_in = names::handed_in(self.branch(), work.task);
        self.inner.git.ask(&["rev-parse", "--quiet", "--verify", &handed_in]).await
    }

    /// Merges a commit after it is checked in a folder apart.
    pub(super) async fn merge_apart(
        &self,
        work: &TaskAttempt,
        own: &str,
        checks: &Checks,
    ) -> GitResult<WorkReport> {
        let folder = self.inner.worktrees.join(CHECKED);
        if checks.is_empty() {
            return self.try_and_merge(work, own, checks, &folder).await;
        }
        // One that is left was only ever for checks, however much of it is left.
        self.remove_own(&folder).await?;
        let path = folder.to_string_lossy();
        let add = ["worktree", "add", "--quiet", "--force", "--detach", &*path, own];
        let finished = match self.inner.git.run(&add).await {
            Ok(_) => self.try_and_merge(work, own, checks, &folder).await,
            Err(error) => Err(error),
        };
        // What became of the work counts, not what is left of the folder: that is in the way of nobody.
        drop(self.remove_own(&folder).await);
        finished
    }

    async fn try_and_merge(
        &self,
        work: &TaskAttempt,
        own: &str,
        checks: &Checks,
        folder: &Path,
    ) -> GitResult<WorkReport> {
        match self.tried(work, own).await? {
            Some(tried) => self.merge(work, tried, checks, folder).await,
            None => Ok(self.unrelated(own).into()),
        }
    }

    /// Remembers what was handed in for a task, whatever its member does next.
    async fn hand_in(&self, work: &TaskAttempt, own: &str) -> GitResult<()> {
        let handed_in = names::handed_in(self.branch(), work.task);
        self.inner.git.run(&["update-ref", &handed_in, own]).await.map(drop)
    }

    /// Nobody wants any more what was handed in for a task. What no branch holds is kept all the same.
    pub async fn forget_handed_in(&self, task: TaskNumber) -> Result<(), GitError> {
        let git = &self.inner.git;
        let name = names::handed_in(self.branch(), task);
        let parse = ["rev-parse", "--quiet", "--verify", &name];
        let Some(commit) = git.ask(&parse).await? else { return Ok(()) };
        let holding = ["for-each-ref", "--count=1", "--contains", &commit, "refs/heads/"];
        if !git.run(&holding).await?.is_empty() {
            git.run(&["update-ref", "-d", &name, &commit]).await?;
        }
        Ok(())
    }

    /// Merges a commit into the team's branch, again and again if that moves meanwhile. The folder is where it is checked.
    async fn merge(
        &self,
        work: &TaskAttempt,
        mut tried: MergeTrial,
        checks: &Checks,
        folder: &Path,
    ) -> GitResult<WorkReport> {
        for _ in 0..MAX_ROUNDS {
            let MergeTrial { own, parted, merged } = tried;
            let merged = match merged {
                Ok(merged) => merged,
                Err(conflict) => return Ok(MergeRefusal::Conflict(conflict).into()),
            };
            let mut evidence = Vec::new();
            if !checks.is_empty() {
                if merged != own {
                    // Nothing that is merged here is signed, whatever the person wants of what comes into the project.
                    let go_on = ["merge", "--quiet", "--ff-only", "--no-verify-signatures"];
                    let go_on: Vec<_> =
                        go_on.into_iter().chain(["--no-overwrite-ignore", &merged]).collect();
                    let git = self.inner.git.at(folder);
                    self.clearing(&work.member, &git, &go_on).await?;
                    if *folder == names::folder(&self.inner.worktrees, &work.member) {
                        self.follow(&work.member, &git).await?;
                    }
                }
                evidence = checks.run(&self.below(folder), Some(&merged)).await;
                if checks.wanted.over.is_cancelled() {
                    return Ok(MergeRefusal::Unwanted.into());
                }
                if !evidence.iter().all(Evidence::is_good) {
                    return Ok(WorkReport {
                        outcome: MergeOutcome::Not(MergeRefusal::Unproved),
                        evidence,
                    });
                }
            }
            if !checks.wanted.is_still().await {
                return Ok(MergeRefusal::Unwanted.into());
            }
            if self.advance(work, &parted.team, &merged).await? {
                let merge = Merge {
                    into: self.branch().to_owned(),
                    is_new: merged != parted.team,
                    commit: merged,
                };
                return Ok(WorkReport { outcome: MergeOutcome::Merged(merge), evidence });
            }
            match self.tried(work, &own).await? {
                Some(again) => tried = again,
                None => return Ok(self.unrelated(&own).into()),
            }
        }
        Err(self.inner.git.nonsense(&["update-ref", self.branch()]))
    }

    fn unrelated(&self, own: &str) -> MergeRefusal {
        let own = own.chars().take(10).collect();
        MergeRefusal::Unrelated { with: self.branch().to_owned(), own }
    }

    /// Where a commit and the team's branch parted, if they were ever one.
    async fn parted(&self, own: &str) -> GitResult<Option<ForkPoint>> {
        let parted = format!("refs/heads/{}...{own}", self.branch());
        let parse = ["rev-parse", &parted];
        let said = match self.inner.git.run(&parse).await {
            Err(GitError::Failed { .. }) => {
                // The branch may have been deleted; then this makes it again.
                self.team_commit().await?;
                self.inner.git.run(&parse).await?
            }
            said => said?,
        };
        let is_ours = ForkLines::read(&said).team.is_none_or(|team| self.is_known(team));
        let said = match is_ours {
            true => said,
            false => {
                self.team_commit().await?;
                self.inner.git.run(&parse).await?
            }
        };
        let ForkLines { team, base } = ForkLines::read(&said);
        let Some(team) = team else { return Err(self.inner.git.nonsense(&parse)) };
        Ok(base.map(|base| ForkPoint { team: team.to_owned(), base: base.to_owned() }))
    }

    /// Tries to merge a commit with the team's branch, if they were ever one.
    async fn tried(&self, work: &TaskAttempt, own: &str) -> GitResult<Option<MergeTrial>> {
        let Some(parted) = self.parted(own).await? else { return Ok(None) };
        let merged = self.merged(work, &parted, own).await?;
        Ok(Some(MergeTrial { own: own.to_owned(), parted, merged }))
    }

    /// The commit that has both; the conflict, if they do not fit.
    async fn merged(
        &self,
        work: &TaskAttempt,
        fork: &ForkPoint,
        own: &str,
    ) -> GitResult<Result<String, Conflict>> {
        let git = &self.inner.git;
        let team = &fork.team;
        match rules::join_case(fork, own) {
            JoinCase::Own => return Ok(Ok(own.to_owned())),
            JoinCase::Team => return Ok(Ok(team.clone())),
            JoinCase::Merge => {}
        }
        match fit(git, team, own).await? {
            Fit::Tree(tree) => {
                let message = format!("merge {}", message(work));
                let commit = ["commit-tree", &tree, "-p", team, "-p", own, "-m", &message];
                Ok(Ok(git.run(&commit).await?))
            }
            Fit::Conflict(files) => {
                let tasks = self.tasks_that_changed(&files, team, own).await?;
                Ok(Err(Conflict { with: self.branch().to_owned(), files, tasks }))
            }
        }
    }

    /// Commits all that is in a member's folder as its work on a task.
    async fn commit(&self, work: &TaskAttempt, git: &Git) -> GitResult<(String, Vec<String>)> {
        if head(git).await?.branch.is_none() {
            let wanted = names::task_branch(self.branch(), &work.member, work.task, work.attempt);
            let branch = free_name(git, wanted).await?;
            stay_on(git, &branch).await?;
        }
        let inside = commit_all(git, &message(work)).await?;
        Ok((git.run(&["rev-parse", "--verify", "HEAD"]).await?, inside))
    }

    /// The project's place below the top of a working folder.
    fn below(&self, folder: &Path) -> PathBuf {
        folder.join(&self.inner.repository.prefix)
    }

    /// Whose tasks changed files that one commit has and the other does not.
    async fn tasks_that_changed(
        &self,
        files: &[String],
        team: &str,
        own: &str,
    ) -> GitResult<Vec<String>> {
        let range = format!("{own}..{team}");
        let format = "--format=%(trailers:key=Task,valueonly,separator=%x20) (%(trailers:key=Member,valueonly,separator=%x20))";
        let mut log =
            vec!["--literal-pathspecs", "log", "--no-merges", "--reverse", format, &range, "--"];
        log.extend(files.iter().take(MAX_NAMED).map(String::as_str));
        let said = self.inner.git.run(&log).await?;
        let mut tasks: Vec<String> = Vec::new();
        for line in said.lines().filter(|line| line.starts_with("task-")) {
            if !tasks.iter().any(|task| task == line) {
                tasks.push(line.to_owned());
            }
        }
        Ok(tasks)
    }
}

/// How two commits go together.
pub(super) enum Fit {
    /// As this tree.
    Tree(String),
    /// They do not, in these files.
    Conflict(Vec<String>),
}

/// Puts two commits together, without touching any folder.
pub(super) async fn fit(git: &Git, one: &str, other: &str) -> GitResult<Fit> {
    let merge = ["merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", one, other];
    let output = git.output(&merge).await?;
    let said = String::from_utf8_lossy(&output.stdout);
    let mut said = parts(&said);
    match (output.status.code(), said.next()) {
        (Some(0), Some(tree)) => Ok(Fit::Tree(tree.to_owned())),
        (Some(1), Some(_)) => Ok(Fit::Conflict(said.map(str::to_owned).collect())),
        _ => Err(git.no(&merge, &output)),
    }
}

/// What a folder holds, in one look.
async fn status_of(git: &Git) -> GitResult<FolderStatus> {
    let status = ["status", "--porcelain=v2", "--branch", "-z", "--ignore-submodules=dirty"];
    let said = git.run(&status).await?;
    FolderStatus::read(&said, is_merging(git.folder())).ok_or_else(|| git.nonsense(&status))
}

/// What in a folder is not at its end.
fn unended_in(folder: &Path, status: &FolderStatus) -> Option<MergeRefusal> {
    let contents = |it: &UnmergedFile| fs::read(folder.join(&it.file)).unwrap_or_default();
    let contents: Vec<_> = status.unmerged.iter().map(contents).collect();
    status.unended(unended(folder), &contents)
}

/// What a commit of a task's work says.
pub(super) fn message(work: &TaskAttempt) -> String {
    let TaskAttempt { member, task, subject, .. } = work;
    let subject = subject.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{task}: {subject}\n\nTask: {task}\nMember: {member}\n")
}
