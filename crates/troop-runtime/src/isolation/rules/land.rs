//! The end of a team: how its work comes into the project, and what is removed then.
//!
//! The order is that of `land_step`, and nowhere else: the team's branch is released, the project's branch moves, folders and
//! branches whose work is merged go, and the team's branch itself goes last.

use troop_model::quoted;

use super::status::FolderHead;
use crate::isolation::{
    effect::{OldValue, RefMove},
    land::Landing,
    names,
    refusal::MAX_NAMED,
};

/// Why a team's work waits on its branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WaitReason {
    pub(super) why: String,
    /// What a person has to do first, if anything.
    pub(super) first: Option<String>,
}

impl WaitReason {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), first: None }
    }
}

/// How a team's work comes into the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BringCase {
    /// It is there already.
    Nothing,
    /// It is there, and stays there if another branch holds it as well; else it waits.
    NothingIfHeld(WaitReason),
    Waits(WaitReason),
    /// The project's branch moves to it if it is ahead of that branch; else it waits.
    ForwardIfAhead {
        base: String,
        behind: WaitReason,
    },
}

/// `base` is the branch that the project was on when the team began; `is_there`: the project's commit contains the team's.
pub(super) fn bring(
    now: &FolderHead,
    team_branch: &str,
    base: Option<&str>,
    is_there: bool,
) -> BringCase {
    if is_there {
        // Where a person only looks at it, the team's branch may be the only one that holds it.
        let why = match &now.branch {
            Some(branch) if branch != team_branch => return BringCase::Nothing,
            Some(_) => "the project is on that branch itself",
            None => "the project is not on a branch",
        };
        let first = base.map(|base| format!("go back: `git switch {}`", quoted(base)));
        return BringCase::NothingIfHeld(WaitReason { why: why.to_owned(), first });
    }
    match (now.branch.as_deref(), base) {
        (Some(now), Some(base)) if now == base => BringCase::ForwardIfAhead {
            base: base.to_owned(),
            behind: WaitReason::new(format!("`{base}` has moved in the meantime")),
        },
        (None, _) => BringCase::Waits(WaitReason::new("the project is not on a branch")),
        (Some(now), Some(base)) => BringCase::Waits(WaitReason::new(format!(
            "the project is now on `{now}` and was on `{base}`"
        ))),
        (Some(now), None) => BringCase::Waits(WaitReason::new(format!(
            "the project is now on `{now}` and was not on a branch"
        ))),
    }
}

/// What to do where git could not move the project's branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FailedForward {
    /// Git began to write files: they are put back as they were.
    PutBack(WaitReason),
    /// Git touched nothing.
    Untouched(WaitReason),
}

pub(super) fn failed_forward(failure: &ForwardFailure) -> FailedForward {
    let ForwardFailure { says, is_clear, is_full } = failure;
    if let Some(reason) = unfinished(says).or_else(|| in_the_way(says)) {
        return FailedForward::Untouched(reason);
    }
    if !*is_clear {
        return FailedForward::Untouched(WaitReason::new(says.as_str()));
    }
    let as_it_was = "git could not write all of it, and the project is as it was";
    let first = is_full.then(|| "make room on the disk".to_owned());
    FailedForward::PutBack(WaitReason { why: format!("{as_it_was}: {says}"), first })
}

/// What a person left unfinished in the project, and what to do about it, if that is git's complaint.
fn unfinished(says: &str) -> Option<WaitReason> {
    let is_merge = says.contains("unmerged files") || says.contains("MERGE_HEAD exists");
    if is_merge {
        let end = "finish it: `git commit`, or `git merge --abort`".to_owned();
        let why = "a merge in the project is unfinished".to_owned();
        return Some(WaitReason { why, first: Some(end) });
    }
    let (_, rest) = says.split_once("Unable to create '")?;
    let (lock, _) = rest.split_once("': File exists")?;
    let why = "another git command is running in the project, or was killed".to_owned();
    let first = format!("wait for it, or if none is: `rm {}`", quoted(lock));
    Some(WaitReason { why, first: Some(first) })
}

