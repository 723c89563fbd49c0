//! The same program on every store.

use std::{fs, os::unix::fs::PermissionsExt as _};

use troop_testkit::postgres::{Bouncer, StartupSettings};

use crate::troop::Troop;

fn story(troop: &Troop) {
    troop.make_team();
    troop.ok("task create parse");
    troop.ok("task create test -b 1");
    troop.ok("--as ann task claim");
    troop.ok("--as ann task complete 1 -r done");
    troop.ok("--as ann message send bob 'your turn'");
    assert_eq!(troop.ok("--as bob task claim"), "claimed task-2: test (bob)\n");
    assert!(troop.ok("--as bob message read").contains("your turn"));
    assert_eq!(troop.json("team status")["tasks"]["completed"], 1);
}

#[tokio::test]
async fn a_team_works_on_postgres() {
    let store = troop_testkit::postgres_store().await;
    story(&Troop::on(store.url()));
}

#[tokio::test]
async fn a_team_works_behind_a_pooler_and_doctor_reports_polling() {
    let bouncer = Bouncer::start(StartupSettings::Ignored).await;
    let troop = Troop::on(&bouncer.database().await);
    story(&troop);
    let said = troop.run("doctor").out;
    assert!(said.contains("so no LISTEN: troop looks every 100 ms instead"), "{said}");
    assert!(said.contains("in session mode"), "{said}");
}

#[test]
fn a_team_works_on_files() {
    let folder = tempfile::tempdir().unwrap();
    story(&Troop::on(&format!("files:{}", folder.path().join("teams").display())));
}

#[test]
fn a_team_works_on_the_embedded_store() {
    story(&Troop::new());
}

#[test]
fn an_unusable_store_is_reported_in_one_line_and_left_alone() {
    let troop = Troop::new();
    let folder = troop.folder();
    fs::create_dir(folder.join("folder")).unwrap();
    fs::write(folder.join("foreign.db"), "this is not a database, but a letter to a friend")
        .unwrap();
    fs::create_dir(folder.join("photos")).unwrap();
    fs::write(folder.join("photos/holiday.txt"), "sea").unwrap();
    let cases = [
        ("sqlite:no/such/folder/troop.db", 1),
        ("sqlite:folder", 1),
        ("sqlite:foreign.db", 1),
        ("files:photos", 1),
        ("files:foreign.db", 1),
        ("postgres://127.0.0.1:1/troop", 1),
        ("mysql://here", 2),
        ("troop.db", 2),
        ("sqlite:", 2),
    ];
    for (store, code) in cases {
        for line in ["team list", "team create blue"] {
            let (got, err) = troop.refused(&format!("--store {store} {line}"));
            assert_eq!(got, code, "{store}: {err}");
            let lines: Vec<_> = err.lines().collect();
            assert_eq!(lines.len(), 2, "{store}: one line and a hint, not: {err}");
            assert!(
                lines[0].starts_with("error: ") && lines[1].starts_with("hint: "),
                "{store}: {err}"
            );
        }
    }
    assert_eq!(
        fs::read_to_string(folder.join("foreign.db")).unwrap(),
        "this is not a database, but a letter to a friend"
    );
    assert_eq!(fs::read_dir(folder.join("photos")).unwrap().count(), 1);
}

#[test]
fn a_home_that_cannot_be_created_is_reported() {
    let troop = Troop::new();
    fs::write(troop.folder().join("home"), "a file").unwrap();
    let (code, err) = troop.refused("team list");
    assert_eq!(code, 1);
    assert!(err.contains("troop cannot keep its files in"), "{err}");
    assert!(err.contains("TROOP_HOME="), "{err}");
    fs::set_permissions(troop.folder(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_mistyped_store_is_not_created() {
    let troop = Troop::new();
    for store in ["sqlite:typo.db", "files:typo"] {
        for line in ["team list", "task list", "events", "message read"] {
            let (code, err) = troop.refused(&format!("--store {store} {line}"));
            assert_eq!(code, 1, "{store}: {err}");
            assert!(err.starts_with("error: there is no store at "), "{store}: {err}");
        }
        assert_eq!(troop.run(&format!("--store {store} doctor")).code, 1);
    }
    assert_eq!(
        fs::read_dir(troop.folder()).unwrap().count(),
        1,
        "only the home that doctor looked at"
    );
    troop.ok("--store sqlite:typo.db team create blue");
    troop.ok("--store sqlite:typo.db task list");
}
