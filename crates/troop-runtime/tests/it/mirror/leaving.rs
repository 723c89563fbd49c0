//! Members that leave: what they did before counts, whichever file is visited first.

use std::fs;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use troop_model::Status;
use troop_runtime::{Layout, MirrorNotice};

use super::stage::Stage;
use crate::support::create;

const LAYOUTS: [Layout; 2] = [Layout::Seeds, Layout::Claude];

fn refused(notices: &mut UnboundedReceiver<MirrorNotice>) -> Vec<MirrorNotice> {
    let told = std::iter::from_fn(|| notices.try_recv().ok());
    told.filter(|it| matches!(it, MirrorNotice::Refused { .. })).collect()
}

fn first_task(layout: Layout) -> &'static str {
    match layout {
        Layout::Seeds => "tasks/crew/task-1.json",
        Layout::Claude => "tasks/crew/1.json",
    }
}

/// A task's end, as a program of either layout writes it.
fn completed_by(member: &str) -> Value {
    json!({"status": "completed", "claimed_by": member, "owner": member})
}

fn said_by(member: &str) -> Value {
    let at = "2026-01-01T00:00:00.000Z";
    json!({"from": member, "content": "done", "text": "done", "timestamp": at, "read": false})
}

fn take_out(stage: &Stage, member: &str) {
    let mut members = stage.read("teams/crew/config.json")["members"].as_array().unwrap().clone();
    members.retain(|it| it["name"] != member);
    stage.change("teams/crew/config.json", &json!({"members": members}));
}

async fn is_member(stage: &Stage, member: &str) -> bool {
    stage.roster().await.iter().any(|(name, _)| name == member)
}

#[tokio::test]
async fn a_member_can_end_its_task_report_and_leave_at_once() {
    for layout in LAYOUTS {
        for is_restarted in [false, true] {
            let stage = Stage::new(layout).await;
            stage.submit("ann", create("write")).await;
            let mut mirror = stage.mirror().await;
            mirror.pass().await.unwrap();
            stage.change(first_task(layout), &completed_by("pat"));
            stage.put_letter("ann", said_by("pat"));
            take_out(&stage, "pat");
            if is_restarted {
                mirror = stage.mirror().await;
            }
            let mut notices = mirror.notices();
            mirror.pass().await.unwrap();
            assert_eq!(refused(&mut notices), [], "{layout}");
            assert_eq!(stage.task(1).await.0, Status::Completed, "{layout}");
            assert_eq!(stage.read(first_task(layout))["status"], "completed", "{layout}");
            assert_eq!(stage.n_unread("ann").await, 2, "{layout}: its letter, and its result");
            assert!(!is_member(&stage, "pat").await, "{layout}");
            mirror.pass().await.unwrap();
            assert!(!is_member(&stage, "pat").await, "{layout}");
        }
    }
}

#[tokio::test]
async fn a_member_leaves_only_after_its_task_file_was_read() {
    let stage = Stage::new(Layout::Claude).await;
    stage.submit("ann", create("write")).await;
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    stage.change("tasks/crew/1.json", &completed_by("pat"));
    take_out(&stage, "pat");
    let lock = stage.path("tasks/crew/1.json.lock");
    fs::create_dir(&lock).unwrap();
    mirror.pass().await.unwrap();
    assert!(is_member(&stage, "pat").await, "what it did was not read yet");
    fs::remove_dir(&lock).unwrap();
    mirror.pass().await.unwrap();
    assert_eq!(stage.task(1).await.0, Status::Completed);
    assert!(!is_member(&stage, "pat").await);
}

#[tokio::test]
async fn a_held_lock_does_not_keep_a_member_from_leaving() {
    let stage = Stage::new(Layout::Claude).await;
    stage.submit("ann", create("write")).await;
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    stage.change("tasks/crew/1.json", &completed_by("quin"));
    take_out(&stage, "pat");
    super::bad_input::age(&stage, "teams/crew/config.json");
    fs::create_dir(stage.path("tasks/crew/1.json.lock")).unwrap();
    mirror.pass().await.unwrap();
    assert!(!is_member(&stage, "pat").await, "it has been out of the config for long");
}

#[tokio::test]
async fn a_task_completed_by_a_former_member_stays_completed() {
    for layout in LAYOUTS {
        let stage = Stage::new(layout).await;
        for folder in ["teams/crew", "tasks/crew"] {
            fs::create_dir_all(stage.path(folder)).unwrap();
        }
        let config = json!({"name": "crew", "members": [{"name": "team-lead"}]});
        stage.write("teams/crew/config.json", &config);
        let mut task = completed_by("gone");
        task["id"] = if layout == Layout::Seeds { "task-1" } else { "1" }.into();
        task["subject"] = "write".into();
        stage.write(first_task(layout), &task);
        let mut mirror = stage.mirror().await;
        let mut notices = mirror.notices();
        mirror.pass().await.unwrap();
        assert_eq!(refused(&mut notices), [], "{layout}");
        assert_eq!(stage.task(1).await.0, Status::Completed, "{layout}");
        assert_eq!(stage.result(1).await.as_deref(), Some("completed by gone"), "{layout}");
        assert_eq!(stage.read(first_task(layout))["status"], "completed", "{layout}");
    }
}

#[tokio::test]
async fn an_unknown_writer_cannot_end_a_task_that_another_holds() {
    let stage = Stage::new(Layout::Claude).await;
    stage.submit("ann", create("write")).await;
    stage.submit("bob", crate::support::claim(1)).await;
    let mut mirror = stage.mirror().await;
    let mut notices = mirror.notices();
    mirror.pass().await.unwrap();
    stage.change("tasks/crew/1.json", &completed_by("gone"));
    mirror.pass().await.unwrap();
    assert_eq!(refused(&mut notices).len(), 1);
    assert_eq!(stage.task(1).await.0, Status::InProgress);
}
