//! The meaning of changes to a file.

use serde_json::{Map, Value, json};

use super::{DiffReading, TaskStep, WantedStep, difference};
use crate::mirror::layout::{Layout, TaskFile, read_task};

fn seeds(value: &Value) -> TaskFile {
    read_task(Layout::Seeds, value.as_object().unwrap(), None).unwrap()
}

fn claude(value: &Value) -> TaskFile {
    read_task(Layout::Claude, value.as_object().unwrap(), None).unwrap()
}

/// The steps as text: who wants what.
fn steps(before: &TaskFile, now: &TaskFile, reading: DiffReading) -> Vec<String> {
    let show = |WantedStep { by, step }: WantedStep| {
        format!("{} by {}", step, by.unwrap_or_else(|| "the lead".to_owned()))
    };
    difference(before, now, reading).into_iter().map(show).collect()
}

#[test]
fn a_change_of_hands_or_status_is_one_step() {
    let free = json!({"status": "pending", "claimed_by": ""});
    let held = json!({"status": "in_progress", "claimed_by": "pat"});
    let done = json!({"status": "completed", "claimed_by": "pat"});
    let failed = json!({"status": "failed", "claimed_by": ""});
    let cases: [(&Value, Value, &[&str]); 17] = [
        (&free, free.clone(), &[]),
        (&free, json!({"status": "claimed", "claimed_by": "pat"}), &["claimed by pat"]),
        (&free, json!({"status": "pending", "claimed_by": "pat"}), &["claimed by pat"]),
        (&free, json!({"status": "in_progress"}), &["claimed by the lead"]),
        (&free, json!({"status": "done", "claimed_by": "pat"}), &["completed by pat"]),
        (
            &free,
            json!({"status": "failed", "claimed_by": "pat"}),
            &["claimed by pat", "failed by pat"],
        ),
        (&free, json!({"status": "blocked"}), &[]),
        (&held, held.clone(), &[]),
        (&held, json!({"status": "claimed"}), &[]),
        (&held, json!({"status": "stale"}), &[]),
        (&held, json!({"status": "claimed", "claimed_by": "quin"}), &["claimed by quin"]),
        (&held, free.clone(), &["given back by pat"]),
        (&held, json!({"status": "done"}), &["completed by pat"]),
        (&held, json!({"status": "failed", "claimed_by": "pat"}), &["failed by pat"]),
        (&held, json!({"status": "in_review"}), &["handed in for review by pat"]),
        (&done, free.clone(), &["retried by the lead"]),
        (&failed, json!({"status": "pending"}), &["retried by the lead"]),
    ];
    for (before, now, expected) in cases {
        assert_eq!(
            steps(&seeds(before), &seeds(&now), DiffReading::Whole),
            expected,
            "{before} → {now}"
        );
    }
}

#[test]
fn an_owner_beside_a_pending_task_is_its_assignee() {
    let free = claude(&json!({"status": "pending"}));
    let reserved = claude(&json!({"status": "pending", "owner": "pat"}));
    let held = claude(&json!({"status": "in_progress", "owner": "pat"}));
    assert_eq!(steps(&free, &reserved, DiffReading::Whole), ["changed by the lead"]);
    assert_eq!(steps(&reserved, &held, DiffReading::Whole), ["claimed by pat"]);
    assert_eq!(steps(&reserved, &reserved, DiffReading::Whole), [""; 0]);
    let deleted = claude(&json!({"status": "deleted"}));
    assert_eq!(
        steps(&free, &deleted, DiffReading::Whole),
        ["cancelled by the lead", "deleted by the lead"]
    );
    let done = claude(&json!({"status": "completed", "owner": "pat"}));
    assert_eq!(steps(&done, &deleted, DiffReading::Whole), ["deleted by the lead"]);
}

#[test]
fn a_missing_field_leaves_the_task_unchanged() {
    let before = seeds(&json!({
        "subject": "write", "description": "all of it", "status": "pending", "claimedBy": "",
        "assignedTo": "pat", "dependsOn": ["task-1"], "metadata": {"mood": "good"},
    }));
    // A program that knows seven fields drops the others.
    let now = seeds(&json!({"subject": "write", "description": "all of it", "status": "pending"}));
    assert_eq!(difference(&before, &now, DiffReading::Whole), []);
    let now = seeds(&json!({"dependsOn": [1, "b"], "metadata": {"mood": null, "new": 1}}));
    let mut wanted = difference(&before, &now, DiffReading::Whole);
    assert_eq!(wanted.len(), 1);
    let Some(WantedStep { by: None, step: TaskStep::Update(edit) }) = wanted.pop() else {
        panic!("not a change by the lead");
    };
    assert_eq!(edit.waits_for.unwrap(), ["1", "b"]);
    assert_eq!(Value::Object(edit.metadata.unwrap()), json!({"mood": null, "new": 1}));
    assert_eq!((edit.subject, edit.description, edit.assignee), (None, None, None));
}

#[test]
fn the_changed_one_of_two_spellings_counts() {
    let before = json!({"status": "pending", "claimedBy": "", "claimed_by": ""});
    for key in ["claimedBy", "claimed_by"] {
        let mut now = before.clone();
        now[key] = json!("pat");
        let now = read_task(Layout::Seeds, now.as_object().unwrap(), before.as_object()).unwrap();
        assert_eq!(now.owner, Some(Some("pat".to_owned())));
    }
}

#[test]
fn a_file_older_than_the_board_only_moves_its_task_forward() {
    let held = seeds(&json!({"status": "in_progress", "claimed_by": "pat"}));
    let free = seeds(&json!({"status": "pending", "claimed_by": "", "subject": "another"}));
    assert_eq!(steps(&held, &free, DiffReading::Forward), [""; 0]);
    assert_eq!(steps(&free, &held, DiffReading::Forward), ["claimed by pat"]);
}

#[test]
fn applying_a_difference_converges() {
    // Once the board has done what a file says, no difference is left.
    let statuses = ["pending", "claimed", "in_review", "done", "failed", "cancelled", "deleted"];
    let owners = [Value::Null, json!(""), json!("pat"), json!("quin")];
    for status in statuses {
        for owner in &owners {
            let file: Map<_, _> =
                [("status".to_owned(), json!(status)), ("claimed_by".to_owned(), owner.clone())]
                    .into_iter()
                    .collect();
            let file = read_task(Layout::Seeds, &file, None).unwrap();
            assert_eq!(difference(&file, &file, DiffReading::Whole), [], "{file:?}");
        }
    }
}
