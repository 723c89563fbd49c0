//! One task at a time in a member's folder: work on one is not merged with another.

use tokio_util::task::TaskTracker;
use troop_model::{
    Actor, Asker, Assignment, Command, MemberState, NewTask, OperationId, RejectMode, State,
    Status, TaskCommand, TaskNumber, TrailKind,
};
use troop_protocol::{Client, ClientError, ReportedStatus};
use troop_runtime::find_lead;
use troop_testkit::{git, git_may_fail};
use uuid::Uuid;

use super::{
    delegations::delegate,
    is_done,
    isolation::{Project, add, write, writer},
    stage::{Stage, play},
};

/// Sends a person's command through the lead.
pub(super) async fn person(stage: &Stage, command: TaskCommand) {
    ask(stage, command).await.unwrap();
}

/// Like `person`, but returns a refusal.
async fn ask(stage: &Stage, command: TaskCommand) -> Result<(), ClientError> {
    let socket = find_lead(stage.folder.path()).unwrap().socket.unwrap();
    let client = Client::connect(&socket, &TaskTracker::new()).await.unwrap();
    let session = Asker::from(Actor::human("zoe"));
    client.open(&session).await.unwrap();
    client.call(Command::Task(command), OperationId(Uuid::now_v7())).await.map(drop)
}

fn approve(task: u32) -> TaskCommand {
    TaskCommand::Approve { task: TaskNumber(task).into(), comment: None }
}

fn reject(task: u32, mode: RejectMode) -> TaskCommand {
    TaskCommand::Reject { task: TaskNumber(task).into(), reason: "not so".into(), mode }
}

fn in_review(task: u32) -> impl Fn(&State) -> Option<()> + Clone + Send + 'static {
    move |state| (state.tasks().status(TaskNumber(task)) == Some(Status::InReview)).then_some(())
}

#[tokio::test]
async fn rejected_work_is_not_merged_with_later_work() {
    let project = Project::new();
    let stage = project.stage(|settings| settings.require_review = true).await;
    stage.plays.add("writer", writer(|_, _, _| {}));
    stage.task("write one 1").await;
    stage.task("write two 2").await;
    stage.spawn("bob", "writer").await;
    stage.until("task 1 is handed in", in_review(1)).await;
    stage.until("task 2 is handed in", in_review(2)).await;
    person(&stage, reject(1, RejectMode::Cancel)).await;
    person(&stage, approve(2)).await;
    stage.until("task 2 is done", is_done(2)).await;
    assert_eq!(project.files_of_team(), "text\ntwo");
    stage.stop().await;
}

#[tokio::test]
async fn a_member_that_waits_for_a_review_gets_the_next_task() {
    let project = Project::new();
    let stage = project.stage(|settings| settings.require_review = true).await;
    stage.plays.add("writer", writer(|_, _, _| {}));
    stage.task("write one 1").await;
    stage.spawn("bob", "writer").await;
    stage.until("task 1 is handed in", in_review(1)).await;
    stage.until_state("bob", MemberState::Idle).await;
    stage.task("write two 2").await;
    stage.until("task 2 is handed in", in_review(2)).await;
    stage.stop().await;
}

#[tokio::test]
async fn a_task_sent_back_continues_on_its_branch() {
    let project = Project::new();
    let stage = project.stage(|settings| settings.require_review = true).await;
    let careful = play(|mut part| async move {
        part.ready(true).await;
        part.idle().await;
        while let Some(task) = part.task().await {
            let folder = &part.spec.path;
            let is_back = folder.join("one").exists();
            assert!(!is_back || !folder.join("two").exists(), "that belongs to the other task");
            let subject = if is_back { "write one better" } else { task.subject.as_str() };
            write(folder, subject);
            part.complete(&task).await;
        }
    });
    stage.plays.add("careful", careful);
    stage.task("write one 1").await;
    stage.task("write two 2").await;
    stage.spawn("bob", "careful").await;
    stage.until("task 1 is handed in", in_review(1)).await;
    stage.until("task 2 is handed in", in_review(2)).await;
    person(&stage, reject(1, RejectMode::Revise)).await;
    stage.until("task 1 is handed in again", in_review(1)).await;
    person(&stage, approve(1)).await;
    assert_eq!(project.files_of_team(), "one\ntext");
    assert_eq!(project.in_team("one"), "better");
    person(&stage, approve(2)).await;
    assert_eq!(project.files_of_team(), "one\ntext\ntwo");
    stage.stop().await;
}

