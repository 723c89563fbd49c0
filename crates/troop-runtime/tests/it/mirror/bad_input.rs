//! Files that nobody should have written.

use std::{fs, time::Duration};

use proptest::prelude::*;
use serde_json::{Value, json};
use troop_model::{Party, State};
use troop_runtime::{Layout, MirrorNotice};

use super::stage::Stage;
use crate::support::{create, name, say};

/// Makes a file so old that nobody can still be writing it.
pub(super) fn age(stage: &Stage, path: &str) {
    let file = fs::File::options().write(true).open(stage.path(path)).unwrap();
    let then = file.metadata().unwrap().modified().unwrap() - Duration::from_secs(60);
    file.set_modified(then).unwrap();
}

#[tokio::test]
async fn a_half_written_file_is_waited_for() {
    for (layout, path) in
        [(Layout::Seeds, "tasks/crew/task-1.json"), (Layout::Claude, "tasks/crew/1.json")]
    {
        let stage = Stage::new(layout).await;
        stage.submit("ann", create("write")).await;
        let mut mirror = stage.mirror().await;
        mirror.pass().await.unwrap();
        let whole = stage.bytes(path);
        fs::write(stage.path(path), &whole[..whole.len() / 2]).unwrap();
        mirror.pass().await.unwrap();
        assert_eq!(stage.bytes(path), &whole[..whole.len() / 2], "it is left alone");
        age(&stage, path);
        mirror.pass().await.unwrap();
        assert_eq!(stage.read(path)["subject"], "write", "nobody comes back to it");
        assert!(stage.path(&format!("{path}.refused")).exists());
    }
}

#[tokio::test]
async fn oversized_and_invalid_json_files_are_refused() {
    let stage = Stage::new(Layout::Seeds).await;
    stage.submit("ann", create("write")).await;
    let mut mirror = stage.mirror().await;
    let mut notices = mirror.notices();
    mirror.pass().await.unwrap();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let lines = "x\n".repeat(1_000_000);
    for (path, bytes, why) in [
        ("tasks/crew/deep.json", deep.into_bytes(), "not JSON"),
        ("tasks/crew/lines.json", lines.into_bytes(), "not JSON"),
        ("tasks/crew/task-1.json", vec![0xff; 10], "not JSON"),
        ("tasks/crew/array.json", b"[1]".to_vec(), "an array, not an object"),
        ("tasks/crew/none.json", b"{}".to_vec(), "the subject is empty"),
        ("teams/crew/inbox/pat/a.json", b"{}".to_vec(), "no `from`"),
        ("teams/crew/inbox/pat/b.json", br#"{"from":"nobody"}"#.to_vec(), "nobody"),
    ] {
        fs::write(stage.path(path), bytes).unwrap();
        age(&stage, path);
        mirror.pass().await.unwrap();
        let notice = notices.try_recv();
        let Ok(MirrorNotice::Refused { path: told, reason }) = notice else {
            panic!("{path}: {notice:?}")
        };
        assert_eq!(told, path);
        assert!(reason.contains(why), "{path}: {reason}");
        assert!(stage.path(&format!("{path}.refused")).exists());
        assert_eq!(stage.path(path).exists(), path.ends_with("task-1.json"));
    }
    let large = fs::File::create(stage.path("tasks/crew/large.json")).unwrap();
    large.set_len(100 << 20).unwrap();
    mirror.pass().await.unwrap();
    let Ok(MirrorNotice::Refused { reason, .. }) = notices.try_recv() else {
        panic!("not refused")
    };
    assert!(reason.contains("16 MiB") && reason.contains("104857600 bytes"), "{reason}");
    // It is reported once.
    mirror.pass().await.unwrap();
    assert!(notices.try_recv().is_err());
    assert_eq!(stage.n_tasks().await, 1);
}

#[tokio::test]
async fn ids_may_be_anything() {
    let stage = Stage::new(Layout::Seeds).await;
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    let huge = "9".repeat(200);
    let ids = [json!(7), json!(""), json!(huge), json!(1e300), json!(null), json!([1])];
    let paths = [json!(".."), json!("../../x"), json!("/etc/x"), json!("a/b")];
    for (nth, id) in ids.into_iter().chain(paths).enumerate() {
        stage.write(&format!("tasks/crew/{nth}.json"), &json!({"id": id, "subject": "odd"}));
    }
    stage.write(&format!("tasks/crew/{huge}.json"), &json!({"id": huge, "subject": "odd"}));
    stage.write("tasks/crew/x.json.json", &json!({"id": "x.json", "subject": "odd"}));
    let long = "8".repeat(240);
    stage.write(&format!("tasks/crew/{long}.json"), &json!({"id": long, "subject": "odd"}));
    mirror.pass().await.unwrap();
    mirror.pass().await.unwrap();
    assert_eq!(stage.n_tasks().await, 12);
    assert_eq!(stage.read("tasks/crew/x.json.json")["number"], 12);
    assert!(!stage.path(&format!("tasks/crew/{long}.json")).exists(), "its name is too long");
}

#[tokio::test]
async fn pipes_symlinks_and_folders_are_set_aside_and_block_nothing() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        let secret = stage.path("secret");
        fs::write(&secret, json!({"subject": "secret", "from": "pat"}).to_string()).unwrap();
        let mut mirror = stage.mirror().await;
        mirror.pass().await.unwrap();
        let inbox = if layout == Layout::Seeds { "inbox/pat/p.json" } else { "inboxes/pat.json" };
        let places = ["tasks/crew/p.json".to_owned(), format!("teams/crew/{inbox}")];
        for path in places.iter().map(|it| stage.path(it)) {
            rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
            mirror.pass().await.unwrap();
            std::os::unix::fs::symlink(&secret, &path).unwrap();
            mirror.pass().await.unwrap();
            fs::create_dir(&path).unwrap();
            mirror.pass().await.unwrap();
            for nth in ["", ".2", ".3"] {
                let aside = format!("{}.refused{nth}", path.display());
                assert!(fs::symlink_metadata(&aside).is_ok(), "{aside}");
            }
        }
        assert_eq!(stage.n_tasks().await, 0, "{layout}");
    }
}

