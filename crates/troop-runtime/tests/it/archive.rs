//! Finished tasks leave the live board, and can still be found.

use std::sync::{Arc, atomic::Ordering::SeqCst};

use troop_model::{
    Command, Limits, NewTask, Origin, PAGE, Refusal, Status, TaskCommand, TaskFilter, TaskNumber,
    TaskRef,
};
use troop_runtime::{Board, Following, TaskPage};
use troop_testkit::{TestStore, wait_for};
use uuid::Uuid;

use crate::{
    probe::Probe,
    support::{
        LEAD, add_tasks, assert_is_the_log, by, comment, complete, create, crew, delete,
        finish_tasks, numbered, open, refusal, submit_all,
    },
};

on_every_store! {
    every_task_is_on_one_page,
    archived_tasks_are_found_wherever_they_are,
    deleted_tasks_are_gone_wherever_they_were,
    an_id_prefix_shared_with_an_archived_task_is_ambiguous,
}

/// How many finished tasks the boards here have. Rounds are small, so that they fit one queue.
const N_FINISHED: u32 = Limits::SHIPPED.finished as u32 + 90;
const N_ACTIVE: u32 = 40;

/// How many events make a snapshot worth its cost when a board is closed.
const LAST_SNAPSHOT: usize = 256;

/// A board with more finished tasks than live ones. Nothing is archived in the store yet: a snapshot is being saved, and is
/// held back. On a busy machine that happens by itself.
async fn full_board(store: &TestStore) -> (Arc<Probe>, Board) {
    let probe = Probe::new(store.store());
    probe.is_full.store(true, SeqCst);
    let board = crew(probe.clone()).await;
    board.submit(by(LEAD, create("a needle"))).await.unwrap();
    board.submit(by(LEAD, complete(1))).await.unwrap();
    finish_tasks(&board, N_FINISHED as usize - 1).await;
    add_tasks(&board, N_ACTIVE as usize).await;
    let n_before = probe.n_saves.load(SeqCst);
    probe.hold_saves();
    // A board without a snapshot saves one at once.
    let board = reopen(&probe, &board).await;
    let begun = async || {
        board.catch_up().await.unwrap();
        (probe.n_saves.load(SeqCst) > n_before).then_some(())
    };
    wait_for("a snapshot is being saved", begun).await;
    (probe, board)
}

async fn n_in_store(store: &TestStore, board: &Board) -> usize {
    store.list_archived(board.team(), u32::MAX, usize::MAX).await.unwrap().len()
}

/// Opens the team like another process, which has only what is stored.
async fn reopen(probe: &Arc<Probe>, board: &Board) -> Board {
    open(probe.clone(), board.team(), Following::WhenAsked).await
}

/// Appends many events that change nothing here.
async fn chat(board: &Board, n_times: usize) {
    let active = (N_FINISHED + 1..=N_FINISHED + N_ACTIVE).cycle();
    let comments = active.take(n_times).map(|number| by(LEAD, comment(number, "hm")));
    submit_all(board, comments).await.into_iter().for_each(|done| drop(done.unwrap()));
}

/// Closes the board with a complete snapshot, and opens it again.
async fn save(probe: &Arc<Probe>, board: Board) -> Board {
    chat(&board, LAST_SNAPSHOT).await;
    probe.let_save();
    let team = board.team();
    board.close().await;
    open(probe.clone(), team, Following::WhenAsked).await
}

/// Checks the first pages of a list, those where live and archived tasks meet, and those after the end.
async fn assert_lists(board: &Board, filter: TaskFilter, expected: &[u32]) {
    let n_pages = expected.len().div_ceil(PAGE);
    for page in (1..=2).chain(n_pages.saturating_sub(4).max(3)..=n_pages + 1) {
        let listed = board.list(filter, Origin::default(), page).await.unwrap();
        let TaskPage { tasks, page: at, pages, n_tasks, version: _ } = listed;
        assert_eq!((at, pages, n_tasks), (page, n_pages, expected.len()));
        let on_page = expected.iter().skip((page - 1) * PAGE).take(PAGE);
        assert!(tasks.iter().map(|task| &task.number.0).eq(on_page), "{filter:?}, page {page}");
    }
}

/// Checks that every query gives the same answer, wherever the tasks are.
async fn assert_complete(board: &Board, gone: &[u32]) {
    let all = |range: std::ops::RangeInclusive<u32>| -> Vec<u32> {
        range.rev().filter(|number| !gone.contains(number)).collect()
    };
    assert_lists(board, TaskFilter::All, &all(1..=N_FINISHED + N_ACTIVE)).await;
    assert_lists(board, TaskFilter::Finished, &all(1..=N_FINISHED)).await;
    assert_lists(board, TaskFilter::Only(Status::Completed), &all(1..=N_FINISHED)).await;
    let active: Vec<u32> = (N_FINISHED + 1..=N_FINISHED + N_ACTIVE).collect();
    assert_lists(board, TaskFilter::Active, &active).await;
    for number in [1, 2, 40, 90, 91, N_FINISHED, N_FINISHED + 1] {
        let task = board.task(numbered(number)).await;
        if gone.contains(&number) {
            assert!(matches!(refusal(task), Refusal::TaskDeleted { .. }));
        } else {
            let task = task.unwrap();
            assert_eq!(task.number, TaskNumber(number));
            assert_eq!(board.task(TaskRef::Id(task.id.to_string())).await.unwrap(), task);
            let plain = task.id.simple().to_string().to_uppercase();
            assert_eq!(board.task(TaskRef::Id(plain)).await.unwrap(), task);
        }
    }
    let found = board.search("Needle", Origin::default(), 1).await.unwrap();
    let numbers: Vec<u32> = found.tasks.iter().map(|task| task.number.0).collect();
    assert_eq!(numbers, if gone.contains(&1) { vec![] } else { vec![1] });
    assert_eq!((found.n_tasks, found.pages), (numbers.len(), 1));
}

