//! Merging what a member finished into the team's branch: all of it, or nothing. `rules` decides what comes next; here it is
//! done.

use std::path::Path;

use troop_model::Evidence;

use super::{
    TaskAttempt,
    effect::{FileExchange, FolderEffect, OldValue, RefMove, RepositoryEffect, WorktreeStart},
    facts::{Fit, commit_of, fit, new_repositories, status_of, unfinished_in},
    folder::MemberFolder,
    listed::listed,
    names,
    refusal::{Conflict, MAX_NAMED, MergeRefusal},
    rules::{
        self, CheckedWork, FinishFacts, FinishStep, FinishTrial, FolderLook, FolderTie, ForkPoint,
        ForkSearch, JoinCase, MergeFacts, MergeStep, MergeTrial, SubmoduleState,
    },
    site::WorktreeSite,
    submodules,
    team_branch::TeamBranch,
    unheard::UnheardMerge,
};
use crate::{Checks, git::GitResult};

/// How often a merge is made again because somebody else moved the team's branch meanwhile.
const MAX_ROUNDS: usize = 10;

/// The name of the folder in which results without a worker are checked.
const CHECKED: &str = ".checked";

/// Work that is in the team's branch now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    /// The team's branch.
    pub into: String,
    /// The commit that the team's branch is on with it.
    pub commit: String,
    /// Whether it holds anything that the team's branch did not have yet.
    pub is_new: bool,
}

/// The aim of finishing work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// It waits for approval.
    HandIn,
    /// It is done.
    Merge,
}

/// How the end of a piece of work went.
#[derive(Debug, PartialEq)]
pub struct WorkReport {
    pub outcome: MergeOutcome,
    /// The results of the checks.
    pub evidence: Vec<Evidence>,
}

/// The outcome of merging a piece of work.
#[derive(Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    /// It is good, and was not to be merged now.
    Ready,
    /// It is in the team's branch.
    Merged(Merge),
    /// It is not, and the team's branch is as it was.
    Not(MergeRefusal),
}

impl WorkReport {
    /// For work that was checked and not merged.
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

/// The end of one piece of work.
pub(super) struct WorkMerge<'a> {
    pub(super) site: &'a WorktreeSite,
    pub(super) team: &'a TeamBranch,
    pub(super) work: &'a TaskAttempt,
    pub(super) checks: &'a Checks,
}

