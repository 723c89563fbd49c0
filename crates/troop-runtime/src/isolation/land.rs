//! The end: what the team made comes into the project, and folders that are not needed any more go.

use std::path::PathBuf;

use troop_model::MemberName;

use super::{
    Isolation,
    git::{Git, GitError, GitResult},
    leftovers::folders,
    names,
    worktree::{head, is_dirty},
};

/// What became of a team's work at its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Landed {
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
        /// What to type.
        hint: String,
    },
}

/// A folder that stays because it holds something that is nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Whose.
    pub member: MemberName,
    /// Where.
    pub folder: PathBuf,
    /// Its branch, if it is on one.
    pub branch: Option<String>,
    /// Whether there is something in it that is not committed.
    pub is_dirty: bool,
}

impl Isolation {
    /// Brings what the team made into the project, if that is where it was and git sees nothing against it. Then removes the
    /// folders and branches whose work is merged. Nothing may run for members any more.
    pub async fn land(&self) -> Result<(Landed, Vec<Kept>), GitError> {
        let landed = self.bring().await?;
        let kept = self.tidy().await?;
        if matches!(landed, Landed::Nothing | Landed::Merged { .. }) {
            // All of it is in the project; it begins from there again.
            let name = format!("refs/heads/{}", self.branch());
            self.inner.git.run(&["update-ref", "-d", &name]).await?;
        }
        Ok((landed, kept))
    }

    async fn bring(&self) -> GitResult<Landed> {
        let (git, team) = (&self.inner.git, self.team_commit().await?);
        let now = head(git).await?;
        if git.is(&["merge-base", "--is-ancestor", &team, &now.commit]).await? {
            return Ok(Landed::Nothing);
        }
        let branch = self.branch().to_owned();
        let hint = format!("git merge {branch}");
        let waits = |why: String| Landed::Waits { branch: branch.clone(), why, hint: hint.clone() };
        let base = &self.inner.record.base;
        let Some(base) = base.as_ref().filter(|base| now.branch.as_ref() == Some(base)) else {
            return Ok(waits(match (&now.branch, base) {
                (None, _) => "the project is on no branch".to_owned(),
                (Some(now), Some(base)) => {
                    format!("the project is on `{now}` now, and was on `{base}`")
                }
                (Some(now), None) => format!("the project is on `{now}` now, and was on no branch"),
            }));
        };
        if !git.is(&["merge-base", "--is-ancestor", &now.commit, &team]).await? {
            return Ok(waits(format!("`{base}` has moved meanwhile")));
        }
        let n_commits = ["rev-list", "--count", "--no-merges", &format!("{}..{team}", now.commit)];
        let n_commits = git.run(&n_commits).await?.parse().unwrap_or(0);
        match git.run(&["merge", "--quiet", "--ff-only", &team]).await {
            Ok(_) => Ok(Landed::Merged { branch: base.clone(), n_commits }),
            Err(GitError::Failed { says, .. }) => Ok(waits(says)),
            Err(error) => Err(error),
        }
    }

    /// Removes the folders and branches that hold nothing of their own.
    async fn tidy(&self) -> GitResult<Vec<Kept>> {
        let mut kept = Vec::new();
        for (member, folder) in folders(&self.inner.worktrees) {
            let git = self.inner.git.at(&folder);
            match self.remove(&git, &folder).await {
                Ok(true) => {}
                Ok(false) | Err(_) => {
                    let branch = head(&git).await.ok().and_then(|head| head.branch);
                    let is_dirty = is_dirty(&git).await.unwrap_or(true);
                    kept.push(Kept { member, folder, branch, is_dirty });
                }
            }
        }
        self.forget_merged(&kept).await?;
        Ok(kept)
    }

    /// Removes a folder, if all in it is in the team's branch. Git itself looks once more whether anything else is in it.
    async fn remove(&self, git: &Git, folder: &std::path::Path) -> GitResult<bool> {
        let (own, team) = (head(git).await?.commit, self.team_commit().await?);
        if is_dirty(git).await? || !git.is(&["merge-base", "--is-ancestor", &own, &team]).await? {
            return Ok(false);
        }
        self.inner.git.run(&["worktree", "remove", &folder.to_string_lossy()]).await?;
        Ok(true)
    }

    /// Takes the branches away that hold nothing which the team's branch does not, and which no folder is on.
    async fn forget_merged(&self, kept: &[Kept]) -> GitResult<()> {
        let (git, team) = (&self.inner.git, format!("refs/heads/{}", self.branch()));
        let all = format!("refs/heads/{}/", names::work_branches(self.branch()));
        let merged = ["for-each-ref", "--format=%(refname:lstrip=2)", "--merged", &team, &all];
        for branch in git.run(&merged).await?.lines() {
            if !kept.iter().any(|it| it.branch.as_deref() == Some(branch)) {
                git.run(&["update-ref", "-d", &format!("refs/heads/{branch}")]).await?;
            }
        }
        Ok(())
    }
}
