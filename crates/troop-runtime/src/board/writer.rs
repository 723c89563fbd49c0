//! The loop behind a board: drain, decide, append, answer.

use std::{sync::Arc, time::Duration};

use tokio::sync::{broadcast, mpsc, oneshot};
use tokio_util::task::TaskTracker;
use troop_model::{Context, Event, OperationId, State, TeamId, Version, decide, decode, encode};
use troop_store::{Appended, Archived, Batch, Snapshot, Store, StoreError, Turn, Watch};
use uuid::Uuid;

use super::{
    Done, Job, Request,
    open::{Opened, READ_AT_ONCE, replay},
};
use crate::{BoardError, BoardResult, Clock};

/// How many commands are appended in one step.
const MAX_BATCH: usize = 512;
/// How many events a snapshot may be behind before a new one is worth its price.
const MIN_TAIL: u64 = 256;
/// How long to wait before an append that may or may not have happened is repeated.
const REPEATS: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(500)];

type Reply = oneshot::Sender<BoardResult<Done>>;

/// One board's state and what it needs to keep it.
pub(super) struct Writer {
    team: TeamId,
    store: Arc<dyn Store>,
    clock: Clock,
    state: State,
    /// Up to where a snapshot is saved, or being saved.
    snapshot: Version,
    saving: Option<oneshot::Receiver<Saved>>,
    events: broadcast::Sender<Arc<Event>>,
    tracker: TaskTracker,
}

/// How saving a snapshot ended.
#[derive(Clone, Copy)]
struct Saved {
    is_saved: bool,
    n_departed: usize,
}

/// A command that has been decided but not answered.
enum Verdict {
    Made(Vec<Event>),
    Refused(BoardError),
    /// It happened before: these are its events' positions.
    Repeated(troop_model::Span),
}

