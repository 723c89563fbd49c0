//! A small pool of connections, lent to one user at a time, first come first served.

use std::sync::{Arc, Mutex};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_postgres::{Client, Statement, types::Type};
use troop_model::lock;

use super::connect::{Server, ServerConnection, SqlResult, StatementState};
use crate::{
    StoreError, StoreResult,
    failure::{LINE_PATIENCE, bug, waited_too_long},
    postgres::{
        failure::{no_answer, sql_failure},
        session::Session,
    },
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

    pub(super) fn session(&self) -> Session {
        self.server.session()
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
            None => self.server.connect(Arc::new(|_| ())).await?,
        };
        Ok(Checkout { connection, pool: Arc::clone(self), _permit: permit })
    }

    /// Lends a new connection.
    pub(super) async fn checkout_new(self: &Arc<Self>) -> StoreResult<Checkout> {
        let permit = self.permit().await?;
        let connection = self.server.connect(Arc::new(|_| ())).await?;
        Ok(Checkout { connection, pool: Arc::clone(self), _permit: permit })
    }

    /// Closes the connections that nobody uses: where one went silent, the others lead to the same machine.
    fn forget_idle(&self) {
        lock(&self.idle).clear();
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

    pub(super) fn session(&self) -> Session {
        self.pool.session()
    }

    /// The prepared statement, from its second use on: preparing it for one use does not pay off.
    pub(super) async fn prepared(
        &mut self,
        sql: &str,
        kinds: &[Type],
    ) -> SqlResult<Option<Statement>> {
        if self.session() == Session::Shared {
            // The next transaction may run in another session, which does not know the statement.
            return Ok(None);
        }
        match &mut self.connection.append {
            unused @ StatementState::Unused => {
                *unused = StatementState::Wanted;
                Ok(None)
            }
            wanted @ StatementState::Wanted => {
                let statement = self.connection.client.prepare_typed(sql, kinds).await?;
                *wanted = StatementState::Done(statement.clone());
                Ok(Some(statement))
            }
            StatementState::Done(statement) => Ok(Some(statement.clone())),
        }
    }

    pub(super) fn failed(&self) -> impl Fn(tokio_postgres::Error) -> StoreError + use<> {
        let pool = Arc::clone(&self.pool);
        move |error| {
            if error.as_db_error().is_none() {
                pool.forget_idle();
            }
            sql_failure(&pool.server, error)
        }
    }

    pub(super) fn unanswered(&self) -> impl Fn() -> StoreError + use<> {
        let pool = Arc::clone(&self.pool);
        move || {
            pool.forget_idle();
            no_answer(&pool.server)
        }
    }

    /// Gives the connection back, outside any transaction, for the next user.
    pub(super) fn give_back(self) {
        lock(&self.pool.idle).push(self.connection);
    }
}
