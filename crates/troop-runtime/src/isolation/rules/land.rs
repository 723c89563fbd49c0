//! The end of a team: how its work comes into the project, and what is removed then.
//!
//! The order is that of `land_step`, and nowhere else: the team's branch is released, the landing lock is taken, the project's
//! branch moves, folders and branches whose work is merged go, and the team's branch itself goes last.
//!
//! If git could not move the project's branch, its message does not decide what is put back, but the state of the project: files that
//! this landing wrote are restored, and no others.

use troop_model::{Hint, HintCommand};

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
    pub(super) first: Option<Hint>,
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
        let first = base.map(|base| Hint::to("go back", git("switch").word(base)));
        return BringCase::NothingIfHeld(WaitReason { why: why.to_owned(), first });
    }
    match (now.branch.as_deref(), base) {
        (Some(now), Some(base)) if now == base => {
            BringCase::ForwardIfAhead { base: base.to_owned(), behind: behind(base) }
        }
        (None, _) => BringCase::Waits(WaitReason::new("the project is not on a branch")),
        (Some(now), Some(base)) => BringCase::Waits(WaitReason::new(format!(
            "the project is now on `{now}` and was on `{base}`"
        ))),
        (Some(now), None) => BringCase::Waits(WaitReason::new(format!(
            "the project is now on `{now}` and was not on a branch"
        ))),
    }
}

/// The state in which a failed landing left the project, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandingUndo {
    /// The project's branch has the team's work after all.
    Landed,
    /// Nothing there is provably of this landing.
    Nothing,
    /// Git began to write files: those that it wrote are put back as they were.
    Files,
    /// Git also wrote the index, and not the branch: both go back to where the project is.
    Index { to: String },
}

/// `before` is where the project was when this landing began, and no file was in its way then.
pub fn landing_undo(before: &FolderHead, after: &ProjectAfter) -> LandingUndo {
    if after.is_there {
        return LandingUndo::Landed;
    }
    match after.index {
        IndexSide::Before if after.head == *before => LandingUndo::Files,
        IndexSide::Team => LandingUndo::Index { to: after.head.commit.clone() },
        // Somebody else moved the project, or works in it: nothing there is ours to put back.
        IndexSide::Before | IndexSide::Other => LandingUndo::Nothing,
    }
}

/// Why the work waits, if git could not move the project's branch.
pub(super) fn why_not_forward(
    failure: &ForwardFailure,
    base: &str,
    is_moved: bool,
    undone: Option<&UndoResult>,
) -> WaitReason {
    let ForwardFailure { says, lock, is_full, .. } = failure;
    if let Some(UndoResult::Failed(why)) = undone {
        let why = format!("git could not write all of it ({says}), nor put it back ({why})");
        return WaitReason { why, first: Some(Hint::from("look at ").and_run(git("status"))) };
    }
    let known = lock.as_ref().map(|lock| locked(lock));
    if let Some(reason) = known.or_else(|| unfinished(says)).or_else(|| in_the_way(says)) {
        return reason;
    }
    if is_moved || says.contains("Not possible to fast-forward") {
        return behind(base);
    }
    if undone.is_none() {
        return WaitReason::new(says.as_str());
    }
    let as_it_was = "git could not write all of it, and the project is as it was";
    let first = is_full.then(make_room);
    WaitReason { why: format!("{as_it_was}: {says}"), first }
}

fn git(command: &str) -> HintCommand {
    HintCommand::other("git").word(command)
}

fn make_room() -> Hint {
    "make room on the disk".into()
}

fn behind(base: &str) -> WaitReason {
    WaitReason::new(format!("`{base}` has moved in the meantime"))
}

fn locked(lock: &str) -> WaitReason {
    let why = "another git command is running in the project, or was killed".to_owned();
    let first = Hint::from("wait for it").or_to("if none is", HintCommand::other("rm").word(lock));
    WaitReason { why, first: Some(first) }
}

/// What a person left unfinished in the project, and what to do about it, if that is git's complaint.
fn unfinished(says: &str) -> Option<WaitReason> {
    let is_merge = says.contains("unmerged files") || says.contains("MERGE_HEAD exists");
    if is_merge {
        let end = Hint::to("finish it", git("commit")).or_to("", git("merge").word("--abort"));
        let why = "a merge in the project is unfinished".to_owned();
        return Some(WaitReason { why, first: Some(end) });
    }
    None
}

/// Uncommitted files that would be overwritten, if that is git's complaint.
pub fn in_place_of_new(says: &str) -> Vec<&str> {
    let is_said = says.contains("untracked working tree files would be overwritten")
        || says.contains("directories would lose untracked files in them");
    let files = says.split("; ").filter_map(|line| line.strip_prefix('\t'));
    files.filter(|_| is_said).collect()
}

