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
    outcome::{Outcome, Subject, Target, Unit, median},
    partner::{Partner, team_args},
    raw_file::RawFile,
    raw_sqlite::RawSqlite,
    server::{Database, Session},
    team,
    workbench::Workbench,
};

/// No more samples than this in one round; the middle does not move any more.
const N_SAMPLES: usize = 2_000;

pub(crate) async fn measure(setup: &BoardSetup) -> Result<Vec<Outcome>> {
    let bench = &setup.bench;
    let inotify = |commit| -> Result<Rival> {
        let bare = Bare::file(bench, &bench.join("bare"))?;
        Ok(Rival { bare, bare_is: "a file written, inotify", commit })
    };
    let url = format!("sqlite:{}", bench.join("seen.db").display());
    let rival = inotify(Commit::Sqlite(RawSqlite::new(&bench.join("seen-raw.db"), 0)?))?;
    let mut outcomes = compare(setup, "sqlite", &url, rival).await?;
    let url = format!("files:{}", bench.join("seen").display());
    let rival = inotify(Commit::File(RawFile::new(&bench.join("seen-raw.jsonl"))?))?;
    outcomes.extend(compare(setup, "files", &url, rival).await?);
    if let Some(url) = &setup.postgres {
        let database = Database::create(url).await?;
        let on_server = Box::pin(compare_on_server(setup, database.url())).await;
        database.remove().await?;
        outcomes.extend(on_server?);
    }
    Ok(outcomes)
}

async fn compare_on_server(setup: &BoardSetup, url: &str) -> Result<Vec<Outcome>> {
    let bare = Bare::server(&setup.bench, url).await?;
    let session = Session::open(url, |_| ()).await?;
    session.execute("CREATE TABLE event (body text NOT NULL)").await?;
    let commit = Commit::Server(session, team::sample_line()?);
    let rival = Rival { bare, bare_is: "LISTEN and NOTIFY", commit };
    compare(setup, "postgres", url, rival).await
}

/// What ours is compared with: a bare wake-up, and what making such a change durable takes by itself.
struct Rival {
    bare: Bare,
    bare_is: &'static str,
    commit: Commit,
}

/// Ours is timed from the command on, so the commit is in it. A change is there when it is durable: what counts is how
/// long it takes from then on, and that is ours without a raw commit.
async fn compare(
    setup: &BoardSetup,
    what: &'static str,
    url: &str,
    mut rival: Rival,
) -> Result<Vec<Outcome>> {
    let mut ours = Ours::new(&setup.bench, url).await?;
    let [mut all, mut bare, mut commit] = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        bare.extend(sample(setup.slice(), async || rival.bare.once().await).await?);
        commit.extend(sample(setup.slice(), async || rival.commit.once().await).await?);
        all.extend(sample(setup.slice(), async || ours.once().await).await?);
    }
    let [all, bare, commit] = [all, bare, commit].map(median);
    let subject =
        |against| Subject { part: BenchPart::Seen.name(), what, against, unit: Unit::Micros };
    let durable = Outcome::new(subject(rival.bare_is), all - commit, bare, Target::AtMost(5.0));
    let with_commit = subject("a raw commit, and that");
    Ok(vec![durable, Outcome::new(with_commit, all, commit + bare, Target::AtMost(5.0))])
}

async fn sample(span: Duration, mut once: impl AsyncFnMut() -> Result<f64>) -> Result<Vec<f64>> {
    let (start, mut micros) = (Instant::now(), Vec::new());
    while micros.len() < N_SAMPLES {
        micros.push(once().await?);
        if start.elapsed() >= span {
            break;
        }
    }
    Ok(micros)
}

/// A board that follows, and a process that changes it.
struct Ours {
    partner: Partner,
    news: Subscription,
    clock: Clock,
    /// It follows as long as it is open.
    _board: Board,
}

impl Ours {
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

    /// From the moment at which the other process gives the command until the event is here, so with its durability.
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

/// A process that makes itself heard by the plainest means, and who hears it.
struct Bare {
    partner: Partner,
    /// When it was said what is heard.
    heard: tokio::sync::mpsc::UnboundedReceiver<i64>,
    /// Whoever listens does so until this is dropped.
    _ear: Box<dyn std::any::Any>,
}

impl Bare {
    /// Another process writes a file, and inotify tells.
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

    /// Another process notifies, and the server tells.
    async fn server(bench: &Workbench, url: &str) -> Result<Self> {
        let (sender, heard) = tokio::sync::mpsc::unbounded_channel();
        let session = Session::open(url, move |notice| {
            let _unheard = sender.send(notice.payload().parse::<i64>().unwrap_or_default());
        });
        let session = session.await?;
        session.execute(&format!("LISTEN {}", child::CHANNEL)).await?;
        let partner = Partner::start(bench, &["notify".to_owned(), url.to_owned()])?;
        Ok(Self { partner, heard, _ear: Box::new(session) })
    }

    async fn once(&mut self) -> Result<f64> {
        self.partner.prompt()?;
        let sent = self.heard.recv().await.context("nobody listens any more")?;
        Ok((Clock::system().now().as_micros() - sent) as f64)
    }
}

/// A durable change by the plainest means.
enum Commit {
    Sqlite(RawSqlite),
    File(RawFile),
    Server(Session, String),
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
