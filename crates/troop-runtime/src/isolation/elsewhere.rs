//! Work that members put where nobody merges it: on other branches, and into `git stash`. It stays there, and troop tells people.

use std::{
    collections::HashSet,
    ffi::OsString,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use troop_model::MemberName;

use super::{
    land::TeamLanding,
    leftovers::{folders, into},
    names,
    record::BranchRecord,
    repository,
};
use crate::git::{Git, GitError, GitResult};

/// Work of a member that is merged nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StrayWork {
    /// Commits on a branch that does not belong to troop.
    Branch { member: MemberName, branch: String },
    /// Something in the stash.
    Stash {
        member: MemberName,
        /// Its name, as `stash@{0}`.
        name: String,
    },
}

/// Work that members of a folder's team left elsewhere, and the project.
pub async fn elsewhere(
    folder: &Path,
    environment: &[(OsString, OsString)],
) -> Result<(PathBuf, Vec<StrayWork>), GitError> {
    let nothing = |top: PathBuf| Ok((top, Vec::new()));
    let Some(record) = BranchRecord::read(folder)? else { return nothing(PathBuf::new()) };
    let git = Git::new(&record.top, environment);
    if !record.top.is_dir() || repository::look(&git, &record.top).await?.is_err() {
        return nothing(record.top);
    }
    let found = find(&git, &record, &folder.join("worktrees")).await?;
    Ok((record.top, found))
}

impl TeamLanding<'_> {
    /// Finds what members put elsewhere, and notes their branches: once their folders are gone, nothing else tells whose those
    /// are.
    pub(super) async fn note_stray_work(&self) -> GitResult<Vec<StrayWork>> {
        let worktrees = &self.site.worktrees;
        let found = find(&self.site.git, self.record, worktrees).await?;
        let is_branch = |it: &&StrayWork| matches!(it, StrayWork::Branch { .. });
        let elsewhere: Vec<_> = found.iter().filter(is_branch).cloned().collect();
        if let Some(folder) = worktrees.parent()
            && elsewhere != self.record.elsewhere
        {
            BranchRecord { elsewhere, ..self.record.clone() }.write(folder)?;
        }
        Ok(found)
    }
}

async fn find(git: &Git, record: &BranchRecord, worktrees: &Path) -> GitResult<Vec<StrayWork>> {
    let branches = foreign_branches(git, record).await?;
    let is_there = |it: &&StrayWork| {
        let StrayWork::Branch { branch, .. } = it else { return false };
        branches.iter().any(|(_, name)| name == branch)
    };
    let mut found: Vec<_> = record.elsewhere.iter().filter(is_there).cloned().collect();
    for (member, folder) in folders(worktrees).into_iter().filter(|_| !branches.is_empty()) {
        let moves = ["reflog", "show", "--format=%H %gs", "HEAD"];
        let moves = git.at(&folder).ask(&moves).await?.unwrap_or_default();
        let moves = moves.lines().filter_map(|line| line.split_once(' '));
        // A member that only looked at a branch has put nothing there.
        let made: HashSet<_> =
            moves.filter(|(_, how)| !how.starts_with("checkout:")).map(|it| it.0).collect();
        for (_, branch) in branches.iter().filter(|(commit, _)| made.contains(commit.as_str())) {
            let own = StrayWork::Branch { member: member.clone(), branch: branch.clone() };
            if !found.contains(&own) {
                found.push(own);
            }
        }
    }
    found.extend(stashed(git, record).await?);
    Ok(found)
}

/// Branches that do not belong to troop and hold something that neither the team's branch nor the project has, with their
/// commits.
async fn foreign_branches(git: &Git, record: &BranchRecord) -> GitResult<Vec<(String, String)>> {
    let team = into(git, record).await?;
    let format = "--format=%(objectname) %(refname:lstrip=2)";
    let list = ["for-each-ref", format, "--no-merged", &team, "--no-merged", "HEAD", "refs/heads/"];
    let said = git.run(&list).await?;
    let all = said.lines().filter_map(|line| line.split_once(' '));
    let foreign = all.filter(|(_, branch)| names::team_of(branch).is_none());
    Ok(foreign.map(|(commit, branch)| (commit.to_owned(), branch.to_owned())).collect())
}

/// Stashes that members made on their branches.
async fn stashed(git: &Git, record: &BranchRecord) -> GitResult<Vec<StrayWork>> {
    let own = format!("{}/", names::work_branches(&record.branch));
    let list = ["reflog", "show", "--format=%gd %gs", "refs/stash"];
    let list = git.ask(&list).await?.unwrap_or_default();
    let of_member = |line: &str| {
        let (name, about) = line.split_once(' ')?;
        let about = about.strip_prefix("WIP on ").or_else(|| about.strip_prefix("On "))?;
        let branch = about.split(':').next().filter(|branch| branch.starts_with(&own))?;
        let name = name.strip_prefix("refs/").unwrap_or(name).to_owned();
        Some(StrayWork::Stash { member: names::member_of(branch)?, name })
    };
    Ok(list.lines().filter_map(of_member).collect())
}
