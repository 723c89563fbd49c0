//! Seeing early that what teammates are doing does not fit together.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use troop_model::MemberName;

use super::{
    Worktrees,
    merge::{Fit, fit},
    names, tie,
    worktree::stage_all,
};
use crate::git::{Git, GitError, GitResult, parts};

/// What does not fit together, seen while it is being made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clash {
    pub one: MemberName,
    /// With whom; none if it is with what is merged already.
    pub other: Option<MemberName>,
    /// In which files.
    pub files: Vec<String>,
}

/// Looks at what teammates are doing, and says once what does not fit.
#[derive(Debug, Default)]
pub struct Watcher {
    seen: BTreeMap<MemberName, WatchedFolder>,
    told: BTreeSet<Clash>,
    /// Why the folder of a member could not be looked at.
    unseen: BTreeMap<MemberName, String>,
}

/// What was seen, as far as it was not said before.
#[derive(Debug, Default)]
pub struct WatchReport {
    /// What does not fit together.
    pub clashes: Vec<Clash>,
    /// Whose folder could not be looked at, and why.
    pub unseen: Vec<(MemberName, String)>,
}

/// What a member's folder held when it was last looked at.
#[derive(Clone, Debug)]
struct WatchedFolder {
    /// All of it, as a commit.
    commit: String,
    /// What it was made from, to see whether anything changed.
    made_of: (String, String),
    /// The files that are not as in the team's branch.
    files: BTreeSet<String>,
}

impl Watcher {
    /// Looks at the folders of these members. A folder that cannot be looked at keeps nobody from seeing the others.
    pub async fn look(
        &mut self,
        isolation: &Worktrees,
        members: &[MemberName],
    ) -> Result<WatchReport, GitError> {
        let team = isolation.team_commit().await?;
        let mut unseen = Vec::new();
        self.seen.retain(|member, _| members.contains(member));
        for member in members.iter().filter(|member| isolation.has_place(member)) {
            let known = self.seen.remove(member);
            match isolation.seen(member, &team, known).await {
                Ok(seen) => {
                    self.unseen.remove(member);
                    self.seen.insert(member.clone(), seen);
                }
                Err(error) => {
                    let why = error.chain();
                    let before = self.unseen.insert(member.clone(), why.clone());
                    if before.as_ref() != Some(&why) {
                        unseen.push((member.clone(), why));
                    }
                }
            }
        }
        let mut clashes = Vec::new();
        for (one, other) in pairs(&self.seen) {
            clashes.extend(clash(isolation, &self.seen, one, other).await?);
        }
        for (member, seen) in &self.seen {
            if let Fit::Conflict(files) = fit(&isolation.inner.git, &seen.commit, &team).await? {
                clashes.push(Clash { one: member.clone(), other: None, files });
            }
        }
        clashes.retain(|clash| self.told.insert(clash.clone()));
        Ok(WatchReport { clashes, unseen })
    }
}

/// Pairs of members that changed the same files.
fn pairs(seen: &BTreeMap<MemberName, WatchedFolder>) -> Vec<(&MemberName, &MemberName)> {
    let mut pairs = Vec::new();
    for (nth, (one, its)) in seen.iter().enumerate() {
        let others = seen.iter().skip(nth + 1);
        let overlap = others.filter(|(_, other)| !its.files.is_disjoint(&other.files));
        pairs.extend(overlap.map(|(other, _)| (one, other)));
    }
    pairs
}

async fn clash(
    isolation: &Worktrees,
    seen: &BTreeMap<MemberName, WatchedFolder>,
    one: &MemberName,
    other: &MemberName,
) -> GitResult<Option<Clash>> {
    let (Some(its), Some(others)) = (seen.get(one), seen.get(other)) else { return Ok(None) };
    match fit(&isolation.inner.git, &its.commit, &others.commit).await? {
        Fit::Tree(_) => Ok(None),
        Fit::Conflict(files) => {
            Ok(Some(Clash { one: one.clone(), other: Some(other.clone()), files }))
        }
    }
}

impl Worktrees {
    /// What is in a member's folder now, without touching anything there.
    async fn seen(
        &self,
        member: &MemberName,
        team: &str,
        known: Option<WatchedFolder>,
    ) -> GitResult<WatchedFolder> {
        let folder = names::folder(&self.inner.worktrees, member);
        tie::check(&self.inner.repository.shared, &folder)?;
        let git = self.inner.git.at(&folder);
        let said = ["rev-parse", "HEAD", "--absolute-git-dir"];
        let where_is = git.run(&said).await?;
        let Some((head, own)) = where_is.split_once('\n') else { return Err(git.nonsense(&said)) };
        let index = self.inner.worktrees.join(format!(".index-{member}"));
        // Nobody but this watcher uses it; a lock on it is of one that was killed.
        drop(fs::remove_file(index.with_file_name(format!(".index-{member}.lock"))));
        let tree = tree_of(&git, &Path::new(own).join("index"), &index).await;
        drop(fs::remove_file(&index));
        let made_of = (head.to_owned(), tree?);
        let commit = match known {
            Some(known) if known.made_of == made_of => known.commit,
            _ => {
                let commit = ["commit-tree", &made_of.1, "-p", head, "-m", "as it is now"];
                git.run(&commit).await?
            }
        };
        let range = format!("{team}...{commit}");
        let changed = git.run(&["diff", "--name-only", "--no-renames", "-z", &range]).await?;
        let files = parts(&changed).map(str::to_owned).collect();
        Ok(WatchedFolder { commit, made_of, files })
    }
}

/// All that is in a folder as a tree, made with a copy of its index.
async fn tree_of(git: &Git, index: &Path, copy: &Path) -> GitResult<String> {
    copy_as_old(index, copy).map_err(GitError::file(copy))?;
    let git = git.with_index(copy);
    stage_all(&git).await?;
    git.run(&["write-tree"]).await
}

/// Copies an index with its age: by that git knows which files may have changed in the same moment.
fn copy_as_old(index: &Path, copy: &Path) -> io::Result<()> {
    let modified = fs::metadata(index)?.modified()?;
    fs::copy(index, copy)?;
    fs::File::options().write(true).open(copy)?.set_modified(modified)
}

impl Clash {
    /// What a member is told about it.
    #[must_use]
    pub fn told_to(&self, member: &MemberName, team_branch: &str) -> String {
        let files = super::refusal::named(&self.files);
        let other = if *member == self.one { self.other.as_ref() } else { Some(&self.one) };
        match other {
            Some(other) => format!(
                "your changes and {other}'s conflict in {files}; agree with {other} who changes what: whoever finishes last has to merge"
            ),
            None => format!(
                "your changes conflict with what has been merged in the meantime, in {files}; commit, run `git merge {team_branch}` in your folder, and resolve the conflicts"
            ),
        }
    }

    /// Whom it concerns.
    pub fn members(&self) -> impl Iterator<Item = &MemberName> {
        std::iter::once(&self.one).chain(&self.other)
    }
}
