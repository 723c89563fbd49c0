//! New tasks and messages that belong together: they are written one after the other, in any order.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use troop_model::{Command, TaskCommand};
use troop_runtime::{Layout, MirrorNotice};

use super::stage::Stage;
use crate::support::{create, name, numbered, say};

fn waits_for(layout: Layout) -> &'static str {
    match layout {
        Layout::Seeds => "dependsOn",
        Layout::Claude => "blockedBy",
    }
}

/// An id that a task of the board could have.
fn natural(layout: Layout, number: usize) -> String {
    match layout {
        Layout::Seeds => format!("task-{number}"),
        Layout::Claude => number.to_string(),
    }
}

/// Writes a plan: each task waits for the next one, and the last for none.
fn write_plan(stage: &Stage, n_tasks: usize, age: Duration) {
    let numbers: Vec<_> = (100..100 + n_tasks).collect();
    for (nth, number) in numbers.iter().enumerate() {
        let id = natural(stage.layout, *number);
        let next = numbers.get(nth + 1).map(|it| natural(stage.layout, *it));
        let next: Vec<_> = next.into_iter().collect();
        let path = format!("tasks/crew/{id}.json");
        let file =
            json!({"id": id, "subject": format!("part {nth}"), waits_for(stage.layout): next});
        stage.write(&path, &file);
        set_age(stage, &path, age);
    }
}

fn set_age(stage: &Stage, path: &str, age: Duration) {
    let file = fs::File::options().append(true).open(stage.path(path)).unwrap();
    file.set_modified(fs::metadata(stage.path(path)).unwrap().modified().unwrap() - age).unwrap();
}

fn refused(notices: &mut tokio::sync::mpsc::UnboundedReceiver<MirrorNotice>) -> Vec<String> {
    std::iter::from_fn(|| notices.try_recv().ok())
        .filter_map(|it| match it {
            MirrorNotice::Refused { reason, .. } => Some(reason),
            MirrorNotice::Taken { .. } => None,
        })
        .collect()
}

#[tokio::test]
async fn a_plan_that_is_written_goal_first_is_taken_as_one() {
    for layout in [Layout::Seeds, Layout::Claude] {
        // However old it is, and however deep.
        for age in [Duration::ZERO, Duration::from_secs(3_600)] {
            let stage = Stage::new(layout).await;
            let mut mirror = stage.mirror().await;
            let mut notices = mirror.notices();
            write_plan(&stage, 30, age);
            mirror.pass().await.unwrap();
            assert_eq!(refused(&mut notices), [""; 0], "{layout}");
            assert_eq!(stage.n_tasks().await, 30, "{layout}");
            let [first, second, last] =
                stage.with_subject(&["part 0", "part 1", "part 29"]).await.try_into().unwrap();
            assert_eq!(stage.waits_for(first).await, [second].into_iter().collect());
            assert!(stage.waits_for(last).await.is_empty());
        }
    }
}

#[tokio::test]
async fn a_dependency_of_a_new_task_may_come_a_moment_later() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        let mut mirror = stage.mirror().await;
        let [goal, part] = [77, 78].map(|it| natural(layout, it));
        let file = json!({"id": goal, "subject": "goal", waits_for(layout): [part]});
        stage.write(&format!("tasks/crew/{goal}.json"), &file);
        mirror.pass().await.unwrap();
        assert_eq!(stage.n_tasks().await, 0, "{layout}: it waits");
        let file = json!({"id": part, "subject": "part"});
        stage.write(&format!("tasks/crew/{part}.json"), &file);
        mirror.pass().await.unwrap();
        let [goal, part] = stage.with_subject(&["goal", "part"]).await.try_into().unwrap();
        assert_eq!(stage.waits_for(goal).await, [part].into_iter().collect(), "{layout}");
    }
}

