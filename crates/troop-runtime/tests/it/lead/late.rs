//! Work on tasks that were completed without a lead.

use std::fs;

use troop_model::{
    Actor, Command, NeedKind, NewTask, Party, Settings, State, Status, Task, TaskCommand,
    TaskNumber,
};
use troop_protocol::{FromLead, ReportedStatus};
use troop_runtime::{LeftoverState, leftovers};
use troop_testkit::git;

use super::{
    is_done,
    isolation::{Project, add, reader, task, write, writer},
    stage::{Setting, Stage, play, without_restarts},
};
use crate::support::say;

fn settings() -> Settings {
    let mut settings =
        Settings { retry_backoff_seconds: 0, require_review: true, ..Settings::default() };
    settings.isolation.watch_seconds = 0;
    settings
}

fn has(number: u32, status: Status) -> impl Fn(&State) -> Option<()> + Clone + Send + 'static {
    move |state| (state.tasks().status(TaskNumber(number)) == Some(status)).then_some(())
}

fn merged(number: u32) -> impl Fn(&State) -> Option<Task> + Clone + Send + 'static {
    move |state| task(state, number).filter(|it| it.proof.merged.is_some())
}

/// Ends the lead, gives commands without one, and starts another.
async fn meanwhile(stage: &mut Stage, project: &Project, commands: Vec<TaskCommand>) {
    let lead = stage.lead.take().unwrap();
    lead.stop("nobody leads for a while").await.unwrap();
    lead.ended().await;
    for command in commands {
        stage.submit(Actor::human("zoe"), Command::Task(command)).await.unwrap();
    }
    let left = left_behind(project).await;
    assert!(!left.is_empty(), "unmerged work is listed");
    let (isolation, timing) = (Some(project.isolation().await), without_restarts());
    let setting = Setting { isolation, timing, ..Setting::default() };
    stage.lead = Some(stage.start(setting).await.unwrap());
}

/// The tasks whose work is listed as unmerged.
async fn left_behind(project: &Project) -> Vec<u32> {
    let environment: Vec<_> = std::env::vars_os().collect();
    let found = leftovers(&project.0.path().join("team"), &environment).await.unwrap();
    let found = found.iter().filter(|it| it.state == LeftoverState::Unmerged);
    found.filter_map(|it| it.task.map(|TaskNumber(task)| task)).collect()
}

fn approve(number: u32) -> TaskCommand {
    TaskCommand::Approve { task: TaskNumber(number).into(), comment: None }
}

#[tokio::test]
async fn work_approved_without_a_lead_is_merged_before_its_dependents_begin() {
    let project = Project::new();
    let mut stage = project.stage(|it| *it = settings()).await;
    stage.plays.add("writer", writer(|_, _, _| {}));
    stage.plays.add("reader", reader());
    stage.spawn("bob", "writer").await;
    stage.task_for("write a 1", "bob").await;
    let blocked_by = vec![TaskNumber(1).into()];
    let (subject, assignee) = ("read a".into(), None);
    add(&stage, NewTask { subject, assignee, blocked_by, ..NewTask::default() }).await;
    stage.until("task 1 is in review", has(1, Status::InReview)).await;
    meanwhile(&mut stage, &project, vec![approve(1)]).await;
    stage.spawn("cyd", "reader").await;
    stage.until("task 2 is in review", has(2, Status::InReview)).await;
    let (one, two) = stage.until("both", |state| Some((task(state, 1)?, task(state, 2)?))).await;
    assert_eq!(two.result.as_deref(), Some("saw 1"));
    assert_eq!(one.proof.merged.unwrap().into, "troop/crew");
    assert_eq!(project.in_team("a"), "1");
    stage.stop().await;
}

