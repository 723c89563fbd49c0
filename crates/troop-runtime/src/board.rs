//! The only writer of a team's log in a process.
//!
//! A board drains all waiting commands, decides them one after another in memory, appends what they made in one step,
//! and only then answers and publishes. If others wrote first, it takes in what they wrote and decides again. Only durable
//! changes are visible: looking at the state waits in the same queue as changing it.

mod archive;
mod door;
mod next;
mod open;
pub(crate) mod rules;
mod snapshots;
mod subscription;
mod writer;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    sync::{Arc, OnceLock},
    task::Poll,
    thread,
};

use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio_util::task::TaskTracker;
use troop_model::{
    Asker, Command, Event, NewTeamCommand, OperationId, State, TaskNumber, TeamId, Time, Version,
    panic_text,
};
use troop_store::Store;
use uuid::Uuid;

use self::door::BoardDoor;
use crate::{BoardError, BoardResult, Clock, mirror};

pub use archive::TaskPage;
pub(crate) use door::{DoorAnswer, DoorJob};
pub(crate) use open::{event, replay};
pub use subscription::Subscription;

/// How many commands may wait. Later callers wait for a place, so a flood slows down its senders.
const QUEUE: usize = 1_024;
/// How many events a slow subscriber may be behind before it reads them from the store instead.
const BACKLOG: usize = 1_024;

/// Whether a board follows what other processes write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Following {
    /// As long as it is open.
    Always,
    /// When it is opened and before it refuses; enough for one command.
    WhenAsked,
}

/// A command and its sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandRequest {
    /// Names the attempt: the same request again has one effect.
    pub operation: OperationId,
    pub asker: Asker,
    pub command: Command,
    /// The fencing number of the supervisor that passes this on, if one does.
    pub fence: Option<u64>,
}

/// The sender of something that is more than a command, such as the creation of a team.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Names the attempt: the same one again has one effect.
    pub operation: OperationId,
    pub asker: Asker,
}

impl Signature {
    /// A first attempt.
    #[must_use]
    pub fn new(asker: impl Into<Asker>) -> Self {
        Self { operation: OperationId(Uuid::now_v7()), asker: asker.into() }
    }

    /// A command, signed.
    #[must_use]
    pub fn on(self, command: Command) -> CommandRequest {
        let Self { operation, asker } = self;
        CommandRequest { operation, asker, command, fence: None }
    }
}

impl CommandRequest {
    /// A first attempt.
    #[must_use]
    pub fn new(asker: impl Into<Asker>, command: Command) -> Self {
        Signature::new(asker).on(command)
    }
}

/// The effect of a command, once it is durable.
#[derive(Clone, Debug)]
pub struct CommandEffect {
    /// The version of the log after it.
    pub version: Version,
    /// The facts that it made; none if nothing had to change.
    pub events: Arc<[Event]>,
}

impl CommandEffect {
    /// The first task that the facts are about.
    #[must_use]
    pub fn task(&self) -> Option<TaskNumber> {
        self.events.iter().find_map(|event| event.fact.task())
    }
}

/// A handle to an open team. Cheap to clone; the board closes when the last one is gone.
#[derive(Clone, Debug)]
pub struct Board {
    team: TeamId,
    store: Arc<dyn Store>,
    clock: Clock,
    jobs: mpsc::Sender<BoardJob>,
    /// Weak, so that subscriptions end with the writer.
    events: broadcast::WeakSender<BoardNews>,
    tracker: TaskTracker,
    /// The writer's panic message.
    fault: Arc<OnceLock<String>>,
    /// Shared by all handles.
    door: Arc<BoardDoor>,
}

/// A command that was given and is not answered yet.
#[derive(Debug)]
pub struct PendingCommand<T = CommandEffect> {
    answer: oneshot::Receiver<thread::Result<BoardResult<T>>>,
    board: Board,
}

impl<T> PendingCommand<T> {
    /// Waits until the command's effect is durable.
    pub async fn done(self) -> BoardResult<T> {
        match self.answer.await {
            Ok(answer) => answer.unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => Err(self.board.ended().await),
        }
    }
}

