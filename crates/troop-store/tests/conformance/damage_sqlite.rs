//! An SQLite database that is damaged or foreign.

use std::{fs, os::unix::fs::FileExt, path::Path};

use rusqlite::Connection;
use troop_model::Version;
use troop_store::{Missing, SqliteStore, Store};
use troop_testkit::sqlite_store;

use crate::{
    suite::create_long,
    support::{append_at, batch, create, flip, in_folder, told},
};

/// Moves what the write-ahead log holds into the database file.
fn checkpoint(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

#[tokio::test]
async fn a_flipped_byte_is_found_and_left_alone() {
    let store = sqlite_store().await;
    let team = create(&*store, "crew").await;
    append_at(&*store, team, batch(1, &["\"the second event\""])).await;
    append_at(&*store, team, batch(2, &["3"])).await;
    let path = store.folder().unwrap().join("troop.db");
    checkpoint(&path);
    flip(&path, b"second");
    let before = fs::read(&path).unwrap();
    let reopened = store.reopen().await;
    let answer = told(reopened.read(team, Version(0), 9).await).replace(&team.to_string(), "TEAM");
    insta::assert_snapshot!(in_folder(&store, answer), @r"
    corrupt: the record of version 2 in `DIR/troop.db` (team `TEAM`) is damaged: its checksum does not match
    hint: restore the store from a backup; nothing was changed
    ");
    assert_eq!(reopened.read(team, Version(2), 9).await.unwrap().len(), 1);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_missing_row_is_found() {
    let store = sqlite_store().await;
    let team = create(&*store, "crew").await;
    for after in 1..4 {
        append_at(&*store, team, batch(after, &["0"])).await;
    }
    let connection = Connection::open(store.folder().unwrap().join("troop.db")).unwrap();
    connection.execute("DELETE FROM batches WHERE first_version = 3", []).unwrap();
    let answer = told(store.read(team, Version(0), 9).await).replace(&team.to_string(), "TEAM");
    insta::assert_snapshot!(in_folder(&store, answer), @r"
    corrupt: the record of version 4 in `DIR/troop.db` (team `TEAM`) is damaged: it follows version 2
    hint: restore the store from a backup; nothing was changed
    ");
}

#[tokio::test]
async fn a_cut_off_database_is_found() {
    let store = sqlite_store().await;
    let team = create(&*store, "crew").await;
    let path = store.folder().unwrap().join("troop.db");
    checkpoint(&path);
    let cut = store.folder().unwrap().join("cut.db");
    fs::copy(&path, &cut).unwrap();
    fs::OpenOptions::new().write(true).open(&cut).unwrap().set_len(5000).unwrap();
    let answer = SqliteStore::open(&cut, Missing::Make).unwrap().read(team, Version(0), 9).await;
    insta::assert_snapshot!(in_folder(&store, told(answer)), @r"
    corrupt: `DIR/cut.db` is damaged: database disk image is malformed
    hint: restore `DIR/cut.db` from a backup; nothing was changed
    ");
    assert_eq!(fs::metadata(&cut).unwrap().len(), 5000);
}

#[tokio::test]
async fn a_foreign_or_newer_database_is_refused_and_left_alone() {
    let store = sqlite_store().await;
    let folder = store.folder().unwrap();
    fs::write(folder.join("letter"), "Dear Sir or Madam, ".repeat(99)).unwrap();
    fs::write(folder.join("empty"), "").unwrap();
    let foreign = Connection::open(folder.join("foreign.db")).unwrap();
    foreign.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    drop(foreign);
    fs::copy(folder.join("troop.db"), folder.join("newer.db")).unwrap();
    let newer = fs::OpenOptions::new().write(true).open(folder.join("newer.db")).unwrap();
    newer.write_all_at(&3_u32.to_be_bytes(), 60).unwrap();
    let mut answers = String::new();
    for name in ["letter", "empty", "foreign.db", "newer.db"] {
        let before = fs::read(folder.join(name)).unwrap();
        answers += &told(SqliteStore::open(&folder.join(name), Missing::Make));
        answers.push('\n');
        assert_eq!(fs::read(folder.join(name)).unwrap(), before);
    }
    answers += &told(SqliteStore::open(folder, Missing::Make));
    answers.push('\n');
    answers += &told(SqliteStore::open(&folder.join("none/troop.db"), Missing::Make));
    insta::assert_snapshot!(in_folder(&store, answers), @r"
    refused: `DIR/letter` is not a database
    hint: give another path: `--store sqlite:DIR/letter.troop`
    refused: `DIR/empty` is not a database
    hint: give another path: `--store sqlite:DIR/empty.troop`
    refused: `DIR/foreign.db` is another program's database
    hint: give another path: `--store sqlite:DIR/foreign.db.troop`
    refused: `DIR/newer.db` was written by a newer troop (schema 3, this one knows 1)
    hint: upgrade troop: in its newest source run `cargo install --path crates/troop`
    refused: `DIR` is a folder, not a database
    hint: name a file in it: `--store sqlite:DIR/troop.db`
    not found: there is no folder `DIR/none`
    hint: make it: `mkdir -p DIR/none`
    ");
}

#[tokio::test]
async fn one_of_many_threads_makes_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("troop.db");
    let open = |_| {
        let path = path.clone();
        std::thread::spawn(move || SqliteStore::open(&path, Missing::Make).unwrap())
    };
    let openers: Vec<_> = (0..8).map(open).collect();
    for (nth, opener) in openers.into_iter().enumerate() {
        create(&opener.join().unwrap(), &format!("crew-{nth}")).await;
    }
    assert_eq!(SqliteStore::open(&path, Missing::Make).unwrap().teams().await.unwrap().len(), 8);
}

#[tokio::test]
async fn a_missing_database_is_made_only_for_a_new_team() {
    let store = sqlite_store().await;
    let folder = store.folder().unwrap();
    let n_files = || fs::read_dir(folder).unwrap().count();
    let before = n_files();
    let answer = told(SqliteStore::open(&folder.join("trop.db"), Missing::Refuse));
    insta::assert_snapshot!(in_folder(&store, answer), @r"
    not found: there is no store at `sqlite:DIR/trop.db`
    hint: make a team there: `troop team create my-team --store sqlite:DIR/trop.db`, or check the path
    ");
    told(SqliteStore::open(&folder.join("none/troop.db"), Missing::Refuse));
    assert_eq!(n_files(), before);
    SqliteStore::open(&folder.join("troop.db"), Missing::Refuse).unwrap();
}

#[tokio::test]
async fn a_long_beginning_is_kept_in_small_records() {
    let store = sqlite_store().await;
    create_long(&*store).await;
    let connection = Connection::open(store.folder().unwrap().join("troop.db")).unwrap();
    let sql = "SELECT group_concat(n_events) FROM batches ORDER BY first_version";
    let sizes: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(sizes, "1000,1000,1000,500");
}
