//! The loop behind a board: drain, decide, append, answer.

use std::{sync::Arc, time::Duration};

use tokio::sync::{broadcast, mpsc};
use tokio_util::task::TaskTracker;
use troop_model::{Event, OperationId, Span, State, TeamId, encode};
use troop_store::{AppendOutcome, Batch, Entry, Glance, Store, Watch};
use uuid::Uuid;

use super::{
    BoardJob, BoardNews, BoardReply, CommandEffect, CommandRequest,
    open::{LoadedState, READ_AT_ONCE, event, replay},
    rules::{self, CommandInLine, Ruling},
    snapshots::Snapshots,
};
use crate::{BoardResult, Clock};

/// How many commands are appended in one step.
const MAX_BATCH: usize = 512;
/// How long to wait before an append that may or may not have happened is repeated.
const REPEATS: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(500)];

/// One board's state and what it needs to keep it. Between two jobs, all of the state is durable.
pub(super) struct BoardWriter {
    team: TeamId,
    store: Arc<dyn Store>,
    clock: Clock,
    state: State,
    snapshots: Snapshots,
    events: broadcast::Sender<BoardNews>,
    watch: Option<Watch>,
    /// The fingerprint of the log from before it was last read to its end.
    glance: Option<Glance>,
}

/// A command that waits for its decision.
struct PendingRequest {
    request: CommandRequest,
    reply: Box<dyn BoardReply>,
}

impl CommandInLine for PendingRequest {
    fn request(&self) -> &CommandRequest {
        &self.request
    }

    fn look(&mut self, state: &State, done: &CommandEffect) {
        self.reply.look(state, done.clone());
    }
}

