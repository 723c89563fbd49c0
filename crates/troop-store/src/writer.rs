//! The thread through which a process writes: it commits what waits in one go, and grants turns.

use std::{
    fmt,
    sync::mpsc::{SyncSender, sync_channel},
    thread,
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout},
};
use troop_model::{TeamId, Version};

use crate::{
    Appended, Batch, BoxFuture, Entry, StoreResult, Turn, TurnWriter,
    failure::{LINE_PATIENCE, bug, repeat, turn_taken_back, waited_too_long},
    worker::{Thread, opened, thread_died},
};

/// How many requests are committed together at most, so that the first need not wait for the last of many.
const GROUP: usize = 256;
/// How long the thread stays awake after its work. Who was answered often asks again at once, and by then a thread that
/// sleeps would only begin to wake up.
const WAKEFUL: Duration = Duration::from_micros(150);

/// A log, or several in one database, as its one writer sees it. Every call may block.
pub(crate) trait Journal: 'static {
    /// Waits in line for the right to write, unless it is held, and begins a transaction.
    fn begin(&mut self) -> StoreResult<()>;

    /// Puts a batch behind the log and gives the version of its end, or `None` if others appended first.
    fn append(&mut self, team: TeamId, batch: &Batch) -> StoreResult<Option<Version>>;

    /// Reads all that follows a version.
    fn missed(&mut self, team: TeamId, after: Version) -> StoreResult<Vec<Entry>>;

    /// Makes the transaction durable and tells who watches. The right to write stays.
    fn commit(&mut self) -> StoreResult<()>;

    /// Drops what is not committed and gives the right to write back.
    fn leave(&mut self);
}

/// Tells a caller how its change ended, once that is known.
type Answer = Box<dyn FnOnce(StoreResult<()>) + Send>;
type Change<J> = Box<dyn FnOnce(StoreResult<&mut J>) -> Option<Answer> + Send>;

struct Append {
    team: TeamId,
    batch: Batch,
    reply: oneshot::Sender<StoreResult<Appended>>,
}

enum Request<J> {
    Append(Append),
    /// Anything else that is written. It changes nothing if it is refused for a reason of its own.
    Change(Change<J>),
}

/// The callers' side of the writing thread.
#[derive(Debug)]
pub(crate) struct Writer<J> {
    thread: Thread<Request<J>>,
}

impl<J: Journal> Writer<J> {
    pub(crate) fn new(open: impl Fn() -> StoreResult<J> + Send + Sync + 'static) -> Self {
        Self { thread: Thread::new("troop-write", move |queue| serve(queue, &open)) }
    }

    pub(crate) async fn append(&self, team: TeamId, batch: Batch) -> StoreResult<Appended> {
        let (reply, answer) = oneshot::channel();
        self.ask(Request::Append(Append { team, batch, reply }), answer).await
    }

    pub(crate) async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut J) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let (reply, answer) = oneshot::channel();
        let change: Change<J> = Box::new(move |journal| match journal.and_then(work) {
            Ok(value) => Some(Box::new(move |committed| {
                drop(reply.send(committed.map(|()| value)));
            })),
            Err(error) => {
                drop(reply.send(Err(error)));
                None
            }
        });
        self.ask(Request::Change(change), answer).await
    }

    async fn ask<T>(
        &self,
        request: Request<J>,
        answer: oneshot::Receiver<StoreResult<T>>,
    ) -> StoreResult<T> {
        let asked = async {
            self.thread.send(request).await?;
            answer.await.map_err(|_| thread_died())?
        };
        timeout(LINE_PATIENCE, asked).await.unwrap_or_else(|_| Err(waited_too_long()))
    }
}

fn serve<J: Journal>(mut queue: mpsc::Receiver<Request<J>>, open: &impl Fn() -> StoreResult<J>) {
    let mut journal = None;
    let mut waiting = Vec::new();
    let mut awake_until = Instant::now();
    loop {
        if waiting.is_empty() {
            let Some(request) = next(&mut queue, awake_until) else { return };
            waiting.push(request);
        }
        while waiting.len() < GROUP
            && let Ok(request) = queue.try_recv()
        {
            waiting.push(request);
        }
        match enter(&mut journal, open) {
            Ok(journal) => waiting = round(journal, waiting),
            Err(error) => waiting.drain(..).for_each(|request| refuse(request, &error)),
        }
        awake_until = Instant::now() + WAKEFUL;
    }
}

