//! The contents of the board: tasks, comments, files, trails and archives.

use serde_json::json;
use uuid::Uuid;

use super::{
    bench::{Bench, SMALL, kinds, number, user},
    commands::*,
};
use crate::{
    Actor, ActorKind, Metadata, NewTask, RefusalKind, Status, TaskCommand, TaskCreation, TaskEnd,
    TaskRef, TaskUpdate, TaskView, TrailKind,
};

fn object(value: serde_json::Value) -> Metadata {
    serde_json::from_value(value).unwrap()
}

/// A board on which the first `n` tasks are completed, so that some are archived.
fn after(n: usize) -> Bench {
    let mut team = Bench::new();
    for nth in 1..=n {
        team.lead().ok(create(&format!("task {nth}")));
        team.member("ann").ok(complete(nth as u32));
    }
    team
}

#[test]
fn a_task_is_created_with_all_given_fields() {
    let mut team = Bench::new();
    team.lead().ok(create("first"));
    let new = NewTask {
        description: "in two lines\nof text".into(),
        priority: -3,
        task_type: Some("bug".into()),
        assignee: Some("ann".parse().unwrap()),
        metadata: object(json!({"peer_kind": "group", "local_key": "k", "team_workspace": "/w"})),
        ..create_after("  second ", &[1])
    };
    team.lead().from(user("u1", "telegram", "c9")).ok(new);
    let json = serde_json::to_value(TaskView::full(&team.state, team.task(2), 0)).unwrap();
    for (field, value) in [
        ("number", json!(2)),
        ("subject", json!("second")),
        ("description", json!("in two lines\nof text")),
        ("status", json!("blocked")),
        ("priority", json!(-3)),
        ("type", json!("bug")),
        ("assignee", json!("ann")),
        ("owner", json!(null)),
        ("blocked_by", json!([1])),
        ("created_by", json!("lead")),
        ("result", json!(null)),
        ("user_id", json!("u1")),
        ("channel", json!("telegram")),
        ("chat_id", json!("c9")),
        ("metadata", json!({"peer_kind": "group", "local_key": "k", "team_workspace": "/w"})),
    ] {
        assert_eq!(json[field], value, "{field}");
    }
    assert_eq!(team.task(1).task_type, "general");
    assert_eq!(team.state.team().unwrap().id.0, Uuid::from_u128(7));
}

#[test]
fn numbers_go_up_by_one_and_are_shown_as_task_n() {
    let mut team = Bench::new();
    for n in 1..=3 {
        let events = team.lead().ok(create("write"));
        assert_eq!(events[0].fact.task(), Some(number(n)));
    }
    assert_eq!(number(3).to_string(), "task-3");
    let subjects: Vec<_> = team.state.tasks().iter().map(|task| task.number.0).collect();
    assert_eq!(subjects, [1, 2, 3], "in the order of creation");
}

