//! Requests of programs through files: in either of two files, in another form than troop's, or about an unfinished task.

use serde_json::json;
use tokio::sync::mpsc::UnboundedReceiver;
use troop_model::{Status, TaskNumber};
use troop_runtime::{Layout, MirrorNotice};

use super::stage::Stage;
use crate::support::{claim, create};

fn refused(notices: &mut UnboundedReceiver<MirrorNotice>) -> Vec<String> {
    let told = std::iter::from_fn(|| notices.try_recv().ok());
    let refused = told.filter_map(|it| match it {
        MirrorNotice::Refused { reason, .. } => Some(reason),
        MirrorNotice::Taken { .. } => None,
    });
    refused.collect()
}

#[tokio::test]
async fn a_dependency_may_be_written_in_either_file() {
    let stage = Stage::new(Layout::Claude).await;
    let mut mirror = stage.mirror().await;
    let mut notices = mirror.notices();
    stage.submit("ann", create("second")).await;
    mirror.pass().await.unwrap();
    // In a new file; and in both, whichever is taken first.
    let first = json!({"id": "90", "subject": "first", "blocks": ["1", "91"]});
    stage.write("tasks/crew/90.json", &first);
    let third = json!({"id": "91", "subject": "third", "blockedBy": ["90"]});
    stage.write("tasks/crew/91.json", &third);
    mirror.pass().await.unwrap();
    assert_eq!(refused(&mut notices), [""; 0]);
    let [first, third] = stage.with_subject(&["first", "third"]).await.try_into().unwrap();
    assert_eq!(stage.waits_for(1).await, [first].into_iter().collect());
    assert_eq!(stage.waits_for(third).await, [first].into_iter().collect());
    assert_eq!(stage.read("tasks/crew/90.json")["blocks"], json!(["1", "91"]));
    assert_eq!(stage.read("tasks/crew/1.json")["blockedBy"], json!(["90"]));
    // In one that was there.
    stage.change("tasks/crew/1.json", &json!({"blocks": ["91"]}));
    mirror.pass().await.unwrap();
    assert_eq!(refused(&mut notices), [""; 0]);
    assert_eq!(stage.waits_for(third).await, [1, first].into_iter().collect());
    assert_eq!(stage.read("tasks/crew/1.json")["blocks"], json!(["91"]));
}

#[tokio::test]
async fn an_impossible_dependency_is_reported() {
    let stage = Stage::new(Layout::Claude).await;
    let mut mirror = stage.mirror().await;
    let mut notices = mirror.notices();
    stage.submit("ann", create("first")).await;
    stage.submit("ann", create("second")).await;
    mirror.pass().await.unwrap();
    for (blocks, why, then) in [
        (json!(["77"]), "`blocks` has `77`: there is no task", json!([])),
        (json!(["1"]), "`blocks` has `1`: ", json!([])),
        (json!({"2": true}), "`blocks` has an object, and should have a list of texts", json!([])),
        (json!("2"), "", json!(["2"])),
        (json!([]), "remove it from `blockedBy` there", json!(["2"])),
    ] {
        stage.change("tasks/crew/1.json", &json!({"blocks": blocks}));
        mirror.pass().await.unwrap();
        let told = refused(&mut notices);
        assert_eq!(told.len(), usize::from(!why.is_empty()), "{blocks}: {told:?}");
        assert!(told.iter().all(|it| it.contains(why)), "{blocks}: {told:?}");
        assert_eq!(stage.read("tasks/crew/1.json")["blocks"], then, "{blocks}");
    }
    assert_eq!(stage.n_unread("ann").await, 4, "the lead hears of each that was refused");
}

