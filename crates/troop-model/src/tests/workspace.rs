//! The workspace files that the board knows.

use std::time::Duration;

use super::{
    bench::{Bench, TEN, number, user},
    commands::*,
};
use crate::{
    Actor, Command, FileQuestion, State, TaskView, TrailKind, WorkspaceFolder, WorkspaceScope,
};

fn agent(name: &str) -> Actor {
    Actor::agent(&super::bench::name(name))
}

fn chat(name: &str) -> WorkspaceFolder {
    WorkspaceFolder::of_chat(Some(name.into()))
}

/// A caller's folder and the task that it would write for, or the refusal.
fn place(
    state: &State,
    actor: &Actor,
    question: &FileQuestion,
) -> Result<(WorkspaceFolder, Option<u32>), String> {
    let found = state.workspace_of(&actor.clone().into(), question);
    found.map(|(folder, task)| (folder, task.map(|it| it.0))).map_err(|it| it.to_string())
}

#[test]
fn a_file_written_for_a_task_is_attached_with_its_author() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    team.at(4).member("ann").ok(record("out/a.txt", 3, Some(1)));
    team.at(5).member("ann").ok(record("out/a.txt", 7, Some(1)));
    let [attachment] = team.task(1).talk.attachments.as_slice() else { panic!("one attachment") };
    assert_eq!((attachment.by.name.as_str(), attachment.size), ("ann", Some(7)));
    assert_eq!(attachment.at.clock(), "10:05");
    let file = team.state.file(&WorkspaceFolder::default(), "out/a.txt").unwrap();
    assert_eq!((file.by.name.as_str(), file.size, file.task), ("ann", 7, Some(number(1))));
    let attached = team.task(1).trail.iter().filter(|entry| entry.what == TrailKind::Attached);
    assert_eq!(attached.count(), 1, "the trail says it once");
}

#[test]
fn a_file_of_no_task_is_known_and_attached_to_nothing() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.person().ok(record("a.txt", 3, None));
    assert!(team.task(1).talk.attachments.is_empty());
    let file = team.state.file(&WorkspaceFolder::default(), "a.txt").unwrap();
    assert_eq!((file.by.name.as_str(), file.task), ("pat", None));
    assert!(team.member("eve").refused(record("a.txt", 3, None)).contains("not a member"));
    assert_eq!(
        team.person().refused(record("../a", 3, None)),
        "`../a` is not a path inside the workspace"
    );
}

