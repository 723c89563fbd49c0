//! The tables, and the marks that identify a database as troop's.

/// Marks a database as troop's in its header: the letters `trop`.
pub(super) const APPLICATION_ID: u32 = 0x7472_6f70;

/// Counts up with every change of the tables.
pub(super) const SCHEMA: u32 = 1;

/// Logs, snapshots and archives are found by the team first.
///
/// The keys are indexes beside the tables (no `WITHOUT ROWID`): rows are large, and within a key's tree they would leave
/// room for four entries on a page. A 3 MB state in one row reads faster than in pieces. `bodies` and `state` come last:
/// the columns before them are read without touching their overflow pages.
pub(super) const TABLES: &str = "
CREATE TABLE teams (
    place      INTEGER PRIMARY KEY,
    id         BLOB    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    is_retired INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX names_in_use ON teams (name) WHERE is_retired = 0;

CREATE TABLE batches (
    team          BLOB    NOT NULL,
    first_version INTEGER NOT NULL,
    n_events      INTEGER NOT NULL,
    operation     BLOB    NOT NULL,
    crc           INTEGER NOT NULL,
    bodies        TEXT    NOT NULL,
    PRIMARY KEY (team, first_version)
) STRICT;

CREATE TABLE snapshots (
    team    BLOB    NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    crc     INTEGER NOT NULL,
    state   BLOB    NOT NULL
) STRICT;

CREATE TABLE archive (
    team   BLOB    NOT NULL,
    number INTEGER NOT NULL,
    crc    INTEGER NOT NULL,
    body   BLOB    NOT NULL,
    PRIMARY KEY (team, number)
) STRICT;
";
