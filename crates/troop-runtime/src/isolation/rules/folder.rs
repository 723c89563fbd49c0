//! Operations on the folder of a member: making it, putting it on a branch, and committing its contents.

use std::path::Path;

use troop_model::{MemberName, TaskNumber};

use super::status::FolderHead;
use crate::isolation::{
    TaskAttempt,
    effect::{
        EmptyCommit, FileExchange, FolderEffect, IndexEffect, OldValue, RefMove, RepositoryEffect,
        WorktreeStart,
    },
    names,
};

/// The state of the path of a member's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderState {
    Whole,
    /// Somebody made it a separate repository.
    Replaced,
    /// Git was killed while it made it.
    HalfMade {
        team: String,
    },
    /// It has to be made, from the commit of the team.
    Missing {
        team: String,
        remains: FolderRemains,
    },
}

/// The remains at the path of a missing folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderRemains {
    Nothing,
    EmptyFolder,
    /// A folder with files that the repository does not know.
    Files,
}

/// Makes the folder of a member, unless it is there. `place` is where the project is in it.
pub fn make_folder(state: &FolderState, folder: &Path, place: &Path) -> Vec<FolderEffect> {
    let mut effects = Vec::new();
    match state {
        FolderState::Whole => {}
        FolderState::Replaced => {
            effects.push(FolderEffect::SetAside(".git".to_owned()));
            effects.push(FolderEffect::MendTie);
        }
        FolderState::HalfMade { team } => {
            effects.push(FolderEffect::RemoveHalfMade);
            let start = WorktreeStart::Commit(team.clone());
            let add = RepositoryEffect::AddWorktree { folder: folder.to_owned(), start };
            effects.push(FolderEffect::Repository(add));
        }
        FolderState::Missing { team, remains } => {
            effects.extend(match remains {
                FolderRemains::Nothing => None,
                FolderRemains::EmptyFolder => Some(FolderEffect::RemoveEmptyFolder),
                FolderRemains::Files => Some(FolderEffect::SetAside(String::new())),
            });
            effects.extend(folder.parent().map(|all| FolderEffect::MakeFolder(all.to_owned())));
            let start = WorktreeStart::Commit(team.clone());
            let add = RepositoryEffect::AddWorktree { folder: folder.to_owned(), start };
            effects.push(FolderEffect::Repository(add));
        }
    }
    effects.push(FolderEffect::MakeFolder(place.to_owned()));
    effects
}

/// The facts about a folder that is to go to a new branch. All its contents are committed.
#[derive(Clone, Debug)]
pub struct BeginFacts {
    pub before: FolderHead,
    /// Whether `before` is a branch of the team's members that holds nothing which the team's branch does not.
    pub is_before_merged: bool,
    /// The git command of several steps that somebody left unfinished.
    pub unfinished: Option<&'static str>,
    /// The new branch.
    pub branch: String,
    /// The commit that it begins at.
    pub team: String,
}

/// Puts a folder on a new branch for a task. Its old branch is deleted last, when nothing uses it.
pub fn begin(facts: &BeginFacts) -> Vec<FolderEffect> {
    let BeginFacts { before, is_before_merged, unfinished, branch, team } = facts;
    // In two steps: a step that waited for a lock is taken again, and half of it would be in its own way.
    let make = RefMove::new(&names::full(branch), OldValue::Absent, team);
    let mut effects = vec![make.into()];
    effects.extend(switch(*unfinished, FileExchange::Branch(branch.clone())));
    if let Some(old) = before.branch.as_ref().filter(|_| *is_before_merged) {
        let from = OldValue::Is(before.commit.clone());
        effects.push(RefMove::delete(&names::full(old), from).into());
    }
    effects
}

/// Puts a folder back on a branch that is there.
pub fn go_back(unfinished: Option<&'static str>, branch: &str) -> Vec<FolderEffect> {
    switch(unfinished, FileExchange::Branch(branch.to_owned()))
}