/// News for subscribers: an event, or none if the store has something that the board could not read.
type BoardNews = Option<Arc<Event>>;

/// Takes the answer to a command.
pub(crate) trait BoardReply: Send {
    /// Looks at the state right after the command, before any other is decided. If the command is decided again, so is this.
    fn look(&mut self, state: &State, done: CommandEffect);
    /// Answers with what was seen, now that it is durable.
    fn tell(self: Box<Self>);
    fn refuse(self: Box<Self>, error: BoardError);
}

/// The reply to a caller that wants to see something.
struct LookingReply<T, L> {
    look: L,
    seen: Option<thread::Result<T>>,
    answer: oneshot::Sender<thread::Result<BoardResult<T>>>,
}

impl<T: Send, L: Fn(&State, CommandEffect) -> T + Send> BoardReply for LookingReply<T, L> {
    fn look(&mut self, state: &State, done: CommandEffect) {
        // If the look panics, its caller gets the panic, and the board goes on.
        self.seen = Some(catch_unwind(AssertUnwindSafe(|| (self.look)(state, done))));
    }

    fn tell(self: Box<Self>) {
        if let Some(seen) = self.seen {
            // The caller may be gone.
            drop(self.answer.send(seen.map(Ok)));
        }
    }

    fn refuse(self: Box<Self>, error: BoardError) {
        drop(self.answer.send(Ok(Err(error))));
    }
}

/// One thing that waits in a board's queue.
enum BoardJob {
    Submit(Box<CommandRequest>, Box<dyn BoardReply>),
    Look(Box<dyn FnOnce(&State) + Send>),
    /// Looks at the state as it would be after a command, and leaves it as it is.
    Foresee(Box<dyn FnOnce(&mut State) + Send>),
    /// Takes in what others wrote, then answers.
    CatchUp(oneshot::Sender<BoardResult<Version>>),
}

impl Board {
    /// Creates a team and opens it.
    pub async fn create(
        store: Arc<dyn Store>,
        clock: Clock,
        following: Following,
        signature: &Signature,
        new: NewTeamCommand,
    ) -> BoardResult<Self> {
        let team = new.team;
        open::create(store.as_ref(), &clock, signature, new).await?;
        Self::open(store, clock, following, team).await
    }

    /// Opens a team that exists.
    pub async fn open(
        store: Arc<dyn Store>,
        clock: Clock,
        following: Following,
        team: TeamId,
    ) -> BoardResult<Self> {
        let watch = match following {
            // Watch first, then read: events written in between are seen twice rather than never.
            Following::Always => Some(store.watch(team).await?),
            Following::WhenAsked => None,
        };
        let opened = open::load(store.as_ref(), team).await?;
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (events, _) = broadcast::channel(BACKLOG);
        let tracker = TaskTracker::new();
        let board = Self {
            team,
            store: Arc::clone(&store),
            clock: clock.clone(),
            jobs,
            events: events.downgrade(),
            tracker: tracker.clone(),
            fault: Arc::default(),
            door: Arc::default(),
        };
        let writer = writer::BoardWriter::new(team, store, clock, opened, events, tracker.clone());
        tracker.spawn(keep_fault(writer.run(queue, watch), Arc::clone(&board.fault)));
        tracker.close();
        Ok(board)
    }

    #[must_use]
    pub fn team(&self) -> TeamId {
        self.team
    }

    /// The store that keeps its log.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Gives a command and waits until its effect is durable.
    pub async fn submit(&self, request: CommandRequest) -> BoardResult<CommandEffect> {
        self.give(request).await?.done().await
    }

    /// Gives a command. Later commands are decided after it, even if its answer has not come yet.
    pub async fn give(&self, request: CommandRequest) -> BoardResult<PendingCommand> {
        self.give_and_look(request, |_, done| done).await
    }

