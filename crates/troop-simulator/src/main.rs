//! `simulate`: runs histories and says what they came to. `cargo xtask simulate` runs it.

use std::{
    io::{IsTerminal as _, Write as _},
    process::ExitCode,
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use troop_runtime::Clock;
use troop_simulator::{
    HistoryEnd, Promise, SavedHistory, Scenario, StepTally, known, run_seed, shrink,
};

const USAGE: &str = "usage: simulate [--histories N] [--seed S] [--minutes M] [--scenario board|files|mail|lead|landing] \
                     [--threads N] [--history SEED] [--replay FILE]";
const HISTORIES: u64 = 100_000;
/// How many histories a thread runs between two reports.
const CHUNK: u64 = 500;
/// How many different violations end a simulation: each is shrunk and printed.
const MAX_VIOLATIONS: usize = 5;

fn main() -> ExitCode {
    match begin() {
        Ok(code) => code,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn begin() -> Result<ExitCode> {
    let arguments = SimulationArguments::parse(std::env::args().skip(1))?;
    if let Some(file) = &arguments.replay {
        let text = std::fs::read_to_string(file).with_context(|| format!("reading `{file}`"))?;
        let history = SavedHistory::read(&text)?;
        say(&history.to_string());
        return Ok(if history.run(false).violation.is_none() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    }
    if let Some(seed) = arguments.history {
        let end = run_seed(seed, &arguments.scenarios);
        let n_steps = end.n_steps;
        say(&format!("{}: {n_steps} steps", end.plan));
        let Some(history) = SavedHistory::of(&end) else { return Ok(ExitCode::SUCCESS) };
        say(&shrink(history).to_string());
        return Ok(ExitCode::FAILURE);
    }
    simulate(&arguments)
}

/// The result of some histories.
#[derive(Default)]
struct Outcome {
    n_histories: u64,
    n_steps: u64,
    by_stage: Vec<(Scenario, u64)>,
    tally: StepTally,
    /// The first seed for each kind of violation, how many histories were run before it, and how many there were.
    violations: Vec<FoundViolation>,
}

/// A kind of violation.
struct FoundViolation {
    scenario: Scenario,
    promise: Promise,
    first: HistoryEnd,
    seed: u64,
    n_found: u64,
}

impl Outcome {
    fn add(&mut self, seed: u64, end: HistoryEnd) {
        self.n_histories += 1;
        self.n_steps += end.n_steps as u64;
        let scenario = end.plan.scenario;
        match self.by_stage.iter_mut().find(|(it, _)| *it == scenario) {
            Some((_, n)) => *n += 1,
            None => self.by_stage.push((scenario, 1)),
        }
        for (what, n) in &end.tally {
            *self.tally.entry(what).or_default() += n;
        }
        let Some(violation) = &end.violation else { return };
        let promise = violation.promise;
        let is_same = |it: &&mut FoundViolation| it.scenario == scenario && it.promise == promise;
        match self.violations.iter_mut().find(is_same) {
            Some(found) => found.n_found += 1,
            None => {
                let found = FoundViolation { scenario, promise, first: end, seed, n_found: 1 };
                self.violations.push(found);
            }
        }
    }

    fn merge(&mut self, other: Self) {
        self.n_histories += other.n_histories;
        self.n_steps += other.n_steps;
        for (scenario, n) in other.by_stage {
            match self.by_stage.iter_mut().find(|(it, _)| *it == scenario) {
                Some((_, sum)) => *sum += n,
                None => self.by_stage.push((scenario, n)),
            }
        }
        for (what, n) in other.tally {
            *self.tally.entry(what).or_default() += n;
        }
        for found in other.violations {
            let is_same = |it: &&mut FoundViolation| {
                it.scenario == found.scenario && it.promise == found.promise
            };
            match self.violations.iter_mut().find(is_same) {
                Some(known) => {
                    known.n_found += found.n_found;
                    if found.seed < known.seed {
                        known.seed = found.seed;
                        known.first = found.first;
                    }
                }
                None => self.violations.push(found),
            }
        }
    }

    /// How many kinds of violations there are that nobody knows yet.
    fn n_unknown(&self) -> usize {
        self.violations.iter().filter(|it| it.known().is_none()).count()
    }
}

impl FoundViolation {
    fn known(&self) -> Option<&'static str> {
        let violation = self.first.violation.as_ref()?;
        known::find(self.scenario, violation).map(|it| it.name)
    }
}

/// Runs histories on some threads; every thread has every nth seed.
fn simulate(arguments: &SimulationArguments) -> Result<ExitCode> {
    let clock = Clock::system();
    let began = clock.now();
    let (sender, outcomes) = mpsc::channel();
    let n_threads = arguments.n_threads;
    for nth in 0..n_threads {
        let sender = sender.clone();
        let scenarios = arguments.scenarios.clone();
        let first = arguments.seed + nth;
        let n_histories = arguments.n_histories / n_threads;
        thread::Builder::new().spawn(move || {
            let mut n_run = 0;
            while n_run < n_histories {
                let mut outcome = Outcome::default();
                for _ in 0..CHUNK.min(n_histories - n_run) {
                    let seed = first + n_run * n_threads;
                    outcome.add(seed, run_seed(seed, &scenarios));
                    n_run += 1;
                }
                if sender.send(outcome).is_err() {
                    return;
                }
            }
        })?;
    }
    drop(sender);
    let mut sum = Outcome::default();
    for outcome in outcomes {
        sum.merge(outcome);
        let elapsed = clock.now().since(began);
        progress(&sum, elapsed);
        if arguments.is_over(elapsed) || sum.n_unknown() >= MAX_VIOLATIONS {
            break;
        }
    }
    report(&sum, arguments.seed, clock.now().since(began));
    Ok(if sum.n_unknown() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One line that changes, on a terminal only.
fn progress(sum: &Outcome, elapsed: Duration) {
    let mut out = std::io::stderr();
    if out.is_terminal() {
        let found = sum.violations.len();
        let line = format!(
            "\r{} histories in {:.0} s, {found} kinds of violations  ",
            sum.n_histories,
            elapsed.as_secs_f64()
        );
        drop(out.write_all(line.as_bytes()));
    }
}

fn report(sum: &Outcome, first: u64, elapsed: Duration) {
    if std::io::stderr().is_terminal() {
        say("");
    }
    let seconds = elapsed.as_secs_f64().max(0.001);
    let rate = sum.n_histories as f64 / seconds;
    let Outcome { n_histories, n_steps, .. } = sum;
    say(&format!(
        "seed {first}, {n_histories} histories of {n_steps} steps in {seconds:.0} s: {rate:.0} a second\n"
    ));
    say("| what | how often |\n|---|---|");
    for (scenario, n) in &sum.by_stage {
        say(&format!("| histories: {scenario:?} | {n} |"));
    }
    for (what, n) in &sum.tally {
        say(&format!("| {what} | {n} |"));
    }
    for found in &sum.violations {
        let n_before = found.seed - first + 1;
        let name = found.known().unwrap_or("unknown");
        let FoundViolation { scenario, promise, seed, n_found, .. } = found;
        say(&format!(
            "\nviolation ({name}): {promise:?} in {scenario:?}, {n_found} times, first with seed {seed} after {n_before} histories"
        ));
        if let Some(history) = SavedHistory::of(&found.first) {
            say(&shrink(history).to_string());
        }
    }
}

#[derive(Debug)]
struct SimulationArguments {
    seed: u64,
    n_histories: u64,
    minutes: Option<u64>,
    scenarios: Vec<Scenario>,
    n_threads: u64,
    history: Option<u64>,
    replay: Option<String>,
}

impl SimulationArguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut given = Self {
            seed: 1,
            n_histories: HISTORIES,
            minutes: None,
            scenarios: Scenario::ALL.to_vec(),
            n_threads: thread::available_parallelism().map_or(1, |it| it.get() as u64),
            history: None,
            replay: None,
        };
        while let Some(flag) = words.next() {
            let value = words.next().with_context(|| format!("`{flag}` needs a value; {USAGE}"))?;
            match flag.as_str() {
                "--histories" => given.n_histories = value.parse()?,
                "--seed" => given.seed = value.parse()?,
                "--minutes" => {
                    given.minutes = Some(value.parse()?);
                    given.n_histories = u64::MAX / 1_000;
                }
                "--scenario" => given.scenarios = vec![value.parse()?],
                "--threads" => given.n_threads = value.parse::<u64>()?.max(1),
                "--history" => given.history = Some(value.parse()?),
                "--replay" => given.replay = Some(value),
                _ => bail!("there is no `{flag}`; {USAGE}"),
            }
        }
        Ok(given)
    }

    fn is_over(&self, elapsed: Duration) -> bool {
        self.minutes.is_some_and(|minutes| elapsed >= Duration::from_secs(60 * minutes))
    }
}

#[expect(clippy::print_stderr, reason = "the one place of this program that prints")]
fn say(text: &str) {
    eprintln!("{text}");
}
