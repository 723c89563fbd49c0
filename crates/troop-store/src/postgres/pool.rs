//! A small pool of connections, lent to one user at a time, first come first served.

use std::sync::{Arc, Mutex};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_postgres::{Client, Statement, types::Type};
use troop_model::lock;

use super::connect::{Prepared, Server, ServerConnection, SqlResult};
use crate::{
    StoreError, StoreResult,
    failure::{LINE_PATIENCE, bug, waited_too_long},
    postgres::failure::sql_failure,
};

#[derive(Debug)]
pub(super) struct Pool {
    server: Arc<Server>,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<ServerConnection>>,
}

impl Pool {
    pub(super) fn new(server: Arc<Server>, size: usize) -> Self {
        Self { server, permits: Arc::new(Semaphore::new(size)), idle: Mutex::default() }
    }

    /// Lends a connection, a new one if the server closed the idle ones.
    pub(super) async fn checkout(self: &Arc<Self>) -> StoreResult<Checkout> {
        let permit = self.permit().await?;
        let idle = {
            let mut idle = lock(&self.idle);
            idle.retain(|connection| !connection.client.is_closed());
            idle.pop()
        };
        let connection = match idle {
            Some(connection) => connection,
            None => self.server.connect(|_| ()).await?,
        };
        Ok(Checkout { connection, pool: Arc::clone(self), _permit: permit })
    }

    /// Lends a new connection.
    pub(super) async fn checkout_new(self: &Arc<Self>) -> StoreResult<Checkout> {
        let permit = self.permit().await?;
        let connection = self.server.connect(|_| ()).await?;
        Ok(Checkout { connection, pool: Arc::clone(self), _permit: permit })
    }

    async fn permit(&self) -> StoreResult<OwnedSemaphorePermit> {
        let permit = timeout(LINE_PATIENCE, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = permit.map_err(|_| waited_too_long())?;
        permit.map_err(|_| bug("the pool was closed"))
    }
}

/// A connection that is lent. Dropping it closes the connection, whatever state it is in.
#[derive(Debug)]
pub(super) struct Checkout {
    connection: ServerConnection,
    pool: Arc<Pool>,
    _permit: OwnedSemaphorePermit,
}

impl Checkout {
    pub(super) fn client(&mut self) -> &mut Client {
        &mut self.connection.client
    }

    /// The prepared statement, from its second use on: preparing it for one use does not pay off.
    pub(super) async fn prepared(
        &mut self,
        sql: &str,
        kinds: &[Type],
    ) -> SqlResult<Option<Statement>> {
        match &mut self.connection.append {
            unused @ Prepared::Unused => {
                *unused = Prepared::Wanted;
                Ok(None)
            }
            wanted @ Prepared::Wanted => {
                let statement = self.connection.client.prepare_typed(sql, kinds).await?;
                *wanted = Prepared::Done(statement.clone());
                Ok(Some(statement))
            }
            Prepared::Done(statement) => Ok(Some(statement.clone())),
        }
    }

    pub(super) fn failed(&self) -> impl Fn(tokio_postgres::Error) -> StoreError + use<> {
        let server = Arc::clone(&self.pool.server);
        move |error| sql_failure(&server, error)
    }

    /// Gives the connection back, outside any transaction, for the next user.
    pub(super) fn give_back(self) {
        lock(&self.pool.idle).push(self.connection);
    }
}