#[tokio::test]
async fn a_dependency_that_never_comes_is_not_waited_for_long() {
    let stage = Stage::new(Layout::Seeds).await;
    stage.submit("ann", create("first")).await;
    let mut mirror = stage.mirror().await;
    let mut notices = mirror.notices();
    mirror.pass().await.unwrap();
    // One waits for an unknown task; two wait for each other.
    for (id, other) in [("a", "nothing"), ("b", "c"), ("c", "b")] {
        let path = format!("tasks/crew/{id}.json");
        let file = json!({"id": id, "subject": id, "dependsOn": [other]});
        stage.write(&path, &file);
        set_age(&stage, &path, Duration::from_secs(3));
    }
    mirror.pass().await.unwrap();
    let refused = refused(&mut notices);
    assert_eq!(refused.len(), 3, "{refused:?}");
    assert!(refused.iter().all(|it| it.contains("there is no task")), "{refused:?}");
    assert_eq!(stage.n_tasks().await, 1);
    assert_eq!(stage.n_unread("ann").await, 3, "the lead, where nobody is named");
}

#[tokio::test]
async fn a_member_that_may_not_create_tasks_hears_so() {
    let stage = Stage::new(Layout::Seeds).await;
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    let file = json!({"id": "mine", "subject": "mine", "createdBy": "pat"});
    stage.write("tasks/crew/mine.json", &file);
    mirror.pass().await.unwrap();
    assert_eq!(stage.n_tasks().await, 0);
    let told = stage.inbox("pat");
    assert!(told[0]["content"].as_str().unwrap().contains("tasks/crew/mine.json"), "{told:?}");
    assert_eq!(stage.n_unread("ann").await, 0);
}

#[tokio::test]
async fn messages_arrive_in_the_order_of_their_timestamps() {
    let stage = Stage::new(Layout::Seeds).await;
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    let letter = |nth: u32, at: Value| json!({"from": "quin", "type": "direct", "content": format!("said {nth}"), "timestamp": at});
    let times = [
        ("z", json!("2026-01-01T00:00:00.100Z")),
        ("y", json!("2026-01-01T00:00:00.2+00:00")),
        // Milliseconds, as other programs write them.
        ("x", json!(1_767_225_600_300_i64)),
    ];
    for (nth, (name, at)) in (1..).zip(times) {
        stage.write(&format!("teams/crew/inbox/pat/{name}.json"), &letter(nth, at));
    }
    // Messages without a timestamp have that of their file.
    for (nth, name) in [(4, "w"), (5, "v")] {
        let path = format!("teams/crew/inbox/pat/{name}.json");
        stage.write(&path, &letter(nth, Value::Null));
        let file = fs::File::options().append(true).open(stage.path(&path)).unwrap();
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600 + u64::from(nth));
        file.set_modified(at).unwrap();
    }
    mirror.pass().await.unwrap();
    let said: Vec<String> = stage
        .board
        .look(|state| state.mailbox().iter().map(|it| it.content.clone()).collect())
        .await
        .unwrap();
    assert_eq!(said, ["said 1", "said 2", "said 3", "said 4", "said 5"]);
}

#[tokio::test]
async fn a_task_assignment_tells_the_client_about_its_task() {
    let stage = Stage::new(Layout::Claude).await;
    let task = troop_model::NewTask {
        subject: "write".to_owned(),
        description: "with care".to_owned(),
        ..troop_model::NewTask::default()
    };
    stage.submit("ann", Command::Task(TaskCommand::Create(task))).await;
    let task = Some(numbered(1));
    let to = name("pat");
    stage.submit("ann", Command::Task(TaskCommand::Assign { task, to })).await;
    stage.submit("ann", say("pat", "hello")).await;
    stage.mirror().await.pass().await.unwrap();
    let told = stage.inbox("pat");
    let assigned = told.iter().find(|it| it["text"].as_str().unwrap().contains("task_assignment"));
    let assigned = assigned.unwrap_or_else(|| panic!("{told:?}"));
    assert_eq!(assigned["from"], "team-lead");
    let text: Value = serde_json::from_str(assigned["text"].as_str().unwrap()).unwrap();
    let at = &text["timestamp"];
    let expected = json!({"type": "task_assignment", "taskId": "1", "subject": "write",
        "description": "with care", "assignedBy": "team-lead", "timestamp": at});
    assert_eq!(text, expected);
}
