//! Where members work: in an isolated team each has its own folder, prepared before it gets a task.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_model::{
    Command, Event, Fact, Member, MemberName, Role, State, Task, TaskCommand, TaskNumber, Team,
    TrailKind,
};

use super::{
    Runner,
    input::{Due, FolderStart, LeadInput, WatchLook},
    policy::{
        restart::{FAULT_PATIENCE, MemberRetries},
        work::{is_working, others_at_work},
    },
    post::Post,
    transcript::TranscriptLine,
};
use crate::{BoxFuture, CommandEffect, GitError, TaskAttempt, WatchReport, Watcher, Worktrees};

/// How long we wait before we retry to prepare a folder while a caller waits for the answer.
const PAUSE: Duration = Duration::from_secs(1);

/// The folders of members.
#[derive(Debug)]
pub(super) struct Workplaces {
    isolation: Option<Worktrees>,
    jobs: Jobs,
    /// Members whose folder is being made before their start.
    coming: BTreeSet<MemberName>,
    /// The attempts whose folder is ready, or being prepared.
    begun: BTreeMap<Attempt, Readiness>,
    /// Members that hold a task for which their folder is not free yet.
    waiting: BTreeSet<MemberName>,
    /// Members whose folder could not be prepared; that is retried.
    failing: MemberRetries,
    /// Taken out while it compares.
    watcher: Option<Watcher>,
    /// The files that members changed outside of any task, as far as the lead was told.
    loose: BTreeMap<MemberName, BTreeSet<String>>,
    /// How many looks for such files are under way.
    n_looks: usize,
}

/// One attempt of a member at a task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Attempt {
    member: MemberName,
    task: TaskNumber,
    number: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readiness {
    Coming,
    Ready,
}

/// Work that may have to be merged from its member's own folder.
#[derive(Debug)]
pub(super) struct FolderWork {
    pub(super) isolation: Worktrees,
    pub(super) work: TaskAttempt,
    is_prepared: bool,
}

impl FolderWork {
    /// Whether it is in a folder. If a prepared folder was deleted, the merge reports that.
    pub(super) async fn has_place(&self) -> bool {
        self.is_prepared || self.isolation.has_place(&self.work.member).await
    }
}

/// The outcome of making a member's folder.
#[derive(Debug)]
pub(super) enum NewPlace {
    Ready(PathBuf),
    /// It cannot be made. A fault of the machine may be temporary.
    Failed {
        why: String,
        may_retry: bool,
    },
}

/// The files that an idle member changed outside of any task.
#[derive(Debug)]
pub(super) struct LooseFiles {
    pub(super) runner: Runner,
    pub(super) files: BTreeSet<String>,
    pub(super) is_news: IsNews,
    /// How often the member had begun something when it said that it is idle.
    pub(super) n_begun: u64,
}

/// Whether it is news that a member is idle, whatever it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IsNews {
    Yes,
    No,
}

