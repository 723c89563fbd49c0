//! The PostgreSQL servers of a trial.

use std::{net::Ipv4Addr, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::sleep,
};
use troop_testkit::postgres::{Bouncer, OwnServer, ServerEnd, ServerPair, StartupSettings};

use crate::plan::PostgresPlace;

/// How many orders may wait. A trial has fewer faults.
const N_WAITING: usize = 16;

/// The servers that belong to a trial alone. A task of its own hurts and heals them, one order after another.
#[derive(Debug)]
pub(crate) struct TrialServers {
    pub(crate) url: String,
    orders: mpsc::Sender<ServerOrder>,
    task: JoinSet<()>,
}

/// A fault of the servers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ServerHarm {
    /// The server ends, and is started again after a pause.
    Restart(ServerEnd, Duration),
    /// The primary is killed, after a pause its standby is promoted, and after another one the old primary is started again,
    /// which does not know that it was replaced.
    FailOver(Duration),
}

#[derive(Debug)]
struct ServerOrder {
    harm: ServerHarm,
    healed: oneshot::Sender<()>,
}

#[derive(Debug)]
enum OwnServers {
    /// The shared server is not hurt.
    None,
    One {
        server: OwnServer,
        _bouncer: Option<Bouncer>,
    },
    Pair(ServerPair),
}

impl TrialServers {
    /// Starts what a trial needs. A remote one also takes connections at these addresses.
    pub(crate) async fn start(place: PostgresPlace, addresses: &[Ipv4Addr]) -> Self {
        let (url, servers) = match place {
            PostgresPlace::Shared => {
                let database = troop_testkit::postgres::database().await;
                (database.url().to_owned(), OwnServers::None)
            }
            PostgresPlace::Own | PostgresPlace::Remote => {
                let server = OwnServer::start(addresses).await;
                (server.url(), OwnServers::One { server, _bouncer: None })
            }
            PostgresPlace::Pooled => {
                let server = OwnServer::start(&[]).await;
                let bouncer = Bouncer::before(server.folder(), StartupSettings::Refused).await;
                (bouncer.url("troop"), OwnServers::One { server, _bouncer: Some(bouncer) })
            }
            PostgresPlace::Pair => {
                let pair = ServerPair::start().await;
                (pair.url(), OwnServers::Pair(pair))
            }
        };
        let (orders, coming) = mpsc::channel(N_WAITING);
        let mut task = JoinSet::new();
        task.spawn(servers.obey(coming));
        Self { url, orders, task }
    }

    /// Begins to hurt the servers. The returned work ends when they are as before.
    pub(crate) fn harm(&self, harm: ServerHarm) -> impl Future<Output = ()> + Send + use<> {
        let orders = self.orders.clone();
        async move {
            let (healed, done) = oneshot::channel();
            // Without the task there are no servers, and nothing to heal.
            drop(orders.send(ServerOrder { harm, healed }).await);
            drop(done.await);
        }
    }

    /// Ends them, once nobody needs them.
    pub(crate) async fn end(self) {
        let Self { orders, task, .. } = self;
        drop(orders);
        task.join_all().await;
    }
}

impl OwnServers {
    async fn obey(mut self, mut coming: mpsc::Receiver<ServerOrder>) {
        while let Some(ServerOrder { harm, healed }) = coming.recv().await {
            self.suffer(harm).await;
            // The trial may be over.
            healed.send(()).unwrap_or_default();
        }
        match &mut self {
            Self::None => {}
            Self::One { server, .. } => server.end(ServerEnd::Immediate).await,
            Self::Pair(pair) => {
                pair.first.end(ServerEnd::Immediate).await;
                pair.second.end(ServerEnd::Immediate).await;
            }
        }
    }

    async fn suffer(&mut self, harm: ServerHarm) {
        match (self, harm) {
            (Self::One { server, .. }, ServerHarm::Restart(how, pause)) => {
                server.end(how).await;
                sleep(pause).await;
                server.start_again().await;
            }
            (Self::Pair(pair), ServerHarm::FailOver(pause)) => {
                pair.first.end(ServerEnd::Killed).await;
                sleep(pause).await;
                pair.promote().await;
                sleep(pause).await;
                pair.first.start_again().await;
            }
            // A plan has only what its servers can suffer.
            _ => {}
        }
    }
}
