//! What observing a stream costs, beside parsing it, and how much memory it takes.

mod node;
mod stream;
mod tasks;

use std::{
    borrow::Cow,
    hint::black_box,
    io::Write as _,
    process::{Child, ChildStdin, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;
use troop_model::Time;
use troop_observe::{Lines, Observer, Output};

use self::stream::Stream;
use crate::{
    ROUNDS,
    cli::BenchObserveArgs,
    outcome::{Outcome, Subject, Tally, Target, Unit},
    output::Printer,
    workbench::Workbench,
};

const PART: &str = "observe";
/// How much memory an observer may take, in megabytes.
const LIMIT: f64 = 20.0;
const MEGABYTE: u64 = 1_000_000;
/// How many bytes it may take for each task of the team besides. Their texts are short here.
const FOR_EACH_TASK: f64 = 600.0;
/// How many tasks the longest board has, for each message of the stream.
const TASKS_PER_MESSAGE: u64 = 5;
/// How many times as fast as bare parsing in Node the pipeline is to be. The original reads a third of what that parses, and
/// eight times as fast as the original is wanted.
const NODE: f64 = 2.7;

pub(crate) fn run(args: &BenchObserveArgs, bench: &Workbench, printer: &Printer) -> Result<()> {
    let mut outcomes = vec![throughput(args)?];
    if node::is_there() {
        outcomes.push(beside_node(args, bench)?);
    } else {
        printer.warn("there is no `node` to compare with `JSON.parse`");
    }
    outcomes.push(memory(args, bench)?);
    outcomes.push(many_tasks(args, bench)?);
    printer.outcomes(&outcomes, args.seconds)
}

/// The pipeline beside bare parsing in the language of the original, which parses, too, and does more.
fn beside_node(args: &BenchObserveArgs, bench: &Workbench) -> Result<Outcome> {
    let stream = Stream::default().take(args.messages);
    let file = bench.join("stream.ndjson");
    std::fs::write(&file, &stream)?;
    let slice = Duration::from_secs(args.seconds) / ROUNDS;
    let (mut ours, mut baseline) = (Tally::default(), 0.0);
    for _ in 0..ROUNDS {
        baseline += node::rate(&file, slice)? / f64::from(ROUNDS);
        ours += repeat(slice, &stream, observe)?;
    }
    let subject = Subject {
        part: PART,
        what: "the whole pipeline",
        against: "`JSON.parse` of the same bytes in Node",
        unit: Unit::MegabytesPerSecond,
    };
    let [ours, baseline] = [ours.rate(), baseline].map(|rate| rate / MEGABYTE as f64);
    Ok(Outcome::new(subject, ours, baseline, Target::AtLeast(NODE)))
}

fn throughput(args: &BenchObserveArgs) -> Result<Outcome> {
    let stream = Stream::default().take(args.messages);
    let slice = Duration::from_secs(args.seconds) / ROUNDS;
    let (mut ours, mut baseline) = (Tally::default(), Tally::default());
    for _ in 0..ROUNDS {
        baseline += repeat(slice, &stream, parse)?;
        ours += repeat(slice, &stream, observe)?;
    }
    let subject = Subject {
        part: PART,
        what: "the whole pipeline",
        against: "typed serde_json parsing of the same bytes",
        unit: Unit::MegabytesPerSecond,
    };
    let rate = |tally: Tally| tally.rate() / MEGABYTE as f64;
    Ok(Outcome::new(subject, rate(ours), rate(baseline), Target::AtLeast(0.9)))
}

/// Reads the stream at least once, and until time is up. A byte is an operation.
fn repeat(span: Duration, stream: &[u8], read: fn(&[u8]) -> Result<u64>) -> Result<Tally> {
    let (start, mut n_operations) = (Instant::now(), 0);
    loop {
        black_box(read(stream)?);
        n_operations += stream.len() as u64;
        if start.elapsed() >= span {
            return Ok(Tally { n_operations, elapsed: start.elapsed() });
        }
    }
}

/// What `troop observe --json` does, but for reading and writing.
fn observe(stream: &[u8]) -> Result<u64> {
    let (mut lines, mut observer) = (Lines::default(), Observer::default());
    let (mut rest, mut out, mut n_events) = (stream, Vec::new(), 0);
    while !rest.is_empty() {
        let (n_taken, line) = lines.next(rest);
        if let Some(line) = line {
            for output in observer.line(line, Time::from_micros(0)) {
                if let Output::Event(event) = output {
                    out.clear();
                    serde_json::to_writer(&mut out, &event)?;
                    n_events += 1;
                }
            }
        }
        rest = rest.get(n_taken..).unwrap_or_default();
    }
    ensure!(n_events > 0, "the observer saw nothing");
    Ok(n_events)
}

/// A message as one would write it down to read such a stream, and no more.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, rename = "type")]
    _type: Cow<'a, str>,
    #[serde(borrow, rename = "message")]
    _message: Option<Body<'a>>,
    #[serde(borrow, rename = "session_id")]
    _session_id: Cow<'a, str>,
    #[serde(borrow, rename = "uuid")]
    _uuid: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, rename = "role")]
    _role: Cow<'a, str>,
    #[serde(borrow)]
    content: Vec<Block<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    _type: Cow<'a, str>,
    #[serde(default, borrow, rename = "id")]
    _id: Option<Cow<'a, str>>,
    #[serde(default, borrow, rename = "name")]
    _name: Option<Cow<'a, str>>,
    #[serde(default, borrow, rename = "input")]
    _input: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "tool_use_id")]
    _tool_use_id: Option<Cow<'a, str>>,
    #[serde(default, borrow, rename = "content")]
    _content: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "text")]
    _text: Option<Cow<'a, str>>,
}