/// Uncommitted files that would be overwritten, if that is git's complaint.
pub(in crate::isolation) fn in_place_of_new(says: &str) -> Vec<&str> {
    let is_said = says.contains("untracked working tree files would be overwritten")
        || says.contains("directories would lose untracked files in them");
    let files = says.split("; ").filter_map(|line| line.strip_prefix('\t'));
    files.filter(|_| is_said).collect()
}

/// Which files of a person are in the way of a merge, and what to do with them, if that is git's complaint.
fn in_the_way(says: &str) -> Option<WaitReason> {
    let is_untracked = !in_place_of_new(says).is_empty();
    if !is_untracked && !says.contains("local changes to the following files would be") {
        return None;
    }
    let files: Vec<_> = says.split("; ").filter_map(|line| line.strip_prefix('\t')).collect();
    let (are, them) = if files.len() == 1 { ("is", "it") } else { ("are", "them") };
    let more = files.len().saturating_sub(MAX_NAMED);
    let mut named: Vec<_> = files.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    named.extend((more > 0).then(|| format!("and {more} more")));
    let todo = if is_untracked { "move" } else { "commit or stash" };
    let why = format!("{} here {are} not committed", named.join(", "));
    (!files.is_empty()).then(|| WaitReason { why, first: Some(format!("{todo} {them}")) })
}

/// What is known so far about the end of a team. Each step adds to it, and the next step follows from it alone.
#[derive(Debug, Default)]
pub(in crate::isolation) struct LandFacts {
    pub(in crate::isolation) team_branch: String,
    /// The branch that the project was on when the team began.
    pub(in crate::isolation) base: Option<String>,
    /// The commit that the team's branch is on.
    pub(in crate::isolation) team: Option<String>,
    pub(in crate::isolation) is_released: bool,
    pub(in crate::isolation) project: Option<ProjectFacts>,
    /// Whether something else than the team's branches holds its work; asked only where it matters.
    pub(in crate::isolation) is_held: Option<bool>,
    pub(in crate::isolation) forward: Option<ForwardFacts>,
    pub(in crate::isolation) tidy: TidyState,
}

/// Where the project is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::isolation) struct ProjectFacts {
    pub(in crate::isolation) now: FolderHead,
    /// Whether its commit contains the team's.
    pub(in crate::isolation) is_there: bool,
}

/// What is known about moving the project's branch to the team's commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::isolation) enum ForwardFacts {
    /// The project has commits that the team's branch does not have.
    Behind,
    Ahead {
        n_commits: usize,
        /// Whether no file of a person is in the way, so that files may be put back.
        is_clear: bool,
    },
    Moved {
        n_commits: usize,
    },
    Failed(ForwardFailure),
    /// It failed, and the files are as they were.
    PutBack(ForwardFailure),
}

/// Why git did not move the project's branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::isolation) struct ForwardFailure {
    pub(in crate::isolation) says: String,
    pub(in crate::isolation) is_clear: bool,
    /// Whether the machine is to blame.
    pub(in crate::isolation) is_full: bool,
}

/// How far the tidying is that follows a landing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::isolation) enum TidyState {
    #[default]
    Begins,
    /// It is noted which work members put where it is merged nowhere.
    StrayNoted,
    /// Folders and branches whose work is merged are gone.
    Tidy,
    /// Some folder is on the team's branch, perhaps a person's.
    BranchInUse,
    BranchFree,
    BranchGone,
}

/// What to do next.
#[derive(Debug, PartialEq)]
pub(in crate::isolation) enum LandStep {
    FindTeam,
    /// Lets others have the team's branch again.
    Release,
    LookAtProject {
        team: String,
    },
    AskHeld {
        team: String,
    },
    LookAhead {
        now: String,
        team: String,
    },
    /// Moves the project's branch and files. Git refuses if another process moved the branch.
    Forward {
        team: String,
        n_commits: usize,
        is_clear: bool,
    },
    /// Puts the files back that git began to write.
    PutBack {
        now: String,
        team: String,
        failure: ForwardFailure,
    },
    NoteStray,
    Tidy,
    /// Asks whether some folder is on the team's branch.
    AskInUse,
    ForgetBranch(RefMove),
    End(Landing),
}

