//! The end: what the team made comes into the project, and folders that are not needed any more go.

use std::path::{Path, PathBuf};

use troop_model::MemberName;

use super::{
    Worktrees,
    elsewhere::StrayWork,
    ignored::{self, IgnoredFiles},
    leftovers::folders,
    names,
    put_back::{is_clear, put_back},
    rules::{self, BringCase, FailedForward, WaitReason},
    submodules, tie,
    worktree::{head, is_dirty},
};
use crate::git::{Git, GitError, GitResult, parts};

/// What became of a team's work at its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Landing {
    /// There was nothing to bring.
    Nothing,
    /// It is in the project.
    Merged {
        /// On which branch.
        branch: String,
        /// How many commits.
        n_commits: usize,
    },
    /// It waits on the team's branch.
    Waits {
        /// Which that is.
        branch: String,
        /// Why it was not brought into the project.
        why: String,
        /// What a person has to do before that, if it is anything.
        first: Option<String>,
        /// What to type.
        hint: String,
    },
}

/// A folder that stays because it holds something that is nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFolder {
    pub member: MemberName,
    pub folder: PathBuf,
    /// Its branch, if it is on one.
    pub branch: Option<String>,
    /// Whether there is something in it that is not committed.
    pub is_dirty: bool,
}

/// How a team ends.
#[derive(Debug, PartialEq, Eq)]
pub struct LandingReport {
    /// What became of its work.
    pub landed: Landing,
    /// The folders that stay.
    pub kept: Vec<KeptFolder>,
    /// What git ignored in the folders that went.
    pub ignored: Vec<IgnoredFiles>,
    /// What members put where it is merged nowhere.
    pub elsewhere: Vec<StrayWork>,
}

impl Worktrees {
    /// Brings what the team made into the project, if that is where it was and git sees nothing against it. Then removes the
    /// folders and branches whose work is merged. Nothing may run for members any more.
    pub async fn land(&self) -> Result<LandingReport, GitError> {
        let team = self.team_commit().await?;
        self.release_branch().await?;
        let landed = self.bring(team).await?;
        // It is only told of; the work is in the project by now.
        let elsewhere = self.elsewhere().await.unwrap_or_default();
        let (kept, ignored) = self.tidy().await?;
        let is_there = matches!(landed, Landing::Nothing | Landing::Merged { .. });
        let git = &self.inner.git;
        if is_there && !in_use(git).await?.iter().any(|it| it == self.branch()) {
            // All of it is in the project; it begins from there again.
            let name = format!("refs/heads/{}", self.branch());
            git.run(&["update-ref", "-d", &name]).await?;
        }
        Ok(LandingReport { landed, kept, ignored, elsewhere })
    }

    async fn bring(&self, team: String) -> GitResult<Landing> {
        let git = &self.inner.git;
        let now = head(git).await?;
        let is_there = git.is(&["merge-base", "--is-ancestor", &team, &now.commit]).await?;
        let base = self.inner.record.base.as_deref();
        match rules::bring(&now, self.branch(), base, is_there) {
            BringCase::Nothing => Ok(Landing::Nothing),
            BringCase::NothingIfHeld(reason) => {
                let is_held = is_in_another(git, self.branch(), &team).await?;
                Ok(if is_held { Landing::Nothing } else { self.waits(reason) })
            }
            BringCase::Waits(reason) => Ok(self.waits(reason)),
            BringCase::ForwardIfAhead { base, behind } => {
                if !git.is(&["merge-base", "--is-ancestor", &now.commit, &team]).await? {
                    return Ok(self.waits(behind));
                }
                self.fast_forward(&base, &now.commit, &team).await
            }
        }
    }

    fn waits(&self, reason: WaitReason) -> Landing {
        let WaitReason { why, first } = reason;
        let branch = self.branch().to_owned();
        let hint = format!("git merge {branch}");
        Landing::Waits { branch, why, first, hint }
    }

