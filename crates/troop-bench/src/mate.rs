//! A teammate that plays ball with another: each returns what the other sent, and notes its latency.

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_util::task::TaskTracker;
use troop_model::MessageKind;
use troop_protocol::{
    FromLead, FromTeammate, Idle, Incoming, MessageIn, MessageOut, Notification, Peer, Ready,
    ReportedStatus, ShutdownAck, TaskReport, WireTask, stdio,
};
use troop_runtime::Clock;

/// The description of such a teammate's task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Game {
    /// The other player.
    pub(crate) with: String,
    /// How many balls it has to catch.
    pub(crate) n_catches: usize,
    /// Whether it begins.
    pub(crate) begins: bool,
}

/// Plays with the arguments from its lead, which name it.
pub(crate) async fn run(arguments: &[String]) -> Result<()> {
    let mut rest = arguments.iter().skip_while(|it| *it != "--name").skip(1);
    let name = rest.next().cloned().unwrap_or_default();
    let tracker = TaskTracker::new();
    let (reader, writer) = stdio();
    let (peer, mut heard) = Peer::channel(reader, writer, &tracker);
    let mut mate = Mate { peer, clock: Clock::system(), game: None, micros: Vec::new() };
    let ready = Ready { name, acknowledges: true, version: None };
    mate.say(FromTeammate::Ready(ready)).await?;
    mate.say(FromTeammate::Idle(Idle::default())).await?;
    while let Some(incoming) = heard.recv().await {
        match incoming {
            Incoming::Notification(said) => match FromLead::try_from(&said)? {
                FromLead::AssignTask { task } => mate.begin(task).await?,
                FromLead::Message(ball) => mate.catch(ball).await?,
                FromLead::Shutdown { .. } => {
                    mate.say(FromTeammate::ShutdownAck(ShutdownAck::agreed())).await?;
                    mate.peer.close().await;
                    return Ok(());
                }
                FromLead::UpdateContext(_) | FromLead::Interrupt { .. } => {}
            },
            Incoming::Request(_) | Incoming::Skipped(_) => {}
            Incoming::End(_) => break,
        }
    }
    Ok(())
}

struct Mate {
    peer: Peer,
    clock: Clock,
    game: Option<(WireTask, Game)>,
    micros: Vec<i64>,
}

impl Mate {
    async fn say(&self, said: FromTeammate) -> Result<()> {
        Ok(self.peer.notify(&said).await?)
    }

    async fn begin(&mut self, task: WireTask) -> Result<()> {
        let game: Game = serde_json::from_str(&task.description)?;
        self.micros.clear();
        let begins = game.begins;
        let with = game.with.clone();
        self.game = Some((task, game));
        if begins { self.hit(with).await } else { Ok(()) }
    }

    async fn hit(&self, to: String) -> Result<()> {
        let now = self.clock.now().as_micros().to_string();
        let ball = MessageOut::new(to, MessageKind::Message, now);
        self.say(FromTeammate::Message(ball)).await
    }

    async fn catch(&mut self, ball: MessageIn) -> Result<()> {
        let now = self.clock.now().as_micros();
        let read = serde_json::value::to_raw_value(&json!({ "messages": [ball.id] }))?;
        let n_catches = self.game.as_ref().map(|(_, game)| game.n_catches);
        if let (Some(_), Ok(sent)) = (n_catches, ball.content.parse::<i64>()) {
            self.micros.push(now - sent);
            self.hit(ball.from).await?;
        }
        let read = Notification { method: "message/read".to_owned(), params: read };
        self.peer.notify(read).await?;
        match n_catches {
            Some(n_catches) if self.micros.len() >= n_catches => self.end().await,
            _ => Ok(()),
        }
    }

    async fn end(&mut self) -> Result<()> {
        let (task, _) = self.game.take().context("a game is played")?;
        let result = Some(serde_json::to_string(&self.micros)?);
        let report = TaskReport::about(&task, ReportedStatus::Completed);
        let report = TaskReport { result, ..report };
        self.say(FromTeammate::TaskUpdate(report)).await?;
        self.say(FromTeammate::Idle(Idle { last_task: Some(task.id) })).await
    }
}
