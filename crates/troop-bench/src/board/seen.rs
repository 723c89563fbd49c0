//! How soon a process sees what another one changed, beside the bare wake-up of the same system.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result};
use notify::Watcher as _;
use tokio::time::Instant;
use troop_model::{Actor, Fact};
use troop_runtime::{Board, Clock, Following, Subscription};

use super::BoardSetup;
use crate::{
    ROUNDS, child,
    cli::BenchPart,
    outcome::{Comparison, Subject, Target, Unit, median},
    partner::{Partner, team_args},
    raw_file::RawFile,
    raw_sqlite::RawSqlite,
    server::{BenchDatabase, ServerSession},
    team,
    workbench::Workbench,
};

/// The most samples in one round; more do not change the median.
const N_SAMPLES: usize = 2_000;

pub(crate) async fn measure(setup: &BoardSetup) -> Result<Vec<Comparison>> {
    let bench = &setup.bench;
    let inotify = |commit| -> Result<Rival> {
        let bare = BareNotice::file(bench, &bench.join("bare"))?;
        Ok(Rival { bare, bare_is: "a file written, inotify", commit })
    };
    let url = format!("sqlite:{}", bench.join("seen.db").display());
    let rival = inotify(Commit::Sqlite(RawSqlite::new(&bench.join("seen-raw.db"), 0)?))?;
    let mut outcomes = compare(setup, "sqlite", &url, rival).await?;
    let url = format!("files:{}", bench.join("seen").display());
    let rival = inotify(Commit::File(RawFile::new(&bench.join("seen-raw.jsonl"))?))?;
    outcomes.extend(compare(setup, "files", &url, rival).await?);
    if let Some(url) = &setup.postgres {
        let database = BenchDatabase::create(url).await?;
        let on_server = Box::pin(compare_on_server(setup, database.url())).await;
        database.remove().await?;
        outcomes.extend(on_server?);
    }
    Ok(outcomes)
}

async fn compare_on_server(setup: &BoardSetup, url: &str) -> Result<Vec<Comparison>> {
    let bare = BareNotice::server(&setup.bench, url).await?;
    let session = ServerSession::open(url, |_| ()).await?;
    session.execute("CREATE TABLE event (body text NOT NULL)").await?;
    let commit = Commit::Server(session, team::sample_line()?);
    let rival = Rival { bare, bare_is: "LISTEN and NOTIFY", commit };
    compare(setup, "postgres", url, rival).await
}

/// The baseline: a bare wake-up, and a bare durable commit.
struct Rival {
    bare: BareNotice,
    bare_is: &'static str,
    commit: Commit,
}

/// Our time starts with the command, so it includes the commit. A change counts once it is durable, so we subtract the time
/// of a raw commit.
async fn compare(
    setup: &BoardSetup,
    what: &'static str,
    url: &str,
    mut rival: Rival,
) -> Result<Vec<Comparison>> {
    let mut ours = FollowingBoard::new(&setup.bench, url).await?;
    let [mut all, mut bare, mut commit] = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        bare.extend(sample(setup.slice(), async || rival.bare.once().await).await?);
        commit.extend(sample(setup.slice(), async || rival.commit.once().await).await?);
        all.extend(sample(setup.slice(), async || ours.once().await).await?);
    }
    let [all, bare, commit] = [all, bare, commit].map(median);
    let subject =
        |against| Subject { part: BenchPart::Seen.name(), what, against, unit: Unit::Micros };
    let durable = Comparison::new(subject(rival.bare_is), all - commit, bare, Target::AtMost(5.0));
    let with_commit = subject("a raw commit, and that");
    Ok(vec![durable, Comparison::new(with_commit, all, commit + bare, Target::AtMost(5.0))])
}

async fn sample(span: Duration, mut once: impl AsyncFnMut() -> Result<f64>) -> Result<Vec<f64>> {
    let start = Instant::now();
    let mut micros = Vec::new();
    while micros.len() < N_SAMPLES {
        micros.push(once().await?);
        if start.elapsed() >= span {
            break;
        }
    }
    Ok(micros)
}

