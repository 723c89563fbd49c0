//! The end of a piece of work: everything that happens to the folder of a member before its work is merged or handed in.
//!
//! The order is that of `finish_step`, and nowhere else: look, leave the team's branch, keep submodules, commit, find the fork,
//! try the merge, and only then check and hand in, or merge.

use troop_model::Evidence;

use super::{
    merge::MergeTrial,
    status::{FolderStatus, ForkPoint},
};
use crate::isolation::{
    effect::{FolderEffect, OldValue, RefMove},
    merge::{Aim, WorkReport},
    refusal::{Conflict, MergeRefusal},
};

/// Whether a folder is still what was made for its member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderTie {
    Whole,
    /// It is a separate repository now.
    Replaced,
    Gone,
    /// It was gone, and is back as it was last committed.
    Restored,
}

/// The contents of a folder.
#[derive(Debug)]
pub struct FolderLook {
    pub status: FolderStatus,
    /// Why the folder is not ready for a commit.
    pub unfinished: Option<MergeRefusal>,
    /// Whether the index names commits of other repositories.
    pub has_references: bool,
}

/// The submodules of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubmoduleState {
    /// These have uncommitted changes.
    Dirty(Vec<String>),
    Clean,
    /// The project has the commits made in them.
    Kept,
}

/// The point where the work and the team's branch forked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkSearch {
    Unknown,
    /// They have no commit in common.
    Unrelated,
    /// They have none, although we tried to join the work to where its branch began.
    UnrelatedForGood,
    At(ForkPoint),
}

impl ForkSearch {
    /// After we tried to join the work to where its branch began.
    pub fn for_good(self) -> Self {
        match self {
            Self::Unrelated => Self::UnrelatedForGood,
            found @ (Self::Unknown | Self::UnrelatedForGood | Self::At(_)) => found,
        }
    }
}

/// The facts so far. Each step adds to them, and the next step follows from them alone.
#[derive(Debug)]
pub struct FinishFacts {
    pub aim: Aim,
    pub team_branch: String,
    /// The reference that holds what is handed in for the task.
    pub handed_in: String,
    /// Whether anybody wants the work, asked first.
    pub is_wanted: Option<bool>,
    pub tie: Option<FolderTie>,
    pub look: Option<FolderLook>,
    /// Where the branch of the task is, asked for a folder that is on the team's branch.
    pub task_commit: Option<Option<String>>,
    pub submodules: Option<SubmoduleState>,
    /// The commit of the work, if one had to be made.
    pub committed: Option<String>,
    /// Repositories in the folder of which git would keep nothing but a name.
    pub repositories: Vec<String>,
    pub fork: ForkSearch,
    pub trial: Option<FinishTrial>,
    /// For work that is handed in.
    pub checked: Option<CheckedWork>,
}

/// The result of the trial merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishTrial {
    /// The commit with both, or the conflict; none for work that is handed in.
    pub merged: Option<Result<String, Conflict>>,
}

/// Work that was checked where it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedWork {
    pub evidence: Vec<Evidence>,
    /// Asked after the checks.
    pub is_wanted: bool,
    pub is_handed_in: bool,
}

/// The next step of finishing work.
#[derive(Debug, PartialEq)]
pub enum FinishStep {
    AskWanted,
    /// Ties the folder to its repository again if only its `.git` file is missing.
    Tie,
    /// Makes the folder again, as it was last committed.
    Restore,
    Look,
    FindTaskBranch,
    /// Takes the folder off the team's branch, so that what is in it counts as changed since its task began: what others
    /// finished since it went there is not in the folder, and would count as deleted.
    StepOff(FolderEffect),
    LookIntoSubmodules,
    KeepSubmodules,
    Commit,
    FindFork(String),
    /// Joins work without a common commit to where its branch began.
    Root(String),
    /// Looks for new repositories in the work, and tries the merge, at the same time: both take long. A merge that is tried for
    /// nothing is in no branch.
    Try {
        own: String,
        fork: ForkPoint,
        has_references: bool,
        aim: Aim,
    },
    /// Runs the checks where the work was made.
    Check(String),
    HandIn(RefMove),
    /// From here on `merge_step` decides.
    Merge(MergeTrial),
    End(WorkReport),
}