/// Exchanges the files of a folder in which everything is committed. It is marked meanwhile: a folder that was left half
/// exchanged would look changed.
fn switch(unfinished: Option<&'static str>, to: FileExchange) -> Vec<FolderEffect> {
    let mut effects: Vec<_> = unfinished.map(FolderEffect::Quit).into_iter().collect();
    effects.extend([
        FolderEffect::MarkExchange,
        FolderEffect::Exchange(to),
        FolderEffect::UnmarkExchange,
        FolderEffect::FollowSubmodules,
        FolderEffect::ClearRepositories,
    ]);
    effects
}

/// The branch that keeps what is in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeepBranch {
    /// The folder is on it.
    Own(String),
    New(String),
}

impl KeepBranch {
    pub fn name(&self) -> &str {
        match self {
            Self::Own(branch) | Self::New(branch) => branch,
        }
    }

    /// Puts the folder on it, with everything as it is, and commits everything.
    pub fn keep(&self, facts: &CommitFacts, message: &str) -> Vec<FolderEffect> {
        let mut effects = match self {
            Self::Own(_) => Vec::new(),
            Self::New(branch) => stay_on(branch),
        };
        effects.extend(commit_all(facts, message).into_iter().map(FolderEffect::Index));
        effects
    }
}

/// Puts a folder on a new branch from where it is. Nothing in it changes, not even an unfinished merge.
pub fn stay_on(branch: &str) -> Vec<FolderEffect> {
    vec![FolderEffect::MakeBranch(branch.to_owned()), FolderEffect::AttachHead(branch.to_owned())]
}

/// The facts needed to commit everything in a folder.
#[derive(Clone, Debug, Default)]
pub struct CommitFacts {
    /// Files that git was told not to look at.
    pub hidden: Vec<String>,
    /// Repositories that are no submodules: git would keep nothing of what they hold.
    pub repositories: Vec<String>,
}

/// Puts everything that is in a folder into its index, but for repositories.
pub fn stage_all(facts: &CommitFacts) -> Vec<IndexEffect> {
    let CommitFacts { hidden, repositories } = facts;
    let mut effects = Vec::new();
    effects.extend((!hidden.is_empty()).then(|| IndexEffect::Reveal(hidden.clone())));
    effects.push(IndexEffect::StageAll { except: repositories.clone() });
    effects
}

/// Commits everything that is in a folder, but for repositories.
pub fn commit_all(facts: &CommitFacts, message: &str) -> Vec<IndexEffect> {
    let is_whole = facts.repositories.is_empty();
    let empty = if is_whole { EmptyCommit::Make } else { EmptyCommit::Skip };
    let mut effects = stage_all(facts);
    effects.push(IndexEffect::Commit { message: message.to_owned(), empty });
    effects
}

/// The message of a commit that keeps unfinished work.
pub fn save_message(branch: &str, member: &MemberName) -> String {
    let what = names::task_of(branch).map_or_else(
        || "work without a task".to_owned(),
        |task| format!("unfinished work on {task}"),
    );
    format!("{what}\n\nMember: {member}\n")
}

/// One attempt at a task, as merge commits name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptName {
    pub task: TaskNumber,
    pub attempt: u32,
}

/// The message of a merge commit. It names team, task and attempt, so that a lead knows what one before it has merged.
pub fn merge_message(work: &TaskAttempt, team: &str) -> String {
    let TaskAttempt { task, attempt, .. } = work;
    format!("merge {}{}{task} attempt {attempt}\n", work_message(work), trailer_begin(team))
}

/// How the trailer of a team's merge commits begins.
pub fn trailer_begin(team: &str) -> String {
    format!("Troop-Task: {team} ")
}

/// The attempt that a merge commit of a team names in its trailer.
pub fn merged_attempt(trailer: &str, team: &str) -> Option<AttemptName> {
    let mut words = trailer.split_whitespace();
    let is_ours = words.next()? == team;
    let task = words.next()?.strip_prefix("task-")?.parse().ok().map(TaskNumber)?;
    let is_attempt = words.next()? == "attempt";
    let attempt = words.next()?.parse().ok()?;
    (is_ours && is_attempt && words.next().is_none()).then_some(AttemptName { task, attempt })
}

/// The message of a commit of a task's work.
pub fn work_message(work: &TaskAttempt) -> String {
    let TaskAttempt { member, task, subject, .. } = work;
    let subject = subject.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{task}: {subject}\n\nTask: {task}\nMember: {member}\n")
}
