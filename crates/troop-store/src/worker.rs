//! A thread that does blocking work for async callers, one job after the other.

use std::{fmt, thread};

use tokio::sync::{mpsc, oneshot};

use crate::{
    StoreResult,
    failure::{bug, unavailable},
};

/// How many jobs may wait; more callers wait for room, in line.
const QUEUE: usize = 1024;

type Job<C> = Box<dyn FnOnce(StoreResult<&mut C>) + Send>;

/// Owns a thread, and on it a `C` that is opened by the first job. Dropping it ends the thread after its last job.
pub(crate) struct Worker<C> {
    jobs: mpsc::Sender<Job<C>>,
}

impl<C: 'static> Worker<C> {
    pub(crate) fn start(
        name: &str,
        open: impl Fn() -> StoreResult<C> + Send + 'static,
    ) -> StoreResult<Self> {
        let (jobs, mut queue) = mpsc::channel::<Job<C>>(QUEUE);
        start_thread(name, move || {
            let mut context = None;
            while let Some(job) = queue.blocking_recv() {
                job(opened(&mut context, &open));
            }
        })?;
        Ok(Self { jobs })
    }

    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut C) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let (reply, answer) = oneshot::channel();
        let job: Job<C> = Box::new(move |context| drop(reply.send(context.and_then(work))));
        self.jobs.send(job).await.map_err(|_| thread_died())?;
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

pub(crate) fn start_thread(name: &str, run: impl FnOnce() + Send + 'static) -> StoreResult<()> {
    thread::Builder::new().name(name.to_owned()).spawn(run).map(drop).map_err(|error| {
        unavailable(
            "the system has no thread left for the store",
            "end some processes, or raise the limit: `ulimit -u`",
            error,
        )
    })
}

pub(crate) fn thread_died() -> crate::StoreError {
    bug("a thread of the store died")
}

impl<C> fmt::Debug for Worker<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").finish_non_exhaustive()
    }
}
