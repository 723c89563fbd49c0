//! Files that are lost, or are in several folders: nobody leaves, and unseen messages do not count as read.

use std::fs;

use serde_json::json;
use troop_model::Status;
use troop_runtime::{Layout, Mirror};
use troop_testkit::wait_for;

use super::{bad_input::age, stage::Stage};
use crate::support::{cancel, claim, create, delete, say};

const LAYOUTS: [Layout; 2] = [Layout::Seeds, Layout::Claude];

async fn passed(stage: &Stage) -> Mirror {
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    mirror
}

fn said(stage: &Stage, member: &str) -> Vec<String> {
    let text = if stage.layout == Layout::Seeds { "content" } else { "text" };
    stage.inbox(member).iter().map(|it| it[text].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_second_folder_gets_the_mail_that_the_first_one_has() {
    for (layout, other) in LAYOUTS.into_iter().flat_map(|one| LAYOUTS.map(|other| (one, other))) {
        let first = Stage::new(layout).await;
        first.submit("ann", say("pat", "your prompt")).await;
        let mut kept = passed(&first).await;
        let second = Stage { layout: other, ..first.beside() };
        let mut mirror = passed(&second).await;
        assert_eq!(said(&second, "pat"), ["your prompt"], "{layout} and {other}");
        kept.pass().await.unwrap();
        mirror.pass().await.unwrap();
        assert_eq!((said(&first, "pat").len(), first.n_unread("pat").await), (1, 1));
        // A message that is read in one folder is read.
        second.take_letters("pat");
        mirror.pass().await.unwrap();
        kept.pass().await.unwrap();
        assert_eq!((said(&first, "pat").len(), first.n_unread("pat").await), (0, 0));
    }
}

#[tokio::test]
async fn a_message_taken_without_a_mirror_counts_as_read() {
    for layout in LAYOUTS {
        let stage = Stage::new(layout).await;
        stage.submit("ann", say("pat", "hello")).await;
        passed(&stage).await;
        stage.take_letters("pat");
        passed(&stage).await;
        assert_eq!((said(&stage, "pat").len(), stage.n_unread("pat").await), (0, 0), "{layout}");
        let notes = stage.path("teams/crew/.delivered/pat");
        assert_eq!(fs::read_dir(notes).unwrap().count(), 0, "nothing of it stays, {layout}");
    }
}

#[tokio::test]
async fn a_deleted_inbox_comes_back_with_the_waiting_messages() {
    for layout in LAYOUTS {
        for is_restarted in [false, true] {
            let stage = Stage::new(layout).await;
            stage.submit("ann", say("pat", "hello")).await;
            let mut mirror = passed(&stage).await;
            let inboxes = if layout == Layout::Seeds { "inbox" } else { "inboxes" };
            fs::remove_dir_all(stage.path(&format!("teams/crew/{inboxes}"))).unwrap();
            if is_restarted {
                mirror = stage.mirror().await;
            }
            mirror.pass().await.unwrap();
            assert_eq!(said(&stage, "pat"), ["hello"], "{layout}");
            assert_eq!(stage.n_unread("pat").await, 1, "{layout}");
        }
    }
}

#[tokio::test]
async fn an_unreadable_inbox_is_replaced_with_the_waiting_messages() {
    let stage = Stage::new(Layout::Claude).await;
    stage.submit("ann", say("pat", "first")).await;
    stage.submit("ann", say("pat", "second")).await;
    let mut mirror = passed(&stage).await;
    let path = "teams/crew/inboxes/pat.json";
    fs::write(stage.path(path), r#"[{"from": "x", "te"#).unwrap();
    age(&stage, path);
    mirror.pass().await.unwrap();
    assert_eq!(said(&stage, "pat"), ["first", "second"]);
    assert_eq!(stage.n_unread("pat").await, 2);
    assert!(stage.path("teams/crew/inboxes/pat.json.refused").exists());
}

#[tokio::test]
async fn an_inbox_never_gets_too_large_to_be_read() {
    const N_MESSAGES: usize = 70;
    let stage = Stage::new(Layout::Claude).await;
    // Older clients keep read messages.
    let old = json!({"from": "ann", "text": "x".repeat(1 << 20), "read": true});
    let mut mirror = passed(&stage).await;
    stage.put_letter("pat", old);
    let text = "y".repeat(260_000);
    for nth in 0..N_MESSAGES {
        stage.submit("ann", say("pat", &format!("{nth} {text}"))).await;
    }
    let mut seen = Vec::new();
    while seen.len() < N_MESSAGES {
        // Messages that it takes out are read, which makes room for more.
        mirror.pass().await.unwrap();
        assert_eq!(stage.n_unread("pat").await, N_MESSAGES - seen.len());
        assert!(stage.bytes("teams/crew/inboxes/pat.json").len() <= 16 << 20, "who would read it?");
        let there = said(&stage, "pat");
        let there = there.iter().filter(|it| it.len() < 1 << 20);
        let numbers: Vec<usize> =
            there.map(|it| it.split(' ').next().unwrap().parse().unwrap()).collect();
        assert!(numbers.len() > 1, "as many as there is room for");
        seen.extend(numbers);
        stage.take_letters("pat");
    }
    assert_eq!(seen, (0..N_MESSAGES).collect::<Vec<_>>(), "each once, in order");
    assert!(!stage.path("teams/crew/inboxes/pat.json.refused").exists());
}

#[tokio::test]
async fn a_lost_config_removes_no_members() {
    for layout in LAYOUTS {
        let stage = Stage::new(layout).await;
        stage.submit("ann", create("write")).await;
        stage.submit("pat", claim(1)).await;
        let mut mirror = passed(&stage).await;
        stage.change("teams/crew/config.json", &json!({"mood": "good"}));
        mirror.pass().await.unwrap();
        let before = stage.roster().await;
        let path = stage.path("teams/crew/config.json");
        let cases: [(&str, &dyn Fn()); 5] = [
            ("deleted", &|| fs::remove_file(&path).unwrap()),
            ("half", &|| fs::write(&path, r#"{"name":"#).unwrap()),
            ("too large", &|| fs::File::create(&path).unwrap().set_len(17 << 20).unwrap()),
            ("an object without members", &|| fs::write(&path, r#"{"mood": "good"}"#).unwrap()),
            ("no list", &|| fs::write(&path, r#"{"mood": "good", "members": 1}"#).unwrap()),
        ];
        for (what, lose) in cases {
            lose();
            if path.exists() {
                age(&stage, "teams/crew/config.json");
            }
            mirror.pass().await.unwrap();
            assert_eq!(stage.roster().await, before, "{layout}: {what}");
            assert_eq!(stage.task(1).await.1, Some(crate::support::name("pat")));
            let config = stage.read("teams/crew/config.json");
            assert_eq!(config["members"].as_array().unwrap().len(), 4, "{layout}: {what}");
            assert_eq!(config["mood"], "good", "{layout}: {what}");
        }
    }
}

#[tokio::test]
async fn a_foreign_message_with_a_name_like_troops_is_taken() {
    let stage = Stage::new(Layout::Claude).await;
    let mut mirror = passed(&stage).await;
    let id = uuid::Uuid::now_v7();
    let at = "2026-01-01T00:00:00.000Z";
    let letter = json!({"from": "pat", "text": "hi", "timestamp": at, "read": false, "msg_id": id});
    stage.put_letter("ann", letter);
    mirror.pass().await.unwrap();
    assert_eq!(said(&stage, "ann"), ["hi"]);
    assert_eq!(stage.n_unread("ann").await, 1);
    // It stays the same one for a later mirror.
    passed(&stage).await;
    assert_eq!((said(&stage, "ann").len(), stage.n_unread("ann").await), (1, 1));
}

#[tokio::test]
async fn a_copy_of_a_message_for_somebody_else_is_a_message() {
    let stage = Stage::new(Layout::Seeds).await;
    stage.submit("ann", say("pat", "hello")).await;
    let mut mirror = passed(&stage).await;
    let [letter] = fs::read_dir(stage.path("teams/crew/inbox/pat"))
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    let copy = stage.path("teams/crew/inbox/quin").join(letter.file_name().unwrap());
    fs::copy(&letter, copy).unwrap();
    mirror.pass().await.unwrap();
    assert_eq!((said(&stage, "quin").len(), stage.n_unread("quin").await), (1, 1));
    passed(&stage).await;
    assert_eq!((said(&stage, "quin").len(), stage.n_unread("quin").await), (1, 1));
}

#[tokio::test]
async fn a_message_read_elsewhere_leaves_the_inbox_however_old() {
    for layout in LAYOUTS {
        let stage = Stage::new(layout).await;
        stage.submit("ann", say("pat", "hello")).await;
        passed(&stage).await;
        let read = troop_model::Command::MarkRead { reader: None, messages: None };
        stage.submit("pat", read).await;
        passed(&stage).await;
        assert_eq!((said(&stage, "pat").len(), stage.n_unread("pat").await), (0, 0), "{layout}");
    }
}

#[tokio::test]
async fn folders_that_are_taken_away_under_a_running_mirror_come_back() {
    for layout in LAYOUTS {
        let stage = Stage::new(layout).await;
        stage.submit("ann", create("write")).await;
        stage.submit("ann", say("pat", "hello")).await;
        let mut mirror = passed(&stage).await;
        mirror.poll_every(std::time::Duration::from_millis(20));
        let stop = tokio_util::sync::CancellationToken::new();
        let kept = tokio_util::task::TaskTracker::new().spawn(mirror.run(stop.clone()));
        fs::remove_dir_all(stage.path("teams/crew")).unwrap();
        fs::remove_dir_all(stage.path("tasks/crew")).unwrap();
        let task = if layout == Layout::Seeds { "task-1.json" } else { "1.json" };
        let task = format!("tasks/crew/{task}");
        let config = stage.path("teams/crew/config.json");
        let is_back = async || {
            let is_back = stage.path(&task).exists() && config.exists();
            (is_back && said(&stage, "pat") == ["hello"]).then_some(())
        };
        wait_for("the files are back", is_back).await;
        assert_eq!((stage.n_unread("pat").await, stage.roster().await.len()), (1, 4));
        stage.change(&task, &json!({"status": "in_progress", "claimed_by": "pat", "owner": "pat"}));
        let is_held = async || (stage.task(1).await.0 == Status::InProgress).then_some(());
        wait_for("what is written there is taken", is_held).await;
        stop.cancel();
        kept.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_copy_of_a_task_is_a_new_task_and_the_file_of_a_deleted_one_goes() {
    for (layout, own, copy) in
        [(Layout::Seeds, "task-1.json", "task-9.json"), (Layout::Claude, "1.json", "9.json")]
    {
        let stage = Stage::new(layout).await;
        stage.submit("ann", create("write")).await;
        stage.submit("ann", create("read")).await;
        let mut mirror = passed(&stage).await;
        let own = format!("tasks/crew/{own}");
        let copy = format!("tasks/crew/{copy}");
        fs::copy(stage.path(&own), stage.path(&copy)).unwrap();
        stage.change(&copy, &json!({"id": "9", "subject": "write more"}));
        mirror.pass().await.unwrap();
        assert_eq!(stage.with_subject(&["write more"]).await, [3], "{layout}");
        assert_eq!(stage.read(&copy)["subject"], "write more");
        assert_ne!(stage.read(&copy)["uuid"], stage.read(&own)["uuid"].as_str().unwrap_or("x"));
        // For a later mirror it is that task's file, and goes with it.
        let mut again = passed(&stage).await;
        assert_eq!((stage.n_tasks().await, again.n_written()), (3, 0));
        stage.submit("ann", cancel(1)).await;
        stage.submit("ann", delete(1)).await;
        passed(&stage).await;
        assert!(!stage.path(&own).exists(), "{layout}");
        again.pass().await.unwrap();
        assert_eq!((stage.n_tasks().await, stage.path(&copy).exists()), (2, true));
    }
}

#[tokio::test]
async fn a_task_of_another_board_is_a_new_task_here() {
    for (layout, file) in [(Layout::Seeds, "task-1.json"), (Layout::Claude, "1.json")] {
        let stage = Stage::new(layout).await;
        let other = Stage::new(layout).await;
        other.submit("ann", create("theirs")).await;
        passed(&other).await;
        let mut mirror = passed(&stage).await;
        let file = format!("tasks/crew/{file}");
        fs::copy(other.path(&file), stage.path(&file)).unwrap();
        mirror.pass().await.unwrap();
        assert_eq!(stage.with_subject(&["theirs"]).await, [1], "{layout}");
    }
}

#[tokio::test]
async fn a_folder_holds_one_team_in_one_layout() {
    for layout in LAYOUTS {
        let stage = Stage::new(layout).await;
        stage.submit("ann", create("write")).await;
        passed(&stage).await;
        let folder = stage.folder.path().to_owned();
        let other = if layout == Layout::Seeds { Layout::Claude } else { Layout::Seeds };
        let error = stage.open(folder.clone(), other).await.unwrap_err();
        assert!(error.to_string().contains(&format!("in the layout `{layout}`")), "{error}");
        let stranger = Stage::new(layout).await;
        let error = stranger.open(folder, layout).await.unwrap_err();
        assert!(error.to_string().contains("the files of another team `crew`"), "{error}");
        // A `files:` store keeps its log there.
        assert!(error.to_string().ends_with("; name another folder"), "{error}");
        assert_eq!(stage.files("tasks/crew").len(), 1);
        // The same team may come back.
        passed(&stage).await;
    }
}
