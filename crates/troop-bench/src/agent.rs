//! `troop-bench agent`: what the built-in agent's own loop costs, beside a bare client that asks the same API.

mod api;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::Stdio,
    sync::{Arc, mpsc},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::task::TaskTracker;
use troop_agent::{
    Workplace as At,
    builtin::{Api as Protocol, BuiltinAgent, BuiltinOptions, Endpoint, Secret},
};
use troop_protocol::{FromLead, FromTeammate, Gate, Incoming, Peer, ReportedStatus};

use self::api::{ScriptedApi, WORD};
use crate::{
    ROUNDS,
    cli::BenchAgentArgs,
    outcome::{Comparison, Subject, Target, Unit, median},
    output::BenchPrinter,
    running::memory,
    workbench::Workbench,
};

/// How often a tool is called in one piece of work.
const N_CALLS: u32 = 20;
/// How many first words are timed.
const N_WORDS: usize = 20;
/// Limits: our own microseconds per round, microseconds until the first word is shown, megabytes of an idle teammate.
const ROUND: f64 = 2_000.0;
const SHOWN: f64 = 5_000.0;
const RESIDENT: f64 = 12.0;
/// Twice the context may cost twice as much; the rest is noise.
const LINEAR: f64 = 2.2;
const MEGABYTE: usize = 1_000_000;
/// How long the teammate rests before we read its memory.
const REST: Duration = Duration::from_millis(500);

/// The inputs of every measurement.
struct AgentSetup {
    bench: Workbench,
    api: ScriptedApi,
    /// How long a measurement runs; zero if everything is done once.
    span: Duration,
}

pub(crate) async fn run(
    args: &BenchAgentArgs,
    bench: Workbench,
    printer: &BenchPrinter,
) -> Result<()> {
    let setup =
        AgentSetup { bench, api: ScriptedApi::start()?, span: Duration::from_secs(args.seconds) };
    printer.announce("rounds");
    let mut outcomes = rounds(&setup).await?;
    printer.announce("context");
    outcomes.push(context(&setup).await?);
    printer.announce("memory");
    outcomes.extend(idle(&setup).await?);
    // From here on replies come slowly.
    printer.announce("first word");
    outcomes.push(first_word(&setup).await?);
    printer.outcomes(&outcomes, args.seconds)
}

/// A round: a request to the model, its tool call, and the result.
async fn rounds(setup: &AgentSetup) -> Result<Vec<Comparison>> {
    let (ours, bare) = measure(setup, "look at what is here", setup.span).await?;
    let subject = |what, against| subject("round", what, against, Unit::Micros);
    Ok(vec![
        Comparison::new(
            subject("a tool round, over the time of the API", "the limit"),
            ours - bare,
            ROUND,
            Target::AtMost(1.0),
        ),
        Comparison::new(subject("a whole tool round", "a bare client"), ours, bare, None),
    ])
}

/// A round with a long context, compared with half of it.
async fn context(setup: &AgentSetup) -> Result<Comparison> {
    let own = async |n_bytes: usize| -> Result<f64> {
        let words = "all work and no play ".repeat(n_bytes / 21);
        let (ours, bare) = measure(setup, &words, setup.span / 2).await?;
        Ok(ours - bare)
    };
    let half = own(MEGABYTE / 2).await?;
    let whole = own(MEGABYTE).await?;
    let subject =
        subject("context", "a round with 1 MB of context", "with half of it", Unit::Micros);
    Ok(Comparison::new(subject, whole, half, Target::AtMost(LINEAR)))
}

/// The time of a round, and the API's share of it, in microseconds.
async fn measure(setup: &AgentSetup, words: &str, span: Duration) -> Result<(f64, f64)> {
    let begin = Instant::now();
    let mut ours = Vec::new();
    let mut bare = Vec::new();
    let n_least = if span.is_zero() { 1 } else { ROUNDS as usize };
    while ours.len() < n_least || begin.elapsed() < span {
        let mut teammate = BuiltinTeammate::start(setup).await?;
        setup.api.call(N_CALLS);
        let start = Instant::now();
        teammate.work(words).await?;
        ours.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(N_CALLS + 1));
        setup.api.call(N_CALLS);
        let mut client = setup.api.bare()?;
        for _ in 0..=N_CALLS {
            bare.push(client.ask()?);
        }
    }
    Ok((median(ours), median(bare)))
}

/// The time from sending a word to showing it.
async fn first_word(setup: &AgentSetup) -> Result<Comparison> {
    let (tell, sent) = mpsc::channel();
    setup.api.tell(tell);
    let mut teammate = BuiltinTeammate::start(setup).await?;
    let mut micros = Vec::new();
    for _ in 0..if setup.span.is_zero() { 1 } else { N_WORDS } {
        setup.api.call(0);
        let shown = teammate.work("say hello").await?.context("nothing was shown")?;
        micros.push(shown.duration_since(sent.recv()?).as_secs_f64() * 1e6);
    }
    let subject = subject("shown", "the first word, after it was sent", "the limit", Unit::Micros);
    Ok(Comparison::new(subject, median(micros), SHOWN, Target::AtMost(1.0)))
}

