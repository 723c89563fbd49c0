//! A store of files whose files are damaged or foreign.

use std::{
    fs::{self, OpenOptions},
    path::PathBuf,
};

use troop_model::{TeamId, Version};
use troop_store::{AppendOutcome, ArchivedTask, FilesStore, Missing, Snapshot};
use troop_testkit::{TestStore, files_store};

use crate::{
    suite::create_long,
    support::{append_at, batch, bodies, create, flip, in_folder, told},
};

/// A team with three batches, and its folder.
async fn crew(store: &TestStore) -> (TeamId, PathBuf) {
    let team = create(&**store, "crew").await;
    append_at(&**store, team, batch(1, &["\"the second event\""])).await;
    append_at(&**store, team, batch(2, &["3"])).await;
    (team, store.folder().unwrap().join("troop/teams/crew"))
}

fn cut(path: &PathBuf, n_bytes: u64) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(file.metadata().unwrap().len() - n_bytes).unwrap();
}

#[tokio::test]
async fn the_log_can_be_read_with_any_tool() {
    let store = files_store().await;
    let (team, folder) = crew(&store).await;
    let log = fs::read_to_string(folder.join("log.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[1]["v"], 2);
    assert_eq!(lines[1]["events"][0], "the second event");
    let card: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("team.json")).unwrap()).unwrap();
    assert_eq!(
        (card["name"].as_str(), card["id"].as_str()),
        (Some("crew"), Some(&*team.to_string()))
    );
}

#[tokio::test]
async fn damage_is_found_and_left_alone() {
    let store = files_store().await;
    let (team, folder) = crew(&store).await;
    let (log, head) = (folder.join("log.jsonl"), folder.join("head"));
    let mut answers = String::new();
    let damages: [(&PathBuf, &dyn Fn()); 5] = [
        (&log, &|| flip(&log, b"second")),
        (&log, &|| flip(&log, b"\"v\":2")),
        (&log, &|| cut(&log, 3)),
        (&head, &|| flip(&head, b" 3 ")),
        (&head, &|| fs::remove_file(&head).unwrap()),
    ];
    for (path, damage) in damages {
        let before = fs::read(path).unwrap();
        damage();
        let damaged = fs::read(path).ok();
        for answer in [
            told(store.reopen().await.read(team, Version(0), 9).await),
            told(store.reopen().await.append(team, batch(0, &["4"])).await),
        ] {
            answers += &answer.replace(&team.to_string(), "TEAM");
            answers.push('\n');
            assert_eq!(fs::read(path).ok(), damaged);
        }
        fs::write(path, before).unwrap();
    }
    assert_eq!(bodies(&*store, team).await.len(), 3);
    insta::assert_snapshot!(in_folder(&store, answers), @r"
    corrupt: the record of version 2 in `DIR/troop/teams/crew/log.jsonl` at byte 98 is damaged: its checksum does not match
    hint: restore the store from a backup; nothing was changed
    corrupt: the record of version 2 in `DIR/troop/teams/crew/log.jsonl` at byte 98 is damaged: its checksum does not match
    hint: restore the store from a backup; nothing was changed
    corrupt: `DIR/troop/teams/crew/log.jsonl` is damaged: the line at byte 98 is not a batch
    hint: restore `DIR/troop/teams/crew` from a backup; nothing was changed
    corrupt: `DIR/troop/teams/crew/log.jsonl` is damaged: the line at byte 98 is not a batch
    hint: restore `DIR/troop/teams/crew` from a backup; nothing was changed
    corrupt: `DIR/troop/teams/crew/log.jsonl` is damaged: it has 288 bytes, but 291 were committed
    hint: restore `DIR/troop/teams/crew` from a backup; nothing was changed
    corrupt: `DIR/troop/teams/crew/log.jsonl` is damaged: it has 288 bytes, but 291 were committed
    hint: restore `DIR/troop/teams/crew` from a backup; nothing was changed
    corrupt: `DIR/troop/teams/crew/head` is damaged: its checksum does not match
    hint: restore `DIR/troop/teams/crew` from a backup; nothing was changed
    corrupt: `DIR/troop/teams/crew/head` is damaged: its checksum does not match
    hint: restore `DIR/troop/teams/crew` from a backup; nothing was changed
    corrupt: `DIR/troop/teams/crew/head` is damaged: it is missing
    hint: restore `DIR/troop/teams/crew` from a backup; nothing was changed
    corrupt: `DIR/troop/teams/crew/head` is damaged: it is missing
    hint: restore `DIR/troop/teams/crew` from a backup; nothing was changed
    ");
}

#[tokio::test]
async fn a_damaged_card_hides_one_team_only() {
    let store = files_store().await;
    let (team, folder) = crew(&store).await;
    let other = create(&*store, "other").await;
    flip(&folder.join("team.json"), b"{\"id\"");
    let reopened = store.reopen().await;
    assert_eq!(bodies(&*reopened, other).await.len(), 1);
    append_at(&*reopened, other, batch(1, &["2"])).await;
    for answer in [told(reopened.teams().await), told(reopened.read(team, Version(0), 9).await)] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(in_folder(&store, answer), @r"
            corrupt: `DIR/troop/teams/crew/team.json` is damaged: missing field `id` at line 1 column 71
            hint: restore `DIR/troop/teams/crew/team.json` from a backup; nothing was changed
            ");
        }
    }
}

