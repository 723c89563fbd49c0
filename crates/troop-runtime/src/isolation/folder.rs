//! The folder of one member: made, put on a branch for each task, and never emptied of what nobody kept.

use std::{
    fs,
    path::{Path, PathBuf},
};

use troop_model::MemberName;

use super::{
    TaskAttempt,
    effect::{EffectRunner, FolderEffect, IndexEffect, is_half_exchanged},
    facts::{commit_facts, free_name, head, is_ancestor, is_dirty},
    names, remnants,
    rules::{self, BeginFacts, FolderHead, FolderRemains, FolderState, FolderTie, KeepBranch},
    site::WorktreeSite,
    team_branch::TeamBranch,
    tie::{self, AsidePlace, FolderFault},
    unfinished::unfinished_command,
};
use crate::git::{Git, GitError, GitResult};
use crate::locks::remove_locks;

/// The folder is ready for a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFolder {
    /// The branch that it is on now.
    pub branch: String,
    /// Branches with unmerged work of earlier attempts at the same task.
    pub earlier: Vec<String>,
    /// Where things are now that were in the way in the folder.
    pub aside: Vec<PathBuf>,
}

/// The folder of one member.
#[derive(Debug)]
pub(super) struct MemberFolder<'a> {
    site: &'a WorktreeSite,
    team: &'a TeamBranch,
    member: &'a MemberName,
    /// Git in the folder. It runs there only after the folder is tied to the repository.
    pub(super) git: Git,
    aside: AsidePlace,
}

impl<'a> MemberFolder<'a> {
    pub(super) fn new(
        site: &'a WorktreeSite,
        team: &'a TeamBranch,
        member: &'a MemberName,
    ) -> Self {
        let git = site.git.at(&site.folder(member));
        let aside = AsidePlace::new(&site.aside, team.name(), member);
        Self { site, team, member, git, aside }
    }

    pub(super) fn path(&self) -> &Path {
        self.git.folder()
    }

    /// Where the member works in it.
    pub(super) fn place(&self) -> PathBuf {
        self.site.project_in(self.path())
    }

    /// Whether a folder was made for the member, whatever became of it.
    pub(super) fn is_made(&self) -> bool {
        self.path().is_dir() || tie::is_known(&self.site.repository.shared, self.path())
    }

    /// Ties the folder to its repository again, if only the file `.git` is missing.
    pub(super) fn tie(&self) -> GitResult<()> {
        tie::mend(&self.site.repository.shared, self.path())
    }

    /// Ties the folder, and tells how far that works for the end of a piece of work.
    pub(super) fn tie_state(&self) -> GitResult<FolderTie> {
        match self.tie() {
            Err(GitError::Torn { how: FolderFault::Replaced, .. }) => Ok(FolderTie::Replaced),
            Err(GitError::Torn { how: FolderFault::Gone, .. }) => Ok(FolderTie::Gone),
            tied => tied.map(|()| FolderTie::Whole),
        }
    }

    /// Runs effects here. Returns where things are now that were moved aside.
    pub(super) async fn run(&self, effects: &[FolderEffect]) -> GitResult<Vec<PathBuf>> {
        self.run_at(&self.git, effects).await
    }

    /// Runs effects in another worktree in the name of this member.
    pub(super) async fn run_at(
        &self,
        git: &Git,
        effects: &[FolderEffect],
    ) -> GitResult<Vec<PathBuf>> {
        let shared = &self.site.repository.shared;
        let runner = EffectRunner { git, project: &self.site.git, shared, aside: &self.aside };
        runner.run_all(effects).await
    }

