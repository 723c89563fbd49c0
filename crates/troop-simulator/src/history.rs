//! One history: a world, its processes, and the scheduler that picks who goes on and what goes wrong.
//!
//! First everything may go wrong; then the faults are over, stopped processes continue, and everything must come to rest with all
//! work done.

use std::{
    cell::Cell,
    rc::Rc,
    task::{Context, Waker},
};

use crate::{
    cast::{Cast, ProcessRole},
    choice::{ChoiceTape, Generator},
    plan::{HistoryPlan, Scenario},
    process::{ProcessSeat, Running},
    promise::{BrokenPromise, Promise},
    rest,
    world::{N_MACHINES, StepTally, World},
};

/// How many steps may go wrong ...
const N_WILD: usize = 4_000;
/// ... and how many there may be until everything rests.
const N_CALM: usize = 10_000;
/// From here on a choice of the scheduler is a fault.
const FAULTS: u16 = 64;
const N_FAULTS: u16 = 4;
const MAX_VICTIMS: u16 = 16;
/// The most faults in a history.
const MAX_FAULTS: usize = 6;

/// The result of a history.
#[derive(Clone, Debug)]
pub struct HistoryEnd {
    pub plan: HistoryPlan,
    /// All choices; with the plan they are the history.
    pub choices: Vec<u16>,
    pub violation: Option<BrokenPromise>,
    pub n_steps: usize,
    pub tally: StepTally,
    /// The steps in words, if they were asked for.
    pub story: Vec<String>,
}

/// A process in the scheduler.
struct SimulatedProcess {
    role: ProcessRole,
    seat: ProcessSeat,
    future: Option<Running>,
    stopped_until: Option<u64>,
}

/// The history of a seed.
#[must_use]
pub fn run_seed(seed: u64, scenarios: &[Scenario]) -> HistoryEnd {
    let mut generator = Generator::new(seed);
    let nth = generator.below(scenarios.len() as u64) as usize;
    let scenario = scenarios.get(nth).copied().unwrap_or(Scenario::Board);
    let plan = HistoryPlan::drawn(scenario, &mut generator);
    RunningHistory::new(plan, ChoiceTape::drawn(generator), false).run()
}

/// The history of these choices.
#[must_use]
pub fn run_choices(plan: HistoryPlan, choices: &[u16], is_told: bool) -> HistoryEnd {
    RunningHistory::new(plan, ChoiceTape::given(choices), is_told).run()
}

struct RunningHistory {
    world: Rc<World>,
    processes: Vec<SimulatedProcess>,
    /// The process that ran last.
    last: usize,
    n_steps: usize,
    n_faults: usize,
}

impl RunningHistory {
    fn new(plan: HistoryPlan, choices: ChoiceTape, is_told: bool) -> Self {
        let world = Rc::new(World::new(plan, choices, is_told));
        let mut history = Self { world, processes: Vec::new(), last: 0, n_steps: 0, n_faults: 0 };
        let cast = Cast::of(&history.world);
        cast.roles.into_iter().for_each(|role| history.enter(role));
        history
    }

    fn enter(&mut self, role: ProcessRole) {
        let seat = ProcessSeat {
            world: Rc::clone(&self.world),
            id: self.processes.len(),
            name: role.name().into(),
            machine: role.machine(),
            wakes_at: Rc::new(Cell::new(0)),
        };
        let future = Some(role.start(seat.clone()));
        self.processes.push(SimulatedProcess { role, seat, future, stopped_until: None });
    }

    fn run(mut self) -> HistoryEnd {
        while self.n_steps < N_WILD && self.is_going_on() {
            self.step();
        }
        self.world.is_calm.set(true);
        self.world.tell(|| "         faults are over".to_owned());
        self.processes.iter_mut().for_each(|it| it.stopped_until = None);
        let until = self.n_steps + N_CALM;
        while self.n_steps < until && self.is_going_on() {
            self.step();
        }
        if self.world.judge.borrow().violation().is_none() {
            self.judge_rest();
        }
        let violation = self.world.judge.borrow().violation().cloned();
        HistoryEnd {
            plan: self.world.plan,
            choices: self.world.choices.borrow().taken(),
            violation,
            n_steps: self.n_steps,
            tally: self.world.tally.take(),
            story: self.world.story(),
        }
    }

    fn judge_rest(&mut self) {
        if let Some(process) = self.processes.iter().find(|it| it.future.is_some()) {
            let what = format!("{} has not come to an end", process.seat.name);
            self.world.object(Promise::ComesToRest, what);
            return;
        }
        self.enter(ProcessRole::LastLook);
        let until = self.n_steps + N_CALM;
        while self.n_steps < until && self.is_going_on() {
            self.step();
        }
        rest::judge(&self.world);
    }

    /// Whether there is a process that runs, and no promise is broken.
    fn is_going_on(&self) -> bool {
        let n_workers =
            self.processes.iter().filter(|it| it.role.is_worker() && it.future.is_some());
        self.world.n_workers.set(n_workers.count());
        let is_alive = self.processes.iter().any(|it| it.future.is_some());
        is_alive && self.world.judge.borrow().violation().is_none()
    }

