//! Where the team's branch begins, and where it must be.

use std::path::Path;

use crate::isolation::effect::{OldValue, RefMove, RepositoryEffect, WorktreeStart};

/// To whom a branch belongs that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchOwner {
    IsOurs,
    IsOthers,
}

/// How a team's branch begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartCase {
    /// It is somebody else's, so that the team needs another one.
    Taken,
    /// It begins where the project is. Somebody else may make it first.
    Make(RefMove),
    /// It moves to where the project is, if the project has its commit `from`; else it continues with its own work.
    MoveIfMerged { from: String, to_project: RefMove },
}

/// `found` is the commit that the branch `name` is on, `project` the one that the project is on.
pub fn start_case(
    name: &str,
    found: Option<String>,
    project: &str,
    owner: BranchOwner,
) -> StartCase {
    match found {
        // Another team of that name, which only its own store knows, may be at work.
        Some(_) if owner == BranchOwner::IsOthers => StartCase::Taken,
        None => StartCase::Make(RefMove::new(name, OldValue::Absent, project)),
        Some(from) => {
            let to_project = RefMove::new(name, OldValue::Is(from.clone()), project);
            StartCase::MoveIfMerged { from, to_project }
        }
    }
}

/// Checks the team's branch out in a folder without files, so that git refuses it to everybody else.
pub fn hold(branch: &str, holder: &Path) -> [RepositoryEffect; 2] {
    let folder = holder.to_owned();
    let start = WorktreeStart::BranchWithoutFiles(branch.to_owned());
    [
        // One that a killed lead left may belong to another repository.
        RepositoryEffect::RemoveWorktree(folder.clone()),
        RepositoryEffect::AddWorktree { folder, start },
    ]
}

/// Where the team's branch is, as far as troop put it there.
#[derive(Clone, Debug)]
pub struct BranchPosition {
    pub commit: String,
    /// Where it is being moved to right now.
    pub next: Option<String>,
}

impl BranchPosition {
    pub fn at(commit: String) -> Self {
        Self { commit, next: None }
    }

    /// Whether it was troop that put the branch on a commit.
    pub fn holds(&self, commit: &str) -> bool {
        self.commit == commit || self.next.as_deref() == Some(commit)
    }

    /// `found` is the commit that the branch is on.
    pub fn check(&self, found: Option<&str>) -> PositionCase {
        match found.filter(|commit| self.holds(commit)) {
            Some(commit) => PositionCase::Right(commit.to_owned()),
            None => PositionCase::Moved { back_to: self.commit.clone() },
        }
    }
}

/// Whether the team's branch is where troop put it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PositionCase {
    Right(String),
    /// Somebody else moved or deleted it.
    Moved {
        back_to: String,
    },
}

/// The facts about a branch that somebody else moved or deleted.
#[derive(Clone, Debug)]
pub struct PutBackFacts<'a> {
    /// The full name of the team's branch.
    pub name: &'a str,
    /// Where it was found.
    pub found: Option<&'a str>,
    pub back_to: &'a str,
    /// The full name of a free branch, if what was found holds something that `back_to` does not.
    pub rescue: Option<&'a str>,
}

/// Puts the team's branch back. What somebody else put there is kept on another branch first, so that nothing is lost if this
/// process dies in between.
pub fn put_back(facts: &PutBackFacts<'_>) -> Vec<RefMove> {
    let PutBackFacts { name, found, back_to, rescue } = *facts;
    let old = found.map_or(OldValue::Absent, |it| OldValue::Is(it.to_owned()));
    let mut moves = Vec::new();
    if let (Some(found), Some(rescue)) = (found, rescue) {
        moves.push(RefMove::new(rescue, OldValue::Absent, found));
    }
    moves.push(RefMove::new(name, old, back_to).because("troop: put back"));
    moves
}

/// Moves the team's branch, unless somebody else has meanwhile.
pub fn advance(name: &str, from: &str, to: &str, why: &str) -> RefMove {
    RefMove::new(name, OldValue::Is(from.to_owned()), to).because(why)
}
