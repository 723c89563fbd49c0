//! A PostgreSQL database that is damaged, foreign or away.

use std::time::Duration;

use tokio::time::timeout;
use troop_model::Version;
use troop_store::{Missing, StoreUrl, open};
use troop_testkit::{postgres, postgres_store, wait_for};

use crate::{
    suite::create_long,
    support::{append, append_at, batch, bodies, create, told},
};

async fn told_on_opening(url: &str) -> String {
    told(open(&StoreUrl::parse(url).unwrap(), Missing::Make).await)
}

#[tokio::test]
async fn a_flipped_byte_is_found() {
    let store = postgres_store().await;
    let team = create(&*store, "crew").await;
    append_at(&*store, team, batch(1, &["\"the second event\""])).await;
    let flip = "UPDATE troop.batches SET bodies = set_byte(bodies, 5, 33) WHERE first_version = 2";
    postgres::execute(store.url(), flip).await;
    let answer = told(store.read(team, Version(0), 9).await).replace(&team.to_string(), "TEAM");
    insta::assert_snapshot!(answer, @r"
    corrupt: the record of version 2 in the database (team `TEAM`) is damaged: its checksum does not match
    hint: restore the store from a backup; nothing was changed
    ");
}

#[tokio::test]
async fn a_foreign_or_newer_schema_is_refused() {
    let (newer, foreign) = (postgres_store().await, postgres::database().await);
    postgres::execute(newer.url(), "UPDATE troop.format SET schema = 3").await;
    postgres::execute(foreign.url(), "CREATE SCHEMA troop; CREATE TABLE troop.teams (x int)").await;
    let mut answers = String::new();
    for url in [newer.url(), foreign.url()] {
        answers += &told_on_opening(url).await.replace(url, "URL");
        answers.push('\n');
    }
    insta::assert_snapshot!(answers, @r"
    refused: `URL` was written by a newer troop (schema 3, this one knows 1)
    hint: upgrade troop: in its newest source run `cargo install --path crates/troop`
    refused: `URL` has a schema `troop` that is another program's
    hint: give troop a separate database: `createdb troop`
    ");
}

#[tokio::test]
async fn a_server_that_rejects_us_says_why() {
    let database = postgres::database().await;
    postgres::execute(
        database.url(),
        "DO $$ BEGIN CREATE ROLE guest LOGIN; EXCEPTION WHEN duplicate_object THEN END $$",
    )
    .await;
    let guest = database.url().replace("user=postgres", "user=guest");
    let (start, name) = database.url().split_once("test_").unwrap();
    let (name, end) = name.split_once('?').unwrap();
    let absent = format!("{start}absent?{end}");
    let mut answers = String::new();
    for url in [&guest, &absent, "postgres://nobody:se?cret@127.0.0.1:1/none"] {
        answers += &told_on_opening(url).await.replace(url, "URL").replace(name, "NAME");
        answers.push('\n');
    }
    insta::assert_snapshot!(answers, @r#"
    refused: `guest` may not do this in `test_NAME`: permission denied for database test_NAME
    hint: as its owner run `GRANT CREATE ON DATABASE "test_NAME" TO "guest"`
    not found: there is no database `absent`
    hint: make it: `createdb absent`
    unavailable: `postgres://nobody:***@127.0.0.1:1/none` does not answer
    hint: see whether the server runs: `psql postgres://nobody:***@127.0.0.1:1/none`
    "#);
}

#[tokio::test]
async fn broken_connections_are_made_again() {
    let store = postgres_store().await;
    let team = create(&*store, "crew").await;
    let mut watch = store.watch(team).await.unwrap();
    let mut seen = Version(1);
    let admin = store.url().replace("/test_", "/postgres?x=test_");
    let (admin, _) = admin.split_once("?x=").unwrap();
    let (_, options) = store.url().split_once('?').unwrap();
    let (_, name) = store.url().split_once("///").unwrap();
    let (name, _) = name.split_once('?').unwrap();
    let cut =
        format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
    for nth in 0..3 {
        postgres::execute(&format!("{admin}?{options}"), &cut).await;
        // A caller repeats what was not answered.
        wait_for("the store works again", async || {
            append(&*store, team, &mut seen, vec![nth.to_string()]).await.ok()
        })
        .await;
        let after = Version(seen.0 - 1);
        assert_eq!(store.read(team, after, 9).await.unwrap().len(), 1);
    }
    let other = store.reopen().await;
    let changes = async {
        loop {
            watch.changed().await;
            if bodies(&*store, team).await.len() == 5 {
                break;
            }
        }
    };
    tokio::join!(
        async { timeout(Duration::from_secs(10), changes).await.expect("growth is seen") },
        append_at(&*other, team, batch(4, &["5"])),
    );
}

#[tokio::test]
async fn one_of_many_processes_makes_the_schema() {
    let database = postgres::database().await;
    let url = StoreUrl::parse(database.url()).unwrap();
    let openers = (0..8).map(|_| {
        let url = url.clone();
        async move { open(&url, Missing::Make).await.unwrap() }
    });
    let opened: Vec<_> = tokio::task::JoinSet::from_iter(openers).join_all().await;
    create(&*opened[0], "crew").await;
    assert_eq!(opened[7].teams().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_missing_schema_is_made_only_for_a_new_team() {
    let database = postgres::database().await;
    let url = StoreUrl::parse(database.url()).unwrap();
    let answer = told(open(&url, Missing::Refuse).await).replace(database.url(), "URL");
    insta::assert_snapshot!(answer, @r"
    not found: there is no store at `URL`
    hint: make a team there: `troop team create my-team --store 'URL'`, or check the path
    ");
    // It would fail if the schema had been made.
    postgres::execute(database.url(), "CREATE SCHEMA troop; DROP SCHEMA troop").await;
    open(&url, Missing::Make).await.unwrap();
    open(&url, Missing::Refuse).await.unwrap();
}

#[tokio::test]
async fn a_long_beginning_is_kept_in_small_records() {
    let store = postgres_store().await;
    create_long(&*store).await;
    // A failed check fails the statement.
    let check = "ALTER TABLE troop.batches ADD CHECK (n_events <= 1000)";
    postgres::execute(store.url(), check).await;
}