#[tokio::test]
async fn one_id_is_a_list_of_one_and_nonsense_is_refused() {
    let stage = Stage::new(Layout::Seeds).await;
    let mut mirror = stage.mirror().await;
    let mut notices = mirror.notices();
    stage.submit("ann", create("first")).await;
    mirror.pass().await.unwrap();
    let one = json!({"id": "a", "subject": "second", "dependsOn": "task-1"});
    stage.write("tasks/crew/a.json", &one);
    mirror.pass().await.unwrap();
    assert_eq!(refused(&mut notices), [""; 0]);
    assert_eq!(stage.waits_for(2).await, [1].into_iter().collect());
    for (key, value, why) in [
        ("dependsOn", json!({"on": 1}), "`dependsOn` has an object"),
        ("metadata", json!("text"), "`metadata` has a text, and should have an object"),
        ("subject", json!(["x"]), "`subject` has an array"),
    ] {
        let new = json!({"id": "b", "subject": "third", key: value});
        stage.write("tasks/crew/b.json", &new);
        stage.change("tasks/crew/task-1.json", &json!({key: value}));
        mirror.pass().await.unwrap();
        let told = refused(&mut notices);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told.iter().all(|it| it.contains(why)), "{told:?}");
        assert!(!stage.path("tasks/crew/b.json").exists(), "it is moved away");
        assert_eq!(stage.read("tasks/crew/task-1.json")["subject"], "first", "it is put back");
    }
    assert_eq!(stage.n_tasks().await, 2);
    // The result of a task may have any form.
    stage.submit("bob", claim(1)).await;
    mirror.pass().await.unwrap();
    let done = json!({"status": "completed", "result": {"lines": [7]}});
    stage.change("tasks/crew/task-1.json", &done);
    mirror.pass().await.unwrap();
    assert_eq!(stage.result(1).await.unwrap(), r#"{"lines":[7]}"#);
}

#[tokio::test]
async fn unfinished_tasks_are_deleted_through_their_files() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        let mut mirror = stage.mirror().await;
        let mut notices = mirror.notices();
        for subject in ["pending", "held", "needed"] {
            stage.submit("ann", create(subject)).await;
        }
        stage.submit("bob", claim(2)).await;
        mirror.pass().await.unwrap();
        let path = |number: u32| match layout {
            Layout::Seeds => format!("tasks/crew/task-{number}.json"),
            Layout::Claude => format!("tasks/crew/{number}.json"),
        };
        let waits = match layout {
            Layout::Seeds => json!({"id": "a", "subject": "later", "dependsOn": ["task-3"]}),
            Layout::Claude => json!({"id": "a", "subject": "later", "blockedBy": ["3"]}),
        };
        stage.write("tasks/crew/a.json", &waits);
        mirror.pass().await.unwrap();
        for number in [1, 2, 3] {
            stage.change(&path(number), &json!({"status": "deleted"}));
        }
        mirror.pass().await.unwrap();
        let left = stage.board.look(|state| state.tasks().numbers().collect::<Vec<_>>());
        assert_eq!(left.await.unwrap(), [TaskNumber(3), TaskNumber(4)], "{layout}");
        assert!(!stage.path(&path(1)).exists() && !stage.path(&path(2)).exists(), "{layout}");
        // As with the tools: a task that others wait for is cancelled, and stays.
        assert_eq!(stage.task(3).await.0, Status::Cancelled, "{layout}");
        let told = refused(&mut notices);
        assert!(matches!(&*told, [one] if one.contains("task-4")), "{layout}: {told:?}");
    }
}

#[tokio::test]
async fn the_clients_own_notes_are_left_alone() {
    let stage = Stage::new(Layout::Claude).await;
    stage.submit("ann", create("ours")).await;
    let mut mirror = stage.mirror().await;
    let mut notices = mirror.notices();
    mirror.pass().await.unwrap();
    // As 2.1.47 does for every teammate, under the next id.
    for (id, name) in [("2", "pat"), ("3", "quin")] {
        let internal = json!({"id": id, "subject": name, "description": "its prompt", "status": "in_progress",
            "blocks": [], "blockedBy": [], "metadata": {"_internal": true}});
        stage.write(&format!("tasks/crew/{id}.json"), &internal);
    }
    let before = stage.bytes("tasks/crew/2.json");
    for _ in 0..2 {
        mirror.pass().await.unwrap();
        assert_eq!(stage.n_tasks().await, 1);
        assert_eq!(stage.bytes("tasks/crew/2.json"), before);
    }
    // A task of the board that would have its id gets another.
    stage.submit("ann", create("second")).await;
    for _ in 0..2 {
        mirror.pass().await.unwrap();
        assert_eq!(stage.n_tasks().await, 2);
        assert_eq!(stage.bytes("tasks/crew/2.json"), before);
        assert_eq!(stage.read("tasks/crew/2-troop.json")["subject"], "second");
        mirror = stage.mirror().await;
    }
    assert_eq!(refused(&mut notices), [""; 0]);
}
