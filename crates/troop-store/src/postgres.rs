//! For teams that span machines: one PostgreSQL database.

mod connect;
mod failure;
mod hosts;
mod listen;
mod pool;
mod read;
mod schema;
mod session;
mod tls;
mod write;

use std::sync::Arc;

use troop_model::{TeamId, Version};

pub use self::connect::PostgresUrl;
pub(crate) use self::connect::without_password;
use self::{connect::Server, listen::Listener, pool::Pool, session::Session};
use crate::{
    AppendOutcome, ArchivedTask, Batch, Entry, GrowthNotice, Missing, NewTeam, Snapshot, Store,
    StoreFuture, StoreResult, TeamEntry, Watch, bell::Bells,
};

/// How many connections of a process may write at once. An append slot keeps one for as long as it is held.
const WRITERS: usize = 4;
const READERS: usize = 2;

/// Keeps teams in the schema `troop` of a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore {
    writers: Arc<Pool>,
    readers: Arc<Pool>,
    listener: Listener,
    bells: Bells,
}

impl PostgresStore {
    /// Connects to the server. A database without the schema `troop` is not a store yet.
    pub async fn open(url: &PostgresUrl, missing: Missing) -> StoreResult<Self> {
        let server = Arc::new(Server::new(url)?);
        let readers = Arc::new(Pool::new(Arc::clone(&server), READERS));
        let mut connection = readers.checkout().await?;
        schema::prepare(&server, connection.client(), missing).await?;
        connection.give_back();
        let bells = Bells::default();
        let writers = Arc::new(Pool::new(Arc::clone(&server), WRITERS));
        let listener = Listener::new(server, bells.clone());
        Ok(Self { writers, readers, listener, bells })
    }
}

impl Store for PostgresStore {
    fn create(&self, team: NewTeam, first: Batch) -> StoreFuture<'_, Version> {
        Box::pin(async move { write::create(&self.writers, &team, &first).await })
    }

    fn teams(&self) -> StoreFuture<'_, Vec<TeamEntry>> {
        Box::pin(read::teams(&self.readers))
    }

    fn retire(&self, team: TeamId) -> StoreFuture<'_, ()> {
        Box::pin(write::retire(&self.writers, team))
    }

    fn purge(&self, team: TeamId) -> StoreFuture<'_, ()> {
        Box::pin(write::purge(&self.writers, team))
    }

    fn append(&self, team: TeamId, batch: Batch) -> StoreFuture<'_, AppendOutcome> {
        Box::pin(write::append(&self.writers, &self.bells, team, batch))
    }

    fn read(&self, team: TeamId, after: Version, limit: usize) -> StoreFuture<'_, Vec<Entry>> {
        Box::pin(read::log(&self.readers, team, after, limit))
    }

    fn watch(&self, team: TeamId) -> StoreFuture<'_, Watch> {
        Box::pin(async move {
            read::require(&self.readers, team).await?;
            self.listener.ready().await;
            Ok(self.bells.watch(team))
        })
    }

    fn notice(&self) -> GrowthNotice {
        match self.readers.session() {
            Session::Own => GrowthNotice::Sent,
            Session::Shared => GrowthNotice::Polled(listen::POLL),
        }
    }

    fn load_snapshot(&self, team: TeamId) -> StoreFuture<'_, Option<Snapshot>> {
        Box::pin(read::snapshot(&self.readers, team))
    }

    fn save_snapshot(
        &self,
        team: TeamId,
        snapshot: Snapshot,
        archived: Vec<ArchivedTask>,
    ) -> StoreFuture<'_, ()> {
        Box::pin(
            async move { write::save_snapshot(&self.writers, team, &snapshot, &archived).await },
        )
    }

    fn read_archived(&self, team: TeamId, number: u32) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(read::archived(&self.readers, team, number))
    }

    fn list_archived(
        &self,
        team: TeamId,
        below: u32,
        limit: usize,
    ) -> StoreFuture<'_, Vec<(u32, Vec<u8>)>> {
        Box::pin(read::archive_list(&self.readers, team, 0..i64::from(below), limit))
    }
}
