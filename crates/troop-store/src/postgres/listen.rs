//! Listens for notices that logs grew, on a connection that is renewed when it breaks. Behind a pooler it looks instead.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_postgres::types::Type;
use troop_model::{TeamId, lock};

use super::{
    connect::{NotificationHandler, Server, ServerConnection, SqlResult},
    session::Session,
};
use crate::{Watch, bell::Bells};

/// How long to wait before reconnecting to a server that is away.
const PAUSE: Duration = Duration::from_millis(250);
/// How often to look where nothing can be listened to.
pub(super) const POLL: Duration = Duration::from_millis(100);

/// Listens from the first watch on, until it is dropped.
#[derive(Debug)]
pub(super) struct Listener {
    server: Arc<Server>,
    bells: Bells,
    is_listening: watch::Sender<bool>,
    task: Mutex<JoinSet<()>>,
}

impl Listener {
    pub(super) fn new(server: Arc<Server>, bells: Bells) -> Self {
        Self { server, bells, is_listening: watch::Sender::new(false), task: Mutex::default() }
    }

    /// Waits until notices come in. If the server is away, growth is seen by [`Watch::PATIENCE`] at the latest.
    pub(super) async fn ready(&self) {
        self.start();
        let mut is_listening = self.is_listening.subscribe();
        drop(timeout(Watch::PATIENCE, is_listening.wait_for(|is_listening| *is_listening)).await);
    }

    fn start(&self) {
        let mut task = lock(&self.task);
        if task.is_empty() {
            let server = Arc::clone(&self.server);
            let bells = self.bells.clone();
            task.spawn(listen(server, bells, self.is_listening.clone()));
        }
    }
}

async fn listen(server: Arc<Server>, bells: Bells, is_listening: watch::Sender<bool>) {
    loop {
        if let Ok(connection) = server.connect(heard(&bells)).await {
            match server.session() {
                Session::Own => hear(connection, &bells, &is_listening).await,
                Session::Shared => poll(&connection, &bells, &is_listening).await,
            }
            is_listening.send_replace(false);
        }
        sleep(PAUSE).await;
    }
}

fn heard(bells: &Bells) -> NotificationHandler {
    let bells = bells.clone();
    Arc::new(move |notice| match notice.payload().parse::<TeamId>() {
        Ok(team) => bells.ring(team),
        Err(_) => bells.ring_all(),
    })
}

/// Listens until the connection ends.
async fn hear(mut connection: ServerConnection, bells: &Bells, is_listening: &watch::Sender<bool>) {
    if connection.client.batch_execute("LISTEN troop").await.is_err() {
        return;
    }
    is_listening.send_replace(true);
    // Notices from before this moment are lost.
    bells.ring_all();
    connection.ended().await;
}

/// Looks again and again, until the connection ends: a shared session passes on no notices.
async fn poll(connection: &ServerConnection, bells: &Bells, is_listening: &watch::Sender<bool>) {
    let mut seen = HashMap::new();
    while let Ok(heads) = heads(connection, &bells.watched()).await {
        for (team, head) in heads {
            if seen.insert(team, head) != Some(head) {
                bells.ring(team);
            }
        }
        is_listening.send_replace(true);
        sleep(POLL).await;
    }
}

/// Where the logs of these teams end.
async fn heads(
    connection: &ServerConnection,
    teams: &[TeamId],
) -> SqlResult<Vec<(TeamId, Option<i64>)>> {
    if teams.is_empty() {
        return Ok(Vec::new());
    }
    let teams: Vec<_> = teams.iter().map(|team| team.0).collect();
    let sql = "SELECT t.id, (SELECT max(first_version) FROM troop.batches WHERE team = t.id)
               FROM unnest($1::uuid[]) AS t (id)";
    let rows = connection.client.query_typed(sql, &[(&teams, Type::UUID_ARRAY)]).await?;
    rows.iter().map(|row| Ok((TeamId(row.try_get(0)?), row.try_get(1)?))).collect()
}