/// Parses every line, and does nothing with it.
fn parse(stream: &[u8]) -> Result<u64> {
    let mut n_blocks = 0;
    for line in stream.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message: Message<'_> = serde_json::from_slice(line)?;
        n_blocks += black_box(message)._message.map_or(0, |it| it.content.len() as u64);
    }
    Ok(n_blocks)
}

fn memory(args: &BenchObserveArgs, bench: &Workbench) -> Result<Outcome> {
    let peak = peak_while(bench, |input| {
        let (mut stream, mut n_written, mut piece) = (Stream::default(), 0, Vec::new());
        while n_written < args.megabytes * MEGABYTE {
            piece.clear();
            (0..100).for_each(|_| stream.add(&mut piece));
            input.write_all(&piece)?;
            n_written += piece.len() as u64;
        }
        Ok(())
    })?;
    let what = "memory, a long stream";
    let subject = Subject { part: PART, what, against: "the limit", unit: Unit::Megabytes };
    Ok(Outcome::new(subject, peak, LIMIT, Target::AtMost(1.0)))
}

/// A team is kept as it is, so it takes more memory with each task, and with nothing else.
fn many_tasks(args: &BenchObserveArgs, bench: &Workbench) -> Result<Outcome> {
    let n_tasks = args.messages * TASKS_PER_MESSAGE;
    let peak = peak_while(bench, |input| tasks::write(n_tasks, input))?;
    let limit = LIMIT + n_tasks as f64 * FOR_EACH_TASK / MEGABYTE as f64;
    let what = "memory, five tasks for each message";
    let subject = Subject { part: PART, what, against: "the limit", unit: Unit::Megabytes };
    Ok(Outcome::new(subject, peak, limit, Target::AtMost(1.0)))
}

/// The most memory in megabytes that the program had while it read what is written to it.
fn peak_while(bench: &Workbench, write: impl FnOnce(&mut ChildStdin) -> Result<()>) -> Result<f64> {
    let mut command = bench.troop_command();
    command.args(["observe", "--json"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn()?;
    let mut input = child.stdin.take().context("a child has an input")?;
    write(&mut input)?;
    let peak = peak(&child)?;
    drop(input);
    ensure!(child.wait()?.success(), "`troop observe` ended badly");
    Ok(peak as f64 / 1024.0)
}

/// How many kilobytes of a process were in memory at once.
fn peak(child: &Child) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    Ok(kilobytes.context("the system does not tell how much memory is used")?.parse()?)
}