/// A board that follows, and a process that changes it.
struct FollowingBoard {
    partner: Partner,
    news: Subscription,
    clock: Clock,
    /// Kept open, because a closed board does not follow.
    _board: Board,
}

impl FollowingBoard {
    async fn new(bench: &Workbench, url: &str) -> Result<Self> {
        let store = team::open_store(url).await?;
        let board = team::create(store.clone(), 1).await?;
        let id = board.team();
        team::add_tasks(&board, 1, None).await?;
        team::claim(&board, &Actor::agent(&team::member(0)?)).await?;
        board.close().await;
        let board = team::open(store, id, Following::Always).await?;
        let news = board.subscribe(board.look(troop_model::State::version).await?);
        let partner = Partner::start(bench, &team_args("change", id, url))?;
        Ok(Self { partner, news, clock: Clock::system(), _board: board })
    }

    /// The time from the command in the other process to the event here, including its commit.
    async fn once(&mut self) -> Result<f64> {
        self.partner.prompt()?;
        loop {
            let event = self.news.next().await?.context("the board was closed")?;
            if let Fact::TaskProgressed { progress, .. } = &event.fact {
                let given_at: i64 = progress.step.parse()?;
                return Ok((self.clock.now().as_micros() - given_at) as f64);
            }
        }
    }
}

/// A process that sends bare notices, and the listener for them.
struct BareNotice {
    partner: Partner,
    /// The send time of every notice.
    heard: tokio::sync::mpsc::UnboundedReceiver<i64>,
    /// The listener, which ends when this is dropped.
    _ear: Box<dyn std::any::Any>,
}

impl BareNotice {
    /// Another process writes a file; inotify reports it.
    fn file(bench: &Workbench, path: &Path) -> Result<Self> {
        let partner = Partner::start(bench, &["touch".to_owned(), path.display().to_string()])?;
        let (sender, heard) = tokio::sync::mpsc::unbounded_channel();
        let file = path.to_owned();
        let mut ear = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            if event.kind.is_modify() && event.paths.contains(&file) {
                let written = std::fs::read(&file).ok().and_then(|it| it.try_into().ok());
                let _unheard = sender.send(i64::from_le_bytes(written.unwrap_or_default()));
            }
        })?;
        ear.watch(bench.path(), notify::RecursiveMode::NonRecursive)?;
        Ok(Self { partner, heard, _ear: Box::new(ear) })
    }

    /// Another process sends `NOTIFY`; the server delivers it.
    async fn server(bench: &Workbench, url: &str) -> Result<Self> {
        let (sender, heard) = tokio::sync::mpsc::unbounded_channel();
        let session = ServerSession::open(url, move |notice| {
            let _unheard = sender.send(notice.payload().parse::<i64>().unwrap_or_default());
        });
        let session = session.await?;
        session.execute(&format!("LISTEN {}", child::CHANNEL)).await?;
        let partner = Partner::start(bench, &["notify".to_owned(), url.to_owned()])?;
        Ok(Self { partner, heard, _ear: Box::new(session) })
    }

    async fn once(&mut self) -> Result<f64> {
        self.partner.prompt()?;
        let sent = self.heard.recv().await.context("the listener has ended")?;
        Ok((Clock::system().now().as_micros() - sent) as f64)
    }
}

/// A bare durable commit.
enum Commit {
    Sqlite(RawSqlite),
    File(RawFile),
    Server(ServerSession, String),
}

impl Commit {
    async fn once(&mut self) -> Result<f64> {
        let start = Instant::now();
        match self {
            Self::Sqlite(raw) => raw.append()?,
            Self::File(raw) => raw.append()?,
            Self::Server(session, line) => {
                session.execute(&format!("INSERT INTO event VALUES ('{line}')")).await?;
            }
        }
        Ok(start.elapsed().as_secs_f64() * 1e6)
    }
}