/// A queue of small changes to folders, run one after the other.
#[derive(Clone, Debug)]
pub(super) struct Jobs(mpsc::UnboundedSender<BoxFuture<'static, ()>>);

impl Jobs {
    fn start(tracker: &TaskTracker) -> Self {
        let (jobs, mut queue) = mpsc::unbounded_channel::<BoxFuture<'static, ()>>();
        tracker.spawn(async move {
            while let Some(job) = queue.recv().await {
                job.await;
            }
        });
        Self(jobs)
    }

    fn add(&self, job: impl Future<Output = ()> + Send + 'static) {
        // The lead may have ended.
        drop(self.0.send(Box::pin(job)));
    }
}

/// Prepares a folder before a member hears that its claim succeeded.
#[derive(Debug)]
pub(super) struct Readying {
    isolation: Worktrees,
    jobs: Jobs,
    over: CancellationToken,
}

impl Readying {
    /// Prepares the folder for a claimed task. Errors are reported when the log is followed; temporary ones are retried, so
    /// that no member works in an unprepared folder.
    pub(super) async fn ready(self, work: TaskAttempt) {
        let since = Instant::now();
        while self.isolation.has_place(&work.member).await && since.elapsed() < FAULT_PATIENCE {
            let (tell, told) = oneshot::channel();
            let isolation = self.isolation.clone();
            let work = work.clone();
            self.jobs.add(async move { drop(tell.send(isolation.begin(&work).await)) });
            if !matches!(told.await, Ok(Err(error)) if error.may_pass()) {
                return;
            }
            let pause = self.over.run_until_cancelled(sleep(PAUSE)).await;
            if pause.is_none() {
                return;
            }
        }
    }
}

/// Lookups.
impl Workplaces {
    pub(super) fn new(isolation: Option<Worktrees>, tracker: &TaskTracker) -> Self {
        Self {
            isolation,
            jobs: Jobs::start(tracker),
            coming: BTreeSet::new(),
            begun: BTreeMap::new(),
            waiting: BTreeSet::new(),
            failing: MemberRetries::default(),
            watcher: Some(Watcher::default()),
            loose: BTreeMap::new(),
            n_looks: 0,
        }
    }

    pub(super) fn isolation(&self) -> Option<&Worktrees> {
        self.isolation.as_ref()
    }

    /// Queues a change to folders.
    pub(super) fn add_job(&self, job: impl Future<Output = ()> + Send + 'static) {
        self.jobs.add(job);
    }

    /// The worktrees, if the member is isolated. The lead works in the project, and external members work where they like.
    fn isolation_of(&self, state: &State, member: &MemberName) -> Option<&Worktrees> {
        let is_run_here = |it: &Member| it.role == Role::Member && !it.is_external();
        let is_teammate = state.member(member).is_some_and(is_run_here);
        self.isolation.as_ref().filter(|_| is_teammate)
    }

    /// The holder of a task, if it works in its own folder.
    pub(super) fn home_of(
        &self,
        state: &State,
        task: TaskNumber,
    ) -> Option<(Worktrees, MemberName)> {
        let holder = state.tasks().get(task)?.owner.clone()?;
        Some((self.isolation_of(state, &holder)?.clone(), holder))
    }

    /// The environment variables of a member that works in its own folder.
    pub(super) fn variables_of(
        &self,
        state: &State,
        member: &MemberName,
    ) -> Vec<(&'static str, &'static str)> {
        self.isolation_of(state, member).map(Worktrees::variables).unwrap_or_default()
    }

    /// Whether a member's folder is being prepared, so that it has not heard of its task yet.
    pub(super) fn is_coming(&self, member: &MemberName) -> bool {
        self.begun.iter().any(|(it, is)| it.member == *member && *is == Readiness::Coming)
    }

    fn is_at_another(&self, state: &State, owner: &MemberName, task: TaskNumber) -> bool {
        let is_begun =
            |task: TaskNumber| self.begun.keys().any(|it| it.member == *owner && it.task == task);
        others_at_work(state, owner, task).any(is_begun)
    }

    /// The attempt that a member works on in its own folder, if it has one.
    pub(super) fn work_of(
        &self,
        state: &State,
        member: &MemberName,
        task: TaskNumber,
    ) -> Option<FolderWork> {
        let work = work(state, member, task)?;
        let attempt = Attempt { member: member.clone(), task, number: work.attempt };
        let is_prepared = self.begun.contains_key(&attempt);
        let isolation = self.isolation_of(state, member)?.clone();
        Some(FolderWork { isolation, work, is_prepared })
    }
}

/// Making folders.
impl Workplaces {
    /// Makes a member's folder before its start, if it is isolated. Returns whether it is; then the member is started when the
    /// folder exists.
    pub(super) fn make(&mut self, post: &Post, member: &MemberName) -> bool {
        let Some(isolation) = self.isolation_of(&post.state, member).cloned() else { return false };
        if self.coming.insert(member.clone()) {
            let member = member.clone();
            let inputs = post.background.inputs.clone();
            self.jobs.add(async move {
                let place = isolation.place(&member).await;
                drop(inputs.send(LeadInput::Placed(member, place)).await);
            });
        }
        true
    }

    /// A member's folder exists, or cannot be made.
    pub(super) fn made(
        &mut self,
        member: &MemberName,
        place: Result<PathBuf, GitError>,
    ) -> NewPlace {
        self.coming.remove(member);
        match place {
            Ok(place) => NewPlace::Ready(place),
            Err(error) => {
                let why = format!("its folder could not be made: {}", error.chain());
                NewPlace::Failed { why, may_retry: error.is_of_machine() }
            }
        }
    }

    /// Prepares a member's folder for a task, if it is isolated. Returns whether it is ready; if not, the member gets the task
    /// when it is. A member that is still breaking off another task keeps its folder until then.
    pub(super) fn prepare(
        &mut self,
        post: &Post,
        owner: &MemberName,
        task: TaskNumber,
        number: u32,
        is_breaking_off: bool,
    ) -> bool {
        let Some(isolation) = self.isolation_of(&post.state, owner).cloned() else { return true };
        let attempt = Attempt { member: owner.clone(), task, number };
        if let Some(readiness) = self.begun.get(&attempt) {
            return *readiness == Readiness::Ready;
        }
        if is_breaking_off || self.is_at_another(&post.state, owner, task) {
            // One task at a time in one folder: the work on one must not be merged with another.
            self.waiting.insert(owner.clone());
            return false;
        }
        let Some(work) = work(&post.state, owner, task) else { return true };
        self.begun.insert(attempt, Readiness::Coming);
        let is_back = post.state.tasks().get(task).is_some_and(was_handed_in);
        let inputs = post.background.inputs.clone();
        self.jobs.add(async move {
            let folder = match is_back {
                true => isolation.go_back(&work).await,
                false => isolation.begin(&work).await,
            };
            drop(inputs.send(LeadInput::Begun(Box::new(FolderStart { work, folder }))).await);
        });
        false
    }

    /// Takes the members that waited for their folder: they may be able to begin another task that they hold.
    pub(super) fn take_waiting(&mut self) -> BTreeSet<MemberName> {
        std::mem::take(&mut self.waiting)
    }

    /// A member's folder is ready for a task, or cannot be prepared. Returns whether the member can get its tasks now.
    pub(super) async fn begun(&mut self, post: &mut Post, start: FolderStart) -> bool {
        let FolderStart { work, folder } = start;
        let attempt =
            Attempt { member: work.member.clone(), task: work.task, number: work.attempt };
        let member = &work.member;
        let task = work.task;
        let found = post.state.tasks().get(task);
        let is_its = found
            .is_some_and(|it| it.owner.as_ref() == Some(member) && it.attempts == work.attempt);
        match folder {
            Err(error) if is_its && error.may_pass() && self.begin_later(post, &work, &error) => {
                false
            }
            Err(error) => {
                self.begun.remove(&attempt);
                self.failing.forget(member);
                let reason =
                    format!("the worktree of {member} cannot be prepared: {}", error.chain());
                post.note(member, TranscriptLine::trouble(&reason));
                if is_its {
                    let order = TaskCommand::Release { task: task.into(), reason };
                    post.give(Command::Task(order)).await;
                }
                false
            }
            Ok(begun) => {
                self.begun.insert(attempt, Readiness::Ready);
                self.failing.forget(member);
                let what = format!("works on branch {}", begun.branch);
                post.note(member, TranscriptLine::note(&what));
                for aside in &begun.aside {
                    let what = format!(
                        "files that were in the way in its folder are now in {}",
                        aside.display()
                    );
                    post.note(member, TranscriptLine::trouble(&what));
                }
                if is_its && !begun.earlier.is_empty() {
                    post.tell(member, earlier(task, &begun.earlier)).await;
                }
                true
            }
        }
    }

    /// Retries to prepare a folder after a temporary error, for a limited time: that costs the task no attempt. People are
    /// warned once. Returns whether it is retried.
    fn begin_later(&mut self, post: &mut Post, work: &TaskAttempt, error: &GitError) -> bool {
        let member = &work.member;
        let next = self.failing.next_try(member, post.timing.restart, Instant::now());
        let Some(next) = next else { return false };
        if next.is_new {
            let task = work.task;
            let why = error.chain();
            let what =
                format!("the worktree of {member} cannot be prepared for {task}; retrying: {why}");
            post.note(member, TranscriptLine::trouble(&what));
            if next.is_news {
                post.tell_people(what);
            }
        }
        post.timers.set(next.pause, Due::Begin(member.clone()));
        true
    }

    /// Forgets the failed preparations of a member, so that they are retried.
    pub(super) fn forget_unready(&mut self, member: &MemberName) {
        self.begun.retain(|it, is| it.member != *member || *is == Readiness::Ready);
    }

    /// Forgets a member's failures when no folder is being prepared for it: its next failure is reported again.
    pub(super) fn forget_failures(&mut self, member: &MemberName) {
        if !self.is_coming(member) {
            self.failing.forget(member);
        }
    }

    /// The preparation that a claim needs before its answer.
    pub(super) fn readying(&self, post: &Post, command: &Command) -> Option<Readying> {
        let isolation = self.isolation.clone()?;
        let is_claim = matches!(command, Command::Task(TaskCommand::Claim { .. }));
        let jobs = self.jobs.clone();
        let over = post.background.over.clone();
        is_claim.then(|| Readying { isolation, jobs, over })
    }
}

/// Leaving folders.
impl Workplaces {
    /// A task lost its holder: the work on it is committed, so that the next holder can find it.
    pub(super) fn keep_work(&mut self, state: &State, event: &Event) {
        let (Fact::TaskReleased { task, .. } | Fact::TaskFailed { task, .. }) = &event.fact else {
            return;
        };
        let ended: Vec<_> = self.begun.keys().filter(|it| it.task == *task).cloned().collect();
        for attempt in ended {
            self.begun.remove(&attempt);
            let owner = attempt.member;
            let Some(isolation) = self.isolation_of(state, &owner).cloned() else { continue };
            if !self.is_at_another(state, &owner, *task) {
                self.jobs.add(async move {
                    if isolation.has_place(&owner).await {
                        // A failed commit is retried before the folder is used for another task.
                        drop(isolation.save(&owner).await);
                    }
                });
            }
        }
    }

    /// A task is over, so no folder is prepared for it from now on.
    pub(super) fn forget_work(&mut self, task: TaskNumber) {
        self.begun.retain(|it, _| it.task != task);
    }

    /// The board has heard what became of a task.
    pub(super) fn forget_merge(&self, task: TaskNumber) {
        if let Some(isolation) = self.isolation.clone() {
            self.jobs.add(async move { isolation.forget_merge(task).await });
        }
    }

    /// Drops the ref of submitted work that is no longer wanted.
    pub(super) fn forget_handed_in(&self, task: TaskNumber) {
        if let Some(isolation) = self.isolation.clone() {
            // If this fails, only an unused ref is left.
            self.jobs.add(async move { drop(isolation.forget_handed_in(task).await) });
        }
    }
}

/// Changes outside of tasks.
impl Workplaces {
    /// Looks for files that a member without a task changed. Returns whether that is under way.
    pub(super) fn look_for_loose(
        &mut self,
        post: &Post,
        runner: &Runner,
        is_news: IsNews,
        n_begun: u64,
    ) -> bool {
        let member = runner.member.clone();
        let isolation = self.isolation_of(&post.state, &member).cloned();
        let Some(isolation) = isolation.filter(|_| !is_working(&post.state, &member)) else {
            return false;
        };
        self.n_looks += 1;
        let runner = runner.clone();
        let inputs = post.background.inputs.clone();
        // After everything that is under way in its folder.
        self.jobs.add(async move {
            // Folders that cannot be read now are named at the end of the run.
            let files = isolation.loose_files(&member).await.unwrap_or_default();
            let found = LooseFiles { runner, files, is_news, n_begun };
            drop(inputs.send(LeadInput::Loose(Box::new(found))).await);
        });
        true
    }

    /// How many looks for such files are under way.
    pub(super) fn n_looks(&self) -> usize {
        self.n_looks
    }

    /// A look is over.
    pub(super) fn end_look(&mut self) {
        self.n_looks = self.n_looks.saturating_sub(1);
    }

    /// Remembers the files that a member changed outside of any task. Returns whether the lead has not been told of one.
    pub(super) fn note_loose(&mut self, member: &MemberName, files: &BTreeSet<String>) -> bool {
        let told = self.loose.insert(member.clone(), files.clone()).unwrap_or_default();
        !files.is_subset(&told)
    }
}

/// Watching folders.
impl Workplaces {
    /// Compares the changes of working members for conflicts.
    pub(super) fn watch(&mut self, post: &Post, members: Vec<MemberName>) {
        let is_watched = |team: &Team| team.settings.isolation.watch_seconds > 0;
        let isolation = self.isolation.clone();
        let isolation = isolation.filter(|_| post.state.team().is_some_and(is_watched));
        let Some(isolation) = isolation else { return };
        let at_work = |member: &MemberName| is_working(&post.state, member);
        let members: Vec<_> = members.into_iter().filter(at_work).collect();
        let Some(mut watcher) = self.watcher.take() else { return };
        post.background.spawn_input(async move {
            let seen = watcher.look(&isolation, &members).await;
            Some(LeadInput::Watched(Box::new(WatchLook { watcher, seen })))
        });
    }

    /// Tells members about conflicts between their changes.
    pub(super) async fn watched(&mut self, post: &mut Post, look: WatchLook) {
        let WatchLook { watcher, seen } = look;
        self.watcher = Some(watcher);
        let Some(branch) = self.isolation.as_ref().map(|it| it.branch().to_owned()) else {
            return;
        };
        // A conflict missed now is found later, at the latest at the merge.
        let WatchReport { clashes, unseen } = seen.unwrap_or_default();
        for (member, why) in unseen {
            let what = format!("its folder cannot be watched for conflicts: {why}");
            post.note(&member, TranscriptLine::trouble(&what));
        }
        for clash in clashes {
            // A member that has lost its task meanwhile need not know.
            let concerned: Vec<_> =
                clash.members().filter(|it| is_working(&post.state, it)).collect();
            for member in concerned {
                post.tell(member, clash.told_to(member, &branch)).await;
            }
        }
    }
}

fn work(state: &State, member: &MemberName, task: TaskNumber) -> Option<TaskAttempt> {
    Some(TaskAttempt::newest(member.clone(), state.tasks().get(task)?))
}

/// The attempt that a command has just claimed; none if the member works on another task, whose folder stays as it is.
pub(super) fn claimed(state: &State, done: &CommandEffect) -> Option<TaskAttempt> {
    let (task, member) = done.events.iter().find_map(|event| {
        let Fact::TaskClaimed { task, owner, .. } = &event.fact else { return None };
        Some((*task, owner.clone()))
    })?;
    let is_free = others_at_work(state, &member, task).next().is_none();
    work(state, &member, task).filter(|_| is_free)
}

/// Whether a task was submitted before in the same attempt, so that it has a branch already.
fn was_handed_in(task: &Task) -> bool {
    let mut newest_first = task.trail.iter().rev().map(|it| it.what);
    newest_first
        .find(|it| matches!(it, TrailKind::Submitted | TrailKind::Claimed | TrailKind::Assigned))
        == Some(TrailKind::Submitted)
}

/// Tells the next holder of a task about earlier attempts.
fn earlier(task: TaskNumber, branches: &[String]) -> String {
    let names: Vec<_> = branches.iter().map(|branch| format!("`{branch}`")).collect();
    let newest = branches.last().map_or("", String::as_str);
    format!(
        "an earlier attempt at {task} left its work on {}; see it with `git show {newest}`, take it over with `git merge {newest}`",
        names.join(", ")
    )
}
