//! Threads that do blocking work for async callers, one request after the other.

use std::{
    fmt,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use tokio::sync::{mpsc, oneshot};
use troop_model::lock;

use crate::{
    StoreError, StoreResult,
    failure::{bug, unavailable},
};

/// How many requests may wait; more callers wait for room, in line.
const QUEUE: usize = 1024;

type Run<R> = Arc<dyn Fn(mpsc::Receiver<R>) + Send + Sync>;

/// How long a thread may take to put everything away when it is no longer needed. It may be waiting for others.
const GRACE: Duration = Duration::from_millis(500);

/// A thread that starts with its first request, and ends after its last one when this is dropped.
pub(crate) struct Thread<R> {
    name: &'static str,
    run: Run<R>,
    running: Mutex<Option<RunningThread<R>>>,
}

struct RunningThread<R> {
    requests: mpsc::Sender<R>,
    /// Closed by the thread when it ends.
    ended: std::sync::mpsc::Receiver<()>,
}

impl<R: Send + 'static> Thread<R> {
    pub(crate) fn new(
        name: &'static str,
        run: impl Fn(mpsc::Receiver<R>) + Send + Sync + 'static,
    ) -> Self {
        Self { name, run: Arc::new(run), running: Mutex::default() }
    }

    /// Queues a request.
    pub(crate) async fn send(&self, request: R) -> StoreResult<()> {
        let requests = self.started()?;
        requests.send(request).await.map_err(|_| thread_died())
    }

    fn started(&self) -> StoreResult<mpsc::Sender<R>> {
        let mut running = lock(&self.running);
        if let Some(running) = running.as_ref().filter(|running| !running.requests.is_closed()) {
            return Ok(running.requests.clone());
        }
        let (requests, queue) = mpsc::channel(QUEUE);
        let (alive, ended) = std::sync::mpsc::channel();
        let run = Arc::clone(&self.run);
        let thread = thread::Builder::new().name(self.name.to_owned());
        let started = thread.spawn(move || {
            run(queue);
            drop(alive);
        });
        started.map_err(|error| {
            unavailable(
                "the system has no thread left for the store",
                "end some processes, or raise the limit: `ulimit -u`",
                error,
            )
        })?;
        Ok(running.insert(RunningThread { requests, ended }).requests.clone())
    }
}

impl<R> Drop for Thread<R> {
    /// Waits until the thread has closed its files: a process that ends at once would leave a database behind
    /// that the next one has to recover.
    fn drop(&mut self) {
        if let Some(RunningThread { requests, ended }) = lock(&self.running).take() {
            drop(requests);
            let _late = ended.recv_timeout(GRACE);
        }
    }
}

impl<R> fmt::Debug for Thread<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("name", &self.name).finish_non_exhaustive()
    }
}

pub(crate) fn thread_died() -> StoreError {
    bug("a thread of the store died")
}

type Job<C> = Box<dyn FnOnce(StoreResult<&mut C>) + Send>;

/// Lends a `C`, which the first job opens, to one job after the other.
#[derive(Debug)]
pub(crate) struct Worker<C: 'static> {
    thread: Thread<Job<C>>,
}

impl<C: 'static> Worker<C> {
    pub(crate) fn new(
        name: &'static str,
        open: impl Fn() -> StoreResult<C> + Send + Sync + 'static,
    ) -> Self {
        let run = move |mut queue: mpsc::Receiver<Job<C>>| {
            let mut context = None;
            while let Some(job) = queue.blocking_recv() {
                job(opened(&mut context, &open));
            }
        };
        Self { thread: Thread::new(name, run) }
    }

    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut C) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let (reply, answer) = oneshot::channel();
        let job: Job<C> = Box::new(move |context| drop(reply.send(context.and_then(work))));
        self.thread.send(job).await?;
        answer.await.map_err(|_| thread_died())?
    }
}

/// Opens it on first use. A failed attempt is repeated, since the reason may go away.
pub(crate) fn opened<'a, C>(
    context: &'a mut Option<C>,
    open: &impl Fn() -> StoreResult<C>,
) -> StoreResult<&'a mut C> {
    match context {
        Some(context) => Ok(context),
        None => Ok(context.insert(open()?)),
    }
}
