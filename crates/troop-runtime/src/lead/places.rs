//! Where members work: each in a folder of its own where the team is isolated, ready before it is told to begin.

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
    input::{Due, LeadInput},
    policy::{
        restart::{Failing, PATIENCE},
        work::{is_working, others_at_work},
    },
    post::Post,
    transcript::TranscriptLine,
};
use crate::{
    BoxFuture, CommandEffect, GitError, TaskAttempt, TaskFolder, WatchReport, Watcher, Worktrees,
};

/// How long we wait between two tries to make a folder ready while somebody waits for the answer.
const PAUSE: Duration = Duration::from_secs(1);

/// The folders of members, as a lead holds them.
#[derive(Debug)]
pub(super) struct Workplaces {
    isolation: Option<Worktrees>,
    jobs: Jobs,
    /// Whose folder is being made, before it is started.
    coming: BTreeSet<MemberName>,
    /// The attempts for which a folder is, or is being, made ready.
    begun: BTreeMap<Attempt, Readiness>,
    /// Who holds a task for which its folder is not free yet.
    waiting: BTreeSet<MemberName>,
    /// Whose folder could not be made ready and is tried again.
    failing: Failing,
    /// Not here while it looks.
    watcher: Option<Watcher>,
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

/// A folder that was made for a member before its start, or why there is none.
#[derive(Debug)]
pub(super) enum NewPlace {
    Ready(PathBuf),
    /// It cannot be made; whether a fault of the machine is to blame, which may pass.
    Failed {
        why: String,
        may_retry: bool,
    },
}

/// Small changes to folders, one after the other in the order in which they were wanted.
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
        // After the lead's end nobody takes jobs any more.
        drop(self.0.send(Box::pin(job)));
    }
}

/// What is to be done before a member hears that it has a task.
#[derive(Debug)]
pub(super) struct Readying {
    isolation: Worktrees,
    jobs: Jobs,
    over: CancellationToken,
}

