//! Content that troop wrote itself is no change, whichever mirror reads it and whenever.

use serde_json::json;
use troop_model::{Command, RejectMode, Status, TaskCommand};
use troop_runtime::{Layout, MirrorNotice};

use super::stage::Stage;
use crate::support::{claim, complete, create, name, numbered};

fn task_file(layout: Layout, number: u32) -> String {
    match layout {
        Layout::Seeds => format!("tasks/crew/task-{number}.json"),
        Layout::Claude => format!("tasks/crew/{number}.json"),
    }
}

fn release(number: u32) -> Command {
    let task = numbered(number);
    let reason = "no time".to_owned();
    Command::Task(TaskCommand::Release { task, reason })
}

fn cancel(number: u32) -> Command {
    let task = numbered(number);
    let reason = "not needed".to_owned();
    Command::Task(TaskCommand::Cancel { task, reason })
}

fn fail(number: u32) -> Command {
    let task = numbered(number);
    let reason = "no".to_owned();
    Command::Task(TaskCommand::Fail { task, reason, attempt: None, for_good: false })
}

fn review(number: u32) -> Command {
    Command::Task(TaskCommand::Review { task: numbered(number), result: None })
}

fn reject(number: u32) -> Command {
    let task = numbered(number);
    let reason = "not good".to_owned();
    Command::Task(TaskCommand::Reject { task, reason, mode: RejectMode::Cancel })
}

fn retry(number: u32) -> Command {
    Command::Task(TaskCommand::Retry { task: numbered(number) })
}

/// The changes that a new mirror takes and refuses.
async fn look_anew(stage: &Stage) -> Vec<MirrorNotice> {
    let mut mirror = stage.mirror().await;
    let mut notices = mirror.notices();
    mirror.pass().await.unwrap();
    std::iter::from_fn(|| notices.try_recv().ok()).collect()
}

#[tokio::test]
async fn stale_files_do_not_undo_board_changes_made_without_a_mirror() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        for nth in 1..=6 {
            stage.submit("ann", create(&format!("task {nth}"))).await;
            stage.submit("pat", claim(nth)).await;
        }
        stage.submit("pat", fail(4)).await;
        stage.submit("pat", review(5)).await;
        assert_eq!(look_anew(&stage).await, []);
        stage.submit("pat", release(1)).await;
        stage.submit("pat", complete(2)).await;
        stage.submit("ann", cancel(3)).await;
        stage.submit("ann", retry(4)).await;
        stage.submit("ann", reject(5)).await;
        stage.submit("pat", release(6)).await;
        stage.submit("bob", claim(6)).await;
        assert_eq!(look_anew(&stage).await, [], "{layout}");
        let expected = [
            (Status::Pending, None),
            (Status::Completed, None),
            (Status::Cancelled, None),
            (Status::Pending, None),
            (Status::Cancelled, None),
            (Status::InProgress, Some(name("bob"))),
        ];
        for (number, expected) in (1..).zip(expected) {
            let (status, owner) = stage.task(number).await;
            let owner = owner.filter(|_| status == Status::InProgress);
            assert_eq!((status, owner), expected, "{layout}: {number}");
        }
        let told: Vec<_> = stage.inbox("pat").iter().map(ToString::to_string).collect();
        assert!(!told.iter().any(|it| it.contains("was refused")), "{layout}: {told:?}");
    }
}

#[tokio::test]
async fn a_file_that_was_locked_during_a_change_is_not_mistaken_for_a_request() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        stage.submit("ann", create("write")).await;
        stage.submit("pat", claim(1)).await;
        look_anew(&stage).await;
        let lock = stage.path(&task_file(layout, 1)).with_extension("json.lock");
        let held = match layout {
            Layout::Seeds => {
                let file = std::fs::File::create(&lock).unwrap();
                rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
                Some(file)
            }
            Layout::Claude => {
                std::fs::create_dir(&lock).unwrap();
                None
            }
        };
        stage.submit("pat", release(1)).await;
        look_anew(&stage).await;
        let owner = if layout == Layout::Seeds { "claimed_by" } else { "owner" };
        assert_eq!(stage.read(&task_file(layout, 1))[owner], "pat", "it is locked");
        if held.is_none() {
            std::fs::remove_dir(&lock).unwrap();
        }
        drop(held);
        assert_eq!(look_anew(&stage).await, [], "{layout}");
        assert_eq!(stage.task(1).await, (Status::Pending, None), "{layout}");
        assert_eq!(stage.read(&task_file(layout, 1))["status"], "pending");
    }
}

#[tokio::test]
async fn a_change_is_the_difference_from_what_was_written_last() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        stage.submit("ann", create("write")).await;
        stage.submit("pat", claim(1)).await;
        look_anew(&stage).await;
        // A program adds metadata, and the board moves on: the metadata is new, the claim is not.
        stage.change(&task_file(layout, 1), &json!({"description": "with care"}));
        stage.submit("pat", release(1)).await;
        let notices = look_anew(&stage).await;
        let [MirrorNotice::Taken { what, .. }] = &notices[..] else { panic!("{notices:?}") };
        assert_eq!(what, "task-1 was changed by the lead");
        assert_eq!(stage.task(1).await, (Status::Pending, None), "{layout}");
        assert_eq!(stage.read(&task_file(layout, 1))["description"], "with care");
    }
}

#[tokio::test]
async fn two_mirrors_do_not_take_each_others_writes_for_changes() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        stage.submit("ann", create("write")).await;
        stage.submit("pat", claim(1)).await;
        let mut one = stage.mirror().await;
        let mut other = stage.mirror().await;
        let mut notices = one.notices();
        one.pass().await.unwrap();
        stage.submit("pat", release(1)).await;
        other.pass().await.unwrap();
        stage.submit("quin", claim(1)).await;
        one.pass().await.unwrap();
        assert_eq!(notices.try_recv().ok(), None, "{layout}");
        assert_eq!(stage.task(1).await, (Status::InProgress, Some(name("quin"))), "{layout}");
    }
}

#[tokio::test]
async fn a_member_taken_out_of_the_config_without_a_mirror_leaves() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        look_anew(&stage).await;
        let mut config = stage.read("teams/crew/config.json");
        let members = config["members"].as_array_mut().unwrap();
        members.retain(|it| it["name"] != "pat" && it["name"] != "bob");
        stage.write("teams/crew/config.json", &config);
        let notices = look_anew(&stage).await;
        let roster: Vec<_> = stage.roster().await.into_iter().map(|it| it.0).collect();
        assert_eq!(roster, ["ann", "bob", "quin"], "{layout}");
        // A member that troop runs cannot be removed through a file, and the lead hears so.
        let is_told = |it: &MirrorNotice| matches!(it, MirrorNotice::Refused { reason, .. } if reason.contains("bob"));
        assert_eq!(notices.iter().filter(|it| is_told(it)).count(), 1, "{notices:?}");
        assert_eq!(look_anew(&stage).await, [], "{layout}: once");
        // A member that joins on the board is not in the file yet, and stays.
        stage.submit("ann", Command::AddMember(super::external("rob"))).await;
        look_anew(&stage).await;
        assert!(stage.roster().await.iter().any(|it| it.0 == "rob"), "{layout}");
    }
}
