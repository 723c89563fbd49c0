//! One round of merging a commit into the team's branch. If somebody else moves the branch meanwhile, another round begins.

use troop_model::Evidence;

use super::status::ForkPoint;
use crate::isolation::{
    merge::{Merge, MergeOutcome, WorkReport},
    refusal::{Conflict, MergeRefusal},
};

/// The result of a trial merge of a commit and the team's branch. No branch contains it yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeTrial {
    /// The commit that is to be merged.
    pub own: String,
    pub fork: ForkPoint,
    pub merged: Result<String, Conflict>,
}

/// The facts of this round so far.
#[derive(Debug)]
pub struct MergeFacts {
    pub team_branch: String,
    pub trial: MergeTrial,
    pub has_checks: bool,
    /// Whether the folder in which the result is checked is on it.
    pub is_forwarded: bool,
    pub evidence: Option<Vec<Evidence>>,
    /// Whether the checks were broken off.
    pub is_over: bool,
    /// Asked right before the branch moves.
    pub is_wanted: Option<bool>,
    /// Whether the branch moved; not if somebody else moved it.
    pub is_moved: Option<bool>,
}

/// The next step of a merge.
#[derive(Debug, PartialEq)]
pub enum MergeStep {
    /// Puts the folder in which it is checked on the result.
    Forward(String),
    Check(String),
    AskWanted,
    /// Moves the team's branch: from here on the work is merged, whatever becomes of this process.
    Advance {
        from: String,
        to: String,
    },
    /// Tries again from where the team's branch is now.
    Again(String),
    End(WorkReport),
}

impl MergeFacts {
    pub fn new(team_branch: &str, trial: MergeTrial, has_checks: bool) -> Self {
        Self {
            team_branch: team_branch.to_owned(),
            trial,
            has_checks,
            is_forwarded: false,
            evidence: None,
            is_over: false,
            is_wanted: None,
            is_moved: None,
        }
    }
}

pub fn merge_step(facts: &MergeFacts) -> MergeStep {
    let refuse = |why: MergeRefusal| MergeStep::End(why.into());
    let MergeTrial { own, fork, merged } = &facts.trial;
    let merged = match merged {
        Ok(merged) => merged,
        Err(conflict) => return refuse(MergeRefusal::Conflict(conflict.clone())),
    };
    let evidence = match &facts.evidence {
        None if facts.has_checks && merged != own && !facts.is_forwarded => {
            return MergeStep::Forward(merged.clone());
        }
        None if facts.has_checks => return MergeStep::Check(merged.clone()),
        evidence => evidence.clone().unwrap_or_default(),
    };
    if facts.is_over {
        return refuse(MergeRefusal::Unwanted);
    }
    if !evidence.iter().all(Evidence::is_good) {
        return MergeStep::End(WorkReport::without_merge(evidence));
    }
    match facts.is_wanted {
        None => return MergeStep::AskWanted,
        Some(false) => return refuse(MergeRefusal::Unwanted),
        Some(true) => {}
    }
    let is_new = *merged != fork.team;
    match facts.is_moved {
        None if is_new => MergeStep::Advance { from: fork.team.clone(), to: merged.clone() },
        Some(false) => MergeStep::Again(own.clone()),
        None | Some(true) => {
            let merge = Merge { into: facts.team_branch.clone(), commit: merged.clone(), is_new };
            MergeStep::End(WorkReport { outcome: MergeOutcome::Merged(merge), evidence })
        }
    }
}
