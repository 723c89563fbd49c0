//! The cost of observing a stream, beside parsing it, and its memory.

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
use troop_observe::{LineSplitter, Observer, ObserverOutput};

use self::stream::Stream;
use crate::{
    ROUNDS,
    cli::BenchObserveArgs,
    outcome::{Comparison, Subject, Target, Throughput, Unit},
    output::BenchPrinter,
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
/// How many times as fast as bare parsing in Node the pipeline must be. The original is a third as fast as that, and
/// we
/// want eight times the speed of the original.
const NODE: f64 = 2.7;

pub(crate) fn run(
    args: &BenchObserveArgs,
    bench: &Workbench,
    printer: &BenchPrinter,
) -> Result<()> {
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

/// The pipeline beside bare parsing in the language of the original.
fn beside_node(args: &BenchObserveArgs, bench: &Workbench) -> Result<Comparison> {
    let stream = Stream::default().take(args.messages);
    let file = bench.join("stream.ndjson");
    std::fs::write(&file, &stream)?;
    let slice = Duration::from_secs(args.seconds) / ROUNDS;
    let mut ours = Throughput::default();
    let mut baseline = 0.0;
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
    Ok(Comparison::new(subject, ours, baseline, Target::AtLeast(NODE)))
}

fn throughput(args: &BenchObserveArgs) -> Result<Comparison> {
    let stream = Stream::default().take(args.messages);
    let slice = Duration::from_secs(args.seconds) / ROUNDS;
    let mut ours = Throughput::default();
    let mut baseline = Throughput::default();
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
    let rate = |tally: Throughput| tally.rate() / MEGABYTE as f64;
    Ok(Comparison::new(subject, rate(ours), rate(baseline), Target::AtLeast(0.9)))
}

/// Reads the stream at least once, and until time is up. A byte is an operation.
fn repeat(span: Duration, stream: &[u8], read: fn(&[u8]) -> Result<u64>) -> Result<Throughput> {
    let start = Instant::now();
    let mut n_operations = 0;
    loop {
        black_box(read(stream)?);
        n_operations += stream.len() as u64;
        if start.elapsed() >= span {
            return Ok(Throughput { n_operations, elapsed: start.elapsed() });
        }
    }
}

/// The work of `troop observe --json`, except reading and writing.
fn observe(stream: &[u8]) -> Result<u64> {
    let mut lines = LineSplitter::default();
    let mut observer = Observer::default();
    let mut rest = stream;
    let mut out = Vec::new();
    let mut n_events = 0;
    while !rest.is_empty() {
        let (n_taken, line) = lines.next(rest);
        if let Some(line) = line {
            for output in observer.line(line, Time::from_micros(0)) {
                if let ObserverOutput::Event(event) = output {
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

/// The types that a minimal typed parser of such a stream needs.
#[derive(Deserialize)]
struct StreamedMessage<'a> {
    #[serde(borrow, rename = "type")]
    _type: Cow<'a, str>,
    #[serde(borrow, rename = "message")]
    _message: Option<StreamedBody<'a>>,
    #[serde(borrow, rename = "session_id")]
    _session_id: Cow<'a, str>,
    #[serde(borrow, rename = "uuid")]
    _uuid: Cow<'a, str>,
}

#[derive(Deserialize)]
struct StreamedBody<'a> {
    #[serde(borrow, rename = "role")]
    _role: Cow<'a, str>,
    #[serde(borrow)]
    content: Vec<StreamedBlock<'a>>,
}

#[derive(Deserialize)]
struct StreamedBlock<'a> {
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

/// Parses every line, and nothing else.
fn parse(stream: &[u8]) -> Result<u64> {
    let mut n_blocks = 0;
    for line in stream.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message: StreamedMessage<'_> = serde_json::from_slice(line)?;
        n_blocks += black_box(message)._message.map_or(0, |it| it.content.len() as u64);
    }
    Ok(n_blocks)
}

fn memory(args: &BenchObserveArgs, bench: &Workbench) -> Result<Comparison> {
    let peak = peak_while(bench, |input| {
        let mut stream = Stream::default();
        let mut n_written = 0;
        let mut piece = Vec::new();
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
    Ok(Comparison::new(subject, peak, LIMIT, Target::AtMost(1.0)))
}

/// An observer keeps the whole team, so its memory grows with the tasks, and with nothing else.
fn many_tasks(args: &BenchObserveArgs, bench: &Workbench) -> Result<Comparison> {
    let n_tasks = args.messages * TASKS_PER_MESSAGE;
    let peak = peak_while(bench, |input| tasks::write(n_tasks, input))?;
    let limit = LIMIT + n_tasks as f64 * FOR_EACH_TASK / MEGABYTE as f64;
    let what = "memory, five tasks for each message";
    let subject = Subject { part: PART, what, against: "the limit", unit: Unit::Megabytes };
    Ok(Comparison::new(subject, peak, limit, Target::AtMost(1.0)))
}

/// The program's peak memory in megabytes while it reads what `write` writes.
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

/// The peak resident memory of a process, in kilobytes.
fn peak(child: &Child) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    Ok(kilobytes.context("the system does not tell how much memory is used")?.parse()?)
}