impl WorkMerge<'_> {
    /// Commits everything in the member's folder, and hands it in or merges it.
    pub(super) async fn finish(&self, aim: Aim) -> GitResult<WorkReport> {
        let folder = self.folder();
        let mut facts = FinishFacts::new(aim, self.team.name(), self.handed_in_name());
        loop {
            match rules::finish_step(&facts) {
                FinishStep::AskWanted => {
                    facts.is_wanted = Some(self.checks.wanted.is_still().await);
                }
                FinishStep::Tie => facts.tie = Some(folder.tie_state()?),
                FinishStep::Restore => {
                    folder.go_back(self.work).await?;
                    facts.tie = Some(FolderTie::Restored);
                }
                FinishStep::Look => facts.look = Some(look(&folder).await?),
                FinishStep::FindTaskBranch => {
                    facts.task_commit = Some(self.team.newest_commit_of(self.work).await?);
                }
                FinishStep::StepOff(effect) => {
                    folder.run(&[effect]).await?;
                    self.team.commit().await?;
                    let status = status_of(&folder.git).await?;
                    facts.look = facts.look.map(|look| FolderLook { status, ..look });
                }
                FinishStep::LookIntoSubmodules => {
                    facts.submodules = Some(look_into_submodules(&folder).await?);
                }
                FinishStep::KeepSubmodules => {
                    folder.run(&[FolderEffect::KeepSubmodules]).await?;
                    facts.submodules = Some(SubmoduleState::Kept);
                }
                FinishStep::Commit => {
                    let (own, inside) = folder.commit(self.work).await?;
                    facts.committed = Some(own);
                    facts.repositories = inside;
                }
                FinishStep::FindFork(own) => facts.fork = self.fork(&own).await?,
                FinishStep::Root(own) => self.root(&folder, &own, &mut facts).await?,
                FinishStep::Try { own, fork, has_references, aim } => {
                    // A failed trial merge leaves no commit on a branch.
                    let base = has_references.then_some(fork.base.as_str());
                    let found = new_repositories(&folder.git, base, &own);
                    let (found, trial) = tokio::try_join!(found, self.try_out(aim, &fork, &own))?;
                    facts.repositories.extend(found);
                    facts.trial = Some(trial);
                }
                FinishStep::Check(own) => facts.checked = Some(self.check(&folder, &own).await),
                FinishStep::HandIn(step) => {
                    step.run(&self.site.git).await?;
                    let checked = facts.checked.take();
                    facts.checked = checked.map(|it| CheckedWork { is_handed_in: true, ..it });
                }
                FinishStep::Merge(trial) => return self.merge(trial, folder.path()).await,
                FinishStep::End(report) => return Ok(report),
            }
        }
    }

    /// Joins work without a common commit to where its branch began, if that is known.
    async fn root(
        &self,
        folder: &MemberFolder<'_>,
        own: &str,
        facts: &mut FinishFacts,
    ) -> GitResult<()> {
        facts.fork = ForkSearch::UnrelatedForGood;
        if let Some(rooted) = folder.root(self.work, own).await? {
            facts.fork = self.fork(&rooted).await?.for_good();
            facts.committed = Some(rooted);
        }
        Ok(())
    }

    /// Checks work where it was made.
    async fn check(&self, folder: &MemberFolder<'_>, own: &str) -> CheckedWork {
        let evidence = self.checks.run(&folder.place(), Some(own)).await;
        let is_wanted = self.checks.wanted.is_still().await;
        CheckedWork { evidence, is_wanted, is_handed_in: false }
    }

    /// Merges what a member handed in for a task, as it was then, after it is checked in a folder apart.
    pub(super) async fn approve(&self) -> GitResult<WorkReport> {
        let own = match self.handed_in().await? {
            Some(own) => own,
            // Nothing was made for it in a folder of its member.
            None => self.team.commit().await?,
        };
        let finished = self.merge_apart(&own).await;
        if let Ok(WorkReport { outcome: MergeOutcome::Merged(_), .. }) = &finished {
            let forget = RefMove::delete(&self.handed_in_name(), OldValue::Any);
            // The work is merged, whether or not this can be deleted.
            drop(forget.run(&self.site.git).await);
        }
        finished
    }

    /// The commit that was handed in for the task.
    pub(super) async fn handed_in(&self) -> GitResult<Option<String>> {
        commit_of(&self.site.git, &self.handed_in_name()).await
    }

    /// Merges a commit after it is checked in a folder apart.
    pub(super) async fn merge_apart(&self, own: &str) -> GitResult<WorkReport> {
        let folder = self.site.worktrees.join(CHECKED);
        if self.checks.is_empty() {
            return self.try_and_merge(own, &folder).await;
        }
        let git = &self.site.git;
        // A folder that is left was only ever for checks.
        let remove = RepositoryEffect::RemoveWorktree(folder.clone());
        remove.run(git).await?;
        let start = WorktreeStart::Commit(own.to_owned());
        let add = RepositoryEffect::AddWorktree { folder: folder.clone(), start };
        let finished = match add.run(git).await {
            Ok(()) => self.try_and_merge(own, &folder).await,
            Err(error) => Err(error),
        };
        // The outcome for the work counts. Remains of the folder are in nobody's way.
        drop(remove.run(git).await);
        finished
    }

    async fn try_and_merge(&self, own: &str, folder: &Path) -> GitResult<WorkReport> {
        match self.trial(own).await? {
            Some(trial) => self.merge(trial, folder).await,
            None => Ok(MergeRefusal::unrelated(self.team.name(), own).into()),
        }
    }

    /// Merges a commit into the team's branch, again and again if somebody moves the branch meanwhile. The result is checked in
    /// the folder.
    async fn merge(&self, mut trial: MergeTrial, folder: &Path) -> GitResult<WorkReport> {
        for _ in 0..MAX_ROUNDS {
            let mut facts = MergeFacts::new(self.team.name(), trial, !self.checks.is_empty());
            let own = loop {
                match rules::merge_step(&facts) {
                    MergeStep::Forward(commit) => {
                        self.forward(folder, commit).await?;
                        facts.is_forwarded = true;
                    }
                    MergeStep::Check(commit) => {
                        let place = self.site.project_in(folder);
                        facts.evidence = Some(self.checks.run(&place, Some(&commit)).await);
                        facts.is_over = self.checks.wanted.over.is_cancelled();
                    }
                    MergeStep::AskWanted => {
                        facts.is_wanted = Some(self.checks.wanted.is_still().await);
                    }
                    MergeStep::Advance { from, to } => {
                        self.keep_report(&to, facts.evidence.as_ref())?;
                        facts.is_moved = Some(self.team.advance(self.work.task, &from, &to).await?);
                    }
                    MergeStep::Again(own) => break own,
                    MergeStep::End(report) => return Ok(report),
                }
            };
            match self.trial(&own).await? {
                Some(again) => trial = again,
                None => return Ok(MergeRefusal::unrelated(self.team.name(), &own).into()),
            }
        }
        Err(self.site.git.nonsense(&["update-ref", self.team.name()]))
    }

    /// Puts a folder on a commit that is ahead of it.
    async fn forward(&self, folder: &Path, commit: String) -> GitResult<()> {
        let member = self.folder();
        let mut effects = vec![FolderEffect::Exchange(FileExchange::FastForward(commit))];
        effects.extend((folder == member.path()).then_some(FolderEffect::FollowSubmodules));
        member.run_at(&self.site.git.at(folder), &effects).await.map(drop)
    }

    /// Tries to merge a commit with the team's branch; none if they have no commit in common.
    async fn trial(&self, own: &str) -> GitResult<Option<MergeTrial>> {
        let Some(fork) = self.team.fork(own).await? else { return Ok(None) };
        let merged = self.merged(&fork, own).await?;
        Ok(Some(MergeTrial { own: own.to_owned(), fork, merged }))
    }

    async fn fork(&self, own: &str) -> GitResult<ForkSearch> {
        Ok(self.team.fork(own).await?.map_or(ForkSearch::Unrelated, ForkSearch::At))
    }

    /// Tries to merge work that is done.
    async fn try_out(&self, aim: Aim, fork: &ForkPoint, own: &str) -> GitResult<FinishTrial> {
        let merged = match aim {
            Aim::Merge => Some(self.merged(fork, own).await?),
            Aim::HandIn => None,
        };
        Ok(FinishTrial { merged })
    }

    /// The commit that has both; the conflict, if they do not fit.
    async fn merged(&self, fork: &ForkPoint, own: &str) -> GitResult<Result<String, Conflict>> {
        let git = &self.site.git;
        let team = &fork.team;
        match rules::join_case(fork, own) {
            // There is a commit even then, because it names the attempt.
            JoinCase::Own => {
                return self.joined(&format!("{own}^{{tree}}"), team, own).await.map(Ok);
            }
            JoinCase::Team => return Ok(Ok(team.clone())),
            JoinCase::Merge => {}
        }
        match fit(git, team, own).await? {
            Fit::Tree(tree) => self.joined(&tree, team, own).await.map(Ok),
            Fit::Conflict(files) => {
                let tasks = self.tasks_that_changed(&files, team, own).await?;
                Ok(Err(Conflict { with: self.team.name().to_owned(), files, tasks }))
            }
        }
    }

    /// The commit that joins work with the team's.
    async fn joined(&self, tree: &str, team: &str, own: &str) -> GitResult<String> {
        let message = rules::merge_message(self.work, self.site.team_id());
        let commit = ["commit-tree", tree, "-p", team, "-p", own, "-m", &message];
        self.site.git.run(&commit).await
    }

    /// Keeps what the board has to hear once the team's branch has moved.
    fn keep_report(&self, commit: &str, evidence: Option<&Vec<Evidence>>) -> GitResult<()> {
        let Some(report) = &self.work.report else { return Ok(()) };
        let unheard = UnheardMerge {
            task: self.work.task,
            attempt: self.work.attempt,
            into: self.team.name().to_owned(),
            commit: commit.to_owned(),
            evidence: evidence.cloned().unwrap_or_default(),
            report: Some(report.as_ref().clone()),
        };
        unheard.keep(self.site)
    }

    /// The tasks that changed files since `own` left the team's branch.
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
        let said = self.site.git.run(&log).await?;
        let mut tasks: Vec<String> = Vec::new();
        for line in said.lines().filter(|line| line.starts_with("task-")) {
            if !tasks.iter().any(|task| task == line) {
                tasks.push(line.to_owned());
            }
        }
        Ok(tasks)
    }

    pub(super) fn folder(&self) -> MemberFolder<'_> {
        MemberFolder::new(self.site, self.team, &self.work.member)
    }

    fn handed_in_name(&self) -> String {
        names::handed_in(self.team.name(), self.work.task)
    }
}

/// Reads what a folder holds. Files that git was told not to look at count as well.
async fn look(folder: &MemberFolder<'_>) -> GitResult<FolderLook> {
    let git = &folder.git;
    // Both at once, because each takes long.
    let (mut status, listed) = tokio::try_join!(status_of(git), listed(git))?;
    if !status.is_dirty && listed.reveal(git).await? {
        status = status_of(git).await?;
    }
    let unfinished = unfinished_in(folder.path(), &status);
    Ok(FolderLook { status, unfinished, has_references: !listed.references.is_empty() })
}

async fn look_into_submodules(folder: &MemberFolder<'_>) -> GitResult<SubmoduleState> {
    let dirty = submodules::dirty(&folder.git, folder.path()).await?;
    Ok(if dirty.is_empty() { SubmoduleState::Clean } else { SubmoduleState::Dirty(dirty) })
}