#[tokio::test]
async fn an_interrupted_append_is_ignored_and_cut_off_by_the_next() {
    let store = files_store().await;
    let (team, folder) = crew(&store).await;
    let log = folder.join("log.jsonl");
    let whole = fs::read(&log).unwrap();
    let torn = br#"{"v":4,"n":1,"op":"0199"#;
    for garbage in [&torn[..], b"\0\0\0\0\0\0", b"{}\n{}\n"] {
        let length = bodies(&*store, team).await.len() as u64;
        let before = fs::read(&log).unwrap();
        fs::write(&log, [&before[..], garbage].concat()).unwrap();
        let reopened = store.reopen().await;
        assert_eq!(bodies(&*reopened, team).await.len() as u64, length);
        append_at(&*reopened, team, batch(length, &["0"])).await;
        assert_eq!(bodies(&*store, team).await.len() as u64, length + 1);
    }
    assert!(fs::read(&log).unwrap().starts_with(&whole));
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 6);
}

#[tokio::test]
async fn a_whole_batch_that_missed_its_head_counts_from_the_next_append_on() {
    let store = files_store().await;
    let (team, folder) = crew(&store).await;
    let head = fs::read(folder.join("head")).unwrap();
    append_at(&*store, team, batch(3, &["4", "5"])).await;
    fs::write(folder.join("head"), head).unwrap();
    let reopened = store.reopen().await;
    assert_eq!(bodies(&*reopened, team).await.len(), 3);
    let AppendOutcome::Behind(mut slot) = reopened.append(team, batch(3, &["6"])).await.unwrap()
    else {
        panic!("the batch is in the log")
    };
    assert_eq!(slot.take_missed().len(), 2);
    drop(slot);
    assert_eq!(bodies(&*store, team).await.len(), 5);
}

