//! What teams left behind that is nowhere else: found, and brought to safety.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use troop_model::{MemberName, TaskNumber, Time};

use super::{
    git::{Git, GitError, GitResult},
    names,
    record::Record,
    worktree::{commit_all, head, is_dirty},
};

/// Something that a team left behind.
#[derive(Clone, Debug)]
pub struct Leftover {
    /// The project that it belongs to.
    pub project: PathBuf,
    /// Whose it is.
    pub member: Option<MemberName>,
    /// The folder that it is in; none if only the branch is left.
    pub folder: Option<PathBuf>,
    /// Its branch; none if it is on none.
    pub branch: Option<String>,
    /// The task that it is about.
    pub task: Option<TaskNumber>,
    /// When it was last committed to.
    pub since: Option<Time>,
    /// What it is.
    pub state: LeftoverState,
}

/// What was left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftoverState {
    /// A folder with changes that are not committed.
    Dirty,
    /// A folder or a branch whose commits are merged nowhere.
    Unmerged,
    /// A folder whose work is merged.
    Merged,
    /// A folder that git does not know any more.
    Lost {
        /// What git says.
        says: String,
    },
}

/// What the team of a folder left behind. None of it is in use if nobody leads the team.
pub async fn leftovers(
    folder: &Path,
    environment: &[(OsString, OsString)],
) -> Result<Vec<Leftover>, GitError> {
    let Some(record) = Record::read(folder)? else { return Ok(Vec::new()) };
    let git = Git::new(&record.top, environment);
    let mut found = Vec::new();
    for (member, path) in folders(&folder.join("worktrees")) {
        found.push(look(&git.at(&path), &record, member, path).await);
    }
    if !record.top.is_dir() {
        return Ok(found);
    }
    let all = format!("refs/heads/{}/", names::work_branches(&record.branch));
    let into = into(&git, &record).await?;
    let format = "--format=%(refname:lstrip=2) %(committerdate:unix)";
    let unmerged = git.run(&["for-each-ref", format, "--no-merged", &into, &all]).await?;
    for (branch, since) in unmerged.lines().filter_map(|line| line.split_once(' ')) {
        if !found.iter().any(|it| it.branch.as_deref() == Some(branch)) {
            found.push(Leftover {
                project: record.top.clone(),
                member: names::member_of(branch),
                folder: None,
                branch: Some(branch.to_owned()),
                task: names::task_of(branch),
                since: seconds(since),
                state: LeftoverState::Unmerged,
            });
        }
    }
    Ok(found)
}

/// Commits what is in a folder and not committed, and removes the folder; its branch stays. Which branch that is; none if
/// all of it is merged.
pub async fn rescue(
    leftover: &Leftover,
    environment: &[(OsString, OsString)],
) -> Result<Option<String>, GitError> {
    let Some(folder) = &leftover.folder else { return Ok(leftover.branch.clone()) };
    let project = Git::new(&leftover.project, environment);
    let mut git = project.at(folder);
    git.find_identity().await?;
    // Nothing runs there any more.
    let own = git.run(&["rev-parse", "--absolute-git-dir"]).await?;
    drop(fs::remove_file(Path::new(&own).join("index.lock")));
    let branch = match (&leftover.branch, &leftover.state) {
        (None, LeftoverState::Merged) => None,
        (Some(branch), _) => Some(branch.clone()),
        (None, _) => {
            let member = leftover.member.as_ref().map_or("somebody", MemberName::as_str);
            let commit = head(&git).await?.commit;
            let short: String = commit.chars().take(10).collect();
            let branch = format!("troop-work/rescued/{member}-{short}");
            git.run(&["checkout", "--quiet", "-B", &branch]).await?;
            Some(branch)
        }
    };
    if is_dirty(&git).await? {
        let what = leftover.task.map_or_else(String::new, |task| format!(" on {task}"));
        commit_all(&git, &format!("unfinished work{what}\n")).await?;
    }
    project.run(&["worktree", "remove", &folder.to_string_lossy()]).await?;
    Ok(branch)
}

async fn look(git: &Git, record: &Record, member: MemberName, path: PathBuf) -> Leftover {
    let mut leftover = Leftover {
        project: record.top.clone(),
        member: Some(member),
        folder: Some(path),
        branch: None,
        task: None,
        since: None,
        state: LeftoverState::Merged,
    };
    leftover.state = match state(git, record, &mut leftover).await {
        Ok(state) => state,
        Err(error) => LeftoverState::Lost { says: error.chain() },
    };
    leftover
}

async fn state(git: &Git, record: &Record, leftover: &mut Leftover) -> GitResult<LeftoverState> {
    let head = head(git).await?;
    leftover.task = head.branch.as_deref().and_then(names::task_of);
    leftover.since = seconds(&git.run(&["log", "-1", "--format=%ct"]).await?);
    leftover.branch = head.branch;
    if is_dirty(git).await? {
        return Ok(LeftoverState::Dirty);
    }
    let into = into(git, record).await?;
    let is_merged = git.is(&["merge-base", "--is-ancestor", &head.commit, &into]).await?;
    Ok(if is_merged { LeftoverState::Merged } else { LeftoverState::Unmerged })
}

/// Where merged work is: in the team's branch, or where the project is, once that is gone.
async fn into(git: &Git, record: &Record) -> GitResult<String> {
    let branch = format!("refs/heads/{}", record.branch);
    let found = git.ask(&["rev-parse", "--quiet", "--verify", &branch]).await?;
    match found {
        Some(commit) => Ok(commit),
        None => git.at(&record.top).run(&["rev-parse", "--verify", "HEAD"]).await,
    }
}

/// The folders of members, whoever they are.
pub(super) fn folders(worktrees: &Path) -> Vec<(MemberName, PathBuf)> {
    let Ok(entries) = fs::read_dir(worktrees) else { return Vec::new() };
    let mut folders: Vec<_> = entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .filter(|(_, path): &(MemberName, PathBuf)| path.join(".git").exists())
        .collect();
    folders.sort();
    folders
}

fn seconds(text: &str) -> Option<Time> {
    text.trim().parse::<i64>().ok().map(|seconds| Time::from_micros(seconds * 1_000_000))
}
