//! What isolation decides: from facts about branches, folders and what git said, to the next step. No git runs here, and no file
//! is touched, so that every case is a table.
//!
//! A case that ends in `If…` needs one more fact, which costs a git command that the other cases do not need.

use troop_model::quoted;

use super::{
    leftovers::LeftoverState,
    refusal::{MAX_NAMED, MergeRefusal},
    worktree::FolderHead,
};
use crate::git::parts;

/// Why a team's work waits on its branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WaitReason {
    pub(super) why: String,
    /// What a person has to do before, if it is anything.
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
    /// It is there, and stays there if another branch holds it, too; else it waits.
    NothingIfHeld(WaitReason),
    Waits(WaitReason),
    /// The project's branch moves to it, if it is ahead of that; else it waits.
    ForwardIfAhead {
        base: String,
        behind: WaitReason,
    },
}

/// `base` is the branch that the project was on when the team began; `is_there` says whether the project's commit contains the
/// team's.
pub(super) fn bring(
    now: &FolderHead,
    team_branch: &str,
    base: Option<&str>,
    is_there: bool,
) -> BringCase {
    if is_there {
        // Where a person only looks at it, the team's branch may be all that holds it.
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

/// `is_clear` says that nothing of a person was in the way before, so that files may be put back; `is_full` that the machine is
/// to blame.
pub(super) fn failed_forward(says: &str, is_clear: bool, is_full: bool) -> FailedForward {
    if let Some(reason) = unfinished(says).or_else(|| in_the_way(says)) {
        return FailedForward::Untouched(reason);
    }
    if !is_clear {
        return FailedForward::Untouched(WaitReason::new(says));
    }
    let as_it_was = "git could not write all of it, and the project is as it was";
    let first = is_full.then(|| "make room on the disk".to_owned());
    FailedForward::PutBack(WaitReason { why: format!("{as_it_was}: {says}"), first })
}

/// What a person has not ended in the project, and what to do about it, if that is what git says.
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

/// Files that nobody committed and that would be written over, if that is what git says.
pub(super) fn in_place_of_new(says: &str) -> Vec<&str> {
    let is_said = says.contains("untracked working tree files would be overwritten")
        || says.contains("directories would lose untracked files in them");
    let files = says.split("; ").filter_map(|line| line.strip_prefix('\t'));
    files.filter(|_| is_said).collect()
}

/// Which files of a person are in the way of a merge, and what to do with them, if that is what git says.
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

/// Where the team's branch is, and where a commit and it parted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ForkPoint {
    pub(super) team: String,
    pub(super) base: String,
}

/// What `git rev-parse TEAM...OWN` says: both commits, and where they parted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ForkLines<'a> {
    pub(super) team: Option<&'a str>,
    pub(super) base: Option<&'a str>,
}

impl<'a> ForkLines<'a> {
    pub(super) fn read(said: &'a str) -> Self {
        // First the right side, then the left one.
        let mut lines = said.lines().skip(1);
        let team = lines.next();
        Self { team, base: lines.find_map(|line| line.strip_prefix('^')) }
    }
}

/// How a commit and the team's branch come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JoinCase {
    /// The team's branch moves to the commit.
    Own,
    /// The team's branch has it already.
    Team,
    /// A merge of both is needed.
    Merge,
}

pub(super) fn join_case(fork: &ForkPoint, own: &str) -> JoinCase {
    if fork.base == fork.team {
        JoinCase::Own
    } else if fork.base == own {
        JoinCase::Team
    } else {
        JoinCase::Merge
    }
}

/// What a folder holds, as `git status --porcelain=v2 --branch -z` says it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FolderStatus {
    pub(super) commit: String,
    /// None if it is on no branch.
    pub(super) branch: Option<String>,
    pub(super) is_dirty: bool,
    /// Files of a merge that is not at its end.
    pub(super) unmerged: Vec<UnmergedFile>,
}

/// A file of a merge that is not at its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnmergedFile {
    pub(super) file: String,
    /// Whether git leaves its marks in a file of this kind: both sides have it, and it is no submodule.
    is_mixed: bool,
}

impl UnmergedFile {
    /// From what git says about it: which sides changed it, whether it is a submodule, seven words, and its name.
    fn new(entry: &str) -> Option<Self> {
        let mut words = entry.splitn(10, ' ');
        let sides = words.next()?;
        let submodule = words.next()?;
        let is_mixed = matches!(sides, "UU" | "AA") && submodule.starts_with('N');
        Some(Self { file: words.nth(7)?.to_owned(), is_mixed })
    }
}