#[test]
fn a_file_that_was_deleted_is_shown_as_gone_until_it_is_written_again() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    team.member("ann").ok(record("a.txt", 3, Some(1)));
    team.member("ann").ok(attach(1, "by-hand.txt"));
    let gone = |team: &Bench| {
        let view = serde_json::to_value(TaskView::full(&team.state, team.task(1), 0)).unwrap();
        let files = view["detail"]["attachments"].as_array().unwrap().clone();
        files.iter().map(|it| it["gone"].as_bool().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(gone(&team), [false, false]);
    assert_eq!(team.person().ok(forget("a.txt")).len(), 1);
    assert_eq!(gone(&team), [true, false], "unknown for manually attached files");
    assert!(team.person().ok(forget("a.txt")).is_empty(), "it is already deleted");
    team.member("ann").ok(record("a.txt", 4, Some(1)));
    assert_eq!(gone(&team), [false, false]);
}

#[test]
fn each_conversation_has_its_own_files_unless_all_share_them() {
    let mut team = Bench::new();
    team.lead().from(user("u1", "telegram", "c1")).ok(create("of c1"));
    team.lead().from(user("u2", "telegram", "c2")).ok(create("of c2"));
    team.member("ann").ok(claim(1));
    let (ann, asked) = (agent("ann"), FileQuestion::default());
    assert_eq!(place(&team.state, &ann, &asked), Ok((chat("c1"), Some(1))));
    // It works on the task that moved last.
    team.at(1).member("ann").ok(claim(2));
    assert_eq!(place(&team.state, &ann, &asked), Ok((chat("c2"), Some(2))));
    let first = FileQuestion { task: Some(task(1)), ..asked.clone() };
    assert_eq!(place(&team.state, &ann, &first), Ok((chat("c1"), Some(1))));
    let person = Actor::human("pat");
    assert_eq!(place(&team.state, &person, &asked), Ok((WorkspaceFolder::default(), None)));
    team.lead().ok(Command::UpdateTeam {
        description: None,
        settings: vec![("workspace_scope".to_owned(), "shared".into())],
    });
    assert_eq!(place(&team.state, &ann, &asked), Ok((WorkspaceFolder::shared(), Some(2))));
    assert_eq!(WorkspaceFolder::default().scope, WorkspaceScope::Isolated);
}

#[test]
fn a_member_uses_only_the_files_of_its_tasks_chats() {
    let mut team = Bench::new();
    team.lead().from(user("u1", "telegram", "c1")).ok(create("of c1"));
    team.member("ann").ok(claim(1));
    let of = |chat: &str| FileQuestion { chat: Some(chat.into()), task: None };
    assert_eq!(place(&team.state, &agent("ann"), &of("c1")), Ok((chat("c1"), Some(1))));
    let said = "use the files of a chat that none of its tasks is from";
    for (who, what) in [("ann", "c2"), ("bob", "c1")] {
        let refused = place(&team.state, &agent(who), &of(what)).unwrap_err();
        assert!(refused.contains(said), "{refused}");
    }
    for may in [agent("lead"), Actor::human("pat")] {
        assert_eq!(place(&team.state, &may, &of("c2")).unwrap().0, chat("c2"));
    }
    let of_task = FileQuestion { chat: None, task: Some(task(1)) };
    let refused = place(&team.state, &agent("bob"), &of_task).unwrap_err();
    assert_eq!(refused, "task-1 is not held by `bob` but by `ann`");
    assert!(place(&team.state, &agent("eve"), &of_task).unwrap_err().contains("not a member"));
    let forged = Command::RecordFile { folder: chat("c1"), path: "a".into(), size: 1, task: None };
    assert!(team.member("bob").refused(forged).contains(said));
}

#[test]
fn a_member_in_plan_mode_writes_no_files() {
    let mut team = Bench::new();
    team.lead().ok(Command::SetMemberMode {
        member: super::bench::name("ann"),
        permissions: crate::Permissions::Plan,
    });
    assert!(team.member("ann").refused(record("a.txt", 1, None)).contains("plan"));
    assert!(team.member("ann").refused(forget("a.txt")).contains("plan"));
}

#[test]
fn the_number_of_remembered_files_is_bounded() {
    let mut team = Bench::new();
    for n in 0..1_002 {
        team.at(n).person().ok(record(&format!("{n}.txt"), 1, None));
    }
    let files = team.state.files(&WorkspaceFolder::default());
    assert_eq!(files.len(), 1_000);
    assert!(!files.contains_key("0.txt") && !files.contains_key("1.txt"));
}

#[test]
fn a_file_written_while_one_task_was_in_progress_belongs_to_that_task() {
    let mut team = Bench::new();
    let here = WorkspaceFolder::default();
    let then = |team: &Bench, seconds: f64| {
        let at = TEN + Duration::from_secs_f64(seconds);
        let tasks = team.state.tasks_then(&here, at);
        tasks.iter().map(|it| it.0).collect::<Vec<_>>()
    };
    team.lead().ok(create("one"));
    team.lead().ok(create("two"));
    team.at(2).member("ann").ok(claim(1));
    assert_eq!(then(&team, 60.0), [0; 0], "before any work began");
    assert_eq!(then(&team, 180.0), [1]);
    team.at(4).member("bob").ok(claim(2));
    assert_eq!(then(&team, 180.0), [1], "two had not begun then");
    assert_eq!(then(&team, 300.0), [1, 2], "it may be either task");
    team.at(6).member("ann").ok(complete(1));
    assert_eq!(then(&team, 300.0), [1, 2], "even after one has ended");
    assert_eq!(then(&team, 420.0), [2]);
    assert_eq!(then(&team, 119.995), [1], "disk timestamps lag a little");
    let elsewhere = team.state.tasks_then(&chat("c1"), TEN + Duration::from_mins(7));
    assert_eq!(elsewhere, []);
}

#[test]
fn the_last_file_of_a_task_is_never_mistaken_for_that_of_another_task() {
    let mut team = Bench::new();
    let here = WorkspaceFolder::default();
    team.lead().ok(create("one"));
    team.lead().ok(create("two"));
    team.at(2).member("ann").ok(claim(1));
    team.at(2).member("bob").ok(claim(2));
    team.at(6).member("ann").ok(complete(1));
    let end = TEN + Duration::from_mins(6);
    // The rows: how long before the end of task 1 the disk says that the file was written; the tasks that it may belong to.
    for (before, tasks) in [(50, vec![1, 2]), (9, vec![1, 2]), (1, vec![1, 2]), (0, vec![1, 2])] {
        let at = TEN + Duration::from_mins(6).saturating_sub(Duration::from_millis(before));
        let found: Vec<_> = team.state.tasks_then(&here, at).iter().map(|it| it.0).collect();
        assert_eq!(found, tasks, "{before} ms before the end of task 1");
    }
    let after = end + Duration::from_millis(1);
    let found: Vec<_> = team.state.tasks_then(&here, after).iter().map(|it| it.0).collect();
    assert_eq!(found, [2], "a timestamp is never ahead of the write");
}