/// Waits for a request, awake for a while; `None` if none can come any more.
fn next<R>(queue: &mut mpsc::Receiver<R>, awake_until: Instant) -> Option<R> {
    while Instant::now() < awake_until {
        match queue.try_recv() {
            Ok(request) => return Some(request),
            Err(mpsc::error::TryRecvError::Disconnected) => return None,
            Err(mpsc::error::TryRecvError::Empty) => thread::yield_now(),
        }
    }
    queue.blocking_recv()
}

fn enter<'a, J: Journal>(
    journal: &'a mut Option<J>,
    open: &impl Fn() -> StoreResult<J>,
) -> StoreResult<&'a mut J> {
    let journal = opened(journal, open)?;
    match journal.begin() {
        Ok(()) => Ok(journal),
        Err(error) => {
            journal.leave();
            Err(error)
        }
    }
}

fn refuse<J>(request: Request<J>, error: &crate::StoreError) {
    match request {
        Request::Append(append) => drop(append.reply.send(Err(repeat(error)))),
        Request::Change(change) => drop(change(Err(repeat(error)))),
    }
}

/// Commits all that waits, then grants one turn; gives back who has to wait for another.
///
/// One turn per round, so that other processes get theirs in between.
fn round<J: Journal>(journal: &mut J, waiting: Vec<Request<J>>) -> Vec<Request<J>> {
    let mut answers: Vec<Answer> = Vec::new();
    let mut behind = Vec::new();
    for request in waiting {
        match request {
            // Nobody waits for it any more, and it was not begun.
            Request::Append(append) if append.reply.is_closed() => {}
            Request::Append(append) => match journal.append(append.team, &append.batch) {
                Ok(Some(end)) => answers.push(Box::new(move |committed| {
                    drop(append.reply.send(committed.map(|()| Appended::Done(end))));
                })),
                Ok(None) => behind.push(append),
                Err(error) => drop(append.reply.send(Err(error))),
            },
            Request::Change(change) => answers.extend(change(Ok(journal))),
        }
    }
    let committed = journal.commit();
    for answer in answers {
        answer(committed.as_ref().copied().map_err(repeat));
    }
    let mut behind = behind.into_iter();
    if let Some(append) = behind.next() {
        grant(journal, append);
    }
    journal.leave();
    behind.map(Request::Append).collect()
}

/// Gives one caller what it missed, and waits for its decision while nobody else can write.
fn grant(journal: &mut impl Journal, append: Append) {
    let Append { team, batch, reply } = append;
    let missed = journal.begin().and_then(|()| journal.missed(team, batch.after));
    let (decision, decided) = sync_channel(1);
    let turn = missed.map(|missed| Turn::new(missed, Box::new(ThreadTurn(decision))));
    let is_granted = turn.is_ok();
    if reply.send(turn.map(Appended::Behind)).is_err() || !is_granted {
        return;
    }
    let Ok(Decision { batch, reply }) = decided.recv_timeout(Turn::PATIENCE) else { return };
    let ended = journal
        .append(team, &batch)
        .and_then(|end| end.ok_or_else(|| bug("a turn's batch was not decided on what it missed")))
        .and_then(|end| journal.commit().map(|()| end));
    drop(reply.send(ended));
}

struct Decision {
    batch: Batch,
    reply: oneshot::Sender<StoreResult<Version>>,
}

/// The turn of a caller for whom the writing thread waits.
struct ThreadTurn(SyncSender<Decision>);

impl TurnWriter for ThreadTurn {
    fn append(self: Box<Self>, batch: Batch) -> BoxFuture<'static, StoreResult<Version>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            self.0.send(Decision { batch, reply }).map_err(|_| turn_taken_back())?;
            answer.await.map_err(|_| turn_taken_back())?
        })
    }
}

impl fmt::Debug for ThreadTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadTurn").finish_non_exhaustive()
    }
}