/// How git says that it finds something of a person where a commit has something else, when it only tries to go there.
const SOMETHING_IN_THE_WAY: [&str; 6] = [
    "not uptodate",
    "would be overwritten by",
    "would be removed by",
    "would lose untracked files",
    "resolve your current index first",
    "cannot checkout new HEAD",
];

/// Whether git's complaint about a try means that something of a person is in the way. All other complaints leave that open.
pub fn is_in_the_way(says: &str) -> bool {
    SOMETHING_IN_THE_WAY.iter().any(|it| says.contains(it))
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
    let mut named: Vec<_> = files.iter().take(MAX_NAMED).map(|it| format!("`{it}`")).collect();
    named.extend((more > 0).then(|| format!("and {more} more")));
    let todo = if is_untracked { "move" } else { "commit or stash" };
    let why = format!("{} here {are} not committed", named.join(", "));
    (!files.is_empty()).then(|| WaitReason { why, first: Some(format!("{todo} {them}").into()) })
}

/// The facts about the end of a team so far. Each step adds to them, and the next step follows from them alone.
#[derive(Debug, Default)]
pub struct LandFacts {
    pub team_branch: String,
    /// The branch that the project was on when the team began.
    pub base: Option<String>,
    /// The commit that the team's branch is on.
    pub team: Option<String>,
    pub is_released: bool,
    pub lock: Option<LandingLockState>,
    pub project: Option<ProjectFacts>,
    /// Whether something else than the team's branches holds its work; asked only where it matters.
    pub is_held: Option<bool>,
    pub forward: Option<ForwardFacts>,
    pub tidy: TidyState,
}

/// Where the project is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFacts {
    pub now: FolderHead,
    /// Whether its commit contains the team's.
    pub is_there: bool,
}

/// The progress of moving the project's branch to the team's commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForwardFacts {
    /// The project has commits that the team's branch does not have.
    Behind,
    Ahead {
        n_commits: usize,
        /// Whether no file of a person is in the way, so that files may be put back.
        is_clear: bool,
    },
    /// Git could not tell whether a file of a person is in the way. What a landing leaves could not be put back.
    Unclear {
        says: String,
        /// The lock of another git command, if that is the reason.
        lock: Option<String>,
        /// Whether the machine is to blame.
        is_full: bool,
    },
    Moved {
        n_commits: usize,
    },
    Failed(ForwardFailure),
    /// It failed, and it is known what it left.
    Seen {
        failure: ForwardFailure,
        after: ProjectAfter,
    },
    /// It failed, and what it left is put back.
    Undone {
        failure: ForwardFailure,
        after: ProjectAfter,
        result: UndoResult,
    },
}

/// Whether this team holds the landing lock. Teams of one repository land one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandingLockState {
    Ours,
    /// Another team held the lock until our timeout.
    Taken {
        why: String,
    },
}

/// Why git did not move the project's branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardFailure {
    pub says: String,
    /// The lock of another git command, if that is the reason.
    pub lock: Option<String>,
    /// How many commits there were to bring.
    pub n_commits: usize,
    /// Whether no file of a person was in the way, so that files may be put back.
    pub is_clear: bool,
    /// Whether the machine is to blame.
    pub is_full: bool,
}

/// Where the project is after a landing that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectAfter {
    pub head: FolderHead,
    /// Whether its commit contains the team's.
    pub is_there: bool,
    pub index: IndexSide,
}

/// Which commit the index agrees with, in the files that the landing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexSide {
    /// That from before the landing.
    Before,
    /// The team's.
    Team,
    /// Neither, or a bit of both.
    Other,
}

/// Whether what a landing left could be put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoResult {
    Done,
    Failed(String),
}

/// How far the tidying is that follows a landing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TidyState {
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

/// The next step of a landing.
#[derive(Debug, PartialEq)]
pub enum LandStep {
    FindTeam,
    /// Lets others have the team's branch again.
    Release,
    /// Waits until no other team lands in this repository.
    TakeLock,
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
        now: FolderHead,
        team: String,
        n_commits: usize,
        is_clear: bool,
    },
    /// Looks at what a failed move left.
    LookAfter {
        now: FolderHead,
        team: String,
        failure: ForwardFailure,
    },
    /// Puts back what it left.
    Undo {
        undo: LandingUndo,
        now: FolderHead,
        team: String,
        failure: ForwardFailure,
        after: ProjectAfter,
    },
    NoteStray,
    Tidy,
    /// Asks whether some folder is on the team's branch.
    AskInUse,
    ForgetBranch(RefMove),
    End(Landing),
}

