//! Tasks that are taken from a member that works on them.

use std::time::Duration;

use tokio::sync::mpsc;
use troop_model::{MemberState, State, TaskCommand, TaskNumber};
use troop_protocol::{FromLead, ReportedStatus, WireId};
use troop_runtime::Timing;

use super::{
    branches::person,
    is_done,
    isolation::{Project, write},
    stage::{Part, Play, Stage, play, quick, without_restarts},
};

/// Waits until it hears that it lost a task.
async fn lost(part: &mut Part) -> Option<WireId> {
    loop {
        if let FromLead::Interrupt { task_id: Some(task), .. } = part.hear().await? {
            return Some(task);
        }
    }
}

/// Begins its first task and says so. When it loses that task, it writes once more before it breaks off. Then it works
/// normally.
fn slow(begun: mpsc::UnboundedSender<()>) -> Play {
    play(move |mut part| {
        let begun = begun.clone();
        async move {
            part.ready(true).await;
            part.idle().await;
            let Some(task) = part.task().await else { return };
            part.report(&task, ReportedStatus::InProgress, "").await;
            begun.send(()).unwrap();
            assert_eq!(lost(&mut part).await, Some(task.id));
            write(&part.spec.path, "write late 1");
            part.idle().await;
            while let Some(said) = part.hear().await {
                match said {
                    FromLead::AssignTask { task } => {
                        write(&part.spec.path, &task.subject);
                        part.complete(&task).await;
                    }
                    FromLead::Shutdown { .. } => return,
                    FromLead::Message(_)
                    | FromLead::UpdateContext(_)
                    | FromLead::Interrupt { .. } => {}
                }
            }
        }
    })
}

/// A grace period that is long enough to break off on a slow machine.
fn patient() -> Timing {
    Timing { grace: Duration::from_secs(60), ..without_restarts() }
}

/// A team whose only member works on task 1.
async fn at_work(project: &Project) -> Stage {
    let stage = project.stage_with(patient(), |_| {}).await;
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    stage.plays.add("slow", slow(begun));
    stage.task("write one 1").await;
    stage.spawn("bob", "slow").await;
    has_begun.recv().await.unwrap();
    stage
}

fn cancel(task: u32) -> TaskCommand {
    TaskCommand::Cancel { task: TaskNumber(task).into(), reason: "not needed".to_owned() }
}

fn complete(task: u32) -> TaskCommand {
    let (task, result) = (TaskNumber(task).into(), "by hand".to_owned());
    TaskCommand::Complete { task, result, summary: None, attempt: None }
}

#[tokio::test]
async fn late_writes_for_a_cancelled_task_are_not_merged_with_the_next() {
    let project = Project::new();
    let stage = at_work(&project).await;
    person(&stage, cancel(1)).await;
    stage.task("write two 2").await;
    stage.until("task 2 is done", is_done(2)).await;
    assert_eq!(project.files_of_team(), "text\ntwo");
    stage.stop().await;
}

#[tokio::test]
async fn a_task_completed_by_a_person_is_merged_once_its_holder_has_stopped() {
    let project = Project::new();
    let stage = at_work(&project).await;
    person(&stage, complete(1)).await;
    let merged = |state: &State| state.tasks().get(TaskNumber(1))?.proof.merged.clone();
    stage.until("task 1 is merged", merged).await;
    assert_eq!(project.in_team("late"), "1");
    stage.stop().await;
}

#[tokio::test]
async fn a_member_that_ignores_an_interruption_is_restarted() {
    let project = Project::new();
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    let stage = project.stage_with(quick(), |_| {}).await;
    let deaf = play(move |mut part| {
        let begun = begun.clone();
        async move {
            part.ready(true).await;
            part.idle().await;
            while let Some(task) = part.task().await {
                if task.subject == "write two 2" {
                    write(&part.spec.path, &task.subject);
                    part.complete(&task).await;
                } else {
                    part.report(&task, ReportedStatus::InProgress, "").await;
                    begun.send(()).unwrap();
                    // Ignores everything from now on.
                    std::future::pending::<()>().await;
                }
            }
        }
    });
    stage.plays.add("deaf", deaf);
    stage.task("write one 1").await;
    stage.spawn("bob", "deaf").await;
    has_begun.recv().await.unwrap();
    person(&stage, cancel(1)).await;
    stage.task("write two 2").await;
    stage.until("task 2 is done", is_done(2)).await;
    assert_eq!(stage.n_times("bob", MemberState::Crashed).await, 1);
    stage.stop().await;
}
