//! Simulated processes: futures that wait at every boundary between two effects, until the scheduler lets them go on.
//!
//! A killed process is dropped at the boundary where it waits. What the system then does for it (releasing its locks) is in the
//! `Drop` of what it held; whatever else it would have done is not done.

use std::{
    cell::Cell,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use troop_model::{OperationId, Time};

use crate::{promise::Promise, world::World};

/// A process that runs.
pub(crate) type Running = Pin<Box<dyn Future<Output = ()>>>;

/// A process's place in the world.
#[derive(Clone)]
pub(crate) struct ProcessSeat {
    pub(crate) world: Rc<World>,
    pub(crate) id: usize,
    pub(crate) name: Rc<str>,
    pub(crate) machine: usize,
    /// Until when it sleeps.
    pub(crate) wakes_at: Rc<Cell<u64>>,
}

/// Waits until the scheduler lets the process go on.
#[derive(Default)]
struct Boundary {
    has_waited: bool,
}

impl Future for Boundary {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.has_waited, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl ProcessSeat {
    /// A boundary before an effect: here the process can die, stop, lag or meet another.
    pub(crate) async fn boundary(&self) {
        Boundary::default().await;
    }

    /// Sleeps this many microseconds.
    pub(crate) async fn sleep(&self, micros: u64) {
        self.wakes_at.set(self.world.elapsed() + micros);
        Boundary::default().await;
    }

    /// The time by the clock of this process.
    pub(crate) fn now(&self) -> Time {
        self.world.clock(self.machine)
    }

    pub(crate) fn operation(&self) -> OperationId {
        self.world.operation(self.machine)
    }

    pub(crate) fn tell(&self, what: impl FnOnce() -> String) {
        self.world.tell(|| format!("{:<8} {}", self.name, what()));
    }

    pub(crate) fn count(&self, what: &'static str) {
        self.world.count(what);
    }

    pub(crate) fn object(&self, promise: Promise, what: String) {
        self.world.object(promise, what);
    }

    pub(crate) fn one_of(&self, n: usize) -> usize {
        self.world.choices.borrow_mut().one_of(n)
    }
}
