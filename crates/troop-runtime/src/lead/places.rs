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
    Command, Event, Fact, Member, MemberName, Role, State, Status, Task, TaskCommand, TaskNumber,
    Team, TrailKind,
};

use super::{
    dispatcher::Dispatcher,
    input::{Due, LeadInput},
    patience::{Failing, NextTry, PATIENCE},
    transcript::TranscriptLine,
};
use crate::{
    BoxFuture, CommandEffect, GitError, TaskAttempt, TaskFolder, WatchReport, Watcher, Worktrees,
};

/// How long is waited between two tries to make a folder ready where somebody waits for the answer.
const PAUSE: Duration = Duration::from_secs(1);

/// The folders of members, as a lead holds them.
#[derive(Debug)]
pub(super) struct Workplaces {
    pub(super) isolation: Option<Worktrees>,
    jobs: Jobs,
    /// Whose folder is being made, before it is started.
    coming: BTreeSet<MemberName>,
    /// The attempts for which a folder is, or is being, made ready.
    begun: BTreeMap<(MemberName, TaskNumber, u32), Readiness>,
    /// Who holds a task for which its folder is not free yet.
    waiting: BTreeSet<MemberName>,
    /// Whose folder could not be made ready and is tried again.
    failing: Failing,
    /// Not here while it looks.
    watcher: Option<Watcher>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readiness {
    Coming,
    Ready,
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
        // After the lead's end nobody works on.
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
            let (isolation, work) = (self.isolation.clone(), work.clone());
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

impl Workplaces {
    /// Lets something be done to folders, after all that was wanted before.
    pub(super) fn add_job(&self, job: impl Future<Output = ()> + Send + 'static) {
        self.jobs.add(job);
    }

    pub(super) fn new(isolation: Option<Worktrees>, tracker: &TaskTracker) -> Self {
        let jobs = Jobs::start(tracker);
        let watcher = Some(Watcher::default());
        let (coming, waiting) = (BTreeSet::new(), BTreeSet::new());
        let (begun, failing) = (BTreeMap::new(), Failing::default());
        Self { isolation, jobs, coming, begun, waiting, failing, watcher }
    }

    /// Whether a member's folder is being made ready, so that it has not heard of its task yet.
    pub(super) fn is_coming(&self, member: &MemberName) -> bool {
        self.begun.iter().any(|(key, it)| key.0 == *member && *it == Readiness::Coming)
    }
}

impl Dispatcher {
    /// How a member is isolated, if it is. The lead works in the project, and who runs elsewhere works where it likes.
    fn isolation_of(&self, member: &MemberName) -> Option<Worktrees> {
        let isolation = self.places.isolation.as_ref()?;
        let is_run_here = |it: &Member| it.role == Role::Member && !it.is_external();
        let is_teammate = self.post.state.member(member).is_some_and(is_run_here);
        is_teammate.then(|| isolation.clone())
    }

    /// The folder in which a member works, if it has one of its own.
    pub(super) fn place_of(&self, member: &MemberName) -> Option<PathBuf> {
        self.isolation_of(member)?.place_of(member)
    }

    /// What a member finds in its environment because it works in a folder of its own.
    pub(super) fn variables_of(&self, member: &MemberName) -> Vec<(&'static str, &'static str)> {
        self.isolation_of(member).map(|it| it.variables()).unwrap_or_default()
    }

    /// Whether a member's folder must be made before it is started. It is started when that is done.
    pub(super) fn make_place(&mut self, member: &MemberName) -> bool {
        let Some(isolation) = self.isolation_of(member) else { return false };
        if self.places.coming.insert(member.clone()) {
            let (member, inputs) = (member.clone(), self.post.background.inputs.clone());
            self.places.jobs.add(async move {
                let place = isolation.place(&member).await;
                drop(inputs.send(LeadInput::Placed(member, place)).await);
            });
        }
        true
    }

    /// A member's folder is there, so that it can be started.
    pub(super) async fn placed(&mut self, member: &MemberName, place: Result<PathBuf, GitError>) {
        self.places.coming.remove(member);
        match place {
            Ok(place) => self.start_in(member, place).await,
            Err(error) => {
                let why = format!("its folder could not be made: {}", error.chain());
                if !error.is_of_machine() || !self.starts_later(member, &why) {
                    self.cannot_start(member, std::io::Error::other(why)).await;
                }
            }
        }
    }

    /// Whether a member's folder is ready for a task. If not, the member hears of the task when it is.
    pub(super) fn is_ready_for(
        &mut self,
        owner: &MemberName,
        task: TaskNumber,
        attempt: u32,
    ) -> bool {
        let Some(isolation) = self.isolation_of(owner) else { return true };
        let key = (owner.clone(), task, attempt);
        if let Some(readiness) = self.places.begun.get(&key) {
            return *readiness == Readiness::Ready;
        }
        let breaks_off = self.links.get(owner).is_some_and(|link| link.breaks_off.is_some());
        if breaks_off || self.is_at_another(owner, task) {
            // One task at a time in one folder: what is made for one must not come in with another.
            self.places.waiting.insert(owner.clone());
            return false;
        }
        let Some(work) = self.work(owner, task) else { return true };
        self.places.begun.insert(key, Readiness::Coming);
        let is_back = self.post.state.tasks().get(task).is_some_and(was_handed_in);
        let inputs = self.post.background.inputs.clone();
        self.places.jobs.add(async move {
            let begun = match is_back {
                true => isolation.go_back(&work).await,
                false => isolation.begin(&work).await,
            };
            drop(inputs.send(LeadInput::Begun(Box::new((work, begun)))).await);
        });
        false
    }

    fn is_at_another(&self, owner: &MemberName, task: TaskNumber) -> bool {
        let is_begun =
            |it: TaskNumber| self.places.begun.keys().any(|key| key.0 == *owner && key.1 == it);
        others_at_work(&self.post.state, owner, task).any(is_begun)
    }

    /// Some task is over, or handed in: whose folder was needed for it can begin what it holds besides.
    pub(super) fn begin_waiting(&mut self) {
        for member in std::mem::take(&mut self.places.waiting) {
            self.send_held_tasks(&member);
        }
    }

    fn work(&self, member: &MemberName, task: TaskNumber) -> Option<TaskAttempt> {
        let found = self.post.state.tasks().get(task)?;
        let (attempt, subject) = (found.attempts, found.subject.clone());
        Some(TaskAttempt { member: member.clone(), task, attempt, subject })
    }

    /// The piece of work that a member has done.
    pub(super) fn work_of(
        &self,
        member: &MemberName,
        task: TaskNumber,
    ) -> Option<(Worktrees, TaskAttempt)> {
        let work = self.work(member, task)?;
        let key = (member.clone(), task, work.attempt);
        // A folder that was made ready and is gone is missed when its work is merged.
        let has_place =
            |it: &Worktrees| self.places.begun.contains_key(&key) || it.has_place(member);
        Some((self.isolation_of(member).filter(has_place)?, work))
    }

    /// A member's folder is ready for a task, or cannot be made so.
    pub(super) async fn begun(&mut self, work: TaskAttempt, begun: Result<TaskFolder, GitError>) {
        let TaskAttempt { member, task, attempt, .. } = &work;
        let key = (member.clone(), *task, *attempt);
        let found = self.post.state.tasks().get(*task);
        let is_its =
            found.is_some_and(|it| it.owner.as_ref() == Some(member) && it.attempts == *attempt);
        match begun {
            Err(error) if is_its && error.may_pass() && self.begins_later(&work, &error) => {}
            Err(error) => {
                self.places.begun.remove(&key);
                self.places.failing.forget(member);
                let reason =
                    format!("the worktree of {member} cannot be prepared: {}", error.chain());
                self.post.note(member, TranscriptLine::trouble(&reason));
                if is_its {
                    let order = TaskCommand::Release { task: (*task).into(), reason };
                    self.post.give(Command::Task(order)).await;
                }
            }
            Ok(begun) => {
                self.places.begun.insert(key, Readiness::Ready);
                self.places.failing.forget(member);
                self.post.note(
                    member,
                    TranscriptLine::note(&format!("works on branch {}", begun.branch)),
                );
                for aside in &begun.aside {
                    let what = format!(
                        "files that were in the way in its folder are now in {}",
                        aside.display()
                    );
                    self.post.note(member, TranscriptLine::trouble(&what));
                }
                if is_its && !begun.earlier.is_empty() {
                    self.post.tell(member, earlier(*task, &begun.earlier)).await;
                }
                self.send_held_tasks(member);
            }
        }
    }

    /// Makes a folder ready later, whose time has not come because of something that may pass: the task is not to blame for
    /// it. Not for ever. People are told once.
    fn begins_later(&mut self, work: &TaskAttempt, error: &GitError) -> bool {
        let (member, task) = (&work.member, work.task);
        let again = self.places.failing.again(member, self.post.timing.restart);
        let Some(NextTry { pause, is_new, is_news }) = again else { return false };
        if is_new {
            let why = error.chain();
            let what =
                format!("the worktree of {member} cannot be prepared for {task}; retrying: {why}");
            self.post.note(member, TranscriptLine::trouble(&what));
            if is_news {
                self.post.tell_people(what);
            }
        }
        self.post.timers.set(pause, Due::Begin(member.clone()));
        true
    }

    /// Tries again to make a member's folder ready.
    pub(super) fn begin_again(&mut self, member: &MemberName) {
        self.places.begun.retain(|key, it| key.0 != *member || *it == Readiness::Ready);
        self.send_held_tasks(member);
        if !self.places.is_coming(member) {
            self.places.failing.forget(member);
        }
    }

    /// What must be done before whoever claims a task hears that it has it.
    pub(super) fn readying(&self, command: &Command) -> Option<Readying> {
        let isolation = self.places.isolation.clone()?;
        let is_claim = matches!(command, Command::Task(TaskCommand::Claim { .. }));
        let (jobs, over) = (self.places.jobs.clone(), self.post.background.over.clone());
        is_claim.then(|| Readying { isolation, jobs, over })
    }

    /// A member took a task by itself.
    pub(super) fn claimed(&mut self, owner: &MemberName, task: TaskNumber, attempt: u32) {
        self.post.agenda.is_due = true;
        self.is_ready_for(owner, task, attempt);
        if let Some(link) = self.links.get_mut(owner) {
            // It knows what it took.
            link.told.insert(task, attempt);
        }
    }

    /// Nobody holds a task any more: what was done for it is kept where the next can find it.
    pub(super) fn keep_work(&mut self, event: &Event) {
        let (Fact::TaskReleased { task, .. } | Fact::TaskFailed { task, .. }) = &event.fact else {
            return;
        };
        let owners: Vec<_> =
            self.places.begun.keys().filter(|key| key.1 == *task).cloned().collect();
        for key in owners {
            self.places.begun.remove(&key);
            let owner = key.0;
            let Some(isolation) = self.isolation_of(&owner) else { continue };
            if !self.is_at_another(&owner, *task) && isolation.has_place(&owner) {
                // What cannot be committed now is tried again before the folder is used for something else.
                self.places.jobs.add(async move { drop(isolation.save(&owner).await) });
            }
        }
    }

    /// A task is over, so that nobody's folder is for it any more.
    pub(super) fn forget_work(&mut self, task: TaskNumber) {
        self.places.begun.retain(|key, _| key.1 != task);
    }

    /// Nobody wants any more what was handed in for a task.
    pub(super) fn forget_handed_in(&self, task: TaskNumber) {
        if let Some(isolation) = self.places.isolation.clone() {
            // What is left over only takes a name.
            self.places.jobs.add(async move { drop(isolation.forget_handed_in(task).await) });
        }
    }

    /// Looks whether what members are doing fits together.
    pub(super) fn watch(&mut self) {
        let is_watched = |team: &Team| team.settings.isolation_watch_seconds > 0;
        let isolation = self.places.isolation.clone();
        let isolation = isolation.filter(|_| self.post.state.team().is_some_and(is_watched));
        let Some(isolation) = isolation else { return };
        let members: Vec<_> = self.links.keys().filter(|it| self.works(it)).cloned().collect();
        let Some(mut watcher) = self.places.watcher.take() else { return };
        let inputs = self.post.background.inputs.clone();
        self.post.background.tracker.spawn(async move {
            let seen = watcher.look(&isolation, &members).await;
            drop(inputs.send(LeadInput::Watched(Box::new((watcher, seen)))).await);
        });
    }

    /// Whether a member is at a task.
    fn works(&self, member: &MemberName) -> bool {
        let tasks = self.post.state.tasks();
        tasks.held_by(member).any(|task| tasks.status(task) == Some(Status::InProgress))
    }

    /// Tells those whom it concerns what does not fit.
    pub(super) async fn watched(&mut self, watcher: Watcher, seen: Result<WatchReport, GitError>) {
        self.places.watcher = Some(watcher);
        let Some(branch) = self.places.isolation.as_ref().map(|it| it.branch().to_owned()) else {
            return;
        };
        // What cannot be seen now is seen later, at the latest when it is merged.
        let WatchReport { clashes, unseen } = seen.unwrap_or_default();
        for (member, why) in unseen {
            let what = format!("its folder cannot be watched for conflicts: {why}");
            self.post.note(&member, TranscriptLine::trouble(&what));
        }
        for clash in clashes {
            // Who has lost its task meanwhile has nothing to agree on.
            let concerned: Vec<_> = clash.members().filter(|it| self.works(it)).collect();
            for member in concerned {
                self.post.tell(member, clash.told_to(member, &branch)).await;
            }
        }
    }
}

/// The work that somebody has just claimed. Who is at something else stays where it is.
pub(super) fn claimed(state: &State, done: &CommandEffect) -> Option<TaskAttempt> {
    let (task, member) = done.events.iter().find_map(|event| {
        let Fact::TaskClaimed { task, owner, .. } = &event.fact else { return None };
        Some((*task, owner.clone()))
    })?;
    let found = state.tasks().get(task)?;
    let is_free = others_at_work(state, &member, task).next().is_none();
    let (attempt, subject) = (found.attempts, found.subject.clone());
    is_free.then_some(TaskAttempt { member, task, attempt, subject })
}

/// The other tasks that a member works on.
fn others_at_work(
    state: &State,
    member: &MemberName,
    task: TaskNumber,
) -> impl Iterator<Item = TaskNumber> {
    at_work(state, member).filter(move |it| *it != task)
}

/// The tasks that a member works on. What it has handed in is not among them.
pub(super) fn at_work(state: &State, member: &MemberName) -> impl Iterator<Item = TaskNumber> {
    let tasks = state.tasks();
    let is_at_work =
        |it: &TaskNumber| matches!(tasks.status(*it), Some(Status::InProgress | Status::Stale));
    tasks.held_by(member).filter(is_at_work)
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