#[tokio::test]
async fn a_letter_to_an_unknown_member_is_refused() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        let mut mirror = stage.mirror().await;
        let mut notices = mirror.notices();
        mirror.pass().await.unwrap();
        if layout == Layout::Seeds {
            fs::create_dir(stage.path("teams/crew/inbox/nobody")).unwrap();
        }
        let letter = json!({"from": "pat", "text": "hi", "content": "hi", "read": false});
        stage.put_letter("nobody", letter);
        mirror.pass().await.unwrap();
        let Ok(MirrorNotice::Refused { reason, .. }) = notices.try_recv() else {
            panic!("not refused")
        };
        assert!(reason.contains("no member of that name"), "{reason}");
        assert_eq!(stage.n_unread("pat").await, 1, "it is told, {layout}");
    }
}

/// Any bytes in any file: the mirror continues, and the board is unchanged or has what a file said. Nobody leaves, and no
/// message counts as read, unless the bytes say so.
async fn write_any(bytes: Vec<u8>, layout: Layout) {
    let stage = Stage::new(layout).await;
    stage.submit("ann", create("write")).await;
    stage.submit("ann", say("pat", "hello")).await;
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    let paths = match layout {
        Layout::Seeds => [
            "tasks/crew/task-1.json",
            "tasks/crew/new.json",
            "teams/crew/config.json",
            "teams/crew/inbox/pat/any.json",
        ],
        Layout::Claude => [
            "tasks/crew/1.json",
            "tasks/crew/2.json",
            "teams/crew/config.json",
            "teams/crew/inboxes/pat.json",
        ],
    };
    for path in paths {
        fs::write(stage.path(path), &bytes).unwrap();
        age(&stage, path);
        mirror.pass().await.unwrap();
        mirror.pass().await.unwrap();
    }
    let before = mirror.n_written();
    mirror.pass().await.unwrap();
    assert_eq!(mirror.n_written(), before, "it comes to rest");
    let said: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let is_config = said["members"].as_array().is_some_and(|it| it.iter().any(Value::is_object));
    let is_inbox =
        layout == Layout::Claude && (said.is_array() || bytes.iter().all(u8::is_ascii_whitespace));
    let look = |state: &State| {
        let pat = Party::member(&name("pat"));
        let mut unread = state.mailbox().unread_of(&pat);
        (state.member(&name("pat")).is_some(), unread.any(|it| it.content == "hello"))
    };
    let (is_member, is_unread) = stage.board.look(look).await.unwrap();
    assert!(is_member || is_config, "pat was let go");
    assert!(is_unread || is_config || is_inbox, "nobody read it");
}