impl LandFacts {
    pub(in crate::isolation) fn new(team_branch: &str, base: Option<&str>) -> Self {
        let base = base.map(str::to_owned);
        Self { team_branch: team_branch.to_owned(), base, ..Self::default() }
    }

    fn waits(&self, reason: WaitReason) -> Landing {
        let WaitReason { why, first } = reason;
        let branch = self.team_branch.clone();
        let hint = format!("git merge {branch}");
        Landing::Waits { branch, why, first, hint }
    }
}

pub(in crate::isolation) fn land_step(facts: &LandFacts) -> LandStep {
    let Some(team) = facts.team.clone() else { return LandStep::FindTeam };
    if !facts.is_released {
        return LandStep::Release;
    }
    let Some(project) = &facts.project else { return LandStep::LookAtProject { team } };
    let landing = match landing(facts, team, project) {
        Ok(landing) => landing,
        Err(step) => return step,
    };
    let is_there = matches!(landing, Landing::Nothing | Landing::Merged { .. });
    match facts.tidy {
        TidyState::Begins => LandStep::NoteStray,
        TidyState::StrayNoted => LandStep::Tidy,
        TidyState::Tidy if is_there => LandStep::AskInUse,
        // All of it is in the project; the team begins from there again.
        TidyState::BranchFree => {
            let name = names::full(&facts.team_branch);
            LandStep::ForgetBranch(RefMove::delete(&name, OldValue::Any))
        }
        TidyState::Tidy | TidyState::BranchInUse | TidyState::BranchGone => LandStep::End(landing),
    }
}

/// What became of the team's work, or the step that has to come first.
fn landing(facts: &LandFacts, team: String, project: &ProjectFacts) -> Result<Landing, LandStep> {
    let ProjectFacts { now, is_there } = project;
    let (base, behind) = match bring(now, &facts.team_branch, facts.base.as_deref(), *is_there) {
        BringCase::Nothing => return Ok(Landing::Nothing),
        BringCase::NothingIfHeld(reason) => {
            return match facts.is_held {
                None => Err(LandStep::AskHeld { team }),
                Some(true) => Ok(Landing::Nothing),
                Some(false) => Ok(facts.waits(reason)),
            };
        }
        BringCase::Waits(reason) => return Ok(facts.waits(reason)),
        BringCase::ForwardIfAhead { base, behind } => (base, behind),
    };
    let now = now.commit.clone();
    match facts.forward.clone() {
        None => Err(LandStep::LookAhead { now, team }),
        Some(ForwardFacts::Behind) => Ok(facts.waits(behind)),
        Some(ForwardFacts::Ahead { n_commits, is_clear }) => {
            Err(LandStep::Forward { team, n_commits, is_clear })
        }
        Some(ForwardFacts::Moved { n_commits }) => Ok(Landing::Merged { branch: base, n_commits }),
        Some(ForwardFacts::Failed(failure)) => match failed_forward(&failure) {
            FailedForward::Untouched(reason) => Ok(facts.waits(reason)),
            FailedForward::PutBack(_) => Err(LandStep::PutBack { now, team, failure }),
        },
        Some(ForwardFacts::PutBack(failure)) => match failed_forward(&failure) {
            FailedForward::Untouched(reason) | FailedForward::PutBack(reason) => {
                Ok(facts.waits(reason))
            }
        },
    }
}

/// Deletes merged branches, but for those that some folder is on.
pub(in crate::isolation) fn forget_merged<'a>(
    merged: impl Iterator<Item = &'a str>,
    in_use: &[String],
) -> Vec<RefMove> {
    let is_free = |branch: &&str| !in_use.iter().any(|it| it == branch);
    let delete = |branch: &str| RefMove::delete(&names::full(branch), OldValue::Any);
    merged.filter(is_free).map(delete).collect()
}
