//! A few connections, each lent to one user at a time, in the order of asking.

use std::sync::{Arc, Mutex};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_postgres::Client;

use super::connect::{Link, Server};
use crate::{
    StoreError, StoreResult,
    failure::{LINE_PATIENCE, bug, lock, waited_too_long},
    postgres::failure::sql_failure,
};

#[derive(Debug)]
pub(super) struct Pool {
    server: Arc<Server>,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Link>>,
}

impl Pool {
    pub(super) fn new(server: Arc<Server>, size: usize) -> Self {
        Self { server, permits: Arc::new(Semaphore::new(size)), idle: Mutex::default() }
    }

    /// Lends a connection, a new one if the server closed those that lay idle.
    pub(super) async fn checkout(self: &Arc<Self>) -> StoreResult<Checkout> {
        let permit = timeout(LINE_PATIENCE, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = permit.map_err(|_| waited_too_long())?;
        let permit = permit.map_err(|_| bug("the pool was closed"))?;
        let idle = {
            let mut idle = lock(&self.idle);
            idle.retain(|link| !link.client.is_closed());
            idle.pop()
        };
        let link = match idle {
            Some(link) => link,
            None => self.server.connect(|_| ()).await?,
        };
        Ok(Checkout { link, pool: Arc::clone(self), _permit: permit })
    }
}

/// A connection that is lent. Dropping it closes the connection, whatever state it is in.
#[derive(Debug)]
pub(super) struct Checkout {
    link: Link,
    pool: Arc<Pool>,
    _permit: OwnedSemaphorePermit,
}

impl Checkout {
    pub(super) fn client(&mut self) -> &mut Client {
        &mut self.link.client
    }

    pub(super) fn failed(&self) -> impl Fn(tokio_postgres::Error) -> StoreError + use<> {
        let server = Arc::clone(&self.pool.server);
        move |error| sql_failure(&server, error)
    }

    /// Gives the connection back, outside any transaction, for the next user.
    pub(super) fn give_back(self) {
        lock(&self.pool.idle).push(self.link);
    }
}