impl FolderStatus {
    /// None if git does not say on which commit the folder is. A merge that is not at its end is a change, however little it
    /// changes.
    pub(super) fn read(said: &str, is_merging: bool) -> Option<Self> {
        let mut status = Self {
            commit: String::new(),
            branch: None,
            is_dirty: is_merging,
            unmerged: Vec::new(),
        };
        for part in parts(said) {
            match part.split_once(' ') {
                Some(("#", head)) => match head.split_once(' ') {
                    Some(("branch.oid", commit)) => commit.clone_into(&mut status.commit),
                    Some(("branch.head", branch)) => status.branch = Some(branch.to_owned()),
                    _ => {}
                },
                Some(("u", entry)) => {
                    status.is_dirty = true;
                    status.unmerged.extend(UnmergedFile::new(entry));
                }
                _ => status.is_dirty = true,
            }
        }
        (!status.commit.is_empty()).then_some(status)
    }

    /// What in this folder is not at its end: a command of several steps, or a merge. `contents` are those of the unmerged files.
    pub(super) fn unended(
        &self,
        command: Option<&'static str>,
        contents: &[Vec<u8>],
    ) -> Option<MergeRefusal> {
        if let Some(command) = command {
            return Some(MergeRefusal::Unended(command));
        }
        let mut marked = Vec::new();
        let mut undecided = Vec::new();
        for (UnmergedFile { file, is_mixed }, bytes) in self.unmerged.iter().zip(contents) {
            if bytes.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"<<<<<<< ")) {
                marked.push(file.clone());
            } else if !is_mixed || bytes.contains(&0) {
                undecided.push(file.clone());
            }
        }
        match (marked.is_empty(), undecided.is_empty()) {
            (false, _) => Some(MergeRefusal::Unresolved(marked)),
            (true, false) => Some(MergeRefusal::Undecided(undecided)),
            (true, true) => None,
        }
    }
}

/// Whose a branch is that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BranchOwner {
    IsOurs,
    IsOthers,
}

/// How a team's branch begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StartCase {
    /// Not at all: it is somebody else's.
    Not,
    /// It is made where the project is.
    Make,
    /// It moves from this commit to where the project is, if the project has the commit; else it goes on with its own work.
    MoveIfMerged { from: String },
}

/// `found` is the commit that the branch is on.
pub(super) fn start_case(found: Option<String>, owner: BranchOwner) -> StartCase {
    match found {
        // Another team of that name, which only its own store knows, may be at work.
        Some(_) if owner == BranchOwner::IsOthers => StartCase::Not,
        None => StartCase::Make,
        Some(from) => StartCase::MoveIfMerged { from },
    }
}

/// Where the team's branch is, as far as troop put it there.
#[derive(Clone, Debug)]
pub(super) struct BranchPosition {
    pub(super) commit: String,
    /// Where it is being moved to right now.
    pub(super) next: Option<String>,
}

impl BranchPosition {
    pub(super) fn at(commit: String) -> Self {
        Self { commit, next: None }
    }

    /// Whether it was troop that put the branch on a commit.
    pub(super) fn holds(&self, commit: &str) -> bool {
        self.commit == commit || self.next.as_deref() == Some(commit)
    }

    /// `found` is the commit that the branch is on.
    pub(super) fn check(&self, found: Option<&str>) -> PositionCase {
        match found.filter(|commit| self.holds(commit)) {
            Some(commit) => PositionCase::Right(commit.to_owned()),
            None => PositionCase::Moved { back_to: self.commit.clone() },
        }
    }
}

/// Whether the team's branch is where troop put it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PositionCase {
    Right(String),
    /// Somebody else moved or deleted it.
    Moved {
        back_to: String,
    },
}

/// How a folder that a team left behind is brought to safety.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RescueCase {
    /// Its project is away, so nobody knows what is in it.
    Refused,
    /// No repository knows it: it is moved as it is.
    Move,
    /// What is in it is committed; before, its own repository is moved out of the way if it has become one.
    Commit { is_replaced: bool },
}

/// `is_strange` says that its repository does not know the folder.
pub(super) fn rescue_case(state: &LeftoverState, is_strange: bool) -> RescueCase {
    if *state == LeftoverState::Away {
        RescueCase::Refused
    } else if is_strange {
        RescueCase::Move
    } else {
        RescueCase::Commit { is_replaced: *state == LeftoverState::Replaced }
    }
}

/// The branch for what is in a folder that is brought to safety.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RescueBranch {
    /// None is needed: all of it is merged.
    None,
    Own(String),
    New,
}

/// The team's branch is no place for it.
pub(super) fn rescue_branch(
    on: Option<String>,
    team_branch: &str,
    state: &LeftoverState,
) -> RescueBranch {
    match on.filter(|it| it != team_branch) {
        Some(branch) => RescueBranch::Own(branch),
        None if *state == LeftoverState::Merged => RescueBranch::None,
        None => RescueBranch::New,
    }
}

#[cfg(test)]
mod tests;
