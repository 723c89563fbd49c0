//! A small fuzzer that needs no special compiler. Targets are tests whose names begin with `fuzz_`: each runs a few cases
//! with all other tests, and many with `cargo xtask fuzz`.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use serde_json::{Value, json};

/// How many seconds every target runs, instead of its few cases.
const SECONDS: &str = "TROOP_FUZZ_SECONDS";
/// The first seed; without [`SECONDS`] it is the only one.
const SEED: &str = "TROOP_FUZZ_SEED";

/// How much more memory a target may need than was used before it, in bytes.
const MEMORY: u64 = 256 << 20;
/// A case is at most this much longer than its example.
const MAX_GROWTH: usize = 1 << 20;

/// Words that mean something to a JSON parser.
const WORDS: [&str; 12] = [
    "\"",
    "\\",
    "{",
    "[",
    "}",
    "]",
    "\n",
    "null",
    "\\u0000",
    "\\ud800",
    "18446744073709551616",
    "-1e999",
];

/// Runs a target on mutated examples: a few, or for the requested time. The target asserts its own invariants; this function
/// asserts that it neither panics nor needs much memory.
///
/// # Panics
///
/// If the target does; the message has the seed, and the case itself.
pub fn fuzz(words: &[&str], examples: &[Vec<u8>], n_runs: u64, target: impl Fn(&[u8])) {
    let seconds = number(SECONDS);
    let seed = number(SEED);
    let first = seed.unwrap_or(1);
    let n_runs = if seed.is_some() { 1 } else { n_runs };
    let span = Duration::from_secs(seconds.unwrap_or(0));
    let before = peak();
    #[expect(clippy::disallowed_methods, reason = "it is the machine's time that is spent")]
    let start = std::time::Instant::now();
    for seed in first.. {
        if seed - first >= n_runs && start.elapsed() >= span {
            break;
        }
        let bytes = case(words, examples, seed);
        let shown = || String::from_utf8_lossy(&bytes).chars().take(4_000).collect::<String>();
        if catch_unwind(AssertUnwindSafe(|| target(&bytes))).is_err() {
            panic!(
                "seed {seed}, again with `cargo xtask fuzz TARGET --seed {seed}`: {:?}",
                shown()
            );
        }
        let needed = peak().saturating_sub(before);
        assert!(needed < MEMORY, "seed {seed}: it needed {needed} bytes for {:?}", shown());
    }
}

/// The input for a seed; the same seed gives the same input.
fn case(words: &[&str], examples: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).max(1));
    let mut bytes = examples[dice.roll(examples.len())].clone();
    let limit = bytes.len() + MAX_GROWTH;
    match dice.roll(8) {
        // Random bytes.
        0 => bytes = (0..dice.roll(2_000)).map(|_| dice.roll(256) as u8).collect(),
        // Valid JSON with other contents.
        1..4 => bytes = dice.restate(&bytes),
        _ => {}
    }
    dice.mutate(&mut bytes, words);
    bytes.truncate(limit);
    bytes
}

/// Pseudo-random numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    /// Mutates bytes, as fuzzers do: flips, holes, copies, cuts, and words that mean something.
    fn mutate(&mut self, bytes: &mut Vec<u8>, words: &[&str]) {
        for _ in 0..self.roll(7) {
            let at = self.roll(bytes.len() + 1).min(bytes.len());
            match self.roll(6) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.roll(8),
                1 => drop(bytes.drain(at..(at + self.roll(40)).min(bytes.len()))),
                2 => {
                    let part = bytes[at..(at + self.roll(200)).min(bytes.len())].to_vec();
                    let to = self.roll(bytes.len() + 1);
                    bytes.splice(to..to, part);
                }
                3 if self.roll(4) == 0 => bytes.truncate(at),
                4 => {
                    let nth = self.roll(words.len() + WORDS.len());
                    let word = words.iter().chain(&WORDS).nth(nth).unwrap();
                    bytes.splice(at..at, word.bytes());
                }
                _ => bytes.insert(at, self.roll(256) as u8),
            }
        }
    }

    /// Mutates the values in lines that are JSON, and leaves the others.
    fn restate(&mut self, bytes: &[u8]) -> Vec<u8> {
        if let Ok(mut value) = serde_json::from_slice(bytes) {
            self.change(&mut value);
            return value.to_string().into_bytes();
        }
        let lines =
            bytes.split(|byte| *byte == b'\n').map(|line| match serde_json::from_slice(line) {
                Ok(mut value) if self.roll(3) == 0 => {
                    self.change(&mut value);
                    value.to_string().into_bytes()
                }
                _ => line.to_vec(),
            });
        lines.collect::<Vec<_>>().join(&b'\n')
    }

    fn change(&mut self, value: &mut Value) {
        let is_here = self.roll(6) == 0;
        match value {
            Value::Array(values) if !values.is_empty() && !is_here => {
                let nth = self.roll(values.len());
                match self.roll(5) {
                    0 => drop(values.remove(nth)),
                    1 => values.push(values[nth].clone()),
                    _ => self.change(&mut values[nth]),
                }
            }
            Value::Object(fields) if !fields.is_empty() && !is_here => {
                let key = fields.keys().nth(self.roll(fields.len())).unwrap().clone();
                match self.roll(5) {
                    0 => drop(fields.remove(&key)),
                    _ => self.change(&mut fields[&key]),
                }
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => *value = self.odd(value),
        }
    }

    /// Another value in place of this one.
    fn odd(&mut self, value: &Value) -> Value {
        match self.roll(14) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(self.roll(12)),
            3 => json!(-1),
            4 => json!(u64::MAX),
            5 => json!(1e300),
            6 => json!(""),
            7 => json!("x".repeat(self.roll(100_000))),
            8 => json!("\u{1b}[2J\u{0}\u{202e}\u{fffd}"),
            9 => json!({}),
            10 => json!([value, value]),
            11 => (0..self.roll(100)).fold(value.clone(), |inner, _| json!([inner])),
            12 => json!(value.to_string()),
            _ => json!(format!("{}", self.roll(9))),
        }
    }
}

fn number(name: &str) -> Option<u64> {
    let value = std::env::var_os(name)?.into_string().unwrap();
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is not a number: {value}")))
}

/// The peak memory of this process, in bytes; 0 if the system does not tell.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    kilobytes.unwrap_or(0_u64) << 10
}
