//! A process's board on the simulated store. `troop_runtime::deciding::board` decides; the order of deciding, appending, taking
//! in and deciding again is that of `troop-runtime/src/board/writer.rs`.

use std::rc::Rc;

use troop_model::{Actor, Asker, Command, Event, OperationId, Origin, Refusal, State, Version};
use troop_runtime::{
    CommandEffect, CommandRequest,
    deciding::board::{Ruling, decide_all, foresee},
};

use crate::{process::ProcessSeat, store::AppendResult};

/// A state in memory that follows the log when asked.
pub(crate) struct SimulatedBoard {
    seat: ProcessSeat,
    state: State,
}

impl SimulatedBoard {
    pub(crate) async fn open(seat: &ProcessSeat) -> Self {
        seat.boundary().await;
        let state = seat.world.store.borrow().state().clone();
        Self { seat: seat.clone(), state }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Takes in what others wrote.
    pub(crate) async fn catch_up(&mut self) -> Version {
        self.seat.boundary().await;
        self.take_in();
        self.state.version()
    }

    fn take_in(&mut self) {
        let missed = self.seat.world.store.borrow().after(self.state.version());
        self.state.begin();
        missed.iter().for_each(|event| self.state.apply(event));
    }

    /// The events stored after a version, whether or not this board has taken them in.
    pub(crate) async fn stored_after(&self, version: Version) -> Vec<Rc<Event>> {
        self.seat.boundary().await;
        self.seat.world.store.borrow().after(version)
    }

    /// Gives a command that is new.
    pub(crate) async fn give(
        &mut self,
        actor: Actor,
        command: Command,
    ) -> Result<CommandEffect, Refusal> {
        let operation = self.seat.operation();
        self.submit(operation, actor, command).await
    }

    pub(crate) async fn submit(
        &mut self,
        operation: OperationId,
        actor: Actor,
        command: Command,
    ) -> Result<CommandEffect, Refusal> {
        self.submit_fenced(operation, actor, command, None).await
    }

    pub(crate) async fn submit_fenced(
        &mut self,
        operation: OperationId,
        actor: Actor,
        command: Command,
        fence: Option<u64>,
    ) -> Result<CommandEffect, Refusal> {
        let asker = Asker { actor, origin: Origin::default() };
        self.request(CommandRequest { operation, asker, command, fence }).await
    }

    pub(crate) async fn request(
        &mut self,
        request: CommandRequest,
    ) -> Result<CommandEffect, Refusal> {
        let mut ruling = self.decide(&request);
        if made(&ruling).is_empty() {
            // An append would notice what others wrote. Without one, look before refusing.
            self.catch_up().await;
            ruling = self.decide(&request);
        }
        if !made(&ruling).is_empty() {
            ruling = self.append(&request, ruling).await;
        }
        self.seat.boundary().await;
        self.answer(ruling)
    }

    /// Looks at the state as it would be after a command, which is not given.
    pub(crate) fn foresee<T>(
        &mut self,
        request: &CommandRequest,
        look: impl FnOnce(&State) -> T,
    ) -> Option<T> {
        foresee(&mut self.state, request, self.seat.now(), look)
    }

    /// Decides a command. Its effects are in the state until they are rolled back.
    fn decide(&mut self, request: &CommandRequest) -> Option<Ruling> {
        decide_all(&mut self.state, &mut [request], self.seat.now()).pop()
    }

    /// Makes what was decided durable. If others wrote first, it is decided again while nobody else can write.
    async fn append(
        &mut self,
        request: &CommandRequest,
        mut ruling: Option<Ruling>,
    ) -> Option<Ruling> {
        let batch = self.seat.operation().0;
        loop {
            self.seat.boundary().await;
            let after = Version(self.state.version().0 - made(&ruling).len() as u64);
            match self.put(batch, after, made(&ruling)) {
                AppendResult::Done => {}
                AppendResult::Behind => {
                    self.seat.count("a board decided again because others wrote first");
                    self.state.rollback();
                    self.take_in();
                    ruling = self.decide(request);
                    let after = Version(self.state.version().0 - made(&ruling).len() as u64);
                    if !made(&ruling).is_empty() {
                        self.put(batch, after, made(&ruling));
                    }
                }
            }
            if !self.seat.world.is_hit(20) {
                return ruling;
            }
            // The store did it, and its answer was lost: the same append again has one effect.
            self.seat.count("fault: answer of the store lost");
            self.seat.tell(|| "hears nothing from the store, and repeats the append".to_owned());
            if made(&ruling).is_empty() {
                return ruling;
            }
        }
    }

    fn put(&self, batch: uuid::Uuid, after: Version, events: &[Event]) -> AppendResult {
        let world = &self.seat.world;
        let before = world.store.borrow().version();
        let done = world.store.borrow_mut().append(batch, after, events);
        if done == AppendResult::Done && world.store.borrow().version() != before {
            for event in events {
                world.judge.borrow_mut().see(event);
                self.seat.tell(|| {
                    let task = event.fact.task().map(|it| it.to_string()).unwrap_or_default();
                    format!(
                        "log {}: {} {task} by {}",
                        event.version.0,
                        event.fact.kind(),
                        event.actor
                    )
                });
            }
        }
        done
    }

    fn answer(&self, ruling: Option<Ruling>) -> Result<CommandEffect, Refusal> {
        match ruling {
            Some(Ruling::Made(done)) => Ok(done),
            Some(Ruling::Refused(refusal)) => Err(refusal),
            Some(Ruling::Repeated(span)) => {
                let events = self.seat.world.store.borrow().after(span.after);
                let n_events = span.n_events as usize;
                let events = events.iter().take(n_events).map(|it| Event::clone(it)).collect();
                Ok(CommandEffect { version: span.after.plus(n_events), events })
            }
            None => Err(Refusal::NoTeam),
        }
    }
}

/// The facts that a ruling makes.
fn made(ruling: &Option<Ruling>) -> &[Event] {
    ruling.as_ref().map_or(&[], Ruling::events)
}
