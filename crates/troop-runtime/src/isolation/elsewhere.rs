//! What members put where nobody merges it: on branches of their own, and into `git stash`. It stays there, and people are told.

use std::collections::HashSet;

use troop_model::MemberName;

use super::{Isolation, leftovers::folders, names};
use crate::git::GitResult;

/// Something that a member put where it is merged nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// Commits on a branch that is none of troop's.
    Branch {
        /// Who.
        member: MemberName,
        /// Which.
        branch: String,
    },
    /// Something in the stash.
    Stash {
        /// Who.
        member: MemberName,
        /// What it is called there.
        name: String,
    },
}

impl Isolation {
    /// What members put elsewhere. Only as long as their folders are there, which know what was committed in them.
    pub(super) async fn elsewhere(&self) -> GitResult<Vec<Elsewhere>> {
        let mut found = Vec::new();
        let branches = self.foreign_branches().await?;
        let folders = folders(&self.inner.worktrees).into_iter();
        for (member, folder) in folders.filter(|_| !branches.is_empty()) {
            let moves = ["reflog", "show", "--format=%H %gs", "HEAD"];
            let moves = self.inner.git.at(&folder).ask(&moves).await?.unwrap_or_default();
            let moves = moves.lines().filter_map(|line| line.split_once(' '));
            // Who only looked at a branch has put nothing there.
            let made: HashSet<_> =
                moves.filter(|(_, how)| !how.starts_with("checkout:")).map(|it| it.0).collect();
            let own = branches.iter().filter(|(commit, _)| made.contains(commit.as_str()));
            found.extend(own.map(|(_, branch)| {
                let (member, branch) = (member.clone(), branch.clone());
                Elsewhere::Branch { member, branch }
            }));
        }
        found.extend(self.stashed().await?);
        Ok(found)
    }

    /// Branches that are none of troop's and hold something that the team's does not, with the commits that they are on.
    async fn foreign_branches(&self) -> GitResult<Vec<(String, String)>> {
        let team = format!("refs/heads/{}", self.branch());
        let format = "--format=%(objectname) %(refname:lstrip=2)";
        let said = ["for-each-ref", format, "--no-merged", &team, "refs/heads/"];
        let said = self.inner.git.run(&said).await?;
        let all = said.lines().filter_map(|line| line.split_once(' '));
        let foreign = all.filter(|(_, branch)| names::team_of(branch).is_none());
        Ok(foreign.map(|(commit, branch)| (commit.to_owned(), branch.to_owned())).collect())
    }

    /// What was put into the stash on branches of members.
    async fn stashed(&self) -> GitResult<Vec<Elsewhere>> {
        let own = format!("{}/", names::work_branches(self.branch()));
        let list = ["reflog", "show", "--format=%gd %gs", "refs/stash"];
        let list = self.inner.git.ask(&list).await?.unwrap_or_default();
        let of_member = |line: &str| {
            let (name, about) = line.split_once(' ')?;
            let about = about.strip_prefix("WIP on ").or_else(|| about.strip_prefix("On "))?;
            let branch = about.split(':').next().filter(|branch| branch.starts_with(&own))?;
            let name = name.strip_prefix("refs/").unwrap_or(name).to_owned();
            Some(Elsewhere::Stash { member: names::member_of(branch)?, name })
        };
        Ok(list.lines().filter_map(of_member).collect())
    }
}