#[tokio::test]
async fn approved_work_that_conflicts_is_retried_by_an_agent_that_cannot_repair() {
    let project = Project::new();
    let stage = project.stage(|settings| settings.require_review = true).await;
    let again = play(|mut part| async move {
        part.ready(true).await;
        part.idle().await;
        while let Some(task) = part.task().await {
            write(&part.spec.path, &task.subject);
            part.complete(&task).await;
        }
    });
    stage.plays.add("command", again);
    stage.task("write text one").await;
    stage.spawn("bob", "command").await;
    stage.until("task 1 is handed in", in_review(1)).await;
    // Conflicting work is merged meanwhile.
    stage.task("write text other").await;
    stage.until("task 2 is handed in", in_review(2)).await;
    person(&stage, approve(2)).await;
    let refused = ask(&stage, approve(1)).await.unwrap_err().to_string();
    let says = "task-1 failed, because bob cannot repair it: it conflicts with";
    assert!(refused.contains(says), "{refused}");
    let again = |state: &State| {
        let task = state.tasks().get(TaskNumber(1))?;
        (task.attempts == 2 && task.status == Status::InReview).then_some(())
    };
    stage.until("it was tried again", again).await;
    person(&stage, approve(1)).await;
    stage.until("task 1 is done", is_done(1)).await;
    assert_eq!(project.in_team("text"), "one");
    stage.stop().await;
}

#[tokio::test]
async fn a_failed_delegation_leaves_nothing_in_a_concurrent_one() {
    let project = Project::new();
    let stage = project.stage(|settings| {
        settings.assignment = Assignment::Claim;
        settings.max_attempts = 1;
    });
    let stage = stage.await;
    let failing = play(|mut part| async move {
        part.ready(true).await;
        part.idle().await;
        while let Some(task) = part.task().await {
            write(&part.spec.path, &task.subject);
            if task.subject.contains("bad") {
                part.report(&task, ReportedStatus::Failed, "it cannot be done").await;
            } else {
                part.complete(&task).await;
            }
        }
    });
    stage.plays.add("failing", failing);
    for subject in ["write bad 1", "write good 2"] {
        add(&stage, NewTask { subject: subject.into(), ..NewTask::default() }).await;
    }
    stage.spawn("bob", "failing").await;
    stage.lead_does(delegate(1, "bob")).await;
    stage.lead_does(delegate(2, "bob")).await;
    stage.until("task 2 is done", is_done(2)).await;
    let failed = |state: &State| state.tasks().get(TaskNumber(1)).map(|it| it.status);
    assert_eq!(stage.until("task 1", failed).await, Status::Failed);
    assert_eq!(project.files_of_team(), "good\ntext");
    let kept = git(&project.path(), &["show", "troop-work/crew/bob/task-1:bad"]);
    assert_eq!(kept, "1", "the work is kept on its branch");
    stage.stop().await;
}

#[tokio::test]
async fn approved_work_that_conflicts_goes_back_to_its_owner() {
    let project = Project::new();
    let stage = project.stage(|settings| settings.require_review = true).await;
    let careful = play(|mut part| async move {
        part.ready(true).await;
        part.idle().await;
        let mut n_times = 0;
        while let Some(task) = part.task().await {
            n_times += 1;
            if n_times > 1 {
                git_may_fail(&part.spec.path, &["merge", "troop/crew"]);
            }
            let subject = if n_times > 1 { "write text both" } else { task.subject.as_str() };
            write(&part.spec.path, subject);
            part.complete(&task).await;
        }
    });
    stage.plays.add("careful", careful);
    stage.spawn("bob", "careful").await;
    stage.spawn("cyd", "careful").await;
    stage.task_for("write text bob", "bob").await;
    stage.task_for("write text cyd", "cyd").await;
    stage.until("task 1 is handed in", in_review(1)).await;
    stage.until("task 2 is handed in", in_review(2)).await;
    person(&stage, approve(1)).await;
    let ClientError::Failed(failure) = ask(&stage, approve(2)).await.unwrap_err() else {
        panic!("the lead answers");
    };
    let says = "task-2 was sent back to cyd: it conflicts with what is in `troop/crew` now: `text`";
    assert_eq!(failure.message, says);
    let hint = failure.hint.unwrap().to_string();
    assert_eq!(hint, "approve it when it is submitted again: `troop task approve 2`");
    let is_back = |state: &State| {
        let task = state.tasks().get(TaskNumber(2))?;
        let n_times = task.trail.iter().filter(|it| it.what == TrailKind::Submitted).count();
        (n_times == 2).then_some(task.attempts)
    };
    assert_eq!(stage.until("it is handed in again", is_back).await, 1);
    person(&stage, approve(2)).await;
    assert_eq!(project.in_team("text"), "both");
    stage.stop().await;
}

#[tokio::test]
async fn a_task_cancelled_during_its_checks_is_not_merged() {
    let project = Project::new();
    let stage = project.stage(|_| {}).await;
    stage.plays.add("writer", writer(|_, _, _| {}));
    stage.spawn("bob", "writer").await;
    let (subject, checks) = ("write unwanted 1".into(), vec!["touch begun; sleep 600".into()]);
    add(&stage, NewTask { subject, checks, ..NewTask::default() }).await;
    let begun = project.0.path().join("team/worktrees/bob/begun");
    troop_testkit::wait_for("the check runs", async || begun.exists().then_some(())).await;
    let (task, reason) = (TaskNumber(1).into(), "nobody wants it".into());
    person(&stage, TaskCommand::Cancel { task, reason }).await;
    stage.task("write two 2").await;
    stage.until("task 2 is done", is_done(2)).await;
    assert_eq!(project.files_of_team(), "text\ntwo");
    stage.stop().await;
}
