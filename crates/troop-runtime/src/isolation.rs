//! Isolation: in a git repository each teammate works in a folder and on a branch of its own, and what it finished is merged.
//!
//! A team has a branch. A teammate that begins a task gets a new branch from there in its own folder (a worktree of the
//! repository); when the task is done, all that is in the folder is committed and merged into the team's branch. Nothing is
//! ever dropped: what is not merged stays on its branch, and a folder that holds something else is not removed.

mod elsewhere;
mod ignored;
mod land;
mod late;
mod leftovers;
mod listed;
mod merge;
mod names;
mod own_branch;
mod put_back;
mod record;
mod refusal;
mod repository;
mod roots;
mod rules;
mod submodules;
mod tie;
mod unended;
mod watch;
mod worktree;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, Semaphore};
use troop_model::{MemberName, TaskNumber, TeamName, lock};

pub use elsewhere::{StrayWork, elsewhere};
pub use ignored::IgnoredFiles;
pub use land::{KeptFolder, Landing, LandingReport};
pub use late::LateCompletion;
pub use leftovers::{Leftover, LeftoverState, Rescue, leftovers, orphans, rescue};
pub use merge::{Aim, Merge, MergeOutcome, WorkReport};
pub use refusal::{Conflict, MergeRefusal};
pub use tie::FolderFault;
pub use watch::{Clash, WatchReport, Watcher};
pub use worktree::TaskFolder;

use record::BranchRecord;
use repository::Repository;
use rules::BranchPosition;

use crate::git::{Git, GitError};

/// What isolation needs to begin.
#[derive(Clone, Debug)]
pub struct IsolationOptions {
    /// Where the team works.
    pub project: PathBuf,
    /// Where the team's own files are kept; the folders of teammates are in `worktrees` below it.
    pub folder: PathBuf,
    /// Where things of members are moved that are in the way, and that git cannot keep.
    pub aside: PathBuf,
    /// The team.
    pub team: TeamName,
    /// What git finds in its environment.
    pub environment: Vec<(OsString, OsString)>,
}

/// Whether teammates have folders of their own, and what people should know about it.
#[derive(Debug)]
pub struct IsolationStart {
    /// How; none if they work in the project's folder.
    pub isolation: Option<Worktrees>,
    /// What people should know, a line each.
    pub notices: Vec<String>,
}

/// The folders and branches of a team. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Worktrees {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    git: Git,
    repository: Repository,
    record: BranchRecord,
    worktrees: PathBuf,
    aside: PathBuf,
    /// Where the team's branch is.
    known: Mutex<BranchPosition>,
    /// One merge at a time, in the order in which they were asked for.
    turn: Semaphore,
    /// One change at a time to the folder of a member. Who merges waits for its turn first.
    folders: Mutex<BTreeMap<MemberName, Arc<AsyncMutex<()>>>>,
}

/// Whose work on what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskAttempt {
    pub member: MemberName,
    /// On which task.
    pub task: TaskNumber,
    /// In which attempt.
    pub attempt: u32,
    /// What the task is about.
    pub subject: String,
}

impl Worktrees {
    /// Opens the folders and branches of a team, or says why it has none. A team that runs for the first time begins where
    /// the project is; one that goes on finds what it left.
    pub async fn open(options: IsolationOptions) -> Result<IsolationStart, GitError> {
        let IsolationOptions { project, folder, aside, team, environment } = options;
        let mut git = Git::new(&project, &environment);
        let repository = match repository::look(&git, &project).await? {
            Ok(repository) => repository,
            Err(why) => {
                let notice = format!("teammates share this folder: {why}");
                return Ok(IsolationStart { isolation: None, notices: vec![notice] });
            }
        };
        git = git.at(&repository.top);
        git.find_identity().await?;
        repository.check_filters(&git).await?;
        record::check_names(&git).await?;
        fs::create_dir_all(&folder).map_err(GitError::file(&folder))?;
        let folder = folder.canonicalize().map_err(GitError::file(&folder))?;
        let mut notices = repository.notices(&git).await?;
        let (record, moved) = BranchRecord::find(&git, &repository, &folder, &team).await?;
        notices.extend(moved);
        let name = format!("refs/heads/{}", record.branch);
        let known =
            Mutex::new(BranchPosition::at(git.run(&["rev-parse", "--verify", &name]).await?));
        let worktrees = folder.join("worktrees");
        let turn = Semaphore::new(1);
        let folders = Mutex::default();
        let inner =
            Arc::new(Inner { git, repository, record, worktrees, aside, known, turn, folders });
        let isolation = Self { inner };
        isolation.hold_branch().await?;
        Ok(IsolationStart { isolation: Some(isolation), notices })
    }

    /// The branch into which finished work is merged.
    #[must_use]
    pub fn branch(&self) -> &str {
        &self.inner.record.branch
    }

    /// What teammates find in their environment, so that they can commit.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, &'static str)> {
        self.inner.git.identity()
    }

    /// Waits until nobody else changes the folder of a member.
    async fn hold(&self, member: &MemberName) -> OwnedMutexGuard<()> {
        let folder = {
            let mut folders = lock(&self.inner.folders);
            Arc::clone(folders.entry(member.clone()).or_default())
        };
        folder.lock_owned().await
    }
}

#[cfg(test)]
mod tests;
