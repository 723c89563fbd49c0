//! A person's completion of a task, with the checks of the task. Nobody leads the team.

use std::{future, path::Path};

use troop_model::{
    Actor, Command, Evidence, MemberName, NewTask, Refusal, State, TaskCommand, TaskNumber,
};
use troop_runtime::{BoardError, CommandRequest};

use super::{OrderEnd, ProofNotice};
use crate::{
    Diagnosis, Error, Result,
    team::TeamDesk,
    tests::{desk_in, lead_lock, new_team, task},
};

/// A desk of a team whose member ann holds a task with these checks.
async fn at_work(folder: &Path, checks: &[&str]) -> TeamDesk {
    let mut desk = desk_in(folder).await;
    desk.create_team(new_team(&["ann"])).await.unwrap();
    let checks = checks.iter().map(|&it| it.to_owned()).collect();
    let new = NewTask { subject: "dig".to_owned(), checks, ..NewTask::default() };
    desk.submit(Command::Task(TaskCommand::Create(new))).await.unwrap();
    let ann = Actor::agent(&"ann".parse::<MemberName>().unwrap());
    let claim = Command::Task(TaskCommand::Claim { task: Some(task(1)) });
    let board = desk.team(None).await.unwrap();
    board.submit(CommandRequest::new(ann, claim)).await.unwrap();
    desk
}

fn complete(number: u32) -> TaskCommand {
    let task = task(number);
    TaskCommand::Complete { task, result: "done".to_owned(), summary: None, attempt: None }
}

/// Completes a task. Returns how that ended, and the checks that ran.
async fn change(
    desk: &mut TeamDesk,
    order: TaskCommand,
    without: Option<&str>,
) -> (Result<OrderEnd<()>>, Vec<String>) {
    let ran = std::sync::Mutex::new(Vec::new());
    let tell = |notice: ProofNotice<'_>| {
        if let ProofNotice::Running(checks) = notice {
            ran.lock().unwrap().extend(checks.iter().cloned());
        }
    };
    let end = desk.change_task(order, without, future::pending(), tell).await;
    (end, ran.into_inner().unwrap())
}

async fn look<T: Send + 'static>(
    desk: &mut TeamDesk,
    look: impl FnOnce(&State) -> T + Send + 'static,
) -> T {
    desk.team(None).await.unwrap().look(look).await.unwrap()
}

/// Whether the first task is done, and what its checks said.
async fn first(desk: &mut TeamDesk) -> (bool, Vec<Evidence>) {
    look(desk, |state| {
        let task = state.tasks().get(TaskNumber(1)).unwrap();
        (task.status.is_finished(), task.proof.evidence.clone())
    })
    .await
}

#[tokio::test]
async fn a_task_is_completed_once_its_checks_pass() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = at_work(folder.path(), &["true", "test -d home"]).await;
    let (end, ran) = change(&mut desk, complete(1), None).await;
    assert!(matches!(end.unwrap(), OrderEnd::Done(_)));
    assert_eq!(ran, ["true", "test -d home"]);
    let (is_done, evidence) = first(&mut desk).await;
    assert!(is_done && evidence.len() == 2 && evidence.iter().all(Evidence::is_good));
    desk.close().await;
}

#[tokio::test]
async fn a_check_that_fails_is_recorded_and_refuses_the_completion() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = at_work(folder.path(), &["false"]).await;
    let (end, _) = change(&mut desk, complete(1), None).await;
    let error = end.unwrap_err();
    let hint = Diagnosis::of(&error).unwrap().hint.unwrap().to_string();
    let wanted = "repair it and try again, or skip the checks: `--without-checks REASON`";
    assert_eq!(hint, wanted, "{error}");
    let (is_done, evidence) = first(&mut desk).await;
    assert!(!is_done && evidence.len() == 1 && !evidence[0].is_good(), "{evidence:?}");
    desk.close().await;
}

#[tokio::test]
async fn a_check_that_fails_while_the_team_is_led_names_the_branch_that_has_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = at_work(folder.path(), &["false"]).await;
    let settings = vec![("isolation".to_owned(), "worktree".into())];
    desk.submit(Command::UpdateTeam { description: None, settings }).await.unwrap();
    let team = desk.team(None).await.unwrap().team();
    let own = desk.folder(team);
    std::fs::create_dir_all(&own).unwrap();
    // Another team had the name, and git wants no dots.
    let record = r#"{"top":"/p","shared":"/p/.git","branch":"troop/a=b+2","base":"main"}"#;
    std::fs::write(own.join("isolation.json"), record).unwrap();
    let lock = lead_lock(&own, std::process::id());
    let hint = super::way_on(&mut desk).await.unwrap().to_string();
    assert!(
        hint.contains("`git log 'troop/a=b+2'`") || hint.contains("`git log troop/a=b+2`"),
        "{hint}"
    );
    drop(lock);
    let hint = super::way_on(&mut desk).await.unwrap().to_string();
    assert!(!hint.contains("git log"), "{hint}");
    desk.close().await;
}

#[tokio::test]
async fn checks_that_are_stopped_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = at_work(folder.path(), &["sleep 600"]).await;
    let before = look(&mut desk, State::version).await;
    let stop = future::ready("that is enough");
    let end = desk.change_task(complete(1), None, stop, |_| {}).await.unwrap();
    assert!(matches!(end, OrderEnd::Stopped("that is enough")), "{end:?}");
    assert_eq!(look(&mut desk, State::version).await, before);
    desk.close().await;
}

#[tokio::test]
async fn a_reason_to_go_without_checks_is_recorded_and_nothing_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = at_work(folder.path(), &["false"]).await;
    let (end, ran) = change(&mut desk, complete(1), Some("only a test")).await;
    assert!(matches!(end.unwrap(), OrderEnd::Done(_)) && ran.is_empty());
    let waived =
        look(&mut desk, |state| state.tasks().get(TaskNumber(1)).unwrap().proof.waived.clone());
    assert_eq!(waived.await.as_deref(), Some("only a test"));
    desk.close().await;
}

#[tokio::test]
async fn an_order_that_the_rules_refuse_runs_and_records_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = at_work(folder.path(), &["false"]).await;
    let approve = || TaskCommand::Approve { task: task(1), comment: None };
    for (order, without) in [
        (complete(9), None),
        (complete(9), Some("why not")),
        (approve(), None),
        (approve(), Some("why not")),
    ] {
        let before = look(&mut desk, State::version).await;
        let (end, ran) = change(&mut desk, order, without).await;
        let error = end.unwrap_err();
        let is_refused = matches!(
            &error,
            Error::Board(BoardError::Refused(
                Refusal::UnknownTask { .. } | Refusal::WrongStatus { .. }
            ))
        );
        assert!(is_refused && ran.is_empty(), "{error}");
        assert_eq!(look(&mut desk, State::version).await, before, "{error}");
    }
    desk.close().await;
}
