//! Several processes on one store. The test binary starts itself again for each of them.

use std::{
    collections::BTreeSet,
    path::Path,
    process::{Child, Command},
    time::Duration,
};

use troop_model::{OperationId, Refusal, State, Status, TeamId, Version};
use troop_runtime::{Board, BoardError, Following};
use troop_store::{AppendOutcome, Batch, StoreUrl};
use troop_testkit::{TestStore, wait_for};
use uuid::Uuid;

use crate::support::{
    LEAD, MEMBERS, add_tasks, assert_is_the_log, by, claim_next, claims, crew, events, open, say,
};

on_shared_stores! {
    many_processes_claim_each_task_once,
    a_process_that_dies_releases_the_lock,
    a_process_killed_at_work_leaves_a_whole_log,
}

/// The errand of another process: `role`, store, team, member or file.
const ERRAND: &str = "TROOP_TEST_ERRAND";
/// How many tasks a round has, and how many each process must get while all compete.
const N_TASKS: usize = 60;
const SHARE: usize = 5;
/// The lead's last message.
const OVER: &str = "it is over";

/// Starts this test binary again, with an errand for [`an_errand_of_another_process`].
fn send(role: &str, store: &TestStore, team: TeamId, whom: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::an_errand_of_another_process", "--nocapture"])
        .env(ERRAND, format!("{role}|{}|{team}|{whom}", store.url()))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

/// Not a test: the other processes of the cases below run this.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_errand_of_another_process() {
    #[expect(clippy::disallowed_methods, reason = "a test sets this variable for another process")]
    let Ok(errand) = std::env::var(ERRAND) else { return };
    let [role, url, team, whom] = errand.split('|').collect::<Vec<_>>()[..] else {
        panic!("{errand}");
    };
    let (store, team) = (
        troop_store::open(&StoreUrl::parse(url).unwrap(), troop_store::Missing::Refuse)
            .await
            .unwrap(),
        team.parse::<TeamId>().unwrap(),
    );
    match role {
        "claim" => claim_all(open(store, team, Following::Always).await, whom).await,
        "create" => loop {
            add_tasks(&open(store.clone(), team, Following::WhenAsked).await, 3).await;
        },
        "hold" => {
            let log = store.read(team, Version::ZERO, usize::MAX).await.unwrap();
            let operation = OperationId(Uuid::now_v7());
            let stale = Batch { operation, after: Version(1), bodies: vec![log[0].body.clone()] };
            let AppendOutcome::Behind(_turn) = store.append(team, stale).await.unwrap() else {
                panic!("the append was not behind");
            };
            std::fs::write(whom, "held").unwrap();
            std::future::pending::<()>().await;
        }
        role => panic!("{role}"),
    }
}

/// Claims every task, until the lead says that it is over.
async fn claim_all(board: Board, member: &str) {
    let more = async || {
        let look = |state: &State| {
            let is_over = state.mailbox().iter().any(|it| it.content == OVER);
            (is_over || state.tasks().n_with(Status::Pending) > 0).then_some(is_over)
        };
        board.look(look).await.unwrap()
    };
    while !wait_for("more tasks, or the end", more).await {
        match board.submit(by(member, claim_next())).await {
            Ok(_) | Err(BoardError::Refused(Refusal::NothingAvailable { .. })) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    board.close().await;
}

async fn ended(mut child: Child) {
    let status = wait_for("another process to end", async || child.try_wait().unwrap()).await;
    assert!(status.success(), "{status}");
}

async fn many_processes_claim_each_task_once(store: TestStore) {
    let board = crew(store.store()).await;
    let children = MEMBERS.map(|member| send("claim", &store, board.team(), member));
    let mut n_tasks = 0;
    // A process that is late for one round is in time for the next. One that starves never gets its share.
    let claims = wait_for("every process has had its share", async || {
        n_tasks += add_tasks(&board, N_TASKS).await.len();
        wait_for("all tasks are claimed", async || {
            board.catch_up().await.unwrap();
            let n_pending = |state: &State| state.tasks().n_with(Status::Pending);
            (board.look(n_pending).await.unwrap() == 0).then_some(())
        })
        .await;
        let claims = claims(&events(&*store, board.team()).await);
        let n_of = |member: &str| claims.iter().filter(|(_, it)| it == member).count();
        MEMBERS.iter().all(|member| n_of(member) >= SHARE).then_some(claims)
    });
    let claims = claims.await;
    board.submit(by(LEAD, say("*", OVER))).await.unwrap();
    for child in children {
        ended(child).await;
    }
    assert_eq!(claims.len(), n_tasks, "no task is claimed twice");
    let tasks: BTreeSet<u32> = claims.iter().map(|(task, _)| *task).collect();
    assert_eq!(tasks.len(), n_tasks, "every task is claimed");
    assert_is_the_log(&board, &*store).await;
}

async fn a_process_that_dies_releases_the_lock(store: TestStore) {
    let board = crew(store.store()).await;
    add_tasks(&board, 1).await;
    let folder = tempfile::tempdir().unwrap();
    let sign = folder.path().join("held");
    let mut child = send("hold", &store, board.team(), sign.to_str().unwrap());
    wait_for("the other process to have the lock", async || Path::exists(&sign).then_some(()))
        .await;
    // The claim waits as long as the other lives, then continues at once.
    let mut claim = Box::pin(board.submit(by("bob", claim_next())));
    let early = tokio::time::timeout(Duration::from_millis(300), &mut claim).await;
    assert!(early.is_err(), "the other has the lock: {early:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    let claimed = claim.await;
    assert!(claimed.is_ok(), "{claimed:?}");
    assert_is_the_log(&board, &*store).await;
}

async fn a_process_killed_at_work_leaves_a_whole_log(store: TestStore) {
    let board = crew(store.store()).await;
    let mut n_seen = 0;
    for _ in 0..3 {
        let mut child = send("create", &store, board.team(), "-");
        n_seen = wait_for("the other process to be at work", async || {
            board.catch_up().await.unwrap();
            let n_tasks = board.look(|state: &State| state.tasks().len()).await.unwrap();
            (n_tasks > n_seen + 10).then_some(n_tasks)
        })
        .await;
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(add_tasks(&board, 1).await[0] as usize > n_seen);
        assert_is_the_log(&board, &*store).await;
    }
}
