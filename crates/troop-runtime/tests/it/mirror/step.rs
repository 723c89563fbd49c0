//! A new mirror opens only files that changed, and misses nothing.

use std::{fs, io::Write as _, time::SystemTime};

use serde_json::json;
use troop_model::{Command, Status, TaskCommand};
use troop_runtime::Layout;

use super::stage::Stage;
use crate::support::{claim, create, name, numbered};

const N_TASKS: u32 = 50;

/// How many files of tasks a new mirror opens, and how many it writes.
async fn look_anew(stage: &Stage) -> (u64, u64) {
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    (mirror.n_read(), mirror.n_written())
}

/// A team whose files are known to be in step.
async fn in_step(layout: Layout) -> Stage {
    let stage = Stage::new(layout).await;
    for nth in 0..N_TASKS {
        stage.submit("ann", create(&format!("task {nth}"))).await;
    }
    look_anew(&stage).await;
    // Until the clock of the disk has moved on.
    troop_testkit::wait_for("files that need not be opened", async || {
        (look_anew(&stage).await == (0, 0)).then_some(())
    })
    .await;
    stage
}

fn task_file(layout: Layout, number: u32) -> String {
    match layout {
        Layout::Seeds => format!("tasks/crew/task-{number}.json"),
        Layout::Claude => format!("tasks/crew/{number}.json"),
    }
}

#[tokio::test]
async fn a_new_mirror_opens_only_changed_files() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = in_step(layout).await;
        // By others, in a file.
        let claimed = json!({"status": "in_progress", "owner": "pat", "claimedBy": "pat"});
        stage.change(&task_file(layout, 7), &claimed);
        let (n_read, n_written) = look_anew(&stage).await;
        assert!(n_read <= 3 && n_written <= 1, "{layout}: {n_read} {n_written}");
        assert_eq!(stage.task(7).await, (Status::InProgress, Some(name("pat"))), "{layout}");
        // By us, on the board.
        stage.submit("bob", claim(8)).await;
        let (n_read, n_written) = look_anew(&stage).await;
        assert!(n_read <= 4 && n_written == 1, "{layout}: {n_read} {n_written}");
        let owner = if layout == Layout::Seeds { "claimed_by" } else { "owner" };
        assert_eq!(stage.read(&task_file(layout, 8))[owner], "bob");
        // A lost file is written again; where the client deletes files, the task is deleted; a deleted task's file goes.
        fs::remove_file(stage.path(&task_file(layout, 9))).unwrap();
        let delete = |number| Command::Task(TaskCommand::Delete { task: numbered(number) });
        let task = numbered(10);
        let reason = "no".to_owned();
        stage.submit("ann", Command::Task(TaskCommand::Cancel { task, reason })).await;
        stage.submit("ann", delete(10)).await;
        look_anew(&stage).await;
        let n_deleted = if layout == Layout::Seeds { 1 } else { 2 };
        assert_eq!(stage.path(&task_file(layout, 9)).exists(), layout == Layout::Seeds);
        assert!(!stage.path(&task_file(layout, 10)).exists());
        assert_eq!(stage.n_tasks().await, N_TASKS as usize - n_deleted, "{layout}");
    }
}

#[tokio::test]
async fn a_write_in_the_same_clock_tick_as_ours_is_not_missed() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        stage.submit("ann", create("one word")).await;
        look_anew(&stage).await;
        // In place, with the same size and time, as if the clock stood still for a moment.
        let path = stage.path(&task_file(layout, 1));
        let written_at = fs::metadata(&path).unwrap().modified().unwrap();
        let text = fs::read_to_string(&path).unwrap().replace("one word", "two word");
        let mut file = fs::File::options().write(true).open(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.set_modified(written_at).unwrap();
        drop(file);
        look_anew(&stage).await;
        assert_eq!(stage.with_subject(&["two word"]).await, [1], "{layout}");
    }
}

#[tokio::test]
async fn notes_about_another_log_are_ignored() {
    let stage = in_step(Layout::Seeds).await;
    let path = stage.path("teams/crew/.written/in-step.json");
    let known = fs::read_to_string(&path).unwrap();
    let mut other: serde_json::Value = serde_json::from_str(&known).unwrap();
    other["operation"] = json!(uuid::Uuid::nil());
    for text in [other.to_string(), "{".to_owned(), known.replace("\"format\":1", "\"format\":0")] {
        fs::write(&path, text).unwrap();
        let (n_read, _) = look_anew(&stage).await;
        assert_eq!(n_read, u64::from(N_TASKS));
    }
    // A file that was touched is read.
    let file = fs::File::options().append(true).open(stage.path(&task_file(Layout::Seeds, 3)));
    file.unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(look_anew(&stage).await.0, 1);
}
