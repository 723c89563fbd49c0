//! Throw-away stores, one for each backend.

use std::{ops::Deref, path::Path, sync::Arc};

use tempfile::TempDir;
use troop_store::{MemoryStore, Missing, Store, StoreUrl};

use crate::postgres::{self, Bouncer, StartupSettings};

/// A store for one test, with the resources that must outlive it.
#[derive(Debug)]
pub struct TestStore {
    store: Arc<dyn Store>,
    url: String,
    /// Removed with this value.
    folder: Option<TempDir>,
    _bouncer: Option<Bouncer>,
}

impl TestStore {
    async fn open(url: String, folder: Option<TempDir>) -> Self {
        let store =
            troop_store::open(&StoreUrl::parse(&url).unwrap(), Missing::Make).await.unwrap();
        Self { store, url, folder, _bouncer: None }
    }

    /// The store, for the code under test.
    #[must_use]
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    /// Opens the same store a second time, as another process would. A store in memory cannot be opened twice.
    pub async fn reopen(&self) -> Arc<dyn Store> {
        if self.url == "memory:" {
            return self.store();
        }
        troop_store::open(&StoreUrl::parse(&self.url).unwrap(), Missing::Refuse).await.unwrap()
    }

    /// The URL under which another process finds the store.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The folder of the store's files, if it has any.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_ref().map(TempDir::path)
    }

    /// Closes this opener and keeps the store's files.
    #[must_use]
    pub fn into_folder(self) -> Option<TempDir> {
        self.folder
    }
}

impl Deref for TestStore {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        &*self.store
    }
}

/// A store in memory.
pub async fn memory_store() -> TestStore {
    let store = Arc::new(MemoryStore::default());
    TestStore { store, url: "memory:".to_owned(), folder: None, _bouncer: None }
}

/// A store in a fresh SQLite database.
pub async fn sqlite_store() -> TestStore {
    let folder = TempDir::new().unwrap();
    let url = format!("sqlite:{}", folder.path().join("troop.db").display());
    TestStore::open(url, Some(folder)).await
}

/// A store in a fresh folder of files.
pub async fn files_store() -> TestStore {
    let folder = TempDir::new().unwrap();
    let url = format!("files:{}", folder.path().join("troop").display());
    TestStore::open(url, Some(folder)).await
}

/// A store in a fresh PostgreSQL database.
pub async fn postgres_store() -> TestStore {
    let database = postgres::database().await;
    TestStore::open(database.url().to_owned(), None).await
}

/// A store in a fresh PostgreSQL database behind a pooler that refuses the settings of a session.
pub async fn bouncer_store() -> TestStore {
    let bouncer = Bouncer::start(StartupSettings::Refused).await;
    let store = TestStore::open(bouncer.database().await, None).await;
    TestStore { _bouncer: Some(bouncer), ..store }
}
