//! The writing thread of a process: it commits everything that waits in one transaction, and grants append slots.

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
    AppendOutcome, AppendSlot, Batch, Entry, SlotWriter, StoreFuture, StoreResult,
    failure::{LINE_PATIENCE, missed_ignored, repeat, slot_taken_back, waited_too_long},
    worker::{Thread, opened, thread_died},
};

/// How many requests are committed together at most, so that the first need not wait for the last of many.
const GROUP: usize = 256;
/// How long the thread stays awake after its work. A caller often sends its next request at once, and a sleeping thread
/// would only begin to wake up by then.
const WAKEFUL: Duration = Duration::from_micros(150);

/// A log, or several in one database, as its one writer sees it. Every call may block.
pub(crate) trait Journal: 'static {
    /// Queues for the write lock, unless it is held, and begins a transaction.
    fn begin(&mut self) -> StoreResult<()>;

    /// Appends a batch and returns the version of its end, or `None` if others appended first.
    fn append(&mut self, team: TeamId, batch: &Batch) -> StoreResult<Option<Version>>;

    /// Reads all entries after a version.
    fn missed(&mut self, team: TeamId, after: Version) -> StoreResult<Vec<Entry>>;

    /// Makes the transaction durable and wakes the watchers. Keeps the write lock.
    fn commit(&mut self) -> StoreResult<()>;

    /// Rolls back what is not committed and releases the write lock.
    fn leave(&mut self);
}

/// Tells a caller how its change ended, once that is known.
type CommitReply = Box<dyn FnOnce(StoreResult<()>) + Send>;
type JournalChange<J> = Box<dyn FnOnce(StoreResult<&mut J>) -> Option<CommitReply> + Send>;

struct Append {
    team: TeamId,
    batch: Batch,
    reply: oneshot::Sender<StoreResult<AppendOutcome>>,
}

enum WriteRequest<J> {
    Append(Append),
    /// Any other write. A refused one changes nothing.
    Change(JournalChange<J>),
}

/// The callers' side of the writing thread.
#[derive(Debug)]
pub(crate) struct JournalWriter<J> {
    thread: Thread<WriteRequest<J>>,
}

impl<J: Journal> JournalWriter<J> {
    pub(crate) fn new(open: impl Fn() -> StoreResult<J> + Send + Sync + 'static) -> Self {
        Self { thread: Thread::new("troop-write", move |queue| serve(queue, &open)) }
    }

    pub(crate) async fn append(&self, team: TeamId, batch: Batch) -> StoreResult<AppendOutcome> {
        let (reply, answer) = oneshot::channel();
        self.ask(WriteRequest::Append(Append { team, batch, reply }), answer).await
    }

    pub(crate) async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut J) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let (reply, answer) = oneshot::channel();
        let change: JournalChange<J> = Box::new(move |journal| match journal.and_then(work) {
            Ok(value) => Some(Box::new(move |committed| {
                drop(reply.send(committed.map(|()| value)));
            })),
            Err(error) => {
                drop(reply.send(Err(error)));
                None
            }
        });
        self.ask(WriteRequest::Change(change), answer).await
    }

    async fn ask<T>(
        &self,
        request: WriteRequest<J>,
        answer: oneshot::Receiver<StoreResult<T>>,
    ) -> StoreResult<T> {
        let asked = async {
            self.thread.send(request).await?;
            answer.await.map_err(|_| thread_died())?
        };
        timeout(LINE_PATIENCE, asked).await.unwrap_or_else(|_| Err(waited_too_long()))
    }
}

fn serve<J: Journal>(
    mut queue: mpsc::Receiver<WriteRequest<J>>,
    open: &impl Fn() -> StoreResult<J>,
) {
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

/// Waits for a request, spinning for a while first; `None` if no more can come.
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

fn refuse<J>(request: WriteRequest<J>, error: &crate::StoreError) {
    match request {
        WriteRequest::Append(append) => drop(append.reply.send(Err(repeat(error)))),
        WriteRequest::Change(change) => drop(change(Err(repeat(error)))),
    }
}

/// Commits everything that waits, then grants one slot; returns the requests that must wait for another round.
///
/// One slot per round, so that other processes get theirs in between.
fn round<J: Journal>(journal: &mut J, waiting: Vec<WriteRequest<J>>) -> Vec<WriteRequest<J>> {
    let mut answers: Vec<CommitReply> = Vec::new();
    let mut behind = Vec::new();
    for request in waiting {
        match request {
            // The caller has gone, and the append has not started.
            WriteRequest::Append(append) if append.reply.is_closed() => {}
            WriteRequest::Append(append) => match journal.append(append.team, &append.batch) {
                Ok(Some(end)) => answers.push(Box::new(move |committed| {
                    drop(append.reply.send(committed.map(|()| AppendOutcome::Done(end))));
                })),
                Ok(None) => behind.push(append),
                Err(error) => drop(append.reply.send(Err(error))),
            },
            WriteRequest::Change(change) => answers.extend(change(Ok(journal))),
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
    behind.map(WriteRequest::Append).collect()
}

/// Sends one caller the entries that it missed, and waits for its decision while nobody else can write.
fn grant(journal: &mut impl Journal, append: Append) {
    let Append { team, batch, reply } = append;
    let missed = journal.begin().and_then(|()| journal.missed(team, batch.after));
    let (decision, decided) = sync_channel(1);
    let slot = missed.map(|missed| AppendSlot::new(missed, Box::new(ThreadSlot(decision))));
    let is_granted = slot.is_ok();
    if reply.send(slot.map(AppendOutcome::Behind)).is_err() || !is_granted {
        return;
    }
    let Ok(Decision { batch, reply }) = decided.recv_timeout(AppendSlot::PATIENCE) else { return };
    let ended = journal
        .append(team, &batch)
        .and_then(|end| end.ok_or_else(missed_ignored))
        .and_then(|end| journal.commit().map(|()| end));
    drop(reply.send(ended));
}

struct Decision {
    batch: Batch,
    reply: oneshot::Sender<StoreResult<Version>>,
}

/// A slot for which the writing thread waits.
struct ThreadSlot(SyncSender<Decision>);

impl SlotWriter for ThreadSlot {
    fn append(self: Box<Self>, batch: Batch) -> StoreFuture<'static, Version> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            self.0.send(Decision { batch, reply }).map_err(|_| slot_taken_back())?;
            answer.await.map_err(|_| slot_taken_back())?
        })
    }
}

impl fmt::Debug for ThreadSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadSlot").finish_non_exhaustive()
    }
}
