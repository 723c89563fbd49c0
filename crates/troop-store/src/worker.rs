//! Threads that do blocking work for async callers, one request after the other.

use std::{
    fmt,
    sync::{Arc, Mutex},
    thread,
};

use tokio::sync::{mpsc, oneshot};

use crate::{
    StoreError, StoreResult,
    failure::{bug, lock, unavailable},
};

/// How many requests may wait; more callers wait for room, in line.
const QUEUE: usize = 1024;

type Run<R> = Arc<dyn Fn(mpsc::Receiver<R>) + Send + Sync>;

/// A thread that starts with its first request, and ends after its last one when this is dropped.
pub(crate) struct Thread<R> {
    name: &'static str,
    run: Run<R>,
    requests: Mutex<Option<mpsc::Sender<R>>>,
}

impl<R: Send + 'static> Thread<R> {
    pub(crate) fn new(
        name: &'static str,
        run: impl Fn(mpsc::Receiver<R>) + Send + Sync + 'static,
    ) -> Self {
        Self { name, run: Arc::new(run), requests: Mutex::default() }
    }

    /// Puts a request in line.
    pub(crate) async fn send(&self, request: R) -> StoreResult<()> {
        let requests = self.started()?;
        requests.send(request).await.map_err(|_| thread_died())
    }

    fn started(&self) -> StoreResult<mpsc::Sender<R>> {
        let mut requests = lock(&self.requests);
        if let Some(requests) = requests.as_ref().filter(|requests| !requests.is_closed()) {
            return Ok(requests.clone());
        }
        let (sender, queue) = mpsc::channel(QUEUE);
        let run = Arc::clone(&self.run);
        let started = thread::Builder::new().name(self.name.to_owned()).spawn(move || run(queue));
        started.map_err(|error| {
            unavailable(
                "the system has no thread left for the store",
                "end some processes, or raise the limit: `ulimit -u`",
                error,
            )
        })?;
        Ok(requests.insert(sender).clone())
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

/// Opens what is not open yet. It is tried anew each time, since the reason for a refusal may go away.
pub(crate) fn opened<'a, C>(
    context: &'a mut Option<C>,
    open: &impl Fn() -> StoreResult<C>,
) -> StoreResult<&'a mut C> {
    match context {
        Some(context) => Ok(context),
        None => Ok(context.insert(open()?)),
    }
}
