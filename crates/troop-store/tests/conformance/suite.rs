//! The cases that every backend passes.

use tokio::{task::JoinSet, time::Instant};
use troop_model::{TeamId, Version};
use troop_store::{
    AppendOutcome, ArchivedTask, Batch, NewTeam, Snapshot, Store, StoreError, TeamEntry, Watch,
};
use troop_testkit::TestStore;
use uuid::Uuid;

use crate::support::{
    append, append_at, assert_some_are_prompt, batch, bodies, create, new_team, notice, operation,
    told,
};

pub(crate) async fn a_new_team_is_listed_and_begins_its_log(store: TestStore) {
    let (first, second) = (create(&*store, "first").await, create(&*store, "second").await);
    let entry = |id, name: &str| TeamEntry { id, name: name.to_owned(), is_retired: false };
    assert_eq!(store.teams().await.unwrap(), [entry(first, "first"), entry(second, "second")]);
    assert_eq!(bodies(&*store, second).await, [r#"{"begin":1}"#]);
}

pub(crate) async fn creating_twice_is_harmless(store: TestStore) {
    let (team, first) = (new_team("crew"), batch(0, &["1", "2"]));
    assert_eq!(store.create(team.clone(), first.clone()).await.unwrap(), Version(2));
    append_at(&*store, team.id, batch(2, &["3"])).await;
    assert_eq!(store.create(team.clone(), first).await.unwrap(), Version(2));
    let other_operation = store.create(team.clone(), batch(0, &["1"])).await;
    assert!(matches!(other_operation, Err(StoreError::Conflict { .. })));
    assert_eq!(bodies(&*store, team.id).await, ["1", "2", "3"]);
    assert_eq!(store.teams().await.unwrap().len(), 1);
}

/// A team that begins with many events, as an imported one does.
pub(crate) async fn create_long(store: &dyn Store) -> (TeamId, Vec<String>) {
    let (team, bodies) = (new_team("long"), (0..3500).map(|nth| nth.to_string()).collect());
    let first = Batch { operation: operation(), after: Version::ZERO, bodies };
    for _ in 0..2 {
        let end = store.create(team.clone(), first.clone()).await.unwrap();
        assert_eq!(end, Version(3500), "creating twice is harmless");
    }
    (team.id, first.bodies)
}

pub(crate) async fn a_long_beginning_is_read_page_by_page(store: TestStore) {
    let (team, wanted) = create_long(&*store).await;
    let mut read = Vec::new();
    loop {
        let page = store.read(team, Version(read.len() as u64), 999).await.unwrap();
        if page.is_empty() {
            break;
        }
        assert_eq!(page[0].version.0, read.len() as u64 + 1);
        read.extend(page.into_iter().map(|entry| entry.body));
    }
    assert_eq!(read, wanted);
    append_at(&*store, team, batch(3500, &["true"])).await;
    assert_eq!(bodies(&*store.reopen().await, team).await.len(), 3501);
}

pub(crate) async fn a_name_in_use_is_taken(store: TestStore) {
    create(&*store, "crew").await;
    let answer = store.create(new_team("crew"), batch(0, &["1"])).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(told(answer), @r"
        conflict: there is already a team `crew`
        hint: choose another name, or free this one: `troop team delete crew`
        ");
    }
    assert_eq!(store.teams().await.unwrap().len(), 1);
}

pub(crate) async fn a_retired_team_frees_its_name_and_stays_readable(store: TestStore) {
    let old = create(&*store, "crew").await;
    append_at(&*store, old, batch(1, &["2"])).await;
    store.retire(old).await.unwrap();
    store.retire(old).await.unwrap();
    let new = create(&*store, "crew").await;
    assert_eq!(bodies(&*store, old).await, [r#"{"begin":1}"#, "2"]);
    append_at(&*store, old, batch(2, &["3"])).await;
    assert_eq!(bodies(&*store.reopen().await, old).await, [r#"{"begin":1}"#, "2", "3"]);
    let entry = |id, is_retired| TeamEntry { id, name: "crew".to_owned(), is_retired };
    assert_eq!(store.teams().await.unwrap(), [entry(old, true), entry(new, false)]);
}

pub(crate) async fn a_purged_team_is_gone(store: TestStore) {
    let (kept, gone) = (create(&*store, "kept").await, create(&*store, "gone").await);
    let other = store.reopen().await;
    append_at(&*other, gone, batch(1, &["2"])).await;
    store.save_snapshot(gone, snapshot(1, b"state"), vec![archived(1, b"task")]).await.unwrap();
    store.purge(gone).await.unwrap();
    store.purge(gone).await.unwrap();
    assert_eq!(store.teams().await.unwrap().len(), 1);
    assert!(matches!(store.read(gone, Version(0), 9).await, Err(StoreError::NotFound { .. })));
    let late = other.append(gone, batch(2, &["3"])).await;
    assert!(matches!(late, Err(StoreError::NotFound { .. })), "{late:?}");
    let again = NewTeam { id: gone, name: "gone".to_owned() };
    store.create(again, batch(0, &["1"])).await.unwrap();
    assert_eq!(other.load_snapshot(gone).await.unwrap(), None);
    assert_eq!(store.read_archived(gone, 1).await.unwrap(), None);
    assert_eq!(append_at(&*other, gone, batch(1, &["2"])).await, Version(2));
    assert_eq!(bodies(&*store, kept).await.len(), 1);
}

pub(crate) async fn a_log_can_be_read_from_any_version(store: TestStore) {
    let team = create(&*store, "crew").await;
    assert_eq!(append_at(&*store, team, batch(1, &["2", "3", "4"])).await, Version(4));
    assert_eq!(append_at(&*store, team, batch(4, &["5"])).await, Version(5));
    assert_eq!(append_at(&*store, team, batch(5, &["6", "7"])).await, Version(7));
    let all = bodies(&*store, team).await;
    assert_eq!(all, [r#"{"begin":1}"#, "2", "3", "4", "5", "6", "7"]);
    for after in 0..=8_u64 {
        for limit in [0, 1, 2, 3, 100] {
            let read = store.read(team, Version(after), limit).await.unwrap();
            let read: Vec<_> =
                read.into_iter().map(|entry| (entry.version.0, entry.body)).collect();
            let wanted = (1..).zip(all.iter().cloned()).skip(after as usize).take(limit);
            assert_eq!(read, wanted.collect::<Vec<_>>(), "after {after}, limit {limit}");
        }
    }
}

pub(crate) async fn bodies_come_back_byte_for_byte(store: TestStore) {
    let team = create(&*store, "crew").await;
    let big = format!("\"{}\"", "Ж".repeat(500_000));
    let odd = [
        "{}",
        "\"\"",
        "0",
        "null",
        r#"{ "a" : [ 1, 2 ] }"#,
        r#""\u0000\n\\\"""#,
        "\"\u{2028}🦀\"",
        &big,
    ];
    append_at(&*store, team, batch(1, &odd)).await;
    for body in odd {
        let after = store.read(team, Version(1), usize::MAX).await.unwrap().len() as u64 + 1;
        append_at(&*store, team, batch(after, &[body])).await;
    }
    let read = bodies(&*store.reopen().await, team).await;
    assert_eq!(read[1..9], odd);
    assert_eq!(read[9..], odd);
}

pub(crate) async fn a_body_that_is_not_a_line_of_json_is_refused(store: TestStore) {
    let team = create(&*store, "crew").await;
    for body in ["{\n}", "", " {}", "{} ", "{", "{} {}", "1\r"] {
        let answer = store.append(team, batch(1, &["2", body])).await;
        assert!(matches!(answer, Err(StoreError::Bug { .. })), "{body:?}: {answer:?}");
    }
    assert!(matches!(store.append(team, batch(1, &[])).await, Err(StoreError::Bug { .. })));
    let late = store.create(new_team("late"), batch(3, &["4"])).await;
    assert!(matches!(late, Err(StoreError::Bug { .. })));
    assert_eq!(bodies(&*store, team).await.len(), 1);
}

pub(crate) async fn a_repeated_operation_has_one_effect(store: TestStore) {
    let team = create(&*store, "crew").await;
    let repeated = batch(1, &["2", "3"]);
    assert_eq!(append_at(&*store, team, repeated.clone()).await, Version(3));
    assert_eq!(append_at(&*store, team, repeated.clone()).await, Version(3));
    append_at(&*store, team, batch(3, &["4"])).await;
    assert_eq!(append_at(&*store.reopen().await, team, repeated).await, Version(3));
    assert_eq!(bodies(&*store, team).await[1..], ["2", "3", "4"]);
}

pub(crate) async fn a_writer_that_is_behind_gets_what_it_missed_and_the_slot(store: TestStore) {
    let team = create(&*store, "crew").await;
    let other = store.reopen().await;
    append_at(&*other, team, batch(1, &["2", "3"])).await;
    append_at(&*other, team, batch(3, &["4"])).await;
    let late = batch(2, &["5"]);
    let AppendOutcome::Behind(mut slot) = store.append(team, late.clone()).await.unwrap() else {
        panic!("the batch was decided on version 2")
    };
    let missed = slot.take_missed();
    assert_eq!(missed.iter().map(|entry| entry.version.0).collect::<Vec<_>>(), [3, 4]);
    let rival = JoinSet::from_iter([async move {
        let mut seen = Version(4);
        append(&*other, team, &mut seen, vec!["6".to_owned()]).await.unwrap()
    }]);
    assert_eq!(slot.append(Batch { after: Version(4), ..late.clone() }).await.unwrap(), Version(5));
    assert_eq!(rival.join_all().await, [Version(6)]);
    let again = append_at(&*store, team, Batch { after: Version(4), ..late }).await;
    assert_eq!(again, Version(5));
    assert_eq!(bodies(&*store, team).await[1..], ["2", "3", "4", "5", "6"]);
}

pub(crate) async fn a_dropped_slot_lets_the_next_writer_in(store: TestStore) {
    let team = create(&*store, "crew").await;
    append_at(&*store, team, batch(1, &["2"])).await;
    for opener in [store.store(), store.reopen().await] {
        let behind = store.append(team, batch(1, &["3"])).await.unwrap();
        assert!(matches!(behind, AppendOutcome::Behind(_)));
        drop(behind);
        let head = bodies(&*store, team).await.len() as u64;
        append_at(&*opener, team, batch(head, &["4"])).await;
    }
    assert_eq!(bodies(&*store, team).await[1..], ["2", "4", "4"]);
}

pub(crate) async fn a_slot_held_for_too_long_is_taken_back(store: TestStore) {
    let team = create(&*store, "crew").await;
    let AppendOutcome::Behind(slot) = store.append(team, batch(0, &["1"])).await.unwrap() else {
        panic!("the batch was decided on version 0")
    };
    assert_eq!(append_at(&*store.reopen().await, team, batch(1, &["2"])).await, Version(2));
    let late = slot.append(batch(1, &["3"])).await;
    assert!(matches!(late, Err(StoreError::Unavailable { .. })), "{late:?}");
    assert_eq!(bodies(&*store, team).await[1..], ["2"]);
}

pub(crate) async fn a_watch_is_quiet_while_nothing_grows(store: TestStore) {
    let team = create(&*store, "crew").await;
    let mut watch = store.watch(team).await.unwrap();
    let started_at = Instant::now();
    let mut n_wakes = 0;
    while started_at.elapsed() < Watch::PATIENCE {
        store.read(team, Version(1), 9).await.unwrap();
        watch.changed().await;
        n_wakes += 1;
    }
    assert!(n_wakes < 10, "reading wakes the reader: {n_wakes} times");
}

pub(crate) async fn an_append_beyond_the_end_is_corruption(store: TestStore) {
    let team = create(&*store, "crew").await;
    let answer = store.append(team, batch(7, &["8"])).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(told(answer), @r"
        corrupt: the log ends at version 1, but version 7 was seen before: it lost events
        hint: restore the store from a backup; nothing was changed
        ");
    }
    assert_eq!(append_at(&*store, team, batch(1, &["2"])).await, Version(2));
}

pub(crate) async fn an_unknown_team_is_not_found(store: TestStore) {
    create(&*store, "crew").await;
    let id = TeamId(Uuid::from_u128(7));
    let answers = [
        store.append(id, batch(0, &["1"])).await.map(drop),
        store.read(id, Version(0), 1).await.map(drop),
        store.watch(id).await.map(drop),
        store.retire(id).await,
        store.load_snapshot(id).await.map(drop),
        store.save_snapshot(id, snapshot(1, b"state"), vec![]).await,
        store.read_archived(id, 1).await.map(drop),
        store.list_archived(id, 9, 9).await.map(drop),
    ];
    for answer in answers {
        insta::allow_duplicates! {
            insta::assert_snapshot!(told(answer), @r"
            not found: there is no team `00000000-0000-0000-0000-000000000007`
            hint: see `troop team list`
            ");
        }
    }
}

pub(crate) async fn each_of_many_appends_is_in_the_log_once(store: TestStore) {
    let (team, quiet) = (create(&*store, "crew").await, create(&*store, "quiet").await);
    let mut tasks = JoinSet::new();
    for task in 0..16 {
        let store = if task % 2 == 0 { store.store() } else { store.reopen().await };
        tasks.spawn(async move {
            let mut seen = Version(1);
            for nth in 0..8 {
                let bodies = vec![format!("[{task},{nth}]"), "null".to_owned()];
                append(&*store, team, &mut seen, bodies).await.unwrap();
            }
        });
    }
    append_at(&*store, quiet, batch(1, &["2"])).await;
    tasks.join_all().await;
    let mut all = bodies(&*store, team).await;
    assert_eq!(all.len(), 1 + 16 * 8 * 2);
    assert!(all[1..].chunks(2).all(|pair| pair[0].starts_with('[') && pair[1] == "null"));
    all.retain(|body| body.starts_with('['));
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 16 * 8);
}

pub(crate) async fn two_openers_see_the_same(store: TestStore) {
    let other = store.reopen().await;
    let team = create(&*store, "crew").await;
    assert_eq!(other.teams().await.unwrap(), store.teams().await.unwrap());
    append_at(&*other, team, batch(1, &["2"])).await;
    append_at(&*store, team, batch(2, &["3"])).await;
    append_at(&*other, team, batch(3, &["4"])).await;
    assert_eq!(bodies(&*store, team).await, bodies(&*other, team).await);
    assert_eq!(bodies(&*store, team).await[1..], ["2", "3", "4"]);
}

pub(crate) async fn a_watch_sees_every_growth(store: TestStore) {
    let team = create(&*store, "crew").await;
    for opener in [store.store(), store.reopen().await] {
        let mut watch = store.watch(team).await.unwrap();
        let start = bodies(&*store, team).await.len() as u64;
        for version in start..start + 12 {
            let seen = async {
                while store.read(team, Version(version), 9).await.unwrap().is_empty() {
                    watch.changed().await;
                }
            };
            tokio::join!(seen, append_at(&*opener, team, batch(version, &["0"])));
        }
    }
}

pub(crate) async fn a_glance_changes_with_every_growth_and_nothing_else(store: TestStore) {
    let team = create(&*store, "crew").await;
    let watch = store.watch(team).await.unwrap();
    let mut seen = vec![watch.glance().unwrap()];
    for opener in [store.store(), store.reopen().await, store.store()] {
        for _ in 0..12 {
            let version = bodies(&*opener, team).await.len() as u64;
            assert_eq!(watch.glance().as_ref(), seen.last(), "reading changes nothing");
            append_at(&*opener, team, batch(version, &["0"])).await;
            let glance = watch.glance().unwrap();
            assert!(!seen.contains(&glance), "{glance:?}");
            seen.push(glance);
        }
    }
    store.purge(team).await.unwrap();
    assert_ne!(watch.glance().as_ref(), seen.last());
}

pub(crate) async fn a_bell_ends_a_wait_before_the_patience_does(store: TestStore) {
    let team = create(&*store, "crew").await;
    for (nth, opener) in [store.store(), store.reopen().await].iter().enumerate() {
        let mut notices = Vec::new();
        for version in (1..=6).map(|version| version + nth as u64 * 6) {
            let growth = append_at(&**opener, team, batch(version, &["0"]));
            notices.push(notice(&*store, team, growth).await);
        }
        assert_some_are_prompt(&notices);
    }
}

fn snapshot(version: u64, state: &[u8]) -> Snapshot {
    Snapshot { version: Version(version), state: state.to_vec().into() }
}

fn archived(number: u32, body: &[u8]) -> ArchivedTask {
    ArchivedTask { number, body: Some(body.to_vec()) }
}

pub(crate) async fn a_snapshot_is_kept_until_a_newer_one(store: TestStore) {
    let team = create(&*store, "crew").await;
    assert_eq!(store.load_snapshot(team).await.unwrap(), None);
    let big = snapshot(5, &(0..3_000_000_u32).map(|nth| (nth % 251) as u8).collect::<Vec<_>>());
    store.save_snapshot(team, snapshot(2, b"two"), vec![]).await.unwrap();
    store.save_snapshot(team, big.clone(), vec![]).await.unwrap();
    for ignored in [snapshot(4, b"four"), snapshot(5, b"five")] {
        store.save_snapshot(team, ignored, vec![archived(1, b"ignored too")]).await.unwrap();
    }
    assert_eq!(store.reopen().await.load_snapshot(team).await.unwrap(), Some(big));
    assert_eq!(store.read_archived(team, 1).await.unwrap(), None);
    store.save_snapshot(team, snapshot(6, b""), vec![]).await.unwrap();
    assert_eq!(store.load_snapshot(team).await.unwrap(), Some(snapshot(6, b"")));
}

pub(crate) async fn archived_tasks_are_read_listed_and_erased(store: TestStore) {
    let team = create(&*store, "crew").await;
    let first = vec![archived(1, b"one"), archived(300, b"many"), archived(2, b"\0\n")];
    store.save_snapshot(team, snapshot(1, b"a"), first).await.unwrap();
    let list = async |below, limit| {
        let list = store.list_archived(team, below, limit).await.unwrap();
        list.into_iter().map(|(number, _)| number).collect::<Vec<_>>()
    };
    assert_eq!(store.read_archived(team, 2).await.unwrap().as_deref(), Some(&b"\0\n"[..]));
    assert_eq!(list(u32::MAX, 9).await, [300, 2, 1]);
    let erased = ArchivedTask { number: 1, body: None };
    let second = vec![erased, archived(3, b"three"), archived(2, b"two")];
    store.save_snapshot(team, snapshot(2, b"b"), second).await.unwrap();
    assert_eq!(list(u32::MAX, 9).await, [300, 3, 2]);
    assert_eq!(list(300, 1).await, [3]);
    assert_eq!(list(2, 9).await, [0_u32; 0]);
    store.save_snapshot(team, snapshot(3, b"c"), vec![archived(1, b"back")]).await.unwrap();
    let all = store.reopen().await.list_archived(team, 4, 9).await.unwrap();
    let wanted = [(3, b"three".to_vec()), (2, b"two".to_vec()), (1, b"back".to_vec())];
    assert_eq!(all, wanted);
    assert_eq!(store.read_archived(team, 9).await.unwrap(), None);
}