    /// Moves the project's branch. If git cannot write all of it, the project is as it was.
    async fn fast_forward(&self, base: &str, now: &str, team: &str) -> GitResult<Landing> {
        let git = &self.inner.git;
        let n_commits = ["rev-list", "--count", &format!("{now}..{team}")];
        let n_commits = git.run(&n_commits).await?.parse().unwrap_or(0);
        let is_clear = is_clear(git, now, team).await?;
        // What git ignores is somebody's, too.
        let merge = ["merge", "--quiet", "--ff-only", "--no-overwrite-ignore", team];
        let Err(error) = git.run(&merge).await else {
            return Ok(Landing::Merged { branch: base.to_owned(), n_commits });
        };
        let is_full = error.is_of_machine();
        let GitError::Failed { says, .. } = error else { return Err(error) };
        match rules::failed_forward(&says, is_clear, is_full) {
            FailedForward::Untouched(reason) => Ok(self.waits(reason)),
            FailedForward::PutBack(reason) => {
                put_back(git, now, team).await?;
                Ok(self.waits(reason))
            }
        }
    }

    /// Removes the folders and branches that hold nothing of their own.
    async fn tidy(&self) -> GitResult<(Vec<KeptFolder>, Vec<IgnoredFiles>)> {
        let mut kept = Vec::new();
        let mut all_ignored = Vec::new();
        for (member, folder) in folders(&self.inner.worktrees) {
            let git = self.inner.git.at(&folder);
            if tie::mend(&self.inner.repository.shared, &folder).is_err() {
                kept.push(KeptFolder { member, folder, branch: None, is_dirty: true });
                continue;
            }
            match self.remove(&git, &member, &folder).await {
                Ok(FolderRemoval::All(ignored)) => all_ignored.extend(ignored),
                Ok(FolderRemoval::Not) | Err(_) => {
                    let branch = head(&git).await.ok().and_then(|head| head.branch);
                    let inside = submodules::dirty(&git, &folder).await.unwrap_or_default();
                    let is_dirty = !inside.is_empty() || is_dirty(&git).await.unwrap_or(true);
                    kept.push(KeptFolder { member, folder, branch, is_dirty });
                }
            }
        }
        self.forget_merged().await?;
        Ok((kept, all_ignored))
    }

    /// Removes a folder, if all in it is in the team's branch. Git itself looks once more whether anything else is in it.
    async fn remove(
        &self,
        git: &Git,
        member: &MemberName,
        folder: &Path,
    ) -> GitResult<FolderRemoval> {
        let own = head(git).await?.commit;
        let team = self.team_commit().await?;
        let is_merged = git.is(&["merge-base", "--is-ancestor", &own, &team]).await?;
        if !is_merged || is_dirty(git).await? || !submodules::dirty(git, folder).await?.is_empty() {
            return Ok(FolderRemoval::Not);
        }
        ignored::remove(&self.inner.git, member, folder).await.map(FolderRemoval::All)
    }

    /// Takes the branches away that hold nothing which the team's branch does not, and which no folder is on.
    async fn forget_merged(&self) -> GitResult<()> {
        let git = &self.inner.git;
        let team = format!("refs/heads/{}", self.branch());
        let all = format!("refs/heads/{}/", names::work_branches(self.branch()));
        let merged = ["for-each-ref", "--format=%(refname:lstrip=2)", "--merged", &team, &all];
        let in_use = in_use(git).await?;
        for branch in git.run(&merged).await?.lines() {
            if !in_use.iter().any(|it| it == branch) {
                git.run(&["update-ref", "-d", &format!("refs/heads/{branch}")]).await?;
            }
        }
        Ok(())
    }
}

/// Whether a folder was removed.
enum FolderRemoval {
    All(Option<IgnoredFiles>),
    Not,
}

/// The branches that some folder of the repository is on, whoever it belongs to.
async fn in_use(git: &Git) -> GitResult<Vec<String>> {
    let said = git.run(&["worktree", "list", "--porcelain", "-z"]).await?;
    let branches = parts(&said).filter_map(|part| part.strip_prefix("branch refs/heads/"));
    Ok(branches.map(str::to_owned).collect())
}

/// Whether a commit of a team is also in something else than the branches of that team.
pub(super) async fn is_in_another(git: &Git, team_branch: &str, commit: &str) -> GitResult<bool> {
    let own = format!("refs/heads/{team_branch}");
    let work = format!("refs/heads/{}/", names::work_branches(team_branch));
    let holding = ["for-each-ref", "--format=%(refname)", "--contains", commit];
    let kinds = ["refs/heads/", "refs/remotes/", "refs/tags/"];
    let arguments: Vec<_> = holding.into_iter().chain(kinds).collect();
    let said = git.run(&arguments).await?;
    Ok(said.lines().any(|name| name != own && !name.starts_with(&work)))
}
