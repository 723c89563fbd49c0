//! Finished tasks leave the live board, and are found all the same.

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering::SeqCst},
};

use troop_model::{LIVE_FINISHED, Origin, PAGE, Refusal, Status, TaskFilter, TaskNumber};
use troop_runtime::{Board, Following, TaskPage};
use troop_testkit::TestStore;

use crate::{
    probe::Probe,
    support::{
        LEAD, add_tasks, assert_is_the_log, by, complete, create, crew, delete, finish_tasks,
        numbered, open, refusal,
    },
};

on_every_store! {
    archived_tasks_are_found_wherever_they_are,
    deleted_tasks_are_gone_wherever_they_were,
}

/// How many finished tasks the boards here have. Rounds are small, so that they fit one queue.
const N_FINISHED: u32 = LIVE_FINISHED as u32 + 90;
const N_ACTIVE: u32 = 40;

/// A board with more finished tasks than are live. Nothing is archived in the store.
async fn full_board(store: &TestStore) -> (Arc<Probe>, Board) {
    let probe = Probe::new(store.store());
    probe.is_full.store(true, SeqCst);
    let board = crew(probe.clone()).await;
    board.submit(by(LEAD, create("a needle"))).await.unwrap();
    board.submit(by(LEAD, complete(1))).await.unwrap();
    finish_tasks(&board, N_FINISHED as usize - 1).await;
    add_tasks(&board, N_ACTIVE as usize).await;
    (probe, board)
}

async fn n_in_store(store: &TestStore, board: &Board) -> usize {
    store.list_archived(board.team(), u32::MAX, usize::MAX).await.unwrap().len()
}

/// Opens the team as another process would, which has only what is stored.
async fn reopen(probe: &Arc<Probe>, board: &Board) -> Board {
    open(probe.clone(), board.team(), Following::WhenAsked).await
}

/// Closes the board with a snapshot, and opens it again.
async fn save(probe: &Arc<Probe>, board: Board) -> Board {
    let team = board.team();
    board.close().await;
    open(probe.clone(), team, Following::WhenAsked).await
}

async fn all_pages(board: &Board, filter: TaskFilter) -> Vec<u32> {
    let mut numbers = Vec::new();
    for page in 1.. {
        let TaskPage { tasks, page: at, pages, n_tasks } =
            board.list(filter, Origin::default(), page).await.unwrap();
        assert_eq!((at, pages), (page, n_tasks.div_ceil(PAGE).max(1)));
        numbers.extend(tasks.iter().map(|task| task.number.0));
        if page == pages {
            assert_eq!(numbers.len(), n_tasks);
            let beyond = board.list(filter, Origin::default(), page + 1).await.unwrap();
            assert_eq!((beyond.tasks.len(), beyond.n_tasks), (0, n_tasks));
            return numbers;
        }
        assert_eq!(tasks.len(), PAGE);
    }
    numbers
}

/// Everything that can be asked gives the same answer, wherever the tasks are.
async fn assert_complete(board: &Board, gone: &[u32]) {
    let all = |range: std::ops::RangeInclusive<u32>| -> Vec<u32> {
        range.filter(|number| !gone.contains(number)).collect()
    };
    let finished = all(1..=N_FINISHED);
    let newest_first: Vec<u32> = all(1..=N_FINISHED + N_ACTIVE).into_iter().rev().collect();
    assert_eq!(all_pages(board, TaskFilter::All).await, newest_first);
    for filter in [TaskFilter::Finished, TaskFilter::Only(Status::Completed)] {
        // What the first and the last page show, and what they count.
        let n_pages = finished.len().div_ceil(PAGE);
        for page in [1, n_pages] {
            let listed = board.list(filter, Origin::default(), page).await.unwrap();
            assert_eq!((listed.n_tasks, listed.pages), (finished.len(), n_pages));
            let expected = finished.iter().rev().skip((page - 1) * PAGE).take(PAGE);
            assert!(listed.tasks.iter().map(|task| &task.number.0).eq(expected));
        }
    }
    let active: Vec<u32> = (N_FINISHED + 1..=N_FINISHED + N_ACTIVE).collect();
    assert_eq!(all_pages(board, TaskFilter::Active).await, active);
    for number in [1, 2, 40, 90, 91, N_FINISHED, N_FINISHED + 1] {
        let task = board.task(numbered(number)).await;
        if gone.contains(&number) {
            assert!(matches!(refusal(task), Refusal::TaskDeleted { .. }));
        } else {
            assert_eq!(task.unwrap().number, TaskNumber(number));
        }
    }
    let found = board.search("Needle", Origin::default(), 1).await.unwrap();
    let numbers: Vec<u32> = found.tasks.iter().map(|task| task.number.0).collect();
    assert_eq!(numbers, if gone.contains(&1) { vec![] } else { vec![1] });
    assert_eq!((found.n_tasks, found.pages), (numbers.len(), 1));
}

async fn archived_tasks_are_found_wherever_they_are(store: TestStore) {
    let (probe, board) = full_board(&store).await;
    let live = board.look(|state| state.tasks().len()).await.unwrap();
    assert_eq!(live, LIVE_FINISHED + N_ACTIVE as usize);
    // They left the board, but are nowhere else.
    assert_eq!(n_in_store(&store, &board).await, 0);
    assert_complete(&board, &[]).await;
    // The process ends without saving anything.
    let board = reopen(&probe, &board).await;
    assert_complete(&board, &[]).await;
    // A snapshot takes them to the archive, where another process finds them, and one that was open before too.
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
    let listed: BTreeSet<u32> = all_pages(&board, TaskFilter::All).await.into_iter().collect();
    assert!(gone.iter().all(|number| !listed.contains(number)));
    assert_is_the_log(&board, &*store).await;
}
