//! Isolation: in a git repository each teammate works in a folder and on a branch of its own, and finished work is merged.
//!
//! A team has a branch. A teammate that begins a task gets a new branch from there in its own folder, which is a worktree of the
//! repository. When the task is done, everything in the folder is committed and merged into the team's branch. Nothing is ever
//! dropped: work that is not merged stays on its branch, and a folder that holds anything else is not removed.
//!
//! `rules` decides, and touches nothing: from `facts` to typed changes, which `effect` runs. Around them are the subjects:
//! `site` (where everything is), `team_branch`, `folder` (of one member), `merge` (of finished work), `land` (the end of a team),
//! `leftovers` (of teams that ended badly). [`Worktrees`] is the way in, and keeps two changes from happening at once.

pub(crate) mod effect;
mod elsewhere;
mod facts;
mod folder;
mod ignored;
mod land;
mod landing_lock;
mod late;
mod leftovers;
mod listed;
mod loose;
mod merge;
pub(crate) mod names;
mod put_back;
mod record;
mod refusal;
mod remnants;
mod repository;
pub(crate) mod rules;
mod site;
mod submodules;
mod team_branch;
mod tie;
mod unfinished;
mod unheard;
mod watch;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    slice::from_ref,
    sync::{Arc, Mutex},
};

use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard, Semaphore},
    task::spawn_blocking,
};
use troop_model::{MemberName, Task, TaskNumber, TeamName, lock};

pub use elsewhere::{StrayWork, elsewhere};
pub use folder::TaskFolder;
pub use ignored::IgnoredFiles;
pub use land::{KeptFolder, Landing, LandingReport};
pub use late::LateCompletion;
pub use leftovers::{Leftover, LeftoverState, Rescue, git_locks, leftovers, orphans, rescue};
pub use merge::{Aim, Merge, MergeOutcome, WorkReport};
pub use record::recorded_branch;
pub use refusal::{Conflict, MergeRefusal};
pub use rules::AttemptName;
pub use tie::FolderFault;
pub use unheard::UnheardMerge;
pub use watch::{Clash, WatchReport, Watcher};

use folder::MemberFolder;
use land::TeamLanding;
use landing_lock::LandingLock;
use late::LateWork;
use merge::WorkMerge;
use put_back::LandingNote;
use record::BranchRecord;
use repository::Repository;
use site::WorktreeSite;
use team_branch::TeamBranch;

use crate::{
    Checks, CommandRequest,
    git::{Git, GitError},
    locks::CommandNotes,
};

/// The parameters of isolation.
#[derive(Clone, Debug)]
pub struct IsolationOptions {
    /// Where the team works.
    pub project: PathBuf,
    /// The team's folder; those of teammates are in `worktrees` below it.
    pub folder: PathBuf,
    /// Where things of members are moved that are in the way and that git cannot keep.
    pub aside: PathBuf,
    pub team: TeamName,
    /// The environment of git.
    pub environment: Vec<(OsString, OsString)>,
}

/// Whether teammates have their own folders, and what people should know about it.
#[derive(Debug)]
pub struct IsolationStart {
    /// None if they work in the project's folder.
    pub isolation: Option<Worktrees>,
    /// Notes for people, a line each.
    pub notices: Vec<String>,
}

/// The folders and branches of a team. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Worktrees {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    site: WorktreeSite,
    team: TeamBranch,
    record: BranchRecord,
    notes: Arc<CommandNotes>,
    /// One merge at a time, in the order in which they were asked for.
    merge_lock: Semaphore,
    /// One change at a time to the folder of a member. A merge takes `merge_lock` first.
    folders: Mutex<BTreeMap<MemberName, Arc<AsyncMutex<()>>>>,
}

/// One attempt of a member at a task.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskAttempt {
    pub member: MemberName,
    pub task: TaskNumber,
    pub attempt: u32,
    /// The subject of the task.
    pub subject: String,
    /// The command that waits for the merge, if one does. If a lead dies after the merge, the next one gives it.
    pub report: Option<Arc<CommandRequest>>,
}

