//! Finds what teams left behind that is nowhere else, and brings it to safety.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use troop_model::{MemberName, TaskNumber, Time};

use super::{
    effect::{EffectRunner, FolderEffect},
    facts::{free_name, head, is_ancestor, is_dirty, is_in_another, repositories},
    folder::commit_all,
    ignored::{self, IgnoredFiles},
    names,
    record::BranchRecord,
    remnants, repository,
    rules::{self, RescueBranch, RescueCase},
    submodules,
    tie::{self, AsidePlace, FolderFault},
};
use crate::{
    git::{Git, GitError, GitResult},
    locks::lasting_locks,
};

/// Something that a team left behind.
#[derive(Clone, Debug)]
pub struct Leftover {
    /// The project that it belongs to.
    pub project: PathBuf,
    /// The folder that all worktrees of the repository share.
    pub shared: PathBuf,
    /// The branch of the team that left it.
    pub team_branch: String,
    pub member: Option<MemberName>,
    /// The folder that it is in; none if only the branch is left.
    pub folder: Option<PathBuf>,
    /// Its branch; none if it is on none.
    pub branch: Option<String>,
    /// The task that it is about.
    pub task: Option<TaskNumber>,
    /// When it was last committed to.
    pub since: Option<Time>,
    pub state: LeftoverState,
}

/// The kind of what was left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftoverState {
    /// A folder with changes that are not committed.
    Dirty,
    /// A folder or a branch whose commits are merged nowhere.
    Unmerged,
    /// A folder whose work is merged.
    Merged,
    /// The team's own branch, with what is not in the project.
    Waiting,
    /// A branch of a team that no longer exists.
    Orphaned,
    /// A folder whose project is not there.
    Away,
    /// A folder that somebody made a separate repository.
    Replaced,
    /// A folder that git no longer knows.
    Lost {
        /// Git's message.
        says: String,
    },
}

/// Finds what the team of a folder left behind. None of it is in use if nobody leads the team.
pub async fn leftovers(
    folder: &Path,
    environment: &[(OsString, OsString)],
) -> Result<Vec<Leftover>, GitError> {
    let Some(record) = BranchRecord::read(folder)? else { return Ok(Vec::new()) };
    let git = Git::new(&record.top, environment);
    let mut found = Vec::new();
    for (member, path) in folders(&folder.join("worktrees")) {
        found.push(look(&git.at(&path), &record, member, path).await);
    }
    // A repository that is gone, or was made again, holds nothing of the team.
    if !record.top.is_dir() || repository::look(&git, &record.top).await?.is_err() {
        return Ok(found);
    }
    match branches(&git, &record).await {
        Ok(branches) => {
            let is_new = |it: &Leftover| !found.iter().any(|other| other.branch == it.branch);
            let branches: Vec<_> = branches.into_iter().filter(is_new).collect();
            found.extend(branches);
            Ok(found)
        }
        // Better some of it than nothing.
        Err(_) if !found.is_empty() => Ok(found),
        Err(error) => Err(error),
    }
}

/// Finds branches in the repository of a project that hold work of teams that were erased: of none of the teams of these
/// folders.
pub async fn orphans(
    project: &Path,
    teams: &[PathBuf],
    environment: &[(OsString, OsString)],
) -> Result<Vec<Leftover>, GitError> {
    let git = Git::new(project, environment);
    let Ok(repository) = repository::look(&git, project).await? else { return Ok(Vec::new()) };
    let records = teams.iter().filter_map(|folder| BranchRecord::read(folder).ok().flatten());
    // A team whose repository is gone may have been here: it continues with its branches.
    let known: Vec<_> =
        records.filter(|it| it.shared == repository.shared || it.is_gone()).collect();
    let format = "--format=%(refname:lstrip=2) %(committerdate:unix)";
    let all = ["refs/heads/troop/", "refs/heads/troop-work/"];
    let list: Vec<_> =
        ["for-each-ref", format, "--no-merged", "HEAD"].into_iter().chain(all).collect();
    let said = git.run(&list).await?;
    let mut found = Vec::new();
    for (branch, since) in said.lines().filter_map(|line| line.split_once(' ')) {
        let team = names::team_of(branch);
        let is_known = known.iter().any(|it| Some(&it.branch) == team.as_ref());
        if let Some(team_branch) = team.filter(|_| !is_known) {
            found.push(Leftover {
                project: repository.top.clone(),
                shared: repository.shared.clone(),
                team_branch,
                member: names::member_of(branch),
                folder: None,
                branch: Some(branch.to_owned()),
                task: names::task_of(branch),
                since: seconds(since),
                state: LeftoverState::Orphaned,
            });
        }
    }
    Ok(found)
}