impl Readying {
    /// Makes the folder ready for what was claimed. What goes wrong is heard where the log is followed; what may pass is
    /// waited for, so that nobody works in a folder that is not ready.
    pub(super) async fn ready(self, work: TaskAttempt) {
        let since = Instant::now();
        while self.isolation.has_place(&work.member) && since.elapsed() < PATIENCE {
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

/// Who works where.
impl Workplaces {
    pub(super) fn new(isolation: Option<Worktrees>, tracker: &TaskTracker) -> Self {
        Self {
            isolation,
            jobs: Jobs::start(tracker),
            coming: BTreeSet::new(),
            begun: BTreeMap::new(),
            waiting: BTreeSet::new(),
            failing: Failing::default(),
            watcher: Some(Watcher::default()),
        }
    }

    pub(super) fn isolation(&self) -> Option<&Worktrees> {
        self.isolation.as_ref()
    }

    /// Lets something be done to folders, after all that was wanted before.
    pub(super) fn add_job(&self, job: impl Future<Output = ()> + Send + 'static) {
        self.jobs.add(job);
    }

    /// How a member is isolated, if it is. The lead works in the project, and members that run elsewhere work where they like.
    fn isolation_of(&self, state: &State, member: &MemberName) -> Option<&Worktrees> {
        let is_run_here = |it: &Member| it.role == Role::Member && !it.is_external();
        let is_teammate = state.member(member).is_some_and(is_run_here);
        self.isolation.as_ref().filter(|_| is_teammate)
    }

    /// The folder in which a member works, if it has one of its own.
    pub(super) fn place_of(&self, state: &State, member: &MemberName) -> Option<PathBuf> {
        self.isolation_of(state, member)?.place_of(member)
    }

    /// What a member finds in its environment because it works in a folder of its own.
    pub(super) fn variables_of(
        &self,
        state: &State,
        member: &MemberName,
    ) -> Vec<(&'static str, &'static str)> {
        self.isolation_of(state, member).map(Worktrees::variables).unwrap_or_default()
    }

    /// Whether a member's folder is being made ready, so that it has not heard of its task yet.
    pub(super) fn is_coming(&self, member: &MemberName) -> bool {
        self.begun.iter().any(|(it, is)| it.member == *member && *is == Readiness::Coming)
    }

    fn is_at_another(&self, state: &State, owner: &MemberName, task: TaskNumber) -> bool {
        let is_begun =
            |task: TaskNumber| self.begun.keys().any(|it| it.member == *owner && it.task == task);
        others_at_work(state, owner, task).any(is_begun)
    }

    /// The piece of work that a member has done in a folder of its own.
    pub(super) fn work_of(
        &self,
        state: &State,
        member: &MemberName,
        task: TaskNumber,
    ) -> Option<(Worktrees, TaskAttempt)> {
        let work = work(state, member, task)?;
        let attempt = Attempt { member: member.clone(), task, number: work.attempt };
        // A folder that was made ready and is gone is missed when its work is merged.
        let has_place = |it: &&Worktrees| self.begun.contains_key(&attempt) || it.has_place(member);
        let isolation = self.isolation_of(state, member).filter(has_place)?;
        Some((isolation.clone(), work))
    }
}

/// Making folders.
impl Workplaces {
    /// Makes a member's folder before it is started, if it gets one of its own. Returns whether it does; the member is
    /// started when the folder is there.
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

    /// A member's folder is there, or cannot be made.
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

    /// Makes a member's folder ready for a task, if it has one of its own. Returns whether it is ready; if not, the member
    /// hears of the task when it is. A member that still breaks something off keeps its folder until it has.
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
            // One task at a time in one folder: what is made for one must not come in with another.
            self.waiting.insert(owner.clone());
            return false;
        }
        let Some(work) = work(&post.state, owner, task) else { return true };
        self.begun.insert(attempt, Readiness::Coming);
        let is_back = post.state.tasks().get(task).is_some_and(was_handed_in);
        let inputs = post.background.inputs.clone();
        self.jobs.add(async move {
            let begun = match is_back {
                true => isolation.go_back(&work).await,
                false => isolation.begin(&work).await,
            };
            drop(inputs.send(LeadInput::Begun(Box::new((work, begun)))).await);
        });
        false
    }

    /// Members whose folder was needed for a task that is over, or handed in: they can begin what they hold besides.
    pub(super) fn take_waiting(&mut self) -> BTreeSet<MemberName> {
        std::mem::take(&mut self.waiting)
    }

    /// A member's folder is ready for a task, or cannot be made so. Returns whether the member can hear of its tasks now.
    pub(super) async fn begun(
        &mut self,
        post: &mut Post,
        work: TaskAttempt,
        begun: Result<TaskFolder, GitError>,
    ) -> bool {
        let attempt =
            Attempt { member: work.member.clone(), task: work.task, number: work.attempt };
        let member = &work.member;
        let task = work.task;
        let found = post.state.tasks().get(task);
        let is_its = found
            .is_some_and(|it| it.owner.as_ref() == Some(member) && it.attempts == work.attempt);
        match begun {
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

    /// Makes a folder ready later that cannot be made ready now because of something that may pass: the task is not to blame
    /// for it. Not for ever. People are told once. Returns whether it is tried again.
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

    /// Forgets what was tried for a member in vain, so that it is tried again.
    pub(super) fn forget_unready(&mut self, member: &MemberName) {
        self.begun.retain(|it, is| it.member != *member || *is == Readiness::Ready);
    }

    /// Nothing is being made ready for a member any more: its next failure is news.
    pub(super) fn forget_failures(&mut self, member: &MemberName) {
        if !self.is_coming(member) {
            self.failing.forget(member);
        }
    }

    /// What must be done before a member that claims a task hears that it has it.
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
    /// Nobody holds a task any more: what was done for it is kept where the next can find it.
    pub(super) fn keep_work(&mut self, state: &State, event: &Event) {
        let (Fact::TaskReleased { task, .. } | Fact::TaskFailed { task, .. }) = &event.fact else {
            return;
        };
        let ended: Vec<_> = self.begun.keys().filter(|it| it.task == *task).cloned().collect();
        for attempt in ended {
            self.begun.remove(&attempt);
            let owner = attempt.member;
            let Some(isolation) = self.isolation_of(state, &owner).cloned() else { continue };
            if !self.is_at_another(state, &owner, *task) && isolation.has_place(&owner) {
                // What cannot be committed now is tried again before the folder is used for something else.
                self.jobs.add(async move { drop(isolation.save(&owner).await) });
            }
        }
    }

    /// A task is over, so that nobody's folder is for it any more.
    pub(super) fn forget_work(&mut self, task: TaskNumber) {
        self.begun.retain(|it, _| it.task != task);
    }

    /// Nobody wants any more what was handed in for a task.
    pub(super) fn forget_handed_in(&self, task: TaskNumber) {
        if let Some(isolation) = self.isolation.clone() {
            // What is left over only takes a name.
            self.jobs.add(async move { drop(isolation.forget_handed_in(task).await) });
        }
    }
}

/// Watching folders.
impl Workplaces {
    /// Looks whether what members are doing fits together.
    pub(super) fn watch(&mut self, post: &Post, members: Vec<MemberName>) {
        let is_watched = |team: &Team| team.settings.isolation_watch_seconds > 0;
        let isolation = self.isolation.clone();
        let isolation = isolation.filter(|_| post.state.team().is_some_and(is_watched));
        let Some(isolation) = isolation else { return };
        let at_work = |member: &MemberName| is_working(&post.state, member);
        let members: Vec<_> = members.into_iter().filter(at_work).collect();
        let Some(mut watcher) = self.watcher.take() else { return };
        post.background.spawn_input(async move {
            let seen = watcher.look(&isolation, &members).await;
            Some(LeadInput::Watched(Box::new((watcher, seen))))
        });
    }

    /// Tells those whom it concerns what does not fit.
    pub(super) async fn watched(
        &mut self,
        post: &mut Post,
        watcher: Watcher,
        seen: Result<WatchReport, GitError>,
    ) {
        self.watcher = Some(watcher);
        let Some(branch) = self.isolation.as_ref().map(|it| it.branch().to_owned()) else {
            return;
        };
        // What cannot be seen now is seen later, at the latest when it is merged.
        let WatchReport { clashes, unseen } = seen.unwrap_or_default();
        for (member, why) in unseen {
            let what = format!("its folder cannot be watched for conflicts: {why}");
            post.note(&member, TranscriptLine::trouble(&what));
        }
        for clash in clashes {
            // A member that has lost its task meanwhile has nothing to agree on.
            let concerned: Vec<_> =
                clash.members().filter(|it| is_working(&post.state, it)).collect();
            for member in concerned {
                post.tell(member, clash.told_to(member, &branch)).await;
            }
        }
    }
}

fn work(state: &State, member: &MemberName, task: TaskNumber) -> Option<TaskAttempt> {
    let found = state.tasks().get(task)?;
    let subject = found.subject.clone();
    Some(TaskAttempt { member: member.clone(), task, attempt: found.attempts, subject })
}

/// The work that somebody has just claimed. A member that is at something else stays where it is.
pub(super) fn claimed(state: &State, done: &CommandEffect) -> Option<TaskAttempt> {
    let (task, member) = done.events.iter().find_map(|event| {
        let Fact::TaskClaimed { task, owner, .. } = &event.fact else { return None };
        Some((*task, owner.clone()))
    })?;
    let is_free = others_at_work(state, &member, task).next().is_none();
    work(state, &member, task).filter(|_| is_free)
}

/// Whether a task was handed in before in the same attempt, so that it has a branch already.
fn was_handed_in(task: &Task) -> bool {
    let mut newest_first = task.trail.iter().rev().map(|it| it.what);
    newest_first
        .find(|it| matches!(it, TrailKind::Submitted | TrailKind::Claimed | TrailKind::Assigned))
        == Some(TrailKind::Submitted)
}

/// What somebody is told who tries a task again.
fn earlier(task: TaskNumber, branches: &[String]) -> String {
    let names: Vec<_> = branches.iter().map(|branch| format!("`{branch}`")).collect();
    let newest = branches.last().map_or("", String::as_str);
    format!(
        "an earlier attempt at {task} left its work on {}; see it with `git show {newest}`, take it over with `git merge {newest}`",
        names.join(", ")
    )
}
