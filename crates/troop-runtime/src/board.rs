//! The only writer of a team's log in a process.
//!
//! A board drains all waiting commands, decides them one after another in memory, appends what they made in one step,
//! and only then answers and publishes. If others wrote first, it takes in what they wrote and decides again. Nobody
//! ever sees what is not durable: looking at the state waits in the same queue as changing it.

mod archive;
mod next;
mod open;
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

use tokio::sync::{broadcast, mpsc, oneshot};
use tokio_util::task::TaskTracker;
use troop_model::{
    Asker, Command, Event, NewTeamCommand, OperationId, State, TaskNumber, TeamId, Time, Version,
};
use troop_store::Store;
use uuid::Uuid;

use crate::{BoardError, BoardResult, Clock};

pub use archive::TaskPage;
pub(crate) use open::{event, replay};
pub use subscription::Subscription;

/// How many commands may wait. Who comes later waits for a place, so a flood slows down those who make it.
const QUEUE: usize = 1_024;
/// How many events a slow subscriber may be behind before it reads them from the store instead.
const BACKLOG: usize = 1_024;

/// Whether a board keeps up with what other processes write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Following {
    /// It does, as long as it is open.
    Always,
    /// It looks when it is opened and before it refuses; enough for one command.
    WhenAsked,
}

/// A command, with all that a board must know about who gives it.
#[derive(Clone, Debug)]
pub struct CommandRequest {
    /// Names the attempt: the same request again has one effect.
    pub operation: OperationId,
    pub asker: Asker,
    pub command: Command,
    /// The fencing number of the supervisor that passes this on, if one does.
    pub fence: Option<u64>,
}

/// Who asks for something that is more than a command, such as making a team.
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

/// What a command did, once it is durable.
#[derive(Clone, Debug)]
pub struct CommandEffect {
    /// Where the log stood after it.
    pub version: Version,
    /// The facts that it made; none if things were so already.
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
    /// What the writer said when it panicked.
    fault: Arc<OnceLock<String>>,
}

/// A command that was given and is not answered yet.
#[derive(Debug)]
pub struct PendingCommand<T = CommandEffect> {
    answer: oneshot::Receiver<thread::Result<BoardResult<T>>>,
    board: Board,
}

impl<T> PendingCommand<T> {
    /// Waits until what the command did is durable.
    pub async fn done(self) -> BoardResult<T> {
        match self.answer.await {
            Ok(answer) => answer.unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => Err(self.board.ended().await),
        }
    }
}

/// What subscribers are told: an event, or that there is something in the store which the board could not read.
type BoardNews = Option<Arc<Event>>;

/// What is done with the answer to a command, and with the state that it led to.
type BoardReply = Box<dyn FnOnce(BoardResult<CommandEffect>, &State) + Send>;

/// One thing that waits in a board's queue.
enum BoardJob {
    Submit(Box<CommandRequest>, BoardReply),
    Look(Box<dyn FnOnce(&State) + Send>),
    /// Take in what others wrote, then answer.
    CatchUp(oneshot::Sender<BoardResult<Version>>),
}

impl Board {
    /// Makes a team and opens it.
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
            // Watch first, then read: what is written in between is seen twice rather than never.
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
        };
        let writer = writer::BoardWriter::new(team, store, clock, opened, events, tracker.clone());
        tracker.spawn(keep_fault(writer.run(queue, watch), Arc::clone(&board.fault)));
        tracker.close();
        Ok(board)
    }

    /// Which team this is.
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

    /// What time it is here.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Gives a command and waits until what it did is durable.
    pub async fn submit(&self, request: CommandRequest) -> BoardResult<CommandEffect> {
        self.give(request).await?.done().await
    }

    /// Gives a command. What is given after this is decided after it, also while its answer is still to come.
    pub async fn give(&self, request: CommandRequest) -> BoardResult<PendingCommand> {
        self.give_and_look(request, |_, done| done).await
    }

    /// Likewise, and looks at the state as soon as it holds what the command did: a look that is asked for later waits for
    /// what others have changed meanwhile.
    pub async fn give_and_look<T: Send + 'static>(
        &self,
        request: CommandRequest,
        look: impl FnOnce(&State, CommandEffect) -> T + Send + 'static,
    ) -> BoardResult<PendingCommand<T>> {
        let (reply, answer) = oneshot::channel();
        let reply = move |done: BoardResult<CommandEffect>, state: &State| {
            let look = || done.map(|done| look(state, done));
            drop(reply.send(catch_unwind(AssertUnwindSafe(look))));
        };
        self.enqueue(BoardJob::Submit(Box::new(request), Box::new(reply))).await?;
        Ok(PendingCommand { answer, board: self.clone() })
    }

    /// Looks at the state between two changes. All that is seen is durable.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> BoardResult<T> {
        let (reply, answer) = oneshot::channel();
        // A look that panics is its caller's fault: the caller gets the panic, and the board goes on.
        let job = move |state: &State| {
            drop(reply.send(catch_unwind(AssertUnwindSafe(|| look(state)))));
        };
        self.enqueue(BoardJob::Look(Box::new(job))).await?;
        let Ok(looked) = answer.await else { return Err(self.ended().await) };
        Ok(looked.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Takes in what other processes wrote, and says where the log stands.
    pub async fn catch_up(&self) -> BoardResult<Version> {
        let (reply, answer) = oneshot::channel();
        self.enqueue(BoardJob::CatchUp(reply)).await?;
        match answer.await {
            Ok(answer) => answer,
            Err(_) => Err(self.ended().await),
        }
    }

    /// Follows the log from a version on: first what is there, then what comes, in order and without gaps.
    #[must_use]
    pub fn subscribe(&self, after: Version) -> Subscription {
        let news = match self.events.upgrade() {
            Some(events) => events.subscribe(),
            // The writer is gone; what is stored can still be read.
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
        // Who waited learns of the end before the fault is noted.
        self.tracker.wait().await;
        match self.fault.get() {
            Some(what) => BoardError::Broken { what: what.clone() },
            None => BoardError::Closed,
        }
    }
}

/// Runs the writer to its end and keeps what it says if it panics.
async fn keep_fault(run: impl Future<Output = ()>, fault: Arc<OnceLock<String>>) {
    let mut run = pin!(run);
    std::future::poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(cx))) {
        Ok(poll) => poll,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            fault.get_or_init(|| text.unwrap_or("unknown").to_owned());
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
            Self::CatchUp(_) => "CatchUp",
        })
    }
}