/// Finds locks in the repositories of a project and of teams that a git command holds for a while, or left when it was killed.
pub async fn git_locks(
    project: &Path,
    teams: &[PathBuf],
    environment: &[(OsString, OsString)],
) -> Result<Vec<PathBuf>, GitError> {
    let records = teams.iter().filter_map(|folder| BranchRecord::read(folder).ok().flatten());
    let mut all: BTreeSet<_> = records.map(|it| it.shared).collect();
    if let Ok(repository) = repository::look(&Git::new(project, environment), project).await? {
        all.insert(repository.shared);
    }
    let mut found = Vec::new();
    for shared in all {
        found.extend(lasting_locks(&shared).await);
    }
    Ok(found)
}

/// The branches of a team that alone hold something.
async fn branches(git: &Git, record: &BranchRecord) -> GitResult<Vec<Leftover>> {
    let all = format!("refs/heads/{}/", names::work_branches(&record.branch));
    let into = into(git, record).await?;
    let format = "--format=%(refname:lstrip=2) %(committerdate:unix)";
    let unmerged = git.run(&["for-each-ref", format, "--no-merged", &into, &all]).await?;
    let own = format!("refs/heads/{}", record.branch);
    let team = git.run(&["for-each-ref", format, &own]).await?;
    let is_waiting = !team.is_empty() && !is_in_another(git, &record.branch, &into).await?;
    let lines = unmerged.lines().chain(team.lines().filter(|_| is_waiting));
    let found = lines.filter_map(|line| line.split_once(' ')).map(|(branch, since)| Leftover {
        project: record.top.clone(),
        shared: record.shared.clone(),
        team_branch: record.branch.clone(),
        member: names::member_of(branch),
        folder: None,
        branch: Some(branch.to_owned()),
        task: names::task_of(branch),
        since: seconds(since),
        state: match branch == record.branch {
            true => LeftoverState::Waiting,
            false => LeftoverState::Unmerged,
        },
    });
    Ok(found.collect())
}

/// Where something is that a team left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rescue {
    /// The branch that holds it; none if all of it is merged.
    pub branch: Option<String>,
    /// Things that git cannot keep: repositories, or a folder that belongs to none.
    pub aside: Vec<PathBuf>,
    /// Files that git ignored in the folder.
    pub ignored: Option<IgnoredFiles>,
}

/// Commits what is uncommitted in a folder, and removes the folder; its branch stays. Things that git cannot keep are moved to
/// a folder where nobody deletes them.
pub async fn rescue(
    leftover: &Leftover,
    aside: &Path,
    environment: &[(OsString, OsString)],
) -> Result<Rescue, GitError> {
    let (Some(folder), Some(member)) = (&leftover.folder, &leftover.member) else {
        return Ok(Rescue { branch: leftover.branch.clone(), ..Rescue::default() });
    };
    if remnants::is_half_made(&leftover.shared, folder) {
        remnants::remove_half_made(&leftover.shared, folder);
        return Ok(Rescue::default());
    }
    let aside = AsidePlace::new(aside, &leftover.team_branch, member);
    let tied = tie::check(&leftover.shared, folder);
    let is_strange = matches!(tied, Err(GitError::Torn { how: FolderFault::Unknown, .. }));
    let is_replaced = match rules::rescue_case(&leftover.state, is_strange) {
        RescueCase::Refused => {
            return Err(GitError::Torn { folder: folder.clone(), how: FolderFault::Away });
        }
        RescueCase::Move => {
            return Ok(Rescue { aside: vec![aside.take(folder, "")?], ..Rescue::default() });
        }
        RescueCase::Commit { is_replaced } => is_replaced,
    };
    let project = Git::new(&leftover.project, environment);
    let mut git = project.at(folder);
    let runner =
        EffectRunner { git: &git, project: &project, shared: &leftover.shared, aside: &aside };
    let mut moved = Vec::new();
    if is_replaced {
        let effects = [FolderEffect::SetAside(".git".to_owned()), FolderEffect::MendTie];
        moved.extend(runner.run_all(&effects).await?);
    }
    git.find_identity().await?;
    let runner =
        EffectRunner { git: &git, project: &project, shared: &leftover.shared, aside: &aside };
    for inside in submodules::repositories_inside(&git, folder).await? {
        moved.push(aside.take(folder, &inside)?);
    }
    for inside in repositories(&git, folder).await? {
        moved.push(aside.take(folder, &inside)?);
    }
    runner.run_all(&[FolderEffect::SaveSubmodules]).await?;
    let branch = keep(&runner, leftover).await?;
    let ignored = ignored::remove(&project, member, folder).await?;
    Ok(Rescue { branch, aside: moved, ignored })
}