/// The memory of an idle teammate, before and after its first work.
async fn idle(setup: &AgentSetup) -> Result<Vec<Comparison>> {
    let mut process = TeammateProcess::start(setup)?;
    process.until("team.idle")?;
    sleep(REST).await;
    let before = memory(process.child.id())?;
    setup.api.call(1);
    process.say("team.assignTask", &json!({"task": task("look")}))?;
    process.until("team.idle")?;
    sleep(REST).await;
    let after = memory(process.child.id())?;
    let limit = |what, ours| {
        let subject = subject("idle", what, "the limit", Unit::Megabytes);
        Comparison::new(subject, ours, RESIDENT, Target::AtMost(1.0))
    };
    Ok(vec![
        limit("memory before its first work", before.resident),
        limit("memory after a piece of work", after.resident),
    ])
}

fn subject(part: &'static str, what: &'static str, against: &'static str, unit: Unit) -> Subject {
    Subject { part, what, against, unit }
}

fn task(description: &str) -> Value {
    json!({"id": "task-1", "subject": "work", "description": description, "attempt": 1})
}

/// A built-in agent in this process, behind a wire.
struct BuiltinTeammate {
    peer: Peer,
    heard: tokio::sync::mpsc::Receiver<Incoming>,
}

impl BuiltinTeammate {
    async fn start(setup: &AgentSetup) -> Result<Self> {
        let (ours, theirs) = tokio::io::duplex(4 * MEGABYTE);
        let endpoint = Endpoint {
            api: Protocol::Anthropic,
            base_url: setup.api.url(),
            model: "bench".to_owned(),
            key: Some(Secret::new("bench")),
            thinking: None,
        };
        let gate = Gate::Closed { by: "the benchmark".to_owned() };
        let mut options = BuiltinOptions { gate, ..BuiltinOptions::new(endpoint) };
        options.size.window = 10_000_000;
        let agent = Box::new(BuiltinAgent::new(Arc::new(options)));
        let options = troop_agent::TeammateOptions::new(at(setup.bench.path()));
        let tracker = TaskTracker::new();
        let (reader, writer) = tokio::io::split(theirs);
        tracker.spawn(async move { troop_agent::serve(agent, reader, writer, options).await });
        let (reader, writer) = tokio::io::split(ours);
        let (peer, heard) = Peer::channel(reader, writer, &tracker);
        let mut teammate = Self { peer, heard };
        while !matches!(teammate.hear().await?, FromTeammate::Idle(_)) {}
        Ok(teammate)
    }

    async fn hear(&mut self) -> Result<FromTeammate> {
        loop {
            match self.heard.recv().await.context("the agent ended")? {
                Incoming::Notification(said) => return Ok(FromTeammate::try_from(&said)?),
                Incoming::End(_) => bail!("the agent ended"),
                Incoming::Request(_) | Incoming::Skipped(_) => {}
            }
        }
    }

    /// Assigns a task and waits until it is done; returns when its first word was shown.
    async fn work(&mut self, description: &str) -> Result<Option<Instant>> {
        let task = serde_json::from_value(task(description))?;
        self.peer.notify(&FromLead::AssignTask { task }).await?;
        let mut shown = None;
        let mut outcome = None;
        loop {
            match self.hear().await? {
                FromTeammate::Log(log) if log.text == WORD => {
                    shown.get_or_insert_with(Instant::now);
                }
                FromTeammate::TaskUpdate(report) => outcome = Some(report),
                FromTeammate::Idle(_) => break,
                FromTeammate::Ready(_)
                | FromTeammate::Message(_)
                | FromTeammate::ShutdownAck(_)
                | FromTeammate::Log(_)
                | FromTeammate::Usage(_)
                | FromTeammate::Alive {}
                | FromTeammate::Failed { .. }
                | FromTeammate::TurnEnd {} => {}
            }
        }
        match outcome {
            Some(report) if report.status == ReportedStatus::Completed => Ok(shown),
            other => bail!("the agent of the benchmark did not do its work: {other:?}"),
        }
    }
}

fn at(folder: &Path) -> At {
    At {
        name: "ann".to_owned(),
        team: "bench".to_owned(),
        path: folder.to_owned(),
        environment: Vec::new(),
    }
}

/// A built-in teammate in a separate process, with a lead that answers nothing.
struct TeammateProcess {
    child: std::process::Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl TeammateProcess {
    fn start(setup: &AgentSetup) -> Result<Self> {
        let mut command = setup.bench.troop_command();
        let session = uuid::Uuid::nil().to_string();
        command
            .args(["--mode", "teammate", "--team", "bench", "--name", "ann"])
            .args(["--agent", "builtin", "--lead-session", &session])
            .env("ANTHROPIC_API_KEY", "bench")
            .env("ANTHROPIC_BASE_URL", setup.api.url())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let lines = BufReader::new(child.stdout.take().context("a child has an output")?);
        Ok(Self { child, lines })
    }

    fn say(&mut self, method: &str, params: &Value) -> Result<()> {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    fn write(&mut self, message: &Value) -> Result<()> {
        let input = self.child.stdin.as_mut().context("a child has an input")?;
        Ok(input.write_all(format!("{message}\n").as_bytes())?)
    }

    /// Reads until this method arrives. Requests get an error.
    fn until(&mut self, method: &str) -> Result<()> {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line)? == 0 {
                bail!("the teammate of the benchmark ended");
            }
            let said: Value = serde_json::from_str(&line)?;
            if let Some(id) = said.get("id") {
                let error = json!({"code": -32601, "message": "unknown method"});
                self.write(&json!({"jsonrpc": "2.0", "id": id, "error": error}))?;
            }
            if said.get("method").is_some_and(|it| it == method) {
                return Ok(());
            }
        }
    }
}

impl Drop for TeammateProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends with its wire; its exit code does not matter.
        drop(self.child.wait());
    }
}
