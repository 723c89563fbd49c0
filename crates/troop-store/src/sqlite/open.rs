//! Checks the file at a path before SQLite may touch it, and makes new databases whole or not at all.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, config::DbConfig, ffi::ErrorCode};

use super::{
    failure::{is_code, sql_failure},
    schema::{APPLICATION_ID, SCHEMA, TABLES},
};
use crate::{
    Missing, StoreResult,
    draft::draft_in,
    failure::{io_failure, no_folder, no_store, refused, written_by_newer},
};

/// How long SQLite waits for a program that locks the database without queueing for our locks.
const BUSY_PATIENCE: Duration = Duration::from_secs(10);

/// The commits that a connection can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// Everything that is committed, by any process.
    Live,
    /// The state when the connection was opened.
    Frozen,
}

/// A database that is known to be ours.
#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
}

impl Database {
    /// Looks at the file's header, or makes the database if there is none. That is all opening costs.
    pub(super) fn open(path: &Path, missing: Missing) -> StoreResult<Self> {
        // Absolute, because SQLite takes a path that begins with `file:` for a URI.
        let path = std::path::absolute(path).map_err(|error| io_failure("found", path, error))?;
        let database = Self { path };
        match File::open(&database.path) {
            Ok(file) => database.check(file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => match missing {
                Missing::Make => database.make()?,
                Missing::Refuse => {
                    return Err(no_store(&format!("sqlite:{}", database.path.display())));
                }
            },
            Err(error) => return Err(io_failure("opened", &database.path, error)),
        }
        Ok(database)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A file that lies beside the database.
    pub(super) fn sibling(&self, suffix: &str) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(suffix);
        PathBuf::from(name)
    }

    /// The folder and the name of the file that is written after every commit.
    pub(super) fn bell(&self) -> (&Path, String) {
        let name = self.sibling(".bell");
        let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (self.path.parent().unwrap_or(&self.path), name)
    }

    fn check(&self, mut file: File) -> StoreResult<()> {
        let shown = self.path.display();
        let elsewhere = format!("give another path: `--store sqlite:{shown}.troop`");
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(refused(
                format!("`{shown}` is a folder, not a database"),
                format!("name a file in it: `--store sqlite:{shown}/troop.db`"),
            ));
        }
        let mut header = [0; 100];
        match file.read_exact(&mut header) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(refused(format!("`{shown}` is not a database"), elsewhere));
            }
            Err(error) => return Err(io_failure("read", &self.path, error)),
        }
        if !header.starts_with(b"SQLite format 3\0") {
            return Err(refused(format!("`{shown}` is not a database"), elsewhere));
        }
        if number_at(&header, 68) != APPLICATION_ID {
            return Err(refused(format!("`{shown}` is another program's database"), elsewhere));
        }
        match number_at(&header, 60) {
            SCHEMA => Ok(()),
            newer => Err(written_by_newer(shown, newer, SCHEMA)),
        }
    }

    /// Builds the database under another name and links it into place, so that no process ever sees half of one.
    fn make(&self) -> StoreResult<()> {
        let folder = self.path.parent().unwrap_or(&self.path);
        if !folder.is_dir() {
            return Err(no_folder(folder));
        }
        let failed = |error| io_failure("made", &self.path, error);
        let draft = draft_in(folder).map_err(failed)?;
        build(draft.path()).map_err(|error| sql_failure(&self.path, error))?;
        draft.as_file().sync_all().map_err(failed)?;
        match draft.persist_noclobber(&self.path) {
            Ok(_) => File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed),
            // Another process made it meanwhile; look at theirs.
            Err(lost) if lost.error.kind() == io::ErrorKind::AlreadyExists => {
                self.check(File::open(&self.path).map_err(failed)?)
            }
            Err(lost) => Err(failed(lost.error)),
        }
    }

    pub(super) fn connect_to_write(&self) -> StoreResult<Connection> {
        let connection = self.connect().map_err(|error| sql_failure(&self.path, error))?;
        // Acknowledged changes must survive a power cut. A snapshot of a large team is many pages: they should fit in
        // memory, and not every one of them should be followed by a checkpoint.
        let pragmas = "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;
                       PRAGMA cache_size = -16000;";
        connection.execute_batch(pragmas).map_err(|error| sql_failure(&self.path, error))?;
        Ok(connection)
    }

    /// Connects, and returns whether the connection sees later commits of others.
    pub(super) fn connect_to_read(&self) -> StoreResult<(Connection, Sight)> {
        let failed = |error| sql_failure(&self.path, error);
        let connection = self.connect().map_err(failed)?;
        // The first query opens the write-ahead log, which needs files beside the database.
        match connection.query_row("SELECT 1 FROM teams LIMIT 1", [], |_| Ok(())) {
            Ok(()) | Err(rusqlite::Error::QueryReturnedNoRows) => Ok((connection, Sight::Live)),
            Err(error)
                if [ErrorCode::CannotOpen, ErrorCode::ReadOnly]
                    .iter()
                    .any(|code| is_code(&error, *code))
                    && !self.sibling("-wal").exists() =>
            {
                Ok((self.connect_frozen().map_err(failed)?, Sight::Frozen))
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(BUSY_PATIENCE)?;
        // Otherwise SQLite plans a query again for every value that it is given.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(connection)
    }

    /// Opens a database in a folder that cannot be written. Without a write-ahead log nobody is writing it now.
    fn connect_frozen(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(frozen_uri(&self.path), flags)
    }
}

fn frozen_uri(path: &Path) -> String {
    let escaped =
        path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{escaped}?immutable=1")
}

fn number_at(header: &[u8; 100], offset: usize) -> u32 {
    let bytes = header.iter().skip(offset).take(4);
    bytes.fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

fn build(path: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    connection.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA};
         BEGIN; {TABLES} COMMIT;"
    ))?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.close().map_err(|(_, error)| error)
}

/// Opens or makes a file that lies beside the database.
pub(super) fn open_sibling(path: &Path) -> StoreResult<File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).map_err(|error| io_failure("written", path, error))
}