/// Commits everything in a folder. Returns the branch that it is on then; none if everything is merged.
async fn keep(runner: &EffectRunner<'_>, leftover: &Leftover) -> GitResult<Option<String>> {
    let git = runner.git;
    // Nothing runs there now.
    let own = git.run(&["rev-parse", "--absolute-git-dir"]).await?;
    drop(fs::remove_file(Path::new(&own).join("index.lock")));
    let on = head(git).await?.branch;
    let branch = match rules::rescue_branch(on, &leftover.team_branch, &leftover.state) {
        RescueBranch::None => None,
        RescueBranch::Own(branch) => Some(branch),
        RescueBranch::New => {
            let wanted = names::rescued(&leftover.team_branch, leftover.member.as_ref());
            let branch = free_name(git, wanted).await?;
            runner.run_all(&rules::stay_on(&branch)).await?;
            Some(branch)
        }
    };
    if is_dirty(git).await? {
        let what = leftover.task.map_or_else(String::new, |task| format!(" on {task}"));
        commit_all(git, &format!("unfinished work{what}\n")).await?;
    }
    Ok(branch)
}

async fn look(git: &Git, record: &BranchRecord, member: MemberName, path: PathBuf) -> Leftover {
    let mut leftover = Leftover {
        project: record.top.clone(),
        shared: record.shared.clone(),
        team_branch: record.branch.clone(),
        member: Some(member),
        folder: Some(path),
        branch: None,
        task: None,
        since: None,
        state: LeftoverState::Merged,
    };
    leftover.state = match state(git, record, &mut leftover).await {
        Ok(state) => state,
        Err(GitError::Torn { how: FolderFault::Replaced, .. }) => LeftoverState::Replaced,
        Err(_) if record.is_gone() && !record.top.is_dir() => LeftoverState::Away,
        Err(error) => LeftoverState::Lost { says: error.chain() },
    };
    leftover
}

async fn state(
    git: &Git,
    record: &BranchRecord,
    leftover: &mut Leftover,
) -> GitResult<LeftoverState> {
    if let Some(folder) = &leftover.folder {
        if remnants::is_half_made(&record.shared, folder) {
            return Ok(LeftoverState::Merged);
        }
        tie::mend(&record.shared, folder)?;
    }
    let head = head(git).await?;
    leftover.task = head.branch.as_deref().and_then(names::task_of);
    leftover.since = seconds(&git.run(&["log", "-1", "--format=%ct"]).await?);
    leftover.branch = head.branch;
    if is_dirty(git).await? || !submodules::dirty(git, git.folder()).await?.is_empty() {
        return Ok(LeftoverState::Dirty);
    }
    let into = into(git, record).await?;
    let is_merged = is_ancestor(git, &head.commit, &into).await?;
    Ok(if is_merged { LeftoverState::Merged } else { LeftoverState::Unmerged })
}

/// The commit that holds merged work: the team's branch, or once that is gone, the project.
pub(super) async fn into(git: &Git, record: &BranchRecord) -> GitResult<String> {
    let branch = format!("refs/heads/{}", record.branch);
    let found = git.ask(&["rev-parse", "--quiet", "--verify", &branch]).await?;
    match found {
        Some(commit) => Ok(commit),
        None => git.at(&record.top).run(&["rev-parse", "--verify", "HEAD"]).await,
    }
}

/// The folders of all members.
pub(super) fn folders(worktrees: &Path) -> Vec<(MemberName, PathBuf)> {
    let Ok(entries) = fs::read_dir(worktrees) else { return Vec::new() };
    let mut folders: Vec<_> = entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .filter(|(_, path): &(MemberName, PathBuf)| !is_empty(path))
        .collect();
    folders.sort();
    folders
}

/// Whether a path is no folder, or an empty one.
fn is_empty(path: &Path) -> bool {
    fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none())
}

fn seconds(text: &str) -> Option<Time> {
    text.trim().parse::<i64>().ok().map(|seconds| Time::from_micros(seconds * 1_000_000))
}