    /// Makes the folder, unless it is there. Returns where things are that were in its place.
    pub(super) async fn make(&self) -> GitResult<Vec<PathBuf>> {
        if remnants::is_half_made(&self.site.repository.shared, self.path()) {
            let state = FolderState::HalfMade { team: self.team.commit().await? };
            return self.run(&rules::make_folder(&state, self.path(), &self.place())).await;
        }
        let state = match self.tie() {
            Err(GitError::Torn { how: FolderFault::Replaced, .. }) => FolderState::Replaced,
            Err(GitError::Torn { how, .. }) => {
                let remains = match how {
                    FolderFault::Unknown if is_empty_folder(self.path()) => {
                        FolderRemains::EmptyFolder
                    }
                    FolderFault::Unknown => FolderRemains::Files,
                    FolderFault::Gone | FolderFault::Replaced | FolderFault::Away => {
                        FolderRemains::Nothing
                    }
                };
                FolderState::Missing { team: self.team.commit().await?, remains }
            }
            tied => tied.map(|()| FolderState::Whole)?,
        };
        self.run(&rules::make_folder(&state, self.path(), &self.place())).await
    }

    /// Removes locks that a killed process of the member may have left: of the folder, and of the member's branches.
    pub(super) fn unlock(&self) -> GitResult<()> {
        self.tie()?;
        let shared = &self.site.repository.shared;
        let place = tie::place_of(self.path());
        let branches = names::branches_of(self.team.name(), self.member);
        let all = place.into_iter().chain([shared.join(names::full(&branches))]);
        all.for_each(|folder| remove_locks(&folder));
        Ok(())
    }

    /// Puts the folder on a new branch for a task, unless it is on that branch already.
    pub(super) async fn begin(&self, work: &TaskAttempt) -> GitResult<TaskFolder> {
        let aside = self.make().await?;
        self.start(work, aside).await
    }

    async fn start(&self, work: &TaskAttempt, mut aside: Vec<PathBuf>) -> GitResult<TaskFolder> {
        self.make_whole().await?;
        let wanted = self.team.task_branch(work);
        let before = head(&self.git).await?;
        if let Some(branch) = before.branch.filter(|it| names::is_named(it, &wanted)) {
            return self.ready(work, branch, aside).await;
        }
        self.save().await?;
        let facts = self.begin_facts(wanted).await?;
        aside.extend(self.run(&rules::begin(&facts)).await?);
        self.ready(work, facts.branch, aside).await
    }

    async fn begin_facts(&self, wanted: String) -> GitResult<BeginFacts> {
        let before = head(&self.git).await?;
        let team = self.team.commit().await?;
        let branch = free_name(&self.git, wanted).await?;
        let is_ours = |it: &String| names::is_work_of(it, self.team.name());
        let is_before_merged = before.branch.as_ref().is_some_and(is_ours)
            && is_ancestor(&self.site.git, &before.commit, &team).await?;
        let unfinished = unfinished_command(self.path());
        Ok(BeginFacts { before, is_before_merged, unfinished, branch, team })
    }

    /// Puts the folder back on the newest branch of some work.
    pub(super) async fn go_back(&self, work: &TaskAttempt) -> GitResult<TaskFolder> {
        let mut aside = self.make().await?;
        self.make_whole().await?;
        let Some(branch) = self.team.newest_of(work).await? else {
            return self.start(work, aside).await;
        };
        let before = head(&self.git).await?;
        if before.branch.as_ref() != Some(&branch) {
            self.save().await?;
            let effects = rules::go_back(unfinished_command(self.path()), &branch);
            aside.extend(self.run(&effects).await?);
        }
        self.ready(work, branch, aside).await
    }

    /// The folder is ready; with branches that hold unmerged work on the same task.
    async fn ready(
        &self,
        work: &TaskAttempt,
        branch: String,
        aside: Vec<PathBuf>,
    ) -> GitResult<TaskFolder> {
        let is_of_task = |it: &String| names::task_of(it) == Some(work.task) && *it != branch;
        let unmerged = self.team.unmerged().await?;
        let mut earlier: Vec<_> = unmerged.into_iter().filter(is_of_task).collect();
        // Git knows the second of a commit; several may be made in one.
        earlier.sort_by_key(|branch| names::attempt_of(branch));
        Ok(TaskFolder { branch, earlier, aside })
    }