impl BoardWriter {
    pub(super) fn new(
        team: TeamId,
        store: Arc<dyn Store>,
        clock: Clock,
        opened: LoadedState,
        events: broadcast::Sender<BoardNews>,
        tracker: TaskTracker,
    ) -> Self {
        let LoadedState { state, snapshot } = opened;
        let snapshots = Snapshots::new(team, Arc::clone(&store), tracker, snapshot);
        Self { team, store, clock, state, snapshots, events, watch: None, glance: None }
    }

    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<BoardJob>, watch: Option<Watch>) {
        self.watch = watch;
        let mut jobs = Vec::with_capacity(MAX_BATCH);
        loop {
            tokio::select! {
                n_departed = self.snapshots.settled() => self.state.forget_departed(n_departed),
                n_jobs = queue.recv_many(&mut jobs, MAX_BATCH) => {
                    if n_jobs == 0 {
                        break;
                    }
                    self.work_off(&mut jobs).await;
                }
                () = changed(&mut self.watch) => {
                    if self.read_on().await.is_err() {
                        // The next change tries again. Subscribers that read the log themselves learn why.
                        drop(self.events.send(None));
                    }
                }
            }
            self.snapshots.save_if_due(&self.state);
        }
        self.snapshots.close(self.state).await;
    }

    /// Works off waiting jobs in order: commands in batches, looks in between.
    async fn work_off(&mut self, jobs: &mut Vec<BoardJob>) {
        let mut requests = Vec::with_capacity(jobs.len());
        for job in jobs.drain(..) {
            match job {
                BoardJob::Submit(request, reply) => {
                    requests.push(PendingRequest { request: *request, reply });
                }
                BoardJob::Look(look) => {
                    self.commit(std::mem::take(&mut requests)).await;
                    look(&self.state);
                }
                BoardJob::Foresee(foresee) => {
                    self.commit(std::mem::take(&mut requests)).await;
                    foresee(&mut self.state);
                }
                BoardJob::CatchUp(reply) => {
                    self.commit(std::mem::take(&mut requests)).await;
                    let version = self.catch_up().await.map(|()| self.state.version());
                    drop(reply.send(version));
                }
            }
        }
        self.commit(requests).await;
    }

    /// Decides a batch of commands, makes them durable, publishes and answers.
    async fn commit(&mut self, mut requests: Vec<PendingRequest>) {
        if requests.is_empty() {
            return;
        }
        let verdicts = match self.settle(&mut requests).await {
            Ok(verdicts) => verdicts,
            Err(error) => {
                requests.into_iter().for_each(|it| it.reply.refuse(error.clone()));
                return;
            }
        };
        for (verdict, PendingRequest { request, mut reply }) in verdicts.into_iter().zip(requests) {
            // The name is free before anybody hears of the deletion.
            let freed = match verdict.deletes_team(&request) {
                true => self.free_name().await,
                false => Ok(()),
            };
            match (verdict, freed) {
                (Ruling::Made(done), freed) => {
                    self.publish(&done.events);
                    match freed {
                        Ok(()) => reply.tell(),
                        Err(error) => reply.refuse(error),
                    }
                }
                (Ruling::Refused(refusal), freed) => {
                    reply.refuse(freed.err().unwrap_or_else(|| refusal.into()));
                }
                (Ruling::Repeated(_), Err(error)) => reply.refuse(error),
                (Ruling::Repeated(span), Ok(())) => match self.recall(span).await {
                    Ok(done) => {
                        reply.look(&self.state, done);
                        reply.tell();
                    }
                    Err(error) => reply.refuse(error),
                },
            }
        }
    }

    /// Frees the name of a deleted team for another. If that fails, asking for the deletion once more repeats it.
    async fn free_name(&self) -> BoardResult<()> {
        let mut repeats = REPEATS.iter();
        loop {
            match (self.store.retire(self.team).await, repeats.next()) {
                (Err(error), Some(pause)) if error.is_worth_repeating() => {
                    tokio::time::sleep(*pause).await;
                }
                (freed, _) => return Ok(freed?),
            }
        }
    }

    /// Decides commands until their events are in the log. On a failure the state is as before.
    async fn settle(&mut self, requests: &mut [PendingRequest]) -> BoardResult<Vec<Ruling>> {
        let (mut verdicts, mut batch) = self.decide_all(requests);
        if batch.bodies.is_empty() {
            // An append would notice what others wrote. Without one, look before refusing and before answering that nothing
            // had to change.
            self.catch_up().await?;
            (verdicts, batch) = self.decide_all(requests);
        }
        let mut repeats = REPEATS.iter();
        while !batch.bodies.is_empty() {
            let appended = match self.store.append(self.team, batch.clone()).await {
                Ok(AppendOutcome::Done(_)) => Ok(()),
                Ok(AppendOutcome::Behind(mut slot)) => {
                    self.state.rollback();
                    self.take_in(&slot.take_missed())?;
                    // Nobody else can write while we hold the slot, so this decision stands.
                    (verdicts, batch) = self.decide_all(requests);
                    if batch.bodies.is_empty() {
                        break;
                    }
                    slot.append(batch.clone()).await.map(drop)
                }
                Err(error) => Err(error),
            };
            match (appended, repeats.next()) {
                (Ok(()), _) => break,
                // It may have happened. A repeated operation has one effect, so repeating is safe.
                (Err(error), Some(pause)) if error.is_worth_repeating() => {
                    tokio::time::sleep(*pause).await;
                }
                (Err(error), _) => {
                    self.state.rollback();
                    return Err(error.into());
                }
            }
        }
        Ok(verdicts)
    }

    /// Decides commands one after another, each on the effects of those before it; returns the batch to append.
    fn decide_all(&mut self, requests: &mut [PendingRequest]) -> (Vec<Ruling>, Batch) {
        let after = self.state.version();
        let rulings = rules::decide_all(&mut self.state, requests, self.clock.now());
        let made = rulings.iter().flat_map(Ruling::events);
        let bodies = made.map(encode).collect();
        (rulings, Batch { operation: OperationId(Uuid::now_v7()), after, bodies })
    }

    fn publish(&self, events: &[Event]) {
        for event in events {
            if self.events.receiver_count() > 0 {
                // The last subscriber may have gone just now.
                drop(self.events.send(Some(Arc::new(event.clone()))));
            }
        }
    }

    /// The answer to a repeated command.
    async fn recall(&self, span: Span) -> BoardResult<CommandEffect> {
        let n_events = span.n_events as usize;
        let entries = self.store.read(self.team, span.after, n_events).await?;
        let events = entries.iter().map(event).collect::<BoardResult<Vec<_>>>()?;
        Ok(CommandEffect { version: span.after.plus(n_events), events: events.into() })
    }

    /// Takes in acknowledged appends of other processes. Reads nothing if a glance shows that there are none.
    async fn catch_up(&mut self) -> BoardResult<()> {
        let glance = self.watch.as_ref().and_then(Watch::glance);
        if glance.is_some() && glance == self.glance { Ok(()) } else { self.read_on().await }
    }

    /// Takes in all appends of other processes.
    async fn read_on(&mut self) -> BoardResult<()> {
        // An append during this read may be missed, but then the next glance differs.
        let glance = self.watch.as_ref().and_then(Watch::glance);
        loop {
            let entries = self.store.read(self.team, self.state.version(), READ_AT_ONCE).await?;
            self.take_in(&entries)?;
            if entries.len() < READ_AT_ONCE {
                self.glance = glance;
                return Ok(());
            }
        }
    }

    fn take_in(&mut self, entries: &[Entry]) -> BoardResult<()> {
        let events = replay(&mut self.state, entries)?;
        self.publish(&events);
        Ok(())
    }
}

async fn changed(watch: &mut Option<Watch>) {
    match watch {
        Some(watch) => watch.changed().await,
        None => std::future::pending().await,
    }
}
