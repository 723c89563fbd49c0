//! URLs of stores: the one place that knows all backends.

use std::{fmt, path::PathBuf, sync::Arc};

use troop_model::{did_you_mean, nearest};

use crate::{
    FilesStore, MemoryStore, PostgresStore, PostgresUrl, SqliteStore, Store, StoreError,
    StoreResult, failure::refused, postgres::without_password,
};

/// The schemes, as they are suggested for a misspelt one.
const SCHEMES: [&str; 4] = ["sqlite", "files", "postgres", "memory"];

/// Names a store.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreUrl {
    /// `sqlite:PATH`, an SQLite database.
    Sqlite(PathBuf),
    /// `files:FOLDER`, a folder of plain files.
    Files(PathBuf),
    /// `postgres://…`, a PostgreSQL database.
    Postgres(PostgresUrl),
    /// `memory:`, a store that ends with the process.
    Memory,
}

impl StoreUrl {
    /// Reads a URL as people give it.
    pub fn parse(text: &str) -> StoreResult<Self> {
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(refused(
                format!("`{text}` is not a store"),
                format!("for a database file use `--store sqlite:{text}`"),
            ));
        };
        match (scheme, rest) {
            ("sqlite", path) => path_of("sqlite", path).map(Self::Sqlite),
            ("files", path) => path_of("files", path).map(Self::Files),
            ("postgres" | "postgresql", _) => PostgresUrl::parse(text).map(Self::Postgres),
            ("memory", "") => Ok(Self::Memory),
            ("memory", _) => Err(refused("a store in memory has no path", "use `--store memory:`")),
            _ => Err(unknown_scheme(scheme, rest)),
        }
    }
}

fn path_of(scheme: &str, path: &str) -> StoreResult<PathBuf> {
    // People write `sqlite:///var/troop.db` as well.
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() {
        let example = format!("give a path: `--store {scheme}:troop.{scheme}`");
        return Err(refused(format!("`{scheme}:` names no path"), example));
    }
    Ok(PathBuf::from(path))
}

fn unknown_scheme(scheme: &str, rest: &str) -> StoreError {
    let hint = match nearest(scheme, SCHEMES) {
        Some(near) => did_you_mean(&without_password(&format!("{near}:{rest}"))),
        None => "a store is `sqlite:PATH`, `files:FOLDER`, `postgres://…` or `memory:`".to_owned(),
    };
    refused(format!("there is no kind of store `{scheme}`"), hint)
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Files(path) => write!(f, "files:{}", path.display()),
            Self::Postgres(url) => url.fmt(f),
            Self::Memory => f.write_str("memory:"),
        }
    }
}

/// As shown to people: a password is not for logs either.
impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

/// The handling of a missing store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Make it: the caller is about to make a team in it.
    Make,
    /// Answer `NotFound` and make nothing: the caller looks for what exists, so the name is probably mistyped.
    Refuse,
}

/// Opens the store that a URL names. A store in memory is always made, since it never exists before.
pub async fn open(url: &StoreUrl, missing: Missing) -> StoreResult<Arc<dyn Store>> {
    Ok(match url {
        StoreUrl::Sqlite(path) => Arc::new(SqliteStore::open(path, missing)?),
        StoreUrl::Files(path) => Arc::new(FilesStore::open(path, missing)?),
        StoreUrl::Postgres(url) => Arc::new(PostgresStore::open(url, missing).await?),
        StoreUrl::Memory => Arc::new(MemoryStore::default()),
    })
}