impl TaskAttempt {
    /// The newest attempt at a task, by a member. No command waits for its merge.
    #[must_use]
    pub fn newest(member: MemberName, task: &Task) -> Self {
        let subject = task.subject.clone();
        Self { member, task: task.number, attempt: task.attempts, subject, report: None }
    }
}

impl Worktrees {
    /// Opens the folders and branches of a team, or tells why it has none. A team that runs for the first time begins where
    /// the project is; one that continues finds what it left.
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
        let notes = CommandNotes::open(&folder, &repository.shared, from_ref(&repository.top));
        let notes = Arc::new(notes);
        git = git.noted(&notes);
        let worktrees = folder.join("worktrees");
        Box::pin(clear(&git, &notes, &repository, &folder)).await?;
        let (record, moved) = BranchRecord::find(&git, &repository, &folder, &team).await?;
        notices.extend(moved);
        let team = TeamBranch::hold(&git, &record.branch, &worktrees).await?;
        let site = WorktreeSite { git, repository, worktrees, aside };
        let merge_lock = Semaphore::new(1);
        let folders = Mutex::default();
        let inner = Arc::new(Inner { site, team, record, notes, merge_lock, folders });
        Ok(IsolationStart { isolation: Some(Self { inner }), notices })
    }

    /// The branch into which finished work is merged.
    #[must_use]
    pub fn branch(&self) -> &str {
        self.inner.team.name()
    }

    /// The environment variables that teammates need to commit.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, &'static str)> {
        self.inner.site.git.identity()
    }

    /// The folder in which a member works, made if it is not there. Nothing may run for the member meanwhile.
    pub async fn place(&self, member: &MemberName) -> Result<PathBuf, GitError> {
        let _folder = self.hold(member).await;
        let folder = self.folder(member);
        folder.make().await?;
        folder.unlock()?;
        Ok(folder.place())
    }

    /// Whether a folder was made for a member, whatever became of it.
    pub async fn has_place(&self, member: &MemberName) -> bool {
        self.place_of(member).await.is_some()
    }

    /// The folder in which a member works, if it has its own.
    pub async fn place_of(&self, member: &MemberName) -> Option<PathBuf> {
        let isolation = self.clone();
        let member = member.clone();
        let look = move || {
            let folder = isolation.folder(&member);
            folder.is_made().then(|| folder.place())
        };
        spawn_blocking(look).await.ok().flatten()
    }

    /// Puts a member's folder on a new branch for a task, from where the team is. Uncommitted changes are committed to the
    /// branch that the folder was on. If it is on the task's branch already, nothing changes.
    pub async fn begin(&self, work: &TaskAttempt) -> Result<TaskFolder, GitError> {
        let _folder = self.hold(&work.member).await;
        self.folder(&work.member).begin(work).await
    }

    /// Puts a member's folder back on the branch of work that was handed in and has to be improved. Uncommitted changes are
    /// committed to the branch that the folder was on.
    pub async fn go_back(&self, work: &TaskAttempt) -> Result<TaskFolder, GitError> {
        let _folder = self.hold(&work.member).await;
        self.folder(&work.member).go_back(work).await
    }

    /// Commits what is uncommitted in a member's folder to the branch that it is on. Returns the branch, if there was anything.
    pub async fn save(&self, member: &MemberName) -> Result<Option<String>, GitError> {
        let _folder = self.hold(member).await;
        self.folder(member).save().await
    }

    /// Commits everything in a member's folder. To be handed in, the commit is checked; to be done, it is merged with what the
    /// team has, the result is checked in the folder, and the team's branch moves. Work that is in it already is merged
    /// already.
    pub async fn finish(
        &self,
        work: &TaskAttempt,
        aim: Aim,
        checks: &Checks,
    ) -> Result<WorkReport, GitError> {
        let _merging = self.inner.merge_lock.acquire().await;
        let _folder = self.hold(&work.member).await;
        self.merge(work, checks).finish(aim).await
    }

    /// Merges what a member handed in for a task, as it was then, after it is checked in a folder apart.
    pub async fn approve(
        &self,
        work: &TaskAttempt,
        checks: &Checks,
    ) -> Result<WorkReport, GitError> {
        let _merging = self.inner.merge_lock.acquire().await;
        self.merge(work, checks).approve().await
    }

    /// Merges what was made for a task that is done already: what was handed in, if that was approved, else everything that its
    /// last attempt left. None if that left nothing. If it conflicts, or a check fails, everything stays as it is.
    pub async fn finish_late(
        &self,
        work: &TaskAttempt,
        done: LateCompletion,
        checks: &Checks,
    ) -> Result<Option<WorkReport>, GitError> {
        let merge = self.merge(work, checks);
        match merge.late_work(done).await? {
            LateWork::HandedIn => self.approve(work, checks).await.map(Some),
            LateWork::Folder => self.finish(work, Aim::Merge, checks).await.map(Some),
            LateWork::Commit(own) => {
                let _merging = self.inner.merge_lock.acquire().await;
                merge.merge_apart(&own).await.map(Some)
            }
            LateWork::Nothing => Ok(None),
        }
    }

    /// Forgets what was handed in for a task. A commit that no branch holds is kept anyway.
    pub async fn forget_handed_in(&self, task: TaskNumber) -> Result<(), GitError> {
        self.inner.team.forget_handed_in(task).await
    }

    /// Brings the team's work into the project, if the project is still on its branch and git has no objection. Then removes
    /// the folders and branches whose work is merged. No process of a member may run at this point.
    pub async fn land(&self) -> Result<LandingReport, GitError> {
        let Inner { site, team, record, notes, .. } = &*self.inner;
        let report = TeamLanding { site, team, record }.land().await;
        notes.clear(&own_places(&site.repository, team.name(), &site.worktrees)).await;
        report
    }

    /// Waits until nothing else changes the folder of a member.
    async fn hold(&self, member: &MemberName) -> OwnedMutexGuard<()> {
        let folder = {
            let mut folders = lock(&self.inner.folders);
            Arc::clone(folders.entry(member.clone()).or_default())
        };
        folder.lock_owned().await
    }

    fn folder<'a>(&'a self, member: &'a MemberName) -> MemberFolder<'a> {
        MemberFolder::new(&self.inner.site, &self.inner.team, member)
    }

    fn merge<'a>(&'a self, work: &'a TaskAttempt, checks: &'a Checks) -> WorkMerge<'a> {
        WorkMerge { site: &self.inner.site, team: &self.inner.team, work, checks }
    }
}

