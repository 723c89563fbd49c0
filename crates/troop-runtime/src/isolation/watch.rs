//! Sees early that members' unfinished work conflicts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use troop_model::MemberName;

use super::{
    Worktrees,
    effect::IndexEffect,
    facts::{Fit, commit_facts, fit},
    rules,
    site::WorktreeSite,
    tie,
};
use crate::git::{Git, GitError, GitResult, parts};

/// A conflict, seen while the work is being done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clash {
    pub one: MemberName,
    /// None if it conflicts with what is merged already.
    pub other: Option<MemberName>,
    pub files: Vec<String>,
}

/// Looks at what members are doing, and reports each conflict once.
#[derive(Debug, Default)]
pub struct Watcher {
    seen: BTreeMap<MemberName, WatchedFolder>,
    told: BTreeSet<Clash>,
    /// Why we could not look at the folder of a member.
    unseen: BTreeMap<MemberName, String>,
}

/// The observations that were not reported before.
#[derive(Debug, Default)]
pub struct WatchReport {
    pub clashes: Vec<Clash>,
    /// Members whose folders we could not look at, and why.
    pub unseen: Vec<(MemberName, String)>,
}

/// The contents of a member's folder at the last look.
#[derive(Clone, Debug)]
struct WatchedFolder {
    /// Everything in it, as a commit.
    commit: String,
    /// The head and the tree of that commit, to see whether anything changed.
    made_of: (String, String),
    /// The files that differ from the team's branch.
    files: BTreeSet<String>,
}

impl Watcher {
    /// Looks at the folders of these members. One that cannot be read does not keep us from the others.
    pub async fn look(
        &mut self,
        isolation: &Worktrees,
        members: &[MemberName],
    ) -> Result<WatchReport, GitError> {
        let site = &isolation.inner.site;
        let team = isolation.inner.team.commit().await?;
        let mut unseen = Vec::new();
        self.seen.retain(|member, _| members.contains(member));
        for member in members.iter().filter(|member| isolation.folder(member).is_made()) {
            let known = self.seen.remove(member);
            match seen(site, member, &team, known).await {
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
            clashes.extend(clash(&site.git, &self.seen, one, other).await?);
        }
        for (member, seen) in &self.seen {
            if let Fit::Conflict(files) = fit(&site.git, &seen.commit, &team).await? {
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
    git: &Git,
    seen: &BTreeMap<MemberName, WatchedFolder>,
    one: &MemberName,
    other: &MemberName,
) -> GitResult<Option<Clash>> {
    let (Some(its), Some(others)) = (seen.get(one), seen.get(other)) else { return Ok(None) };
    match fit(git, &its.commit, &others.commit).await? {
        Fit::Tree(_) => Ok(None),
        Fit::Conflict(files) => {
            Ok(Some(Clash { one: one.clone(), other: Some(other.clone()), files }))
        }
    }
}

/// Reads what is in a member's folder now, without touching anything there.
async fn seen(
    site: &WorktreeSite,
    member: &MemberName,
    team: &str,
    known: Option<WatchedFolder>,
) -> GitResult<WatchedFolder> {
    let folder = site.folder(member);
    tie::check(&site.repository.shared, &folder)?;
    let git = site.git.at(&folder);
    let said = ["rev-parse", "HEAD", "--absolute-git-dir"];
    let where_is = git.run(&said).await?;
    let Some((head, own)) = where_is.split_once('\n') else { return Err(git.nonsense(&said)) };
    let index = site.worktrees.join(format!(".index-{member}"));
    // Only this watcher uses it; a killed one may have left a lock on it.
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

/// Everything in a folder as a tree, made with a copy of its index.
async fn tree_of(git: &Git, index: &Path, copy: &Path) -> GitResult<String> {
    copy_as_old(index, copy).map_err(GitError::file(copy))?;
    let git = git.with_index(copy);
    let facts = commit_facts(&git).await?;
    IndexEffect::run_all(&rules::stage_all(&facts), &git).await?;
    git.run(&["write-tree"]).await
}

/// Copies an index with its age, from which git knows which files may have changed in the same moment.
fn copy_as_old(index: &Path, copy: &Path) -> io::Result<()> {
    let modified = fs::metadata(index)?.modified()?;
    fs::copy(index, copy)?;
    fs::File::options().write(true).open(copy)?.set_modified(modified)
}

impl Clash {
    /// The message to a member about it.
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

    /// The members that it concerns.
    pub fn members(&self) -> impl Iterator<Item = &MemberName> {
        std::iter::once(&self.one).chain(&self.other)
    }
}