#[tokio::test]
async fn late_work_is_merged_in_order_of_approval_and_conflicts_are_reported() {
    let project = Project::new();
    let checks = vec!["! grep -q BAD text".to_owned()];
    let mut stage = project.stage(|it| *it = Settings { checks, ..settings() }).await;
    stage.plays.add("writer", writer(|_, _, _| {}));
    for (nth, text) in ["one|bob|three|", "one|cyd|three|"].into_iter().enumerate() {
        let member = ["bob", "cyd"][nth];
        stage.spawn(member, "writer").await;
        stage.task_for(&format!("write text {text}"), member).await;
    }
    stage.until("task 1 is in review", has(1, Status::InReview)).await;
    stage.until("task 2 is in review", has(2, Status::InReview)).await;
    meanwhile(&mut stage, &project, vec![approve(2), approve(1)]).await;
    let told = stage.until("the lead is told", |state| {
        let lead = Party::member(&state.lead()?.name);
        let mut all = state.mailbox().iter().filter(|it| it.to == lead);
        all.find(|it| it.content.contains("could not be merged")).map(|it| it.content.clone())
    });
    assert_eq!(
        told.await,
        "task-1 is done, but bob's work on it could not be merged and is kept on its branch: it conflicts with what is in `troop/crew` now: `text`"
    );
    let need = stage.until("the conflict needs a person", |state| {
        state.needs(&[]).into_iter().find(|it| it.kind == NeedKind::Conflict)
    });
    assert_eq!(need.await.task, Some(TaskNumber(1)));
    let second = stage.until("task 2 is merged", merged(2)).await;
    assert_eq!(second.proof.evidence.len(), 1, "it was checked as merged");
    assert_eq!(project.in_team("text"), "one\ncyd\nthree");
    let branch = "troop-work/crew/bob/task-1";
    assert_eq!(git(&project.path(), &["show", &format!("{branch}:text")]), "one\nbob\nthree");
    stage.stop().await;
    assert_eq!(left_behind(&project).await, [1]);
}

#[tokio::test]
async fn a_task_completed_by_a_person_is_merged_at_once_with_its_holders_work() {
    let project = Project::new();
    let stage = project.stage(|_| {}).await;
    let slow = play(|mut part| async move {
        part.ready(true).await;
        part.idle().await;
        let Some(task) = part.task().await else { return };
        write(&part.spec.path, &task.subject);
        part.report(&task, ReportedStatus::InProgress, "").await;
        fs::write(part.spec.path.with_extension("begun"), "").unwrap();
        while part.hear().await.is_some() {}
    });
    stage.plays.add("slow", slow);
    stage.spawn("bob", "slow").await;
    stage.task("write a 1").await;
    let begun = project.0.path().join("team/worktrees/bob.begun");
    troop_testkit::wait_for("it is written", async || begun.exists().then_some(())).await;
    let result = "good enough".to_owned();
    let task = TaskNumber(1).into();
    let complete = TaskCommand::Complete { task, result, summary: None, attempt: None };
    stage.submit(Actor::human("zoe"), Command::Task(complete)).await.unwrap();
    stage.until("task 1 is done", is_done(1)).await;
    stage.until("task 1 is merged", merged(1)).await;
    assert_eq!(project.in_team("a"), "1");
    stage.stop().await;
}

#[tokio::test]
async fn commits_made_after_a_task_is_done_are_not_merged() {
    let project = Project::new();
    let mut stage =
        project.stage(|it| *it = Settings { require_review: false, ..settings() }).await;
    let busy = play(|mut part| async move {
        part.ready(true).await;
        part.idle().await;
        let Some(task) = part.task().await else { return };
        part.complete(&task).await;
        while !matches!(part.hear().await, Some(FromLead::Message(_)) | None) {}
        // Unasked work.
        write(&part.spec.path, "write more 1");
        git(&part.spec.path, &["add", "--all"]);
        git(&part.spec.path, &["commit", "--quiet", "-m", "more"]);
        fs::write(part.spec.path.with_extension("over"), "").unwrap();
        while part.hear().await.is_some() {}
    });
    stage.plays.add("busy", busy);
    stage.spawn("bob", "busy").await;
    stage.task("nothing").await;
    stage.until("task 1 is done", is_done(1)).await;
    let over = project.0.path().join("team/worktrees/bob.over");
    stage.lead_does(say("bob", "well done")).await;
    troop_testkit::wait_for("it went on", async || over.exists().then_some(())).await;
    meanwhile(&mut stage, &project, Vec::new()).await;
    stage.plays.add("writer", writer(|_, _, _| {}));
    stage.spawn("cyd", "writer").await;
    stage.task("write a 1").await;
    stage.until("task 2 is done", is_done(2)).await;
    let files = project.files_of_team();
    assert!(files.lines().any(|it| it == "a"), "{files}");
    assert!(!files.lines().any(|it| it == "more"), "it is not in the team's branch: {files}");
    stage.stop().await;
}