impl FinishFacts {
    pub fn new(aim: Aim, team_branch: &str, handed_in: String) -> Self {
        Self {
            aim,
            team_branch: team_branch.to_owned(),
            handed_in,
            is_wanted: None,
            tie: None,
            look: None,
            task_commit: None,
            submodules: None,
            committed: None,
            repositories: Vec::new(),
            fork: ForkSearch::Unknown,
            trial: None,
            checked: None,
        }
    }

    fn unrelated(&self, own: &str) -> FinishStep {
        refuse(MergeRefusal::unrelated(&self.team_branch, own))
    }
}

fn refuse(why: MergeRefusal) -> FinishStep {
    FinishStep::End(why.into())
}

pub fn finish_step(facts: &FinishFacts) -> FinishStep {
    match facts.is_wanted {
        None => return FinishStep::AskWanted,
        Some(false) => return refuse(MergeRefusal::Unwanted),
        Some(true) => {}
    }
    match facts.tie {
        None => return FinishStep::Tie,
        Some(FolderTie::Replaced) => return refuse(MergeRefusal::Replaced),
        Some(FolderTie::Gone) => return FinishStep::Restore,
        Some(FolderTie::Restored) => return refuse(MergeRefusal::Gone),
        Some(FolderTie::Whole) => {}
    }
    let Some(look) = &facts.look else { return FinishStep::Look };
    if let Some(why) = &look.unfinished {
        return refuse(why.clone());
    }
    if look.status.branch.as_ref() == Some(&facts.team_branch) {
        return match &facts.task_commit {
            None => FinishStep::FindTaskBranch,
            Some(None) => facts.unrelated(&look.status.commit),
            Some(Some(at)) => FinishStep::StepOff(FolderEffect::DetachHead {
                at: at.clone(),
                why: "troop: stepped off".to_owned(),
            }),
        };
    }
    match &facts.submodules {
        None => return FinishStep::LookIntoSubmodules,
        Some(SubmoduleState::Dirty(paths)) => {
            return refuse(MergeRefusal::Submodules(paths.clone()));
        }
        Some(SubmoduleState::Clean) => return FinishStep::KeepSubmodules,
        Some(SubmoduleState::Kept) => {}
    }
    match &facts.committed {
        None if look.status.is_dirty => FinishStep::Commit,
        None => committed_step(facts, look, &look.status.commit),
        Some(own) => committed_step(facts, look, own),
    }
}

/// The next step for committed work.
fn committed_step(facts: &FinishFacts, look: &FolderLook, own: &str) -> FinishStep {
    let fork = match &facts.fork {
        ForkSearch::Unknown => return FinishStep::FindFork(own.to_owned()),
        ForkSearch::Unrelated => return FinishStep::Root(own.to_owned()),
        ForkSearch::UnrelatedForGood => return facts.unrelated(own),
        ForkSearch::At(fork) => fork.clone(),
    };
    let own = own.to_owned();
    let Some(trial) = &facts.trial else {
        // A clean folder holds what its index lists, so that without references there is nothing to look for.
        let has_references = look.status.is_dirty || look.has_references;
        return FinishStep::Try { own, fork, has_references, aim: facts.aim };
    };
    if !facts.repositories.is_empty() {
        return refuse(MergeRefusal::Repositories(facts.repositories.clone()));
    }
    if let Some(merged) = &trial.merged {
        return FinishStep::Merge(MergeTrial { own, fork, merged: merged.clone() });
    }
    match &facts.checked {
        None => FinishStep::Check(own),
        Some(checked) if !checked.is_wanted => refuse(MergeRefusal::Unwanted),
        // Work that failed its checks is held, too, whatever its member does next.
        Some(checked) if !checked.is_handed_in => {
            FinishStep::HandIn(RefMove::new(&facts.handed_in, OldValue::Any, &own))
        }
        Some(checked) => FinishStep::End(WorkReport::without_merge(checked.evidence.clone())),
    }
}