async fn an_id_prefix_shared_with_an_archived_task_is_ambiguous(store: TestStore) {
    let (_probe, board) = full_board(&store).await;
    let old = board.task(numbered(1)).await.unwrap().id;
    let id = Uuid::from_u128(old.as_u128() ^ 1);
    let new = NewTask { subject: "alike".to_owned(), id: Some(id), ..NewTask::default() };
    board.submit(by(LEAD, Command::Task(TaskCommand::Create(new)))).await.unwrap();
    let mut beginning = id.to_string();
    beginning.pop();
    let refusal = refusal(board.task(TaskRef::Id(beginning)).await);
    let Refusal::AmbiguousTask { matches, .. } = refusal else { panic!("{refusal}") };
    assert_eq!(matches, [N_FINISHED + N_ACTIVE + 1, 1].map(TaskNumber));
    for id in [id, old] {
        assert_eq!(board.task(TaskRef::Id(id.to_string())).await.unwrap().id, id);
    }
}

async fn every_task_is_on_one_page(store: TestStore) {
    let board = crew(store.store()).await;
    let mut numbers = Vec::new();
    finish_tasks(&board, 100).await;
    for page in 1..=4 {
        let listed = board.list(TaskFilter::All, Origin::default(), page).await.unwrap();
        assert_eq!((listed.pages, listed.n_tasks), (4, 100));
        assert_eq!(listed.tasks.len(), if page == 4 { 10 } else { PAGE });
        numbers.extend(listed.tasks.iter().map(|task| task.number.0));
    }
    assert!(numbers.into_iter().eq((1..=100).rev()));
}

async fn archived_tasks_are_found_wherever_they_are(store: TestStore) {
    let (probe, board) = full_board(&store).await;
    let live = board.look(|state| state.tasks().len()).await.unwrap();
    assert_eq!(live, Limits::SHIPPED.finished + N_ACTIVE as usize);
    // They left the board, and are not in the archive yet.
    assert_eq!(n_in_store(&store, &board).await, 0);
    assert_complete(&board, &[]).await;
    // The process ends without saving anything.
    let board = reopen(&probe, &board).await;
    assert_complete(&board, &[]).await;
    // A snapshot moves them to the archive, where new and old processes find them.
    probe.is_full.store(false, SeqCst);
    let elder = reopen(&probe, &board).await;
    let board = save(&probe, board).await;
    assert_eq!(n_in_store(&store, &board).await, 90);
    assert_complete(&board, &[]).await;
    assert_complete(&elder, &[]).await;
    assert_is_the_log(&board, &*store).await;
}

async fn deleted_tasks_are_gone_wherever_they_were(store: TestStore) {
    let (probe, board) = full_board(&store).await;
    // On its way to the archive, and live.
    board.submit(by(LEAD, delete(1))).await.unwrap();
    board.submit(by(LEAD, delete(N_FINISHED))).await.unwrap();
    let mut gone = vec![1, N_FINISHED];
    assert_complete(&board, &gone).await;
    probe.is_full.store(false, SeqCst);
    let board = save(&probe, board).await;
    assert_complete(&board, &gone).await;
    // In the archive; the store has them until the next snapshot.
    for number in [2, 40, 90] {
        board.submit(by(LEAD, delete(number))).await.unwrap();
        gone.push(number);
    }
    assert_eq!(n_in_store(&store, &board).await, 89);
    assert_complete(&board, &gone).await;
    let reopened = reopen(&probe, &board).await;
    assert_complete(&reopened, &gone).await;
    // The next snapshot takes them out of the store.
    finish_tasks(&reopened, 100).await;
    let board = save(&probe, reopened).await;
    for number in [1, 2, 40, 90] {
        assert_eq!(store.read_archived(board.team(), number).await.unwrap(), None);
    }
    // 90 and 100 had left; one of them was deleted while it was live, and four after that.
    assert_eq!(n_in_store(&store, &board).await, 90 + 100 - 1 - 4);
    let all = (1..=N_FINISHED + N_ACTIVE + 100).rev().filter(|number| !gone.contains(number));
    assert_lists(&board, TaskFilter::All, &all.collect::<Vec<_>>()).await;
    assert_is_the_log(&board, &*store).await;
}