    /// Lets one process go on to its next boundary, or something go wrong.
    fn step(&mut self) {
        self.n_steps += 1;
        self.world.pass_step();
        let now = self.world.elapsed();
        let is_ready = |it: &SimulatedProcess| {
            it.future.is_some()
                && it.seat.wakes_at.get() <= now
                && it.stopped_until.is_none_or(|until| until <= now)
        };
        let ready: Vec<usize> = (0..self.processes.len())
            .map(|nth| (self.last + nth) % self.processes.len())
            .filter(|nth| self.processes.get(*nth).is_some_and(is_ready))
            .collect();
        if ready.is_empty() {
            return self.wait();
        }
        let choice = self.choose(ready.len());
        if choice >= FAULTS {
            self.go_wrong(choice - FAULTS);
            return;
        }
        let Some(next) = ready.get(usize::from(choice) % ready.len()).copied() else { return };
        self.last = next;
        self.poll(next);
    }

    /// 0: the first that is ready, which is who went last if it can go on.
    fn choose(&self, n_ready: usize) -> u16 {
        let plan = self.world.plan;
        let may_fail = !self.world.is_calm.get() && self.n_faults < MAX_FAULTS;
        self.world.choices.borrow_mut().take(|generator| {
            if may_fail && generator.hits(plan.faults.into()) {
                let kind = generator.below(N_FAULTS.into()) as u16;
                return FAULTS + kind * MAX_VICTIMS + generator.below(MAX_VICTIMS.into()) as u16;
            }
            if n_ready > 1 && generator.hits(plan.switches.into()) {
                return 1 + generator.below(n_ready as u64 - 1) as u16;
            }
            0
        })
    }

    fn poll(&mut self, nth: usize) {
        let Some(process) = self.processes.get_mut(nth) else { return };
        let Some(future) = process.future.as_mut() else { return };
        let mut context = Context::from_waker(Waker::noop());
        if future.as_mut().poll(&mut context).is_ready() {
            process.future = None;
        }
    }

    /// Time passes until somebody can go on.
    fn wait(&mut self) {
        let alive = self.processes.iter().filter(|it| it.future.is_some());
        let wakes = alive.map(|it| it.seat.wakes_at.get().max(it.stopped_until.unwrap_or(0)));
        if let Some(moment) = wakes.min() {
            self.world.wait_until(moment);
        }
    }

    fn go_wrong(&mut self, fault: u16) {
        if self.world.is_calm.get() || self.n_faults >= MAX_FAULTS || self.world.plan.faults == 0 {
            return;
        }
        self.n_faults += 1;
        let victim = usize::from(fault % MAX_VICTIMS) % self.processes.len().max(1);
        match fault / MAX_VICTIMS {
            0 => self.kill(victim),
            1 => self.stop(victim, self.long_stop()),
            2 => self.stop(victim, 3_000),
            _ => self.jump(victim),
        }
    }

    /// Longer than a lease, where leases end; else longer than anybody waits for a lock.
    fn long_stop(&self) -> u64 {
        if self.world.plan.scenario == Scenario::Board { 2_000_000 } else { 100_000 }
    }

    fn kill(&mut self, victim: usize) {
        if self.world.plan.scenario == Scenario::Landing {
            // The half-done work of a killed git is git's own.
            return;
        }
        let Some(process) = self.processes.get_mut(victim) else { return };
        if process.future.take().is_none() {
            return;
        }
        self.world.count("fault: process killed");
        self.world.tell(|| format!("{:<8} is killed", process.seat.name));
        process.role.end(&process.seat);
        // Its user starts it again, a moment later.
        let pause = [1_000, 20_000].get(self.world.choices.borrow_mut().one_of(2)).copied();
        process.seat.wakes_at.set(self.world.elapsed() + pause.unwrap_or_default());
        process.stopped_until = None;
        process.future = Some(process.role.start(process.seat.clone()));
    }

    fn stop(&mut self, victim: usize, micros: u64) {
        let until = self.world.elapsed() + micros;
        if let Some(process) = self.processes.get_mut(victim).filter(|it| it.future.is_some()) {
            process.stopped_until = Some(until);
            self.world.count("fault: process stopped and continued");
            self.world
                .tell(|| format!("{:<8} is stopped for {} ms", process.seat.name, micros / 1_000));
        }
    }

    fn jump(&mut self, victim: usize) {
        let machine = victim % N_MACHINES;
        let ahead = [3_600, -3_600, 2, -2];
        let seconds = ahead.get(self.world.choices.borrow_mut().one_of(4)).copied().unwrap_or(0);
        self.world.jump(machine, seconds * 1_000_000);
        self.world.count("fault: clock jumped");
        self.world.tell(|| format!("machine {machine}: the clock jumps by {seconds} s"));
    }
}
