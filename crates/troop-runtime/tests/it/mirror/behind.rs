//! Two mirrors of one folder, of which one has a board that is behind. What the other one did stays.

use std::{path::Path, sync::Arc};

use serde_json::json;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_model::{Fact, Status, Version};
use troop_runtime::{Board, Clock, Following, Layout, Mirror, MirrorOptions};
use troop_store::{MemoryStore, Store};
use troop_testkit::wait_for;

use super::stage::Stage;
use crate::support::{create, name, say};

/// A mirror that runs, and whose board learns nothing of what others write unless it is asked to.
struct MirrorBehind {
    board: Board,
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl MirrorBehind {
    async fn start(store: &Arc<dyn Store>, stage: &Stage) -> Self {
        let clock = Clock::system();
        let team = stage.board.team();
        let following = Following::WhenAsked;
        let board = Board::open(Arc::clone(store), clock.clone(), following, team).await.unwrap();
        let folder = stage.folder.path().to_owned();
        let layout = stage.layout;
        let options = MirrorOptions { board: board.clone(), clock, folder, layout, lead: None };
        let mirror = Mirror::open(options).await.unwrap();
        let stop = CancellationToken::new();
        let tracker = TaskTracker::new();
        let token = stop.clone();
        tracker.spawn(async move { mirror.run(token).await.unwrap() });
        tracker.close();
        Self { board, stop, tracker }
    }

    async fn end(self) {
        self.stop.cancel();
        self.tracker.wait().await;
    }
}

fn task_path(layout: Layout, number: u32) -> String {
    let id = if layout == Layout::Seeds { "task-" } else { "" };
    format!("tasks/crew/{id}{number}.json")
}

/// A program writes a file whole.
fn claim_in_file(stage: &Stage, number: u32, who: &str) {
    let path = task_path(stage.layout, number);
    let mut task = stage.read(&path);
    task["status"] = json!("in_progress");
    task[if stage.layout == Layout::Seeds { "claimed_by" } else { "owner" }] = json!(who);
    stage.write(".half", &task);
    std::fs::rename(stage.path(".half"), stage.path(&path)).unwrap();
}

async fn facts(board: &Board) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut log = board.subscribe(Version::ZERO);
    while let Some(event) = log.next_stored().await.unwrap() {
        facts.push(event.fact.clone());
    }
    facts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mirror_whose_board_is_behind_does_not_overwrite_changes_that_another_took() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let stage = Stage::on(Arc::clone(&store), layout).await;
        stage.submit("ann", create("one")).await;
        stage.submit("ann", create("two")).await;
        let mut current = stage.mirror().await;
        current.pass().await.unwrap();
        // p1 claims and `current` takes that in; `behind` begins to look before it knows of that.
        let behind = MirrorBehind::start(&store, &stage).await;
        for round in 0..20 {
            let number = round + 3;
            stage.submit("ann", create("more")).await;
            current.pass().await.unwrap();
            claim_in_file(&stage, number, "pat");
            current.pass().await.unwrap();
            assert_eq!(stage.task(number).await, (Status::InProgress, Some(name("pat"))));
            current.pass().await.unwrap();
            let file = stage.read(&task_path(layout, number));
            assert_eq!(file["status"], "in_progress", "{layout}, round {round}: {file}");
        }
        claim_in_file(&stage, 2, "quin");
        wait_for("the mirror that was behind has looked at all files", async || {
            let look =
                |state: &troop_model::State| state.tasks().status(troop_model::TaskNumber(2));
            (behind.board.look(look).await.unwrap() == Some(Status::InProgress)).then_some(())
        })
        .await;
        behind.end().await;
        current.pass().await.unwrap();
        let facts = facts(&stage.board).await;
        let is_claim = |it: &&Fact| matches!(it, Fact::TaskClaimed { .. });
        assert_eq!(facts.iter().filter(is_claim).count(), 21, "{layout}: each once");
        let is_message = |it: &&Fact| matches!(it, Fact::MessageSent { content, .. } if content.contains("refused"));
        assert_eq!(facts.iter().filter(is_message).count(), 0, "{layout}: nothing was refused");
        for number in 3..23 {
            let file = stage.read(&task_path(layout, number));
            assert_eq!(file["status"], "in_progress", "{layout}: {file}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mirror_whose_board_is_behind_takes_no_new_mail_out_of_an_inbox() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let stage = Stage::on(Arc::clone(&store), layout).await;
        let mut current = stage.mirror().await;
        current.pass().await.unwrap();
        let behind = MirrorBehind::start(&store, &stage).await;
        for round in 1..=20 {
            stage.submit("ann", say("pat", &format!("message {round}"))).await;
            current.pass().await.unwrap();
        }
        // Inboxes are visited in the order of their owners.
        let letter = json!({"from": "pat", "text": "over", "content": "over", "read": false,
            "timestamp": "2026-01-01T00:00:00.000Z"});
        stage.put_letter("quin", letter);
        wait_for("the mirror that was behind has looked at all inboxes", async || {
            let quin = troop_model::Party::member(&name("quin"));
            let look = move |state: &troop_model::State| state.mailbox().n_unread(&quin);
            (behind.board.look(look).await.unwrap() == 1).then_some(())
        })
        .await;
        behind.end().await;
        current.pass().await.unwrap();
        assert_eq!(stage.inbox("pat").len(), 20, "{layout}");
        assert_eq!(stage.n_unread("pat").await, 20, "{layout}");
        let facts = facts(&stage.board).await;
        let n_read = facts.iter().filter(|it| matches!(it, Fact::MessageRead { .. })).count();
        assert_eq!(n_read, 0, "{layout}: nobody read anything");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_task_of_a_program_keeps_its_file_beside_a_mirror_that_is_behind() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let stage = Stage::on(Arc::clone(&store), Layout::Seeds).await;
    stage.submit("ann", create("one")).await;
    let mut current = stage.mirror().await;
    current.pass().await.unwrap();
    let behind = MirrorBehind::start(&store, &stage).await;
    for round in 0..20 {
        let path = format!("tasks/crew/new-{round}.json");
        let task = json!({"id": format!("new-{round}"), "subject": "new"});
        stage.write(".half", &task);
        std::fs::rename(stage.path(".half"), stage.path(&path)).unwrap();
        current.pass().await.unwrap();
    }
    claim_in_file(&stage, 1, "pat");
    wait_for("the mirror that was behind has looked at all files", async || {
        let look = |state: &troop_model::State| state.tasks().status(troop_model::TaskNumber(1));
        (behind.board.look(look).await.unwrap() == Some(Status::InProgress)).then_some(())
    })
    .await;
    behind.end().await;
    current.pass().await.unwrap();
    assert_eq!(stage.n_tasks().await, 21, "each was made once");
    for round in 0..20 {
        assert!(Path::exists(&stage.path(&format!("tasks/crew/new-{round}.json"))), "{round}");
    }
}
