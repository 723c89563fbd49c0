//! Listens for notices that logs grew, on a connection that is renewed when it breaks.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};
use troop_model::{TeamId, lock};

use super::connect::{Server, ServerConnection};
use crate::{Watch, bell::Bells};

/// How long to wait before reconnecting to a server that is away.
const PAUSE: Duration = Duration::from_millis(250);

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
        if let Some(mut connection) = connect(&server, &bells).await {
            is_listening.send_replace(true);
            // Notices from before this moment are lost.
            bells.ring_all();
            connection.ended().await;
            is_listening.send_replace(false);
        }
        sleep(PAUSE).await;
    }
}

async fn connect(server: &Server, bells: &Bells) -> Option<ServerConnection> {
    let bells = bells.clone();
    let heard =
        move |notice: &tokio_postgres::Notification| match notice.payload().parse::<TeamId>() {
            Ok(team) => bells.ring(team),
            Err(_) => bells.ring_all(),
        };
    let connection = server.connect(heard).await.ok()?;
    connection.client.batch_execute("LISTEN troop").await.ok()?;
    Some(connection)
}