impl LandFacts {
    pub fn new(team_branch: &str, base: Option<&str>) -> Self {
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

pub fn land_step(facts: &LandFacts) -> LandStep {
    let Some(team) = facts.team.clone() else { return LandStep::FindTeam };
    if !facts.is_released {
        return LandStep::Release;
    }
    let landing = match &facts.lock {
        None => return LandStep::TakeLock,
        Some(LandingLockState::Taken { why }) => facts.waits(WaitReason::new(why.as_str())),
        Some(LandingLockState::Ours) => {
            let Some(project) = &facts.project else {
                return LandStep::LookAtProject { team };
            };
            match landing(facts, team.clone(), project) {
                Ok(landing) => landing,
                Err(step) => return *step,
            }
        }
    };
    let is_there = matches!(landing, Landing::Nothing | Landing::Merged { .. });
    match facts.tidy {
        TidyState::Begins => LandStep::NoteStray,
        TidyState::StrayNoted => LandStep::Tidy,
        TidyState::Tidy if is_there => LandStep::AskInUse,
        // All of it is in the project; the team begins from there again.
        TidyState::BranchFree => {
            let name = names::full(&facts.team_branch);
            // A commit that comes in between is not lost: then git does not delete it.
            LandStep::ForgetBranch(RefMove::delete(&name, OldValue::Is(team)))
        }
        TidyState::Tidy | TidyState::BranchInUse | TidyState::BranchGone => LandStep::End(landing),
    }
}

/// The outcome of the landing, or the step that has to come first.
fn landing(
    facts: &LandFacts,
    team: String,
    project: &ProjectFacts,
) -> Result<Landing, Box<LandStep>> {
    let ProjectFacts { now, is_there } = project;
    let (base, behind) = match bring(now, &facts.team_branch, facts.base.as_deref(), *is_there) {
        BringCase::Nothing => return Ok(Landing::Nothing),
        BringCase::NothingIfHeld(reason) => {
            return match facts.is_held {
                None => Err(Box::new(LandStep::AskHeld { team })),
                Some(true) => Ok(Landing::Nothing),
                Some(false) => Ok(facts.waits(reason)),
            };
        }
        BringCase::Waits(reason) => return Ok(facts.waits(reason)),
        BringCase::ForwardIfAhead { base, behind } => (base, behind),
    };
    let now = now.clone();
    match facts.forward.clone() {
        None => Err(Box::new(LandStep::LookAhead { now: now.commit, team })),
        Some(ForwardFacts::Behind) => Ok(facts.waits(behind)),
        Some(ForwardFacts::Ahead { n_commits, is_clear }) => {
            Err(Box::new(LandStep::Forward { now, team, n_commits, is_clear }))
        }
        Some(ForwardFacts::Unclear { says, lock, is_full }) => Ok(facts.waits(match lock {
            Some(lock) => locked(&lock),
            None => WaitReason { why: says, first: is_full.then(make_room) },
        })),
        Some(ForwardFacts::Moved { n_commits }) => Ok(Landing::Merged { branch: base, n_commits }),
        Some(ForwardFacts::Failed(failure)) => {
            Err(Box::new(LandStep::LookAfter { now, team, failure }))
        }
        Some(ForwardFacts::Seen { failure, after }) => {
            let undo = landing_undo(&now, &after);
            match undo {
                LandingUndo::Landed => {
                    Ok(Landing::Merged { branch: base, n_commits: failure.n_commits })
                }
                LandingUndo::Files | LandingUndo::Index { .. } if failure.is_clear => {
                    Err(Box::new(LandStep::Undo { undo, now, team, failure, after }))
                }
                LandingUndo::Nothing | LandingUndo::Files | LandingUndo::Index { .. } => {
                    let is_moved = after.head != now;
                    Ok(facts.waits(why_not_forward(&failure, &base, is_moved, None)))
                }
            }
        }
        Some(ForwardFacts::Undone { failure, after, result }) => {
            let is_moved = after.head != now;
            Ok(facts.waits(why_not_forward(&failure, &base, is_moved, Some(&result))))
        }
    }
}

/// Deletes merged branches, given with their commits, but for those that some folder is on.
pub fn forget_merged<'a>(
    merged: impl Iterator<Item = (&'a str, &'a str)>,
    in_use: &[String],
) -> Vec<RefMove> {
    let is_free = |(branch, _): &(&str, &str)| !in_use.iter().any(|it| it == branch);
    let delete = |(branch, commit): (&str, &str)| {
        RefMove::delete(&names::full(branch), OldValue::Is(commit.to_owned()))
    };
    merged.filter(is_free).map(delete).collect()
}
