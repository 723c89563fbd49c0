//! How soon what another program writes into a team's files is on the board.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_model::{
    Actor, Command, EXTERNAL, Fact, NewMember, NewTask, NewTeamCommand, Settings, State,
    TaskCommand, TeamId,
};
use troop_runtime::{
    Board, Clock, CommandRequest, Following, Layout, Mirror, MirrorOptions, Signature, Subscription,
};
use troop_store::{Missing, StoreUrl};
use uuid::Uuid;

use crate::{
    cli::BenchFilesArgs,
    outcome::{Comparison, Subject, Target, Unit},
    output::BenchPrinter,
    workbench::Workbench,
};

const PART: &str = "files";
/// How long it may take until half of all changes are on the board, in microseconds.
const LIMIT: f64 = 5_000.0;
const MEMBER: &str = "pat";

pub(crate) async fn run(
    args: &BenchFilesArgs,
    bench: &Workbench,
    printer: &BenchPrinter,
) -> Result<()> {
    bench.warn_if_in_memory(printer);
    let board = team(bench.path(), args.tasks).await?;
    let shared = bench.join("shared");
    let options = MirrorOptions {
        board: board.clone(),
        clock: Clock::system(),
        folder: shared.clone(),
        layout: Layout::Seeds,
        lead: None,
    };
    let mut mirror = Mirror::open(options).await?;
    mirror.pass().await?;
    let stop = CancellationToken::new();
    let tracker = TaskTracker::new();
    let kept = tracker.spawn(mirror.run(stop.clone()));
    tracker.close();
    let outcomes = [claims(&board, &shared, args).await?, messages(&board, &shared, args).await?];
    stop.cancel();
    kept.await??;
    board.close().await;
    printer.outcomes(&outcomes, 0)
}

async fn team(folder: &Path, n_tasks: u32) -> Result<Board> {
    let url = StoreUrl::parse(&format!("sqlite:{}", folder.join("troop.db").display()))?;
    let store = troop_store::open(&url, Missing::Make).await?;
    let member = |name: &str| -> Result<NewMember> { Ok(NewMember::new(name.parse()?, EXTERNAL)) };
    let new = NewTeamCommand {
        goal: String::new(),
        team: TeamId(Uuid::now_v7()),
        name: "bench".parse()?,
        description: String::new(),
        settings: Settings::default(),
        lead: member("lead")?,
        members: vec![member(MEMBER)?, member("quin")?],
    };
    let signature = Signature::new(Actor::human("bench"));
    let board = Board::create(store, Clock::system(), Following::Always, &signature, new).await?;
    for nth in 0..n_tasks {
        let new = NewTask { subject: format!("task {nth}"), ..NewTask::default() };
        let command = Command::Task(TaskCommand::Create(new));
        board.submit(CommandRequest::new(Actor::human("bench"), command)).await?;
    }
    Ok(board)
}

async fn claims(board: &Board, shared: &Path, args: &BenchFilesArgs) -> Result<Comparison> {
    let mut news = board.subscribe(board.look(State::version).await?);
    let mut spans = Vec::new();
    for number in 1..=args.changes.min(args.tasks) {
        let path = shared.join(format!("tasks/bench/task-{number}.json"));
        let mut task: Map<String, Value> = serde_json::from_slice(&fs::read(&path)?)?;
        task.insert("status".to_owned(), json!("claimed"));
        task.insert("claimed_by".to_owned(), json!(MEMBER));
        put(&path, &Value::Object(task))?;
        let start = Instant::now();
        let is_it = |fact: &Fact| matches!(fact, Fact::TaskClaimed { .. });
        spans.push(seen(&mut news, start, is_it).await?);
    }
    outcome("a claim in a file becomes an event: half within", spans)
}

async fn messages(board: &Board, shared: &Path, args: &BenchFilesArgs) -> Result<Comparison> {
    let mut news = board.subscribe(board.look(State::version).await?);
    let mut spans = Vec::new();
    for nth in 0..args.changes {
        let path = shared.join(format!("teams/bench/inbox/quin/{nth}.json"));
        put(&path, &json!({"from": MEMBER, "type": "direct", "content": format!("{nth}")}))?;
        let start = Instant::now();
        let is_it = |fact: &Fact| matches!(fact, Fact::MessageSent { .. });
        spans.push(seen(&mut news, start, is_it).await?);
    }
    outcome("a message in a file becomes an event: half within", spans)
}

fn put(path: &Path, value: &Value) -> Result<()> {
    let half = path.with_extension("tmp");
    fs::write(&half, value.to_string())?;
    Ok(fs::rename(half, path)?)
}

async fn seen(
    news: &mut Subscription,
    start: Instant,
    is_it: impl Fn(&Fact) -> bool,
) -> Result<Duration> {
    loop {
        let event = news.next().await?.context("the board was closed")?;
        if is_it(&event.fact) {
            return Ok(start.elapsed());
        }
    }
}

fn outcome(what: &'static str, mut spans: Vec<Duration>) -> Result<Comparison> {
    spans.sort_unstable();
    let median = spans.get(spans.len() / 2).context("nothing was measured")?;
    let subject = Subject { part: PART, what, against: "the limit", unit: Unit::Micros };
    Ok(Comparison::new(subject, median.as_secs_f64() * 1e6, LIMIT, Target::AtMost(1.0)))
}
