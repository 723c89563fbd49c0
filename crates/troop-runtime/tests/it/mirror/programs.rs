//! Programs in another language, which know only the files.

use std::{
    collections::BTreeSet,
    path::Path,
    process::{Child, Command as Program, Stdio},
    time::Duration,
};

use rustix::fs::{FlockOperation, flock};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_model::{MemberName, Party, State, Status};
use troop_runtime::{Layout, Mirror};
use troop_testkit::wait_for;

use super::stage::Stage;
use crate::support::{create, name, say};

/// A running mirror.
struct Running {
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl Running {
    /// It does not poll, so that only the system's notices tell it of changes.
    fn start(mut mirror: Mirror) -> Self {
        mirror.poll_every(Duration::from_secs(3_600));
        let stop = CancellationToken::new();
        let tracker = TaskTracker::new();
        let token = stop.clone();
        tracker.spawn(async move { mirror.run(token).await.unwrap() });
        tracker.close();
        Self { stop, tracker }
    }

    async fn end(self) {
        self.stop.cancel();
        self.tracker.wait().await;
    }
}

fn program(stage: &Stage, member: &str, act: &[&str]) -> Child {
    program_with(&stage.layout.to_string(), stage, member, act)
}

fn program_with(words: &str, stage: &Stage, member: &str, act: &[&str]) -> Child {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mirror/member.py");
    let mut python = Program::new("python3");
    python.arg(script).arg(stage.folder.path()).args(["crew", words, member]);
    python.args(act).stdout(Stdio::piped()).spawn().unwrap()
}

/// The output of a program that ended.
async fn said(child: Child) -> Vec<String> {
    let output = tokio::task::spawn_blocking(|| child.wait_with_output().unwrap()).await.unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

fn is_held_by(state: &State, member: &MemberName) -> BTreeSet<u32> {
    state.tasks().held_by(member).map(|it| it.0).collect()
}

async fn one_of_many_programs_claims_each_task(layout: Layout, words: &str) {
    const N_TASKS: usize = 40;
    let stage = Stage::new(layout).await;
    for nth in 0..N_TASKS {
        stage.submit("ann", create(&format!("task {nth}"))).await;
    }
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    let running = Running::start(mirror);
    let n_tasks = N_TASKS.to_string();
    let programs: Vec<_> = ["pat", "quin", "pat", "quin"]
        .map(|member| (member, program_with(words, &stage, member, &["claim", &n_tasks])))
        .into();
    let mut claimed = Vec::new();
    for (member, program) in programs {
        claimed.extend(said(program).await.into_iter().map(|task| (task, member)));
    }
    assert_eq!(claimed.len(), N_TASKS, "each was claimed once: {claimed:?}");
    wait_for("the board knows who holds what", async || {
        let held = |state: &State| {
            (is_held_by(state, &name("pat")).len(), is_held_by(state, &name("quin")).len())
        };
        let (pat, quin) = stage.board.look(held).await.unwrap();
        (pat + quin == N_TASKS).then_some(())
    })
    .await;
    for (task, member) in claimed {
        let number = task.trim_start_matches("task-").parse().unwrap();
        assert_eq!(stage.task(number).await, (Status::InProgress, Some(name(member))));
    }
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_many_programs_claims_each_task_under_the_systems_locks() {
    one_of_many_programs_claims_each_task(Layout::Seeds, "seeds").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_many_programs_claims_each_task_under_their_other_name() {
    one_of_many_programs_claims_each_task(Layout::Seeds, "seeds:long").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_many_programs_claims_each_task_under_locks_that_are_folders() {
    one_of_many_programs_claims_each_task(Layout::Claude, "claude").await;
}

async fn all_messages_of_many_senders_arrive(layout: Layout) {
    const N_MESSAGES: usize = 25;
    let stage = Stage::new(layout).await;
    let mut mirror = stage.mirror().await;
    // Messages from before the mirror ran arrive, too.
    stage.submit("ann", say("quin", "ann says 0")).await;
    mirror.pass().await.unwrap();
    let early = serde_json::json!({
        "from": "pat", "content": "pat says early", "text": "pat says early",
        "timestamp": "2026-01-01T00:00:00Z", "read": false,
    });
    stage.put_letter("quin", early);
    let running = Running::start(mirror);
    let n_messages = N_MESSAGES.to_string();
    let to = ["send", "bob", &n_messages];
    let senders = [program(&stage, "pat", &to), program(&stage, "quin", &to)];
    for nth in 1..N_MESSAGES {
        stage.submit("ann", say("quin", &format!("ann says {nth}"))).await;
    }
    for sender in senders {
        said(sender).await;
    }
    wait_for("all that was said is on the board", async || {
        (stage.n_unread("bob").await == 2 * N_MESSAGES).then_some(())
    })
    .await;
    let contents = |state: &State| -> BTreeSet<String> {
        let bob = Party::member(&name("bob"));
        state.mailbox().unread_of(&bob).map(|it| it.content.clone()).collect()
    };
    assert_eq!(stage.board.look(contents).await.unwrap().len(), 2 * N_MESSAGES);
    // A program that takes a message from its inbox has read it.
    let taken = said(program(&stage, "quin", &["receive", &(N_MESSAGES + 1).to_string()])).await;
    let mut expected: Vec<_> = (0..N_MESSAGES).map(|nth| format!("ann says {nth}")).collect();
    expected.push("pat says early".to_owned());
    expected.sort();
    assert_eq!(taken, expected);
    wait_for("what was taken is read", async || (stage.n_unread("quin").await == 0).then_some(()))
        .await;
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_of_many_senders_is_lost_in_folders() {
    all_messages_of_many_senders_arrive(Layout::Seeds).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_of_many_senders_is_lost_in_one_file() {
    all_messages_of_many_senders_arrive(Layout::Claude).await;
}

#[tokio::test]
async fn writes_below_a_relative_path_are_noticed() {
    let stage = Stage::new(Layout::Seeds).await;
    stage.submit("ann", create("write")).await;
    let here = std::env::current_dir().unwrap();
    let up: std::path::PathBuf = here.ancestors().skip(1).map(|_| "..").collect();
    let folder = up.join(stage.folder.path().strip_prefix("/").unwrap());
    let running = Running::start(stage.mirror_in(folder).await);
    let task = "tasks/crew/task-1.json";
    wait_for("the file is there", async || stage.path(task).exists().then_some(())).await;
    stage.change(task, &serde_json::json!({"status": "claimed", "claimed_by": "pat"}));
    wait_for("it is claimed", async || (stage.task(1).await.0 == Status::InProgress).then_some(()))
        .await;
    running.end().await;
}

#[tokio::test]
async fn locks_that_others_keep_hold_up_only_their_own_files() {
    const N_LOCKED: u32 = 40;
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        for nth in 0..=N_LOCKED {
            stage.submit("ann", create(&format!("task {nth}"))).await;
        }
        let mut mirror = stage.mirror().await;
        mirror.pass().await.unwrap();
        let claimed =
            serde_json::json!({"status": "in_progress", "claimed_by": "pat", "owner": "pat"});
        let mut held = Vec::new();
        for number in 1..=N_LOCKED + 1 {
            let id = if layout == Layout::Seeds { "task-" } else { "" };
            let path = format!("tasks/crew/{id}{number}.json");
            stage.change(&path, &claimed);
            let lock = stage.path(&format!("{path}.lock"));
            match layout {
                _ if number > N_LOCKED => {}
                Layout::Claude => std::fs::create_dir(lock).unwrap(),
                Layout::Seeds => {
                    let file = std::fs::File::create(lock).unwrap();
                    flock(&file, FlockOperation::LockExclusive).unwrap();
                    held.push(file);
                }
            }
        }
        let begun = tokio::time::Instant::now();
        mirror.pass().await.unwrap();
        let n_held = |state: &State| is_held_by(state, &name("pat"));
        let taken = stage.board.look(n_held).await.unwrap();
        assert_eq!(taken, BTreeSet::from([N_LOCKED + 1]), "{layout}");
        assert!(begun.elapsed() < Duration::from_secs(8), "{layout}: {:?}", begun.elapsed());
    }
}