impl Writer {
    pub(super) fn new(
        team: TeamId,
        store: Arc<dyn Store>,
        clock: Clock,
        opened: Opened,
        events: broadcast::Sender<Arc<Event>>,
        tracker: TaskTracker,
    ) -> Self {
        let Opened { state, snapshot } = opened;
        Self { team, store, clock, state, snapshot, saving: None, events, tracker }
    }

    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Job>, mut watch: Option<Watch>) {
        let mut jobs = Vec::with_capacity(MAX_BATCH);
        loop {
            tokio::select! {
                biased;
                n_jobs = queue.recv_many(&mut jobs, MAX_BATCH) => {
                    if n_jobs == 0 {
                        break;
                    }
                    self.work_off(&mut jobs).await;
                }
                saved = finished(&mut self.saving) => self.note_saved(saved),
                () = changed(&mut watch) => drop(self.catch_up().await),
            }
            self.save_snapshot_if(self.tail() >= MIN_TAIL.max(self.size()));
        }
        self.close().await;
    }

    /// Works off waiting jobs in order: commands in batches, looks in between.
    async fn work_off(&mut self, jobs: &mut Vec<Job>) {
        let mut requests = Vec::new();
        for job in jobs.drain(..) {
            match job {
                Job::Submit(request, reply) => requests.push((*request, reply)),
                Job::Look(look) => {
                    self.commit(std::mem::take(&mut requests)).await;
                    look(&self.state);
                }
                Job::CatchUp(reply) => {
                    self.commit(std::mem::take(&mut requests)).await;
                    let version = self.catch_up().await.map(|()| self.state.version());
                    drop(reply.send(version));
                }
            }
        }
        self.commit(requests).await;
    }

    /// Decides a batch of commands, makes them durable, and answers.
    async fn commit(&mut self, requests: Vec<(Request, Reply)>) {
        if requests.is_empty() {
            return;
        }
        let (requests, replies): (Vec<Request>, Vec<Reply>) = requests.into_iter().unzip();
        let verdicts = match self.decide_and_append(&requests).await {
            Ok(verdicts) => verdicts,
            Err(error) => {
                self.state.rollback();
                for reply in replies {
                    drop(reply.send(Err(error.clone())));
                }
                return;
            }
        };
        for (verdict, reply) in verdicts.into_iter().zip(replies) {
            let answer = match verdict {
                Verdict::Made(events) => Ok(self.publish(events)),
                Verdict::Refused(error) => Err(error),
                Verdict::Repeated(span) => self.recall(span).await,
            };
            drop(reply.send(answer));
        }
    }

    async fn decide_and_append(&mut self, requests: &[Request]) -> BoardResult<Vec<Verdict>> {
        let mut verdicts = self.decide_all(requests);
        if verdicts.iter().any(|verdict| matches!(verdict, Verdict::Refused(_))) {
            // Others may have written what makes the difference. Look before refusing.
            self.state.rollback();
            self.catch_up().await?;
            verdicts = self.decide_all(requests);
        }
        let batch = self.batch(&verdicts);
        if batch.bodies.is_empty() {
            return Ok(verdicts);
        }
        let mut repeats = REPEATS.iter();
        loop {
            match self.store.append(self.team, batch.clone()).await {
                Ok(Appended::Done(_)) => return Ok(verdicts),
                Ok(Appended::Behind(turn)) => return self.decide_again(requests, turn).await,
                // It may have happened. The same operation again is one effect, so repeating is safe.
                Err(StoreError::Unavailable { what, hint, source }) => match repeats.next() {
                    Some(pause) => tokio::time::sleep(*pause).await,
                    None => return Err(StoreError::Unavailable { what, hint, source }.into()),
                },
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Takes in what was missed and decides again, with the turn in hand: this cannot lose a second time.
    async fn decide_again(
        &mut self,
        requests: &[Request],
        mut turn: Turn,
    ) -> BoardResult<Vec<Verdict>> {
        self.state.rollback();
        let missed = replay(&mut self.state, &turn.take_missed())?;
        self.broadcast(missed);
        let verdicts = self.decide_all(requests);
        let batch = self.batch(&verdicts);
        if !batch.bodies.is_empty() {
            turn.append(batch).await?;
        }
        Ok(verdicts)
    }

    /// Decides commands one after another, each on what those before it made.
    fn decide_all(&mut self, requests: &[Request]) -> Vec<Verdict> {
        self.state.begin();
        // Time in a log never runs backwards, so two clocks that disagree cannot take a lease away early.
        let now = self.clock.now().max(self.state.latest());
        let decide_one = |state: &mut State, request: &Request| {
            if let Some(span) = state.operation(request.operation) {
                return Verdict::Repeated(span);
            }
            let ctx = Context {
                now,
                actor: request.actor.clone(),
                operation: request.operation,
                origin: request.origin.clone(),
            };
            match decide(state, &request.command, &ctx) {
                Ok(events) => {
                    events.iter().for_each(|event| state.apply(event));
                    Verdict::Made(events)
                }
                Err(refusal) => Verdict::Refused(refusal.into()),
            }
        };
        requests.iter().map(|request| decide_one(&mut self.state, request)).collect()
    }

    fn batch(&self, verdicts: &[Verdict]) -> Batch {
        let made = verdicts.iter().filter_map(|verdict| match verdict {
            Verdict::Made(events) => Some(events),
            Verdict::Refused(_) | Verdict::Repeated(_) => None,
        });
        let bodies: Vec<String> = made.flatten().map(encode).collect();
        let after = Version(self.state.version().0.saturating_sub(bodies.len() as u64));
        Batch { operation: OperationId(Uuid::now_v7()), after, bodies }
    }

    fn publish(&self, events: Vec<Event>) -> Done {
        let version = events.last().map_or(self.state.version(), |event| event.version);
        let events: Arc<[Event]> = events.into();
        if self.events.receiver_count() > 0 {
            self.broadcast(events.to_vec());
        }
        Done { version, events }
    }

    fn broadcast(&self, events: Vec<Event>) {
        for event in events {
            // Without subscribers there is nobody to tell.
            drop(self.events.send(Arc::new(event)));
        }
    }

    /// The answer to a command that was given before.
    async fn recall(&self, span: troop_model::Span) -> BoardResult<Done> {
        let entries = self.store.read(self.team, span.after, span.n_events as usize).await?;
        let mut events = Vec::with_capacity(entries.len());
        for entry in &entries {
            let event = decode(&entry.body).map_err(|error| BoardError::Log {
                version: entry.version,
                source: error.into(),
            })?;
            events.push(event);
        }
        Ok(Done { version: span.after.plus(span.n_events as usize), events: events.into() })
    }

    /// Takes in what other processes wrote.
    async fn catch_up(&mut self) -> BoardResult<()> {
        loop {
            let entries = self.store.read(self.team, self.state.version(), READ_AT_ONCE).await?;
            let is_last = entries.len() < READ_AT_ONCE;
            let events = replay(&mut self.state, &entries)?;
            self.broadcast(events);
            if is_last {
                return Ok(());
            }
        }
    }

    fn tail(&self) -> u64 {
        self.state.version().0.saturating_sub(self.snapshot.0)
    }

    /// Roughly how many things a snapshot holds: the larger it is, the longer it must last.
    fn size(&self) -> u64 {
        self.state.tasks().len() as u64
    }

    /// Saves a snapshot aside, without keeping commands waiting.
    fn save_snapshot_if(&mut self, is_due: bool) {
        if !is_due || self.saving.is_some() {
            return;
        }
        let (snapshot, archived) = self.snapshot();
        self.snapshot = snapshot.version;
        let (store, team, n_departed) = (Arc::clone(&self.store), self.team, archived.len());
        let (done, saving) = oneshot::channel();
        self.tracker.spawn(async move {
            let is_saved = store.save_snapshot(team, snapshot, archived).await.is_ok();
            // The board may be gone; then nobody need know.
            let _unheard = done.send(Saved { is_saved, n_departed });
        });
        self.saving = Some(saving);
    }

    fn note_saved(&mut self, saved: Saved) {
        self.saving = None;
        // What was not saved is tried again with the next snapshot.
        if saved.is_saved {
            self.state.forget_departed(saved.n_departed);
        }
    }

    fn snapshot(&self) -> (Snapshot, Vec<Archived>) {
        let archived = self.state.tasks().all_departed().iter().map(|(number, task)| Archived {
            number: number.0,
            body: task.as_ref().map(|task| {
                serde_json::to_vec(task.as_ref()).expect("a task has no part that JSON cannot hold")
            }),
        });
        let state = self.state.to_snapshot();
        (Snapshot { version: self.state.version(), state }, archived.collect())
    }

    /// Leaves a fresh snapshot behind, so that the next one who opens the team need not replay much.
    async fn close(mut self) {
        if let Some(saving) = self.saving.take()
            && let Ok(saved) = saving.await
        {
            self.note_saved(saved);
        }
        if self.tail() >= MIN_TAIL {
            let (snapshot, archived) = self.snapshot();
            // A snapshot is a convenience; the log has everything.
            drop(self.store.save_snapshot(self.team, snapshot, archived).await);
        }
    }
}

async fn finished(saving: &mut Option<oneshot::Receiver<Saved>>) -> Saved {
    match saving {
        Some(saving) => saving.await.unwrap_or(Saved { is_saved: false, n_departed: 0 }),
        None => std::future::pending().await,
    }
}

async fn changed(watch: &mut Option<Watch>) {
    match watch {
        Some(watch) => watch.changed().await,
        None => std::future::pending().await,
    }
}