#[test]
fn each_status_is_reached_by_a_command() {
    let mut team = Bench::with(|settings| {
        settings.stale_after_minutes = 5;
        settings.max_attempts = 1;
    });
    for nth in 1..=7 {
        team.lead().ok(create(&format!("the {nth}. task")));
    }
    team.lead().ok(create_after("after the first", &[1]));
    team.lead().ok(cancel(2));
    for nth in 3..=5 {
        team.member("ann").ok(claim(nth));
    }
    team.member("ann").ok(complete(3));
    team.member("ann").ok(fail(4));
    team.member("ann").ok(review(5));
    team.member("ann").ok(claim(6));
    team.at(5).tick();
    team.member("bob").ok(claim(7));
    let reached: Vec<_> = (1..=8).map(|it| team.status(it).as_str()).collect();
    let expected = [
        "pending",
        "cancelled",
        "completed",
        "failed",
        "in_review",
        "stale",
        "in_progress",
        "blocked",
    ];
    assert_eq!(reached, expected);
    let missing: Vec<_> = Status::ALL.iter().filter(|it| !reached.contains(&it.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn members_create_tasks_if_the_settings_allow_it() {
    let mut team = Bench::with(|settings| settings.task_creation = TaskCreation::Members);
    team.member("ann").ok(create("write"));
    team.member("ann").ok(prioritise(1, 5));
    assert_eq!(
        team.member("bob").refused(prioritise(1, 9)),
        "`bob` may not change tasks; the lead or a person may"
    );
    assert_eq!(team.task(1).provenance.created_by, Actor::agent(&"ann".parse().unwrap()));
}

#[test]
fn an_id_is_used_once_and_is_not_empty() {
    let mut team = Bench::new();
    let id = Uuid::from_u128(0xabc);
    team.lead().ok(NewTask { id: Some(id), ..create("one") });
    assert_eq!(
        team.lead().refused(NewTask { id: Some(id), ..create("two") }),
        format!("there is already a task with the id {id}: task-1")
    );
    let empty = NewTask { id: Some(Uuid::nil()), ..create("three") };
    assert_eq!(team.lead().refused(empty), "the id is empty");
}

#[test]
fn a_task_is_named_by_number_or_by_id() {
    let mut team = Bench::new();
    for (nth, id) in [0x0190_aaaa_u128, 0x0190_aabb, 0x0777_1234].into_iter().enumerate() {
        let id = Some(Uuid::from_u128(id << 96));
        team.lead().ok(NewTask { id, ..create(&format!("{nth}")) });
    }
    let resolve = |text: &str| {
        let task: TaskRef = text.parse().map_err(|error: crate::Refusal| error.to_string())?;
        team.state.resolve(&task).map(|number| number.0).map_err(|error| error.to_string())
    };
    for (text, found) in [
        ("2", 2),
        ("task-2", 2),
        ("#2", 2),
        (" 2 ", 2),
        ("0190aaaa", 1),
        ("0190AABB-0000", 2),
        ("0190aabb-0000-0000-0000-000000000000", 2),
        ("0190aabb000000000000000000000000", 2),
        ("0777", 3),
        ("07771234", 3),
    ] {
        assert_eq!(resolve(text), Ok(found), "{text}");
    }
    for (text, said) in [
        ("0190", "`0190` could be task-1, task-2; give more of the id"),
        ("0190aac", "there is no task `0190aac`; pending tasks: task-1, task-2, task-3"),
        ("0", "there is no task `task-0`; pending tasks: task-1, task-2, task-3"),
        ("4294967296", "there is no task `4294967296`; pending tasks: task-1, task-2, task-3"),
        ("----", "there is no task `----`; pending tasks: task-1, task-2, task-3"),
        ("+2", "`+2` does not name a task; use a number such as 7 or task-7, or an id"),
        ("-2", "`-2` does not name a task; use a number such as 7 or task-7, or an id"),
        ("", "`` does not name a task; use a number such as 7 or task-7, or an id"),
        ("é\n", "`é` does not name a task; use a number such as 7 or task-7, or an id"),
    ] {
        assert_eq!(resolve(text), Err(said.to_owned()), "{text}");
    }
    let long = resolve(&"x".repeat(1_000_000)).unwrap_err();
    assert!(long.len() < 200, "a name of a megabyte is not repeated");
}

#[test]
fn texts_have_limits() {
    let mut team = Bench::new();
    let mut refused = |subject: &str| team.lead().refused(create(subject));
    assert_eq!(refused(""), "the subject is empty");
    assert_eq!(refused(" \t\n "), "the subject is empty");
    assert_eq!(
        refused(&"x".repeat(1_000_000)),
        "the subject has 1000000 characters; the limit is 1000. Put the rest in a file"
    );
    assert_eq!(refused("a\u{1b}[31mb"), "the subject contains the unprintable character U+001B");
    assert_eq!(refused("a\nb"), "the subject contains the unprintable character U+000A");
    assert_eq!(refused("a\u{202e}b"), "the subject contains the unprintable character U+202E");
    let long = NewTask { description: "x".repeat(1_000_000), ..create("write") };
    assert_eq!(
        team.lead().refused(long),
        "the description has 1000000 characters; the limit is 262144. Put the rest in a file"
    );
    let metadata = object(json!({"k": "x".repeat(300_000)}));
    let refusal = team.lead().refusal(NewTask { metadata, ..create("write") });
    assert!(refusal.to_string().starts_with("the metadata has 300008 characters"));
    assert_eq!(refusal.kind(), RefusalKind::Invalid);
    for fine in ["שלום", "مرحبا", "é".repeat(1_000).as_str(), "x"] {
        team.lead().ok(create(fine));
    }
}

#[test]
fn the_lead_updates_the_contents_of_a_task() {
    let mut team = Bench::new();
    team.lead().ok(NewTask { metadata: object(json!({"a": 1, "b": 2})), ..create("write") });
    let change = TaskUpdate {
        subject: Some("write it".into()),
        description: Some("all".into()),
        priority: Some(4),
        task_type: Some("bug".into()),
        assignee: Some(Some("ann".parse().unwrap())),
        metadata: Some(object(json!({"a": null, "c": 3}))),
        ..TaskUpdate::default()
    };
    team.lead().ok(update(1, change));
    let task = team.task(1);
    assert_eq!((task.subject.as_str(), task.description.as_str()), ("write it", "all"));
    assert_eq!((task.priority, task.task_type.as_str()), (4, "bug"));
    assert_eq!(task.assignee.as_ref().unwrap().as_str(), "ann");
    assert_eq!(task.metadata, object(json!({"b": 2, "c": 3})));
    team.lead().ok(update(1, TaskUpdate { assignee: Some(None), ..TaskUpdate::default() }));
    assert_eq!(team.task(1).assignee, None);
    assert_eq!(team.lead().refused(update(1, TaskUpdate::default())), "there is nothing to change");
    assert!(team.member("ann").refused(prioritise(1, 1)).contains("may not change tasks"));
    team.member("ann").ok(complete(1));
    assert_eq!(
        team.lead().refused(prioritise(1, 1)),
        "task-1 is completed, so it cannot be changed"
    );
}

#[test]
fn every_member_can_comment() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    assert_eq!(kinds(&team.at(1).member("bob").ok(comment(1, "why?"))), ["task.commented"]);
    team.at(2).person().ok(comment(1, "because"));
    let said: Vec<_> = team
        .task(1)
        .talk
        .comments
        .iter()
        .map(|it| (&it.author, it.at.clock(), it.text.as_str()))
        .collect();
    let (bob, pat) = (Actor::agent(&"bob".parse().unwrap()), Actor::human("pat"));
    assert_eq!(said, [(&bob, "10:01".to_owned(), "why?"), (&pat, "10:02".to_owned(), "because")]);
    assert!(team.member("eve").refused(comment(1, "hi")).contains("not a member"));
    assert_eq!(team.person().refused(comment(1, "")), "the comment is empty");
}

#[test]
fn a_file_is_attached_once_and_lies_in_the_workspace() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.at(4).member("ann").ok(attach(1, "out/a.txt"));
    assert!(team.member("bob").ok(attach(1, "out/a.txt")).is_empty());
    let [attachment] = team.task(1).talk.attachments.as_slice() else { panic!("one attachment") };
    assert_eq!((attachment.by.name.as_str(), attachment.at.clock()), ("ann", "10:04".into()));
    for path in ["/etc/passwd", "../up", "a/../../b", "\\x", "a\\..\\b"] {
        assert_eq!(
            team.member("ann").refused(attach(1, path)),
            format!("`{path}` is not a path inside the workspace")
        );
    }
}

#[test]
fn the_trail_says_who_did_what_and_when() {
    let mut team = Bench::with(|settings| settings.stale_after_minutes = 5);
    team.lead().ok(create("write"));
    team.lead().ok(assign(1, "ann"));
    team.at(5).tick();
    team.member("ann").ok(progress(1, 1));
    team.member("ann").ok(review(1));
    team.person().ok(revise(1));
    team.member("ann").ok(fail(1));
    team.lead().ok(retry(1));
    team.member("bob").ok(comment(1, "mine"));
    team.member("bob").ok(complete(1));
    let trail: Vec<_> = team
        .task(1)
        .trail
        .iter()
        .map(|entry| {
            let note = entry.note.as_deref().unwrap_or("-");
            format!("{} {} {} {note}", entry.at.clock(), entry.actor, entry.what)
        })
        .collect();
    insta::assert_snapshot!(trail.join("\n"), @r"
    10:00 lead created -
    10:00 lead assigned ann
    10:05 system stale -
    10:05 system escalated task-1 has not moved for 5 minutes
    10:05 ann recovered -
    10:05 ann submitted a draft
    10:05 pat rejected too short
    10:05 ann failed it broke
    10:05 lead retried -
    10:05 bob commented -
    10:05 bob claimed -
    10:05 bob completed done
    ");
    assert_eq!(team.task(1).trail[0].actor.kind, ActorKind::Agent);
    assert_eq!(team.task(1).trail[6].actor.kind, ActorKind::Human);
}

#[test]
fn the_trail_records_approval_and_cancelling() {
    let mut team = Bench::new();
    for n in 1..=2 {
        team.lead().ok(create("write"));
        team.member("ann").ok(claim(n));
    }
    team.member("ann").ok(review(1));
    team.person().ok(approve(1));
    team.lead().ok(cancel(2));
    let last = |n| team.task(n).trail.last().unwrap().what;
    assert_eq!([last(1), last(2)], [TrailKind::Approved, TrailKind::Cancelled]);
}

#[test]
fn only_ended_tasks_are_deleted() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    assert_eq!(team.lead().refused(delete(1)), "task-1 is pending, so it cannot be deleted");
    team.member("ann").ok(claim(1));
    assert_eq!(team.lead().refused(delete(1)), "task-1 is in_progress, so it cannot be deleted");
    team.member("ann").ok(complete(1));
    assert!(team.member("ann").refused(delete(1)).contains("may not delete tasks"));
    assert_eq!(kinds(&team.lead().ok(delete(1))), ["task.deleted"]);
    assert_eq!(team.state.tasks().status(number(1)), None);
    assert_eq!(team.lead().refused(delete(1)), "task-1 was deleted");
    assert_eq!(team.member("ann").refused(claim(1)), "task-1 was deleted");
    team.lead().ok(create("again"));
    assert_eq!(team.status(2), Status::Pending, "its number is not used again");
}

#[test]
fn old_finished_tasks_are_archived() {
    let mut team = after(SMALL.finished + 2);
    assert_eq!((team.state.tasks().n_archived(), team.state.tasks().len()), (2, SMALL.finished));
    assert!(team.state.tasks().get(number(1)).is_none());
    assert_eq!(team.status(1), Status::Completed, "its end is still known");
    assert_eq!(team.state.tasks().departed(number(1)).unwrap().subject, "task 1");
    let gone = "task-1 is finished and archived; it no longer changes";
    assert_eq!(team.lead().refused(comment(1, "late")), gone);
    assert_eq!(team.member("ann").refused(claim(1)), gone);
    team.state.forget_departed(1);
    assert_eq!(team.state.tasks().all_departed().len(), 1);
    assert!(team.state.tasks().departed(number(1)).is_none());
}

#[test]
fn archived_tasks_still_unblock() {
    let mut team = Bench::new();
    team.lead().ok(create("cancelled"));
    team.lead().ok(cancel(1));
    for n in 2..=(SMALL.finished as u32 + 2) {
        team.lead().ok(create("more"));
        team.member("ann").ok(complete(n));
    }
    let next = SMALL.finished as u32 + 3;
    assert_eq!(team.state.tasks().end(number(1)), Some(TaskEnd::Cancelled));
    assert_eq!(team.state.tasks().end(number(2)), Some(TaskEnd::Completed));
    team.lead().ok(create_after("waits", &[2]));
    assert_eq!(team.status(next), Status::Pending);
    team.lead().ok(create_after("waits for what was cancelled", &[1]));
    assert_eq!(team.status(next + 1), Status::Blocked);
    assert_eq!(
        team.lead().refused(delete(1)),
        format!("task-1 is still needed by task-{}", next + 1)
    );
    team.lead().ok(delete(2));
    assert_eq!(team.status(next), Status::Pending);
    assert_eq!(team.state.tasks().departed(number(2)), None, "deleted tasks are not archived");
    assert_eq!(team.lead().refused(create_after("late", &[2])), "task-2 was deleted");
}

#[test]
fn a_finished_task_never_changes_its_end() {
    let mut team = after(1);
    let before = team.task(1).clone();
    for command in [
        complete(1),
        fail(1),
        cancel(1),
        claim(1),
        release(1),
        retry(1),
        review(1),
        approve(1),
        reject(1),
        progress(1, 1),
        assign(1, "bob"),
        ask_user(1),
        renew(1),
    ] {
        team.lead().refused(command.clone());
        team.person().refused(command);
    }
    assert_eq!(*team.task(1), before);
}

#[test]
fn a_question_needs_a_holder_that_still_works() {
    let mut team = after(1);
    assert_eq!(
        team.member("ann").refused(ask_user(1)),
        "task-1 is completed, so it cannot be made to ask the user"
    );
    let refusal = team.person().refusal(ask_user(1));
    assert_eq!(refusal.to_string(), "only a member that works on a task can ask the user about it");
    assert_eq!(
        refusal.hint().unwrap().to_string(),
        "act as a member: `troop --as MEMBER task ask-user 1 \"…\"`, or write to one: `troop message send MEMBER \"…\"`"
    );
    let empty = TaskCommand::AskUser { task: task(1), question: String::new() };
    assert!(team.lead().refused(empty).contains("not held by `lead`"));
}

#[test]
fn creating_a_task_is_refused_if_the_board_has_unseen_tasks() {
    let mut team = Bench::new();
    team.lead().ok(create("one"));
    let seen = Some(team.state.version());
    let guarded = |subject: &str, seen| NewTask { seen, ..create(subject) };
    team.lead().ok(guarded("two", seen));
    assert_eq!(
        team.lead().refused(guarded("three", seen)),
        "the board changed since you listed it: task-2 is new; list again, then create what is still missing"
    );
    let seen = Some(team.state.version());
    team.member("ann").ok(claim(1));
    team.lead().ok(guarded("three", seen));
}

#[test]
fn unseen_tasks_of_another_conversation_do_not_matter() {
    let mut team = Bench::new();
    let seen = Some(team.state.version());
    team.lead().from(user("u1", "telegram", "c1")).ok(create("elsewhere"));
    let guarded = NewTask { seen, ..create("here") };
    team.lead().from(user("u2", "telegram", "c2")).ok(guarded.clone());
    // troop's own traffic sees all conversations.
    assert_eq!(team.lead().refusal(guarded).kind(), RefusalKind::Conflict);
}