/// Pieces of valid files, and of invalid ones.
fn any_file() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        Just("pending"),
        Just("claimed"),
        Just("completed"),
        Just("deleted"),
        Just("pat"),
        Just("ann"),
        Just("task-1"),
        Just("1"),
        Just(""),
        Just("lead"),
        Just("pat@crew"),
        Just("\u{1b}[2J"),
        Just("../../victim"),
        Just(".."),
        Just("/"),
    ];
    let leaf = prop_oneof![
        word.prop_map(|it| json!(it)),
        any::<i64>().prop_map(|it| json!(it)),
        any::<bool>().prop_map(|it| json!(it)),
        Just(json!(null)),
    ];
    let key = prop_oneof![
        Just("id"),
        Just("subject"),
        Just("description"),
        Just("status"),
        Just("owner"),
        Just("claimed_by"),
        Just("claimedBy"),
        Just("dependsOn"),
        Just("blockedBy"),
        Just("metadata"),
        Just("members"),
        Just("name"),
        Just("from"),
        Just("text"),
        Just("content"),
        Just("read"),
        Just("msg_id"),
        Just("type"),
        Just("uuid"),
        Just("stored"),
        Just("timestamp"),
        Just("file"),
        Just("troop"),
    ];
    let value = leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|it| {
                it.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            }),
        ]
    });
    let json = value.prop_map(|it| it.to_string().into_bytes());
    prop_oneof![4 => json, 1 => prop::collection::vec(any::<u8>(), 0..64)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_bytes_in_any_file_stop_the_mirror(bytes in any_file(), is_claude: bool) {
        let layout = if is_claude { Layout::Claude } else { Layout::Seeds };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(write_any(bytes, layout));
    }
}

#[test]
fn fuzz_mirror() {
    let examples = [
        json!({"id": "task-1", "subject": "write", "status": "claimed", "claimed_by": "pat", "metadata": {"a": 1}}),
        json!({"id": "1", "subject": "write", "status": "in_progress", "owner": "pat", "blockedBy": ["2"]}),
        json!([{"from": "quin", "text": "hi", "read": false, "timestamp": "2026-01-01T00:00:00Z"}]),
        json!({"name": "crew", "members": [{"name": "ann"}, {"name": "pat"}, {"name": "rob", "agentType": "x"}]}),
    ];
    let examples = examples.map(|it| it.to_string().into_bytes());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    troop_testkit::fuzz(
        &["\"pat\"", "\"deleted\"", "task-1", "\"../x\"", "\"file\":"],
        &examples,
        24,
        |bytes| {
            for layout in [Layout::Seeds, Layout::Claude] {
                runtime.block_on(write_any(bytes.to_vec(), layout));
            }
        },
    );
}

#[tokio::test]
async fn tasks_that_wait_for_each_other_are_refused_and_put_back() {
    let stage = Stage::new(Layout::Seeds).await;
    stage.submit("ann", create("write")).await;
    stage.submit("ann", create("read")).await;
    let mut mirror = stage.mirror().await;
    let mut notices = mirror.notices();
    mirror.pass().await.unwrap();
    stage.change("tasks/crew/task-1.json", &json!({"dependsOn": ["task-2"]}));
    mirror.pass().await.unwrap();
    stage.change("tasks/crew/task-2.json", &json!({"dependsOn": ["task-1"]}));
    stage.change("tasks/crew/task-1.json", &json!({"dependsOn": ["task-2", "task-1"]}));
    mirror.pass().await.unwrap();
    assert_eq!(stage.read("tasks/crew/task-1.json")["dependsOn"], json!(["task-2"]));
    assert_eq!(stage.read("tasks/crew/task-2.json")["dependsOn"], json!([]));
    // New ones that wait for each other: no order of taking them works.
    stage.write("tasks/crew/a.json", &json!({"id": "a", "subject": "a", "dependsOn": ["b"]}));
    stage.write("tasks/crew/b.json", &json!({"id": "b", "subject": "b", "dependsOn": ["a"]}));
    mirror.pass().await.unwrap();
    let mut refused = Vec::new();
    while let Ok(notice) = notices.try_recv() {
        refused.extend(match notice {
            MirrorNotice::Refused { path, .. } => Some(path),
            MirrorNotice::Taken { .. } => None,
        });
    }
    refused.sort();
    let refused: Vec<_> = refused.iter().filter_map(|it| it.strip_prefix("tasks/crew/")).collect();
    assert_eq!(refused, ["a.json", "b.json", "task-1.json", "task-2.json"]);
    assert_eq!(stage.n_tasks().await, 2);
    let before = mirror.n_written();
    mirror.pass().await.unwrap();
    assert_eq!(mirror.n_written(), before, "it comes to rest");
}