#[tokio::test]
async fn damaged_snapshots_and_archives_are_found() {
    let store = files_store().await;
    let (team, folder) = crew(&store).await;
    let task = |number, body: &[u8]| ArchivedTask { number, body: Some(body.to_vec()) };
    let save = async |version, archived| {
        let snapshot =
            Snapshot { version: Version(version), state: b"the state".as_slice().into() };
        store.save_snapshot(team, snapshot, archived).await.unwrap();
    };
    save(1, vec![task(1, b"the first task")]).await;
    save(2, vec![task(2, b"the second task")]).await;
    let mut answers = String::new();
    for (name, part) in [
        ("snapshot", &b"state"[..]),
        ("snapshot", b"version"),
        ("snapshot", b"second task"),
        ("archive.log", b"first task"),
        ("archive.idx", b"\x01"),
    ] {
        let before = fs::read(folder.join(name)).unwrap();
        flip(&folder.join(name), part);
        let answer = async {
            store.load_snapshot(team).await?;
            store.list_archived(team, 9, 9).await
        };
        answers += &told(answer.await);
        answers.push('\n');
        fs::write(folder.join(name), before).unwrap();
    }
    assert_eq!(store.list_archived(team, 9, 9).await.unwrap().len(), 2);
    insta::assert_snapshot!(in_folder(&store, answers), @r"
    corrupt: `DIR/troop/teams/crew/snapshot` is damaged: the checksum of its state does not match
    hint: restore `DIR/troop/teams/crew` from a backup; nothing was changed
    corrupt: `DIR/troop/teams/crew/snapshot` is damaged: its first line does not match its checksum
    hint: restore `DIR/troop/teams/crew` from a backup; nothing was changed
    corrupt: `DIR/troop/teams/crew/snapshot` is damaged: the checksum of task 2 does not match
    hint: restore `DIR/troop/teams/crew` from a backup; nothing was changed
    corrupt: `DIR/troop/teams/crew/archive.log` is damaged: the task 1 at byte 0 does not match its checksum
    hint: restore `DIR/troop/teams/crew` from a backup; nothing was changed
    corrupt: `DIR/troop/teams/crew/archive.idx` is damaged: the slot of task 1 does not match its check
    hint: restore `DIR/troop/teams/crew` from a backup; nothing was changed
    ");
}

#[tokio::test]
async fn a_foreign_or_newer_folder_is_refused_and_left_alone() {
    let store = files_store().await;
    let folder = store.folder().unwrap();
    for name in ["foreign", "newer", "other", "broken", "empty"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    fs::write(folder.join("letter"), "Dear Sir or Madam").unwrap();
    fs::write(folder.join("foreign/letter"), "Dear Sir or Madam").unwrap();
    let format = |name: &str, text: &str| fs::write(folder.join(name).join("format.json"), text);
    format("newer", r#"{"format":"troop-files","schema":3}"#).unwrap();
    format("other", r#"{"format":"diary","schema":1}"#).unwrap();
    format("broken", r#"{"format":"#).unwrap();
    let mut answers = String::new();
    for name in ["letter", "foreign", "newer", "other", "broken", "none/troop"] {
        let before = fs::read_dir(folder.join(name)).map(Iterator::count).ok();
        answers += &told(FilesStore::open(&folder.join(name), Missing::Make));
        answers.push('\n');
        assert_eq!(fs::read_dir(folder.join(name)).map(Iterator::count).ok(), before);
    }
    insta::assert_snapshot!(in_folder(&store, answers), @r"
    refused: `DIR/letter` is a file, not a folder
    hint: for a database file use `--store sqlite:DIR/letter`
    refused: `DIR/foreign` is a folder with other things in it
    hint: give a separate folder: `--store files:DIR/foreign/troop`
    refused: `DIR/newer` was written by a newer troop (schema 3, this one knows 1)
    hint: upgrade troop: in its newest source run `cargo install --path crates/troop`
    refused: `DIR/other` is a folder with other things in it
    hint: give a separate folder: `--store files:DIR/other/troop`
    corrupt: `DIR/broken/format.json` is damaged
    hint: restore `DIR/broken/format.json` from a backup; nothing was changed
    not found: there is no folder `DIR/none`
    hint: make it: `mkdir -p DIR/none`
    ");
    FilesStore::open(&folder.join("empty"), Missing::Make).unwrap();
}

#[tokio::test]
async fn a_missing_folder_is_made_only_for_a_new_team() {
    let store = files_store().await;
    let folder = store.folder().unwrap();
    fs::create_dir(folder.join("empty")).unwrap();
    let mut answers = String::new();
    for name in ["trop", "empty", "none/troop"] {
        answers += &told(FilesStore::open(&folder.join(name), Missing::Refuse));
        answers.push('\n');
    }
    insta::assert_snapshot!(in_folder(&store, answers), @r"
    not found: there is no store at `files:DIR/trop`
    hint: make a team there: `troop team create my-team --store files:DIR/trop`, or check the path
    not found: there is no store at `files:DIR/empty`
    hint: make a team there: `troop team create my-team --store files:DIR/empty`, or check the path
    not found: there is no store at `files:DIR/none/troop`
    hint: make a team there: `troop team create my-team --store files:DIR/none/troop`, or check the path
    ");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 2);
    assert_eq!(fs::read_dir(folder.join("empty")).unwrap().count(), 0);
    FilesStore::open(&folder.join("troop"), Missing::Refuse).unwrap();
}

#[tokio::test]
async fn a_long_beginning_is_kept_in_small_records() {
    let store = files_store().await;
    create_long(&*store).await;
    let log = store.folder().unwrap().join("troop/teams/long/log.jsonl");
    let log = fs::read_to_string(log).unwrap();
    let size = |line| serde_json::from_str::<serde_json::Value>(line).unwrap()["n"].as_u64();
    let sizes: Vec<_> = log.lines().filter_map(size).collect();
    assert_eq!(sizes, [1000, 1000, 1000, 500]);
}
