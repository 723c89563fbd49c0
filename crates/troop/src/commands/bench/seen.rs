//! How soon a process sees what another one changed, beside the bare wake-up of the same system.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result};
use notify::Watcher as _;
use tokio::time::Instant;
use troop_model::{Actor, Fact};
use troop_runtime::{Clock, Following, Subscription};

use super::{
    Bench, ROUNDS, child,
    outcome::{Outcome, Subject, Target, Unit, median},
    partner::{Partner, team_args},
    place::Place,
    server::{Database, Session},
    team,
};
use crate::cli::BenchPart;

/// No more samples than this in one round; the middle does not move any more.
const N_SAMPLES: usize = 2_000;

pub(super) async fn measure(bench: &Bench) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    let place = &bench.place;
    let inotify = "a file written, inotify";
    let url = format!("sqlite:{}", place.join("seen.db").display());
    let bare = || Bare::file(place, &place.join("bare"));
    outcomes.push(compare(bench, "sqlite", &url, (inotify, bare()?)).await?);
    let url = format!("files:{}", place.join("seen").display());
    outcomes.push(compare(bench, "files", &url, (inotify, bare()?)).await?);
    if let Some(url) = &bench.postgres {
        let database = Database::create(url).await?;
        let bare = Bare::server(place, database.url()).await;
        let outcome = async {
            compare(bench, "postgres", database.url(), ("LISTEN and NOTIFY", bare?)).await
        };
        let outcome = Box::pin(outcome).await;
        database.remove().await?;
        outcomes.push(outcome?);
    }
    Ok(outcomes)
}

async fn compare(
    bench: &Bench,
    what: &'static str,
    url: &str,
    (against, mut bare): (&'static str, Bare),
) -> Result<Outcome> {
    let mut ours = Ours::new(&bench.place, url).await?;
    let (mut ours_micros, mut bare_micros) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare_micros.extend(sample(bench.slice(), async || bare.once().await).await?);
        ours_micros.extend(sample(bench.slice(), async || ours.once().await).await?);
    }
    let subject = Subject { part: BenchPart::Seen, what, against, unit: Unit::Micros };
    Ok(Outcome::new(subject, median(ours_micros), median(bare_micros), Target::AtMost(5.0)))
}

async fn sample(span: Duration, mut once: impl AsyncFnMut() -> Result<i64>) -> Result<Vec<f64>> {
    let (start, mut micros) = (Instant::now(), Vec::new());
    while micros.len() < N_SAMPLES {
        micros.push(once().await? as f64);
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
}

impl Ours {
    async fn new(place: &Place, url: &str) -> Result<Self> {
        let store = team::open_store(url).await?;
        let board = team::create(store.clone(), 1).await?;
        let id = board.team();
        team::add_tasks(&board, 1, None).await?;
        team::claim(&board, &Actor::agent(&team::member(0)?)).await?;
        board.close().await;
        let board = team::open(store, id, Following::Always).await?;
        let news = board.subscribe(board.look(troop_model::State::version).await?);
        let partner = Partner::start(place, &team_args("change", id, url))?;
        Ok(Self { partner, news, clock: Clock::system() })
    }

    /// From the moment at which the other process gives the command until the event is here, so with its durability.
    async fn once(&mut self) -> Result<i64> {
        self.partner.prompt()?;
        loop {
            let event = self.news.next().await?.context("the board was closed")?;
            if let Fact::TaskProgressed { progress, .. } = &event.fact {
                return Ok(self.clock.now().as_micros() - progress.step.parse::<i64>()?);
            }
        }
    }
}

/// A process that makes itself heard by the plainest means, and who hears it.
struct Bare {
    partner: Partner,
    heard: tokio::sync::mpsc::UnboundedReceiver<i64>,
    /// Whoever listens does so until this is dropped.
    _ear: Box<dyn std::any::Any>,
}

impl Bare {
    /// Another process writes a file, and inotify tells.
    fn file(place: &Place, path: &Path) -> Result<Self> {
        let partner = Partner::start(place, &["touch".to_owned(), path.display().to_string()])?;
        let (sender, heard) = tokio::sync::mpsc::unbounded_channel();
        let (clock, file) = (Clock::system(), path.to_owned());
        let mut ear = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            if event.kind.is_modify() && event.paths.contains(&file) {
                let now = clock.now().as_micros();
                let written = std::fs::read(&file).ok().and_then(|it| it.try_into().ok());
                drop(sender.send(now - i64::from_le_bytes(written.unwrap_or_default())));
            }
        })?;
        ear.watch(place.path(), notify::RecursiveMode::NonRecursive)?;
        Ok(Self { partner, heard, _ear: Box::new(ear) })
    }

    /// Another process notifies, and the server tells.
    async fn server(place: &Place, url: &str) -> Result<Self> {
        let (sender, heard) = tokio::sync::mpsc::unbounded_channel();
        let clock = Clock::system();
        let session = Session::open(url, move |notice| {
            let sent = notice.payload().parse::<i64>().unwrap_or_default();
            drop(sender.send(clock.now().as_micros() - sent));
        });
        let session = session.await?;
        session.execute(&format!("LISTEN {}", child::CHANNEL)).await?;
        let partner = Partner::start(place, &["notify".to_owned(), url.to_owned()])?;
        Ok(Self { partner, heard, _ear: Box::new(session) })
    }

    async fn once(&mut self) -> Result<i64> {
        self.partner.prompt()?;
        self.heard.recv().await.context("nobody listens any more")
    }
}
