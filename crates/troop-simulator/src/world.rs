//! Everything outside of the simulated processes: time, the store, the disk, the repository, and the judge who sees it all.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use troop_model::{OperationId, Time};
use uuid::Uuid;

use crate::{
    choice::ChoiceTape,
    disk::SimulatedDisk,
    plan::HistoryPlan,
    promise::{Judge, Promise},
    repository::SimulatedRepository,
    store::SimulatedStore,
};

/// When every history begins, in microseconds since 1970.
const BEGINNING: i64 = 1_790_000_000_000_000;
/// How many machines there are.
pub(crate) const N_MACHINES: usize = 3;
/// How long one step takes, in microseconds.
const STEP: u64 = 50;

/// How often things happened: faults, and the rare steps that a simulation must meet to be worth something.
pub type StepTally = BTreeMap<&'static str, u64>;

/// A world, which all processes of a history share.
pub(crate) struct World {
    pub(crate) plan: HistoryPlan,
    pub(crate) choices: RefCell<ChoiceTape>,
    pub(crate) judge: RefCell<Judge>,
    pub(crate) store: RefCell<SimulatedStore>,
    pub(crate) disk: RefCell<SimulatedDisk>,
    pub(crate) repository: RefCell<SimulatedRepository>,
    pub(crate) tally: RefCell<StepTally>,
    /// Time since the beginning, in microseconds.
    now: Cell<u64>,
    /// How far each machine's clock is ahead, in microseconds.
    clocks: [Cell<i64>; N_MACHINES],
    /// Whether faults are over.
    pub(crate) is_calm: Cell<bool>,
    /// How many processes still have something to do of their own accord.
    pub(crate) n_workers: Cell<usize>,
    n_operations: Cell<u64>,
    /// The steps in words, if somebody wants them.
    story: Option<RefCell<Vec<String>>>,
}

impl World {
    pub(crate) fn new(plan: HistoryPlan, choices: ChoiceTape, is_told: bool) -> Self {
        Self {
            plan,
            choices: RefCell::new(choices),
            judge: RefCell::default(),
            store: RefCell::default(),
            disk: RefCell::default(),
            repository: RefCell::default(),
            tally: RefCell::default(),
            now: Cell::new(0),
            clocks: Default::default(),
            is_calm: Cell::new(false),
            n_workers: Cell::new(0),
            n_operations: Cell::new(0),
            story: is_told.then(RefCell::default),
        }
    }

    pub(crate) fn elapsed(&self) -> u64 {
        self.now.get()
    }

    pub(crate) fn pass_step(&self) {
        self.now.set(self.now.get() + STEP);
    }

    pub(crate) fn wait_until(&self, moment: u64) {
        self.now.set(self.now.get().max(moment));
    }

    /// The time by a machine's clock.
    pub(crate) fn clock(&self, machine: usize) -> Time {
        let ahead = self.clocks.get(machine).map_or(0, Cell::get);
        let passed = i64::try_from(self.now.get()).unwrap_or(i64::MAX);
        Time::from_micros(BEGINNING.saturating_add(passed).saturating_add(ahead))
    }

    pub(crate) fn jump(&self, machine: usize, micros: i64) {
        if let Some(clock) = self.clocks.get(machine) {
            clock.set(clock.get().saturating_add(micros));
        }
    }

    /// A new operation, made now by a machine's clock.
    pub(crate) fn operation(&self, machine: usize) -> OperationId {
        let nth = self.n_operations.get() + 1;
        self.n_operations.set(nth);
        let millis = u128::try_from(self.clock(machine).as_micros() / 1_000).unwrap_or(0);
        // A UUID v7 whose random part is a number that grows; ids of new items are counted in its last bits.
        let bits = (millis << 80) | (0x7 << 76) | (0b10 << 62) | (u128::from(nth) << 24);
        OperationId(Uuid::from_u128(bits))
    }

    pub(crate) fn count(&self, what: &'static str) {
        *self.tally.borrow_mut().entry(what).or_default() += 1;
    }

    pub(crate) fn object(&self, promise: Promise, what: String) {
        self.judge.borrow_mut().object(promise, what);
    }

    /// Whether something happens that happens this many times in a thousand, while things go wrong at all.
    pub(crate) fn is_hit(&self, permille: u64) -> bool {
        !self.is_calm.get() && self.plan.faults > 0 && self.choices.borrow_mut().hits(permille)
    }

    pub(crate) fn tell(&self, line: impl FnOnce() -> String) {
        if let Some(story) = &self.story {
            let line = format!("{:>9.3} ms  {}", self.now.get() as f64 / 1_000.0, line());
            story.borrow_mut().push(line);
        }
    }

    pub(crate) fn story(&self) -> Vec<String> {
        self.story.as_ref().map(|it| it.borrow().clone()).unwrap_or_default()
    }
}
