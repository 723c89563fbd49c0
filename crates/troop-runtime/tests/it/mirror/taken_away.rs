//! Deleted files of tasks: Claude Code deletes a task like that. Other missing files were lost, and come back.

use std::fs;

use serde_json::json;
use tokio::sync::mpsc::UnboundedReceiver;
use troop_model::Status;
use troop_runtime::{Layout, Mirror, MirrorNotice};

use super::stage::Stage;
use crate::support::{claim, create};

fn told(notices: &mut UnboundedReceiver<MirrorNotice>) -> Vec<String> {
    let told = std::iter::from_fn(|| notices.try_recv().ok());
    let said = told.map(|it| match it {
        MirrorNotice::Taken { path, what } => format!("taken: {path}: {what}"),
        MirrorNotice::Refused { path, reason } => format!("refused: {path}: {reason}"),
    });
    said.collect()
}

/// Three tasks in files, of which the second waits for the first and the third for the second.
async fn three(layout: Layout) -> (Stage, Mirror) {
    let stage = Stage::new(layout).await;
    for subject in ["first", "second", "third"] {
        stage.submit("ann", create(subject)).await;
    }
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    if layout == Layout::Claude {
        stage.change("tasks/crew/2.json", &json!({"blockedBy": ["1"]}));
        stage.change("tasks/crew/3.json", &json!({"blockedBy": ["2"]}));
        mirror.pass().await.unwrap();
    }
    (stage, mirror)
}

/// Deletes the second task as the client does.
fn delete(stage: &Stage) {
    fs::remove_file(stage.path("tasks/crew/2.json")).unwrap();
    stage.change("tasks/crew/1.json", &json!({"blocks": []}));
    stage.change("tasks/crew/3.json", &json!({"blockedBy": []}));
}

#[tokio::test]
async fn a_task_that_the_client_deletes_is_deleted() {
    for is_held in [false, true] {
        for is_restarted in [false, true] {
            let (stage, mut mirror) = three(Layout::Claude).await;
            if is_held {
                stage.change("tasks/crew/2.json", &json!({"blockedBy": []}));
                mirror.pass().await.unwrap();
                stage.submit("bob", claim(2)).await;
                mirror.pass().await.unwrap();
            }
            delete(&stage);
            if is_restarted {
                mirror = stage.mirror().await;
            }
            let mut notices = mirror.notices();
            mirror.pass().await.unwrap();
            mirror.pass().await.unwrap();
            let told = told(&mut notices);
            assert!(told.iter().all(|it| it.starts_with("taken: ")), "{told:?}");
            let deleted = "taken: tasks/crew/2.json: task-2 was deleted by the lead";
            assert!(told.iter().any(|it| it == deleted), "{told:?}");
            assert_eq!(stage.n_tasks().await, 2);
            assert!(!stage.path("tasks/crew/2.json").exists());
            assert_eq!(stage.read("tasks/crew/1.json")["blocks"], json!([]));
            assert_eq!(stage.read("tasks/crew/3.json")["blockedBy"], json!([]));
            // The next one does not take its id.
            stage.submit("ann", create("fourth")).await;
            mirror.pass().await.unwrap();
            assert_eq!(stage.read("tasks/crew/4.json")["subject"], "fourth");
        }
    }
}

#[tokio::test]
async fn deleting_the_file_of_a_needed_task_only_cancels_it() {
    let (stage, mut mirror) = three(Layout::Claude).await;
    fs::remove_file(stage.path("tasks/crew/2.json")).unwrap();
    mirror.pass().await.unwrap();
    mirror.pass().await.unwrap();
    assert_eq!(stage.task(2).await.0, Status::Cancelled);
    assert_eq!(stage.read("tasks/crew/2.json")["status"], "completed");
}

#[tokio::test]
async fn files_that_were_all_deleted_come_back() {
    const N_TASKS: usize = 12;
    for layout in [Layout::Seeds, Layout::Claude] {
        for is_restarted in [false, true] {
            let stage = Stage::new(layout).await;
            for nth in 0..N_TASKS {
                stage.submit("ann", create(&format!("task {nth}"))).await;
            }
            let mut mirror = stage.mirror().await;
            mirror.pass().await.unwrap();
            for entry in fs::read_dir(stage.path("tasks/crew")).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|it| it == "json") {
                    fs::remove_file(path).unwrap();
                }
            }
            if is_restarted {
                mirror = stage.mirror().await;
            }
            let mut notices = mirror.notices();
            mirror.pass().await.unwrap();
            mirror.pass().await.unwrap();
            assert_eq!(stage.files("tasks/crew").len(), N_TASKS, "{layout}");
            assert_eq!(stage.n_tasks().await, N_TASKS, "{layout}");
            let told = told(&mut notices);
            let [once] = &*told else { panic!("{told:?}") };
            assert_eq!(once, "refused: tasks/crew: its files were missing and have been restored");
        }
    }
}

#[tokio::test]
async fn a_file_that_the_client_cannot_have_deleted_comes_back_with_a_notice() {
    for (layout, file) in [(Layout::Seeds, "task-2.json"), (Layout::Claude, "2.json")] {
        let (stage, mut mirror) = three(layout).await;
        let mut notices = mirror.notices();
        let path = format!("tasks/crew/{file}");
        fs::remove_file(stage.path(&path)).unwrap();
        if layout == Layout::Claude {
            // The client notes the highest id that it has used.
            fs::write(stage.path("tasks/crew/.highwatermark"), "1").unwrap();
        }
        mirror.pass().await.unwrap();
        assert_eq!(stage.read(&path)["subject"], "second", "{layout}");
        let told = told(&mut notices);
        let [once] = &*told else { panic!("{told:?}") };
        let said = r#"it was missing and has been restored; to delete a task, write `"status": "deleted"`"#;
        assert_eq!(once, &format!("refused: {path}: {said}"));
    }
}