    /// Gives a command and looks at the state right after it: a later look would also see what others changed meanwhile.
    pub async fn give_and_look<T: Send + 'static>(
        &self,
        request: CommandRequest,
        look: impl Fn(&State, CommandEffect) -> T + Send + 'static,
    ) -> BoardResult<PendingCommand<T>> {
        let (answer, pending) = oneshot::channel();
        let reply = LookingReply { look, seen: None, answer };
        let mut job = DoorJob { request: Box::new(request), reply: Box::new(reply) };
        if self.door.is_guarded() && mirror::needs_lock(&job.request) {
            match self.door.pass(job) {
                Ok(()) => return Ok(PendingCommand { answer: pending, board: self.clone() }),
                Err(unsent) => job = unsent,
            }
        }
        let DoorJob { request, reply } = job;
        self.enqueue(BoardJob::Submit(request, reply)).await?;
        Ok(PendingCommand { answer: pending, board: self.clone() })
    }

    /// Looks at the state between two changes. Everything in it is durable.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> BoardResult<T> {
        let (reply, answer) = oneshot::channel();
        // If the look panics, its caller gets the panic, and the board goes on.
        let job = move |state: &State| {
            drop(reply.send(catch_unwind(AssertUnwindSafe(|| look(state)))));
        };
        self.enqueue(BoardJob::Look(Box::new(job))).await?;
        let Ok(looked) = answer.await else { return Err(self.ended().await) };
        Ok(looked.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Looks at the state as it would be after a command, which is not given. None if this board would refuse it, or it would
    /// change nothing; what others wrote meanwhile may change that.
    pub(crate) async fn foresee<T: Send + 'static>(
        &self,
        request: CommandRequest,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> BoardResult<Option<T>> {
        let (reply, answer) = oneshot::channel();
        let clock = self.clock.clone();
        let job = move |state: &mut State| {
            let look = |state: &State| catch_unwind(AssertUnwindSafe(|| look(state)));
            drop(reply.send(rules::foresee(state, &request, clock.now(), look)));
        };
        self.enqueue(BoardJob::Foresee(Box::new(job))).await?;
        let Ok(foreseen) = answer.await else { return Err(self.ended().await) };
        Ok(foreseen.map(|looked| looked.unwrap_or_else(|panic| resume_unwind(panic))))
    }

    /// Takes in what other processes wrote, and returns the version of the log.
    pub async fn catch_up(&self) -> BoardResult<Version> {
        let (reply, answer) = oneshot::channel();
        self.enqueue(BoardJob::CatchUp(reply)).await?;
        match answer.await {
            Ok(answer) => answer,
            Err(_) => Err(self.ended().await),
        }
    }

    /// Follows the log from a version on: first stored events, then new ones, in order and without gaps.
    #[must_use]
    pub fn subscribe(&self, after: Version) -> Subscription {
        let news = match self.events.upgrade() {
            Some(events) => events.subscribe(),
            // The writer is gone; stored events can still be read.
            None => broadcast::channel(1).1,
        };
        Subscription::new(Arc::clone(&self.store), self.team, after, news)
    }

    /// Closes this handle and, if it is the last, waits until the board has put everything away.
    pub async fn close(self) {
        let Self { jobs, tracker, .. } = self;
        let others = jobs.downgrade();
        drop(jobs);
        if others.strong_count() == 0 {
            tracker.wait().await;
        }
    }

    async fn enqueue(&self, job: BoardJob) -> BoardResult<()> {
        match self.jobs.send(job).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.ended().await),
        }
    }

    /// Why the writer is gone.
    async fn ended(&self) -> BoardError {
        // Waiting callers learn of the end before the panic message is stored.
        self.tracker.wait().await;
        match self.fault.get() {
            Some(what) => BoardError::Broken { what: what.clone() },
            None => BoardError::Closed,
        }
    }
}

/// Runs the writer to its end and keeps the message if it panics.
async fn keep_fault(run: impl Future<Output = ()>, fault: Arc<OnceLock<String>>) {
    let mut run = pin!(run);
    std::future::poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(cx))) {
        Ok(poll) => poll,
        Err(panic) => {
            fault.get_or_init(|| panic_text(panic.as_ref()).to_owned());
            Poll::Ready(())
        }
    })
    .await;
}

impl std::fmt::Debug for BoardJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Submit(..) => "Submit",
            Self::Look(_) => "Look",
            Self::Foresee(_) => "Foresee",
            Self::CatchUp(_) => "CatchUp",
        })
    }
}
