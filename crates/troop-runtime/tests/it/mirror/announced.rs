//! A file stops calling its task free before the board gives the task away, wherever the one who gives it dies.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use rustix::fs::{FlockOperation, flock};
use tokio::runtime::Runtime;
use tokio_util::task::TaskTracker;
use troop_model::{MemberName, State, Status, TaskNumber, TeamId};
use troop_runtime::{Board, BoardError, Clock, FileDoor, Following, Layout, Mirror, MirrorOptions};
use troop_store::{MemoryStore, Store};
use troop_testkit::wait_for;

use super::stage::Stage;
use crate::{
    probe::Probe,
    support::{by, claim, create, name},
};

const LAYOUTS: [Layout; 2] = [Layout::Seeds, Layout::Claude];
/// How long a process may take to end.
const LIMIT: Duration = Duration::from_secs(30);

/// A team with one task in its file, whose board gives commands under the locks of files.
async fn guarded(store: Arc<dyn Store>, layout: Layout) -> (Stage, FileDoor) {
    let stage = Stage::on(store, layout).await;
    stage.submit("ann", create("one")).await;
    stage.mirror().await.pass().await.unwrap();
    let door = FileDoor::guard(options(&stage, stage.board.clone()));
    (stage, door)
}

fn options(stage: &Stage, board: Board) -> MirrorOptions {
    let folder = stage.folder.path().to_owned();
    MirrorOptions { board, clock: Clock::system(), folder, layout: stage.layout, lead: None }
}

async fn open(store: Arc<dyn Store>, team: TeamId) -> Board {
    Board::open(store, Clock::system(), Following::WhenAsked, team).await.unwrap()
}

fn path(layout: Layout) -> &'static str {
    match layout {
        Layout::Seeds => "tasks/crew/task-1.json",
        Layout::Claude => "tasks/crew/1.json",
    }
}

/// Whom the file of the task names as its holder.
fn holder(stage: &Stage) -> Option<MemberName> {
    let key = if stage.layout == Layout::Seeds { "claimed_by" } else { "owner" };
    let file = stage.read(path(stage.layout));
    file.get(key)?.as_str().filter(|it| !it.is_empty()).map(name)
}

/// A rewritten file is another one to the system.
fn inode(stage: &Stage) -> u64 {
    fs::metadata(stage.path(path(stage.layout))).unwrap().ino()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_names_who_claims_its_task_before_the_board_does() {
    for layout in LAYOUTS {
        let probe = Probe::new(Arc::new(MemoryStore::default()));
        let (stage, door) = guarded(probe.clone(), layout).await;
        let n_before = probe.n_appends.load(SeqCst);
        probe.hold_appends();
        let board = stage.board.clone();
        let claimed =
            TaskTracker::new().spawn(async move { board.submit(by("bob", claim(1))).await });
        wait_for("the claim waits for the store", async || {
            (probe.n_appends.load(SeqCst) > n_before).then_some(())
        })
        .await;
        assert_eq!(holder(&stage), Some(name("bob")), "{layout}: a program that looks now");
        probe.let_append();
        claimed.await.unwrap().unwrap();
        assert_eq!(stage.task(1).await, (Status::InProgress, Some(name("bob"))), "{layout}");
        assert_eq!(holder(&stage), Some(name("bob")), "{layout}");
        door.close().await;
    }
}

#[test]
fn a_claim_that_the_board_never_got_leaves_the_task_free() {
    for layout in LAYOUTS {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let probe = Probe::new(Arc::clone(&store));
        let process = Runtime::new().unwrap();
        let stage = process.block_on(async {
            let (stage, door) = guarded(probe.clone(), layout).await;
            probe.hold_appends();
            let board = stage.board.clone();
            let claimed =
                TaskTracker::new().spawn(async move { board.submit(by("bob", claim(1))).await });
            wait_for("the file names bob", async || holder(&stage)).await;
            assert!(!claimed.is_finished(), "the store has not answered");
            std::mem::forget(door);
            stage
        });
        // The process dies where it waits for the store.
        process.shutdown_timeout(LIMIT);
        assert_eq!(holder(&stage), Some(name("bob")), "{layout}: it put nothing back");
        Runtime::new().unwrap().block_on(async {
            let board = open(store, stage.board.team()).await;
            Mirror::open(options(&stage, board.clone())).await.unwrap().pass().await.unwrap();
            let status = board.look(|it: &State| it.tasks().status(TaskNumber(1))).await.unwrap();
            assert_eq!(status, Some(Status::Pending), "{layout}");
            assert_eq!(holder(&stage), None, "{layout}: programs can take it again");
            assert_eq!(stage.read(path(layout))["status"], "pending", "{layout}");
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_claim_never_shows_in_the_file() {
    for layout in LAYOUTS {
        let (stage, door) = guarded(Arc::new(MemoryStore::default()), layout).await;
        let before = inode(&stage);
        stage.board.submit(by("stranger", claim(1))).await.unwrap_err();
        assert_eq!(
            inode(&stage),
            before,
            "{layout}: nobody wrote the file, not even to put it back"
        );
        door.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_waits_for_a_lock_is_refused_when_its_process_ends() {
    for layout in LAYOUTS {
        let (stage, door) = guarded(Arc::new(MemoryStore::default()), layout).await;
        let lock = stage.path(path(layout)).with_extension("json.lock");
        // Another program has the file.
        let held = match layout {
            Layout::Seeds => {
                let file = fs::File::create(&lock).unwrap();
                flock(&file, FlockOperation::LockExclusive).unwrap();
                Some(file)
            }
            Layout::Claude => {
                fs::create_dir(&lock).unwrap();
                None
            }
        };
        let claimed = stage.board.give(by("bob", claim(1))).await.unwrap();
        door.close().await;
        let told = claimed.done().await;
        assert!(matches!(told, Err(BoardError::FileInUse { .. })), "{layout}: {told:?}");
        assert_eq!(stage.task(1).await, (Status::Pending, None), "{layout}");
        drop(held);
    }
}
