//! URLs of stores.

use troop_store::StoreUrl;

use crate::support::told;

#[test]
fn a_url_shows_as_it_was_given_but_for_passwords() {
    for (text, shown) in [
        ("memory:", "memory:"),
        ("sqlite:troop.db", "sqlite:troop.db"),
        ("sqlite:///var/troop.db", "sqlite:/var/troop.db"),
        ("files:state/troop", "files:state/troop"),
        ("postgres://host/db", "postgres://host/db"),
        ("postgresql://ann:secret@host:5433/db", "postgresql://ann:***@host:5433/db"),
        ("postgres://ann:se@cret@host/db", "postgres://ann:***@host/db"),
        ("postgres://u:pa?ss@localhost/db", "postgres://u:***@localhost/db"),
        ("postgres://ann:se?secret@host/db", "postgres://ann:***@host/db"),
        (
            "postgres://ann:secret?a=b&c@host/db?password=secret",
            "postgres://ann:***@host/db?password=***",
        ),
        ("postgres://ann@host/db?password=secret", "postgres://ann@host/db?password=***"),
        ("postgres:///db?user=ann&password=secret", "postgres:///db?user=ann&password=***"),
        ("postgres://host/db?sslmode=verify-full", "postgres://host/db?sslmode=verify-full"),
    ] {
        let url = StoreUrl::parse(text).unwrap();
        assert_eq!(url.to_string(), shown);
        assert_eq!(format!("{url:?}"), format!("StoreUrl({shown})"));
    }
}

#[test]
fn a_wrong_url_is_explained() {
    let urls = [
        "troop.db",
        "sqllite:troop.db",
        "postgre://ann:secret@host/db",
        "ftp://host",
        "sqlite:",
        "memory:x",
    ];
    let answers: Vec<_> = urls.into_iter().map(|url| told(StoreUrl::parse(url))).collect();
    insta::assert_snapshot!(answers.join("\n"), @r"
    refused: `troop.db` is not a store
    hint: for a database file use `--store sqlite:troop.db`
    refused: there is no kind of store `sqllite`
    hint: did you mean `sqlite:troop.db`?
    refused: there is no kind of store `postgre`
    hint: did you mean `postgres://ann:***@host/db`?
    refused: there is no kind of store `ftp`
    hint: a store is `sqlite:PATH`, `files:FOLDER`, `postgres://…` or `memory:`
    refused: `sqlite:` names no path
    hint: give a path: `--store sqlite:troop.sqlite`
    refused: a store in memory has no path
    hint: use `--store memory:`
    ");
    for url in [
        "postgres://ann:secret?secret@host:port/db",
        "postgres:ann:secret@host/db",
        "postgre:ann:secret@host/db",
        "postgres://host/db?sslpassword=secret",
    ] {
        let answer = told(StoreUrl::parse(url));
        assert!(!answer.contains("secret"), "{answer}");
    }
    let answer = told(StoreUrl::parse("postgres://ann:secret@host/db?sslmode=maybe"));
    insta::assert_snapshot!(answer, @r"
    refused: `postgres://ann:***@host/db?sslmode=maybe` is not understood: invalid value for option `sslmode`
    hint: use `--store postgres://USER@HOST/DATABASE`
    ");
}
