//! A board sees what other processes write: by following, or before it refuses.

use std::sync::atomic::Ordering::SeqCst;

use troop_model::{Command, Refusal, Status, TaskCommand, TaskNumber};
use troop_runtime::Following;
use troop_testkit::{TestStore, sqlite_store, wait_for};

use crate::{
    probe::Probe,
    support::{LEAD, add_tasks, by, claim, claim_next, comment, crew, numbered, open, refusal},
};

on_every_store! {
    a_board_looks_again_before_it_refuses,
    a_board_looks_again_before_it_answers_that_nothing_had_to_change,
    a_board_looks_again_before_a_task_is_unknown,
    a_following_board_sees_what_others_write,
    catching_up_takes_in_what_others_wrote,
    a_follower_sees_acknowledged_appends_of_others_at_once,
}

async fn a_board_looks_again_before_it_refuses(store: TestStore) {
    let board = crew(store.store()).await;
    let other = open(store.reopen().await, board.team(), Following::WhenAsked).await;
    add_tasks(&other, 2).await;
    board.submit(by("bob", claim(1))).await.unwrap();
    refusal(other.submit(by("cyd", claim(1))).await);
    add_tasks(&other, 1).await;
    board.submit(by("bob", claim(3))).await.unwrap();
    assert_eq!(other.submit(by("cyd", claim_next())).await.unwrap().task(), Some(TaskNumber(2)));
    refusal(board.submit(by("bob", claim_next())).await);
}

async fn a_board_looks_again_before_it_answers_that_nothing_had_to_change(store: TestStore) {
    let board = crew(store.store()).await;
    add_tasks(&board, 1).await;
    board.submit(by("bob", claim(1))).await.unwrap();
    let other = open(store.reopen().await, board.team(), Following::WhenAsked).await;
    let release = TaskCommand::Release { task: numbered(1), reason: "too slow".to_owned() };
    other.submit(by(LEAD, Command::Task(release))).await.unwrap();
    other.submit(by("cyd", claim(1))).await.unwrap();
    let refusal = refusal(board.submit(by("bob", claim(1))).await);
    assert!(matches!(refusal, Refusal::TaskHeld { owner, .. } if owner.as_str() == "cyd"));
}

async fn a_board_looks_again_before_a_task_is_unknown(store: TestStore) {
    let board = crew(store.store()).await;
    let other = open(store.reopen().await, board.team(), Following::WhenAsked).await;
    add_tasks(&other, 1).await;
    assert_eq!(board.task(numbered(1)).await.unwrap().subject, "subject 0");
    assert!(matches!(refusal(board.task(numbered(2)).await), Refusal::UnknownTask { .. }));
}

async fn a_following_board_sees_what_others_write(store: TestStore) {
    let board = crew(store.store()).await;
    let follower = open(store.reopen().await, board.team(), Following::Always).await;
    for number in add_tasks(&board, 3).await {
        board.submit(by("bob", claim(number))).await.unwrap();
        wait_for("the claim to be seen", async || {
            let status = move |state: &troop_model::State| state.tasks().status(TaskNumber(number));
            let status = follower.look(status).await.unwrap();
            (status == Some(Status::InProgress)).then_some(())
        })
        .await;
    }
}

async fn catching_up_takes_in_what_others_wrote(store: TestStore) {
    let board = crew(store.store()).await;
    let other = open(store.reopen().await, board.team(), Following::WhenAsked).await;
    add_tasks(&board, 1).await;
    let done = board.submit(by("bob", comment(1, "on it"))).await.unwrap();
    assert!(other.look(|state| state.tasks().is_empty()).await.unwrap());
    assert_eq!(other.catch_up().await.unwrap(), done.version);
    assert_eq!(other.look(|state| state.tasks().len()).await.unwrap(), 1);
}

async fn a_follower_sees_acknowledged_appends_of_others_at_once(store: TestStore) {
    let board = crew(store.store()).await;
    add_tasks(&board, 1).await;
    let follower = open(store.reopen().await, board.team(), Following::Always).await;
    for nth in 0..20 {
        let (writer, reader) = if nth % 3 == 0 { (&follower, &board) } else { (&board, &follower) };
        let done = writer.submit(by("bob", comment(1, "on it"))).await.unwrap();
        assert_eq!(reader.catch_up().await.unwrap(), done.version);
        assert_eq!(reader.look(troop_model::State::version).await.unwrap(), done.version);
    }
}

#[tokio::test]
async fn a_follower_reads_the_log_only_if_there_is_something_new() {
    let store = sqlite_store().await;
    let board = crew(store.store()).await;
    add_tasks(&board, 1).await;
    let probe = Probe::new(store.reopen().await);
    let follower = open(probe.clone(), board.team(), Following::Always).await;
    let version = follower.catch_up().await.unwrap();
    probe.is_down.store(true, SeqCst);
    assert_eq!(follower.catch_up().await.unwrap(), version);
    let done = board.submit(by("bob", comment(1, "on it"))).await.unwrap();
    follower.catch_up().await.unwrap_err();
    follower.catch_up().await.unwrap_err();
    probe.is_down.store(false, SeqCst);
    assert_eq!(follower.catch_up().await.unwrap(), done.version);
}
