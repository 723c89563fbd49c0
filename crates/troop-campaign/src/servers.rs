//! The PostgreSQL servers of a trial.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    time::sleep,
};
use troop_testkit::postgres::{Bouncer, OwnServer, ServerEnd, ServerPair, StartupSettings};

use crate::plan::PostgresPlace;

/// The servers that belong to a trial alone. Several tasks that hurt and heal them take turns.
#[derive(Debug)]
pub(crate) struct TrialServers {
    pub(crate) url: String,
    servers: Arc<Mutex<OwnServers>>,
}

#[derive(Debug)]
enum OwnServers {
    /// The shared server is not hurt.
    None,
    One {
        server: OwnServer,
        _bouncer: Option<Bouncer>,
    },
    Pair {
        pair: ServerPair,
        has_failed_over: bool,
    },
}

impl TrialServers {
    pub(crate) async fn start(place: PostgresPlace) -> Self {
        let (url, servers) = match place {
            PostgresPlace::Shared => {
                let database = troop_testkit::postgres::database().await;
                (database.url().to_owned(), OwnServers::None)
            }
            PostgresPlace::Own => {
                let server = OwnServer::start().await;
                (server.url(), OwnServers::One { server, _bouncer: None })
            }
            PostgresPlace::Pooled => {
                let server = OwnServer::start().await;
                let bouncer = Bouncer::before(server.folder(), StartupSettings::Refused).await;
                (bouncer.url("troop"), OwnServers::One { server, _bouncer: Some(bouncer) })
            }
            PostgresPlace::Pair => {
                let pair = ServerPair::start().await;
                (pair.url(), OwnServers::Pair { pair, has_failed_over: false })
            }
        };
        Self { url, servers: Arc::new(Mutex::new(servers)) }
    }

    /// Ends the server; the returned work starts it again after a pause. None if it is down just now.
    pub(crate) fn restart(
        &self,
        how: ServerEnd,
        pause: Duration,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let mut servers = self.lock()?;
        let OwnServers::One { server, .. } = &mut *servers else { return None };
        server.end(how);
        Some(async move {
            sleep(pause).await;
            if let OwnServers::One { server, .. } = &mut *servers {
                server.start_again().await;
            }
        })
    }

    /// Kills the primary; the returned work promotes its standby after a pause, and after another one starts the old primary
    /// again, which does not know that it is none any more. None if that happened before.
    pub(crate) fn fail_over(
        &self,
        pause: Duration,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let mut servers = self.lock()?;
        let OwnServers::Pair { pair, has_failed_over } = &mut *servers else { return None };
        if std::mem::replace(has_failed_over, true) {
            return None;
        }
        pair.first.end(ServerEnd::Killed);
        Some(async move {
            let OwnServers::Pair { pair, .. } = &mut *servers else { return };
            sleep(pause).await;
            pair.promote().await;
            sleep(pause).await;
            pair.first.start_again().await;
        })
    }

    /// The servers, unless another fault is being healed.
    fn lock(&self) -> Option<OwnedMutexGuard<OwnServers>> {
        Arc::clone(&self.servers).try_lock_owned().ok()
    }
}