    /// Commits what is uncommitted to the branch that the folder is on. Returns the branch, if there was anything.
    pub(super) async fn save(&self) -> GitResult<Option<String>> {
        self.tie()?;
        self.make_whole().await?;
        self.run(&[FolderEffect::SaveSubmodules]).await?;
        if !is_dirty(&self.git).await? {
            return Ok(None);
        }
        // The team's branch is no place for it.
        let on = head(&self.git).await?.branch.filter(|it| it != self.team.name());
        let keep = match on {
            Some(branch) => KeepBranch::Own(branch),
            None => {
                let wanted = names::loose_branch(self.team.name(), self.member);
                KeepBranch::New(free_name(&self.git, wanted).await?)
            }
        };
        let message = rules::save_message(keep.name(), self.member);
        self.run(&keep.keep(&commit_facts(&self.git).await?, &message)).await?;
        Ok(Some(keep.name().to_owned()))
    }

    /// Puts the files back that a killed process began to exchange: files that are cut short or missing would count as changes
    /// of the member.
    async fn make_whole(&self) -> GitResult<()> {
        match is_half_exchanged(&self.git) {
            true => self.run(&[FolderEffect::RestoreFiles]).await.map(drop),
            false => Ok(()),
        }
    }

    /// Commits everything in the folder as work on a task. Returns the commit, and the repositories that it could not hold.
    pub(super) async fn commit(&self, work: &TaskAttempt) -> GitResult<(String, Vec<String>)> {
        let keep = match head(&self.git).await?.branch {
            Some(branch) => KeepBranch::Own(branch),
            None => KeepBranch::New(free_name(&self.git, self.team.task_branch(work)).await?),
        };
        let facts = commit_facts(&self.git).await?;
        self.run(&keep.keep(&facts, &rules::work_message(work))).await?;
        let commit = self.git.run(&["rev-parse", "--verify", "HEAD"]).await?;
        Ok((commit, facts.repositories))
    }

    /// Joins work whose history has nothing in common with the team's (an amended first commit, an orphan branch) to
    /// where its branch began, so that what was changed since then can be merged. Returns the commit with both; none if the
    /// folder is not on the branch of the task, or nobody knows where that began: then nobody knows what was changed.
    pub(super) async fn root(&self, work: &TaskAttempt, own: &str) -> GitResult<Option<String>> {
        let git = &self.git;
        let wanted = self.team.task_branch(work);
        let FolderHead { branch, .. } = head(git).await?;
        let Some(branch) = branch.filter(|it| names::is_named(it, &wanted)) else {
            return Ok(None);
        };
        let moves = ["reflog", "show", "--format=%H", &names::full(&branch)];
        let moves = git.ask(&moves).await?.unwrap_or_default();
        let Some(began) = moves.lines().last() else { return Ok(None) };
        let team = self.team.commit().await?;
        if git.ask(&["merge-base", began, &team]).await?.is_none() {
            return Ok(None);
        }
        let tree = format!("{own}^{{tree}}");
        let message = rules::work_message(work);
        let join = ["commit-tree", &tree, "-p", began, "-p", own, "-m", &message];
        let to = git.run(&join).await?;
        let why = "troop: joined".to_owned();
        self.run(&[FolderEffect::MoveHead { from: own.to_owned(), to: to.clone(), why }]).await?;
        Ok(Some(to))
    }

    /// Whether the folder is there and on the branch of some work.
    pub(super) async fn is_on(&self, work: &TaskAttempt) -> GitResult<bool> {
        if !self.path().is_dir() {
            return Ok(false);
        }
        self.tie()?;
        let wanted = self.team.task_branch(work);
        let branch = head(&self.git).await?.branch;
        Ok(branch.is_some_and(|branch| names::is_named(&branch, &wanted)))
    }
}

/// Commits everything in a folder, but for repositories. Returns those.
pub(super) async fn commit_all(git: &Git, message: &str) -> GitResult<Vec<String>> {
    let facts = commit_facts(git).await?;
    IndexEffect::run_all(&rules::commit_all(&facts, message), git).await?;
    Ok(facts.repositories)
}

fn is_empty_folder(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}