/// Finishes or removes what a killed lead left half made: locks, worktrees, a landing.
async fn clear(
    git: &Git,
    notes: &CommandNotes,
    repository: &Repository,
    folder: &Path,
) -> Result<(), GitError> {
    let worktrees = folder.join("worktrees");
    let record = BranchRecord::read(folder)?;
    let own = record.map(|it| own_places(repository, &it.branch, &worktrees));
    notes.clear(&own.unwrap_or_default()).await;
    remnants::clear(&repository.shared, &worktrees);
    let Some(landing) = LandingNote::read(folder) else { return Ok(()) };
    match LandingLock::take(&repository.shared).await? {
        Ok(_lock) => landing.undo(git).await?,
        // Its files may only be put back when nobody else lands. The next lead does it.
        Err(_) => return Ok(()),
    }
    LandingNote::remove(folder);
    Ok(())
}

/// The places in a repository in which only this team's git commands make locks.
fn own_places(repository: &Repository, team_branch: &str, worktrees: &Path) -> Vec<PathBuf> {
    let shared = &repository.shared;
    let work = names::work_branches(team_branch);
    let mut own = tie::places_below(shared, worktrees);
    own.push(shared.join(format!("refs/heads/{team_branch}.lock")));
    own.push(shared.join(format!("refs/heads/{work}")));
    own.push(shared.join(format!("refs/{work}")));
    own
}

#[cfg(test)]
mod tests;
