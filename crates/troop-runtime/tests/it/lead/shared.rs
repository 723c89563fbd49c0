//! A lead whose team shares files with external members: changes in the files pass its hooks, and the team waits for those
//! members.

use std::{fs, path::Path, time::Duration};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use troop_model::{
    Actor, Asker, Command, EXTERNAL, MemberState, MessageKind, NewMember, NewTask, Origin,
    Outgoing, Party, State, Status, TaskCommand, TaskNumber,
};
use troop_runtime::{
    Clock, Layout, LeadEnd, Mirror, MirrorNotice, MirrorOptions, Signature, Timing, Until,
    find_lead,
};
use troop_testkit::{git, wait_for};

use super::{
    delegations::{ask, leading, led_by, led_in, setting},
    hooks::hooks,
    is_done,
    isolation::Project,
    stage::{Setting, Stage, quick},
    takeover::leaderless,
};
use crate::support::{name, say};

/// Adds an external member, which works through files.
async fn join(stage: &Stage, member: &str) {
    let (name, agent, expertise) = (name(member), EXTERNAL.into(), String::new());
    let member = NewMember { name, agent, expertise, model: None, permissions: None };
    stage.lead_does(Command::AddMember(member)).await;
}

async fn mirror(stage: &Stage, folder: &Path) -> Mirror {
    let (board, clock, folder) = (stage.board.clone(), Clock::system(), folder.to_owned());
    let (layout, lead) = (Layout::Seeds, Some(stage.folder.path().to_owned()));
    Mirror::open(MirrorOptions { board, clock, folder, layout, lead }).await.unwrap()
}

fn change(path: &Path, change: &Value) {
    let mut file: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    for (key, value) in change.as_object().unwrap() {
        file[key] = value.clone();
    }
    fs::write(path, file.to_string()).unwrap();
}

fn status(path: &Path) -> String {
    let file: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    file["status"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn hooks_judge_changes_made_through_shared_files() {
    let folder = tempfile::tempdir().unwrap();
    let completed = "test -e fixed || { echo 'tests are missing' >&2; exit 2; }";
    let created =
        "case \"$HOOK_teamTaskSubject\" in bad*) echo 'we do not do that' >&2; exit 2;; esac";
    let hooks = hooks(folder.path(), &[("TaskCompleted", completed), ("TaskCreated", created)]);
    let stage = Stage::new(Setting { hooks, ..Setting::default() }).await;
    join(&stage, "pat").await;
    stage.task("write").await;
    let shared = tempfile::tempdir().unwrap();
    let mut mirror = mirror(&stage, shared.path()).await;
    let mut notices = mirror.notices();
    mirror.pass().await.unwrap();
    let task = shared.path().join("tasks/crew/task-1.json");
    change(&task, &json!({"status": "claimed", "claimed_by": "pat"}));
    mirror.pass().await.unwrap();
    change(&task, &json!({"status": "done", "result": "written"}));
    mirror.pass().await.unwrap();
    assert_eq!(status(&task), "in_progress", "it is put back");
    let told = stage.until("pat is told", |state| {
        let pat = Party::member(&name("pat"));
        state.mailbox().unread_of(&pat).next().map(|it| it.content.clone())
    });
    assert!(told.await.ends_with("was refused: tests are missing"));
    fs::write(folder.path().join("fixed"), "").unwrap();
    change(&task, &json!({"status": "done", "result": "written"}));
    mirror.pass().await.unwrap();
    stage.until("it is done", is_done(1)).await;
    assert_eq!(status(&task), "completed");
    while notices.try_recv().is_ok() {}
    let bad = shared.path().join("tasks/crew/bad.json");
    fs::write(&bad, json!({"id": "bad", "subject": "bad idea"}).to_string()).unwrap();
    mirror.pass().await.unwrap();
    let Ok(MirrorNotice::Refused { reason, .. }) = notices.try_recv() else {
        panic!("not refused")
    };
    assert_eq!(reason, "we do not do that");
    assert!(!bad.exists() && bad.with_extension("json.refused").exists());
    let good = shared.path().join("tasks/crew/good.json");
    fs::write(&good, json!({"id": "good", "subject": "good idea"}).to_string()).unwrap();
    mirror.pass().await.unwrap();
    assert_eq!(status(&good), "pending");
    assert_eq!(stage.board.look(|state| state.tasks().len()).await.unwrap(), 2);
    let files = fs::read_dir(shared.path().join("tasks/crew")).unwrap();
    let files: Vec<_> = files.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(files.iter().filter(|it| it.ends_with(".json")).count(), 2, "{files:?}");
}

#[tokio::test]
async fn a_slow_hook_blocks_no_other_file_and_holds_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate");
    rustix::fs::mkfifoat(rustix::fs::CWD, &gate, rustix::fs::Mode::RWXU).unwrap();
    // The hook continues when the test writes into the gate.
    let hooks = hooks(folder.path(), &[("TaskCompleted", "echo >> asked; read word < gate")]);
    let stage = Stage::new(Setting { hooks, ..Setting::default() }).await;
    join(&stage, "pat").await;
    stage.task("write").await;
    stage.task("read").await;
    let shared = tempfile::tempdir().unwrap();
    let mut mirror = mirror(&stage, shared.path()).await;
    mirror.pass().await.unwrap();
    let stop = CancellationToken::new();
    let tracker = tokio_util::task::TaskTracker::new();
    let kept = tracker.spawn(mirror.run(stop.clone()));
    let task = |number: u32| shared.path().join(format!("tasks/crew/task-{number}.json"));
    let claimed = |number: u32| {
        let what = format!("task {number} is claimed");
        let look = move |state: &State| {
            let status = state.tasks().status(TaskNumber(number));
            (status == Some(Status::InProgress)).then_some(())
        };
        (what, look)
    };
    change(&task(1), &json!({"status": "claimed", "claimed_by": "pat"}));
    let (what, look) = claimed(1);
    stage.until(&what, look).await;
    wait_for("the file says so", async || (status(&task(1)) == "in_progress").then_some(())).await;
    change(&task(1), &json!({"status": "done", "result": "written"}));
    let asked = folder.path().join("asked");
    wait_for("the hook is asked", async || asked.exists().then_some(())).await;
    change(&task(2), &json!({"status": "claimed", "claimed_by": "pat"}));
    let (what, look) = claimed(2);
    stage.until(&what, look).await;
    let lock = fs::File::options().write(true).open(task(1).with_extension("lock")).unwrap();
    wait_for("the lock is free", async || {
        flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()
    })
    .await;
    flock(&lock, FlockOperation::Unlock).unwrap();
    assert_eq!(status(&task(1)), "done", "the file stays as written meanwhile");
    tokio::task::spawn_blocking(move || fs::write(gate, "go\n")).await.unwrap().unwrap();
    stage.until("it is done", is_done(1)).await;
    wait_for("the file says so", async || (status(&task(1)) == "completed").then_some(())).await;
    assert_eq!(fs::read_to_string(asked).unwrap(), "\n", "it was asked once");
    stop.cancel();
    kept.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_leaving_member_stays_until_the_hook_has_judged_its_task() {
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate");
    rustix::fs::mkfifoat(rustix::fs::CWD, &gate, rustix::fs::Mode::RWXU).unwrap();
    let hooks = hooks(folder.path(), &[("TaskCompleted", "echo >> asked; read word < gate")]);
    let stage = Stage::new(Setting { hooks, ..Setting::default() }).await;
    join(&stage, "pat").await;
    stage.task("write").await;
    let shared = tempfile::tempdir().unwrap();
    let mut mirror = mirror(&stage, shared.path()).await;
    mirror.pass().await.unwrap();
    change(
        &shared.path().join("tasks/crew/task-1.json"),
        &json!({"status": "done", "claimed_by": "pat"}),
    );
    let config = shared.path().join("teams/crew/config.json");
    let file: Value = serde_json::from_slice(&fs::read(&config).unwrap()).unwrap();
    let mut members = file["members"].as_array().unwrap().clone();
    members.retain(|it| it["name"] != "pat");
    change(&config, &json!({"members": members}));
    let stop = CancellationToken::new();
    let kept = tokio_util::task::TaskTracker::new().spawn(mirror.run(stop.clone()));
    let asked = folder.path().join("asked");
    wait_for("the hook is asked", async || asked.exists().then_some(())).await;
    let is_there = |state: &State| state.member(&name("pat")).is_some();
    assert!(stage.board.look(is_there).await.unwrap());
    tokio::task::spawn_blocking(move || fs::write(gate, "go\n")).await.unwrap().unwrap();
    stage.until("it is done", is_done(1)).await;
    stage.until("pat has left", move |state| (!is_there(state)).then_some(())).await;
    stop.cancel();
    kept.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_team_waits_for_tasks_of_external_members() {
    let (tell, mut told) = mpsc::unbounded_channel();
    // The lead plans a second task when the first is done.
    let mut stage = led_by(leading(move |part, message| {
        let tell = tell.clone();
        async move {
            if message.content.contains("task-1") {
                let next = json!({"subject": "check", "assignee": "pat"});
                ask(&part, "task/create", next).await.unwrap();
            }
            drop(tell.send((message.content, message.origin)));
        }
    }))
    .await;
    join(&stage, "pat").await;
    let (subject, assignee) = ("write".to_owned(), Some(name("pat")));
    let new = NewTask { subject, assignee, ..NewTask::default() };
    let origin = Origin { chat_id: Some("9".into()), ..Origin::default() };
    let actor = Actor::agent(&troop_model::MemberName::lead());
    let signature = Signature::new(Asker { actor, origin: origin.clone() });
    let create = signature.on(Command::Task(TaskCommand::Create(new)));
    stage.board.submit(create).await.unwrap();
    let version = stage.board.look(State::version).await.unwrap();
    stage.lead.as_ref().unwrap().handle().end(Until::QuietAfter(version)).await;
    let shared = tempfile::tempdir().unwrap();
    let mut mirror = mirror(&stage, shared.path()).await;
    mirror.pass().await.unwrap();
    let task = shared.path().join("tasks/crew/task-1.json");
    change(&task, &json!({"status": "claimed", "claimed_by": "pat"}));
    mirror.pass().await.unwrap();
    change(&task, &json!({"status": "done", "result": "written"}));
    mirror.pass().await.unwrap();
    let first = "pat has finished task-1; it is completed: written".to_owned();
    assert_eq!(told.recv().await.unwrap(), (first, origin), "in the conversation of its task");
    stage.until("there is more to do", |state| state.tasks().get(TaskNumber(2)).map(drop)).await;
    let pat = Actor::agent(&name("pat"));
    let complete = TaskCommand::Complete {
        task: TaskNumber(2).into(),
        result: "checked".to_owned(),
        summary: None,
        attempt: None,
    };
    stage.submit(pat, Command::Task(complete)).await.unwrap();
    let (second, _) = told.recv().await.unwrap();
    assert_eq!(second, "pat has finished task-2; it is completed: checked");
    let ended = stage.lead.take().unwrap().ended().await;
    assert_eq!(ended, LeadEnd::Quiet);
    assert_eq!(stage.n_times("pat", MemberState::Spawning).await, 0, "it was never started");
}

#[tokio::test]
async fn messages_of_an_external_member_after_its_task_are_delivered() {
    let (tell, mut told) = mpsc::unbounded_channel();
    // Longer than a test lasts.
    let timing = Timing { last_words: Duration::from_secs(600), ..quick() };
    let lead = leading(move |_, message| {
        let tell = tell.clone();
        async move { drop(tell.send((message.kind, message.content))) }
    });
    let mut stage = led_in(Setting { timing, ..setting() }, lead).await;
    join(&stage, "pat").await;
    stage.task_for("look", "pat").await;
    let version = stage.board.look(State::version).await.unwrap();
    stage.lead.as_ref().unwrap().handle().end(Until::QuietAfter(version)).await;
    let lead = stage.lead.take().unwrap();
    let mut ended = std::pin::pin!(lead.ended());
    let mut heard = async |stage: &Stage, wanted: &str| {
        let read = async {
            let (_, content) = told.recv().await.unwrap();
            assert!(content.starts_with(wanted), "{content}");
            let lead = Party::member(&troop_model::MemberName::lead());
            let is_read = move |state: &State| (state.mailbox().n_unread(&lead) == 0).then_some(());
            stage.until("the lead has read it", is_read).await;
        };
        tokio::select! {
            ended = &mut ended => panic!("the lead did not wait for `{wanted}`: {ended:?}"),
            () = read => {}
        }
    };
    let says = async |kind, content: &str| {
        let Command::Send(words) = say("lead", content) else { panic!("it says something") };
        let words = Command::Send(Outgoing { kind, ..words });
        stage.submit(Actor::agent(&name("pat")), words).await.unwrap();
    };
    let (task, result) = (TaskNumber(1).into(), "completed through its file".to_owned());
    let complete = TaskCommand::Complete { task, result, summary: None, attempt: None };
    stage.submit(Actor::agent(&name("pat")), Command::Task(complete)).await.unwrap();
    heard(&stage, "pat has finished task-1").await;
    says(MessageKind::Message, "I found it in line 7").await;
    heard(&stage, "I found it in line 7").await;
    says(MessageKind::Idle, "available").await;
    assert_eq!(ended.await, LeadEnd::Quiet, "an idle message ends the wait");
}

#[tokio::test]
async fn an_external_member_reads_and_answers_a_shutdown_request_itself() {
    let stage = Stage::new(Setting::default()).await;
    join(&stage, "pat").await;
    let shared = tempfile::tempdir().unwrap();
    let mut mirror = mirror(&stage, shared.path()).await;
    let request = Outgoing::new("pat", MessageKind::ShutdownRequest, "all is done");
    stage.lead_does(Command::Send(request)).await;
    // Everything that the lead does about the request comes before this.
    stage.spawn("bob", "worker").await;
    stage.task_for("later", "bob").await;
    stage.until("it is done", is_done(1)).await;
    let look = |state: &State| state.lead().map(|it| it.name.clone());
    let lead = stage.board.look(look).await.unwrap().unwrap();
    mirror.pass().await.unwrap();
    let inbox = shared.path().join("teams/crew/inbox");
    let letters = fs::read_dir(inbox.join("pat")).unwrap();
    let [letter] = letters.map(|it| it.unwrap().path()).collect::<Vec<_>>().try_into().unwrap();
    let letter: Value = serde_json::from_slice(&fs::read(letter).unwrap()).unwrap();
    assert_eq!(letter["type"], "shutdown_request");
    let answer = json!({"from": "pat", "type": "shutdown_response", "request_id": letter["request_id"], "approve": true});
    fs::write(inbox.join(format!("{lead}/answer.json")), answer.to_string()).unwrap();
    mirror.pass().await.unwrap();
    stage.until_state("pat", MemberState::Stopped).await;
}

/// Completes a task as a member.
async fn completes(stage: &Stage, member: &str, task: u32) {
    let (task, summary, attempt) = (TaskNumber(task).into(), None, None);
    let complete = TaskCommand::Complete { task, result: "done".to_owned(), summary, attempt };
    stage.submit(Actor::agent(&name(member)), Command::Task(complete)).await.unwrap();
}

/// How often the lead was told that `pat` completed a task.
fn n_told(state: &State, task: u32) -> usize {
    let says = format!("pat has finished task-{task}; it is completed: done");
    state.mailbox().iter().filter(|it| it.content == says).count()
}

#[tokio::test]
async fn work_of_an_external_member_without_a_lead_is_reported_once_to_the_next_lead() {
    let mut stage = Stage::new(Setting::default()).await;
    join(&stage, "pat").await;
    for _ in 1..=3 {
        stage.task_for("write", "pat").await;
    }
    completes(&stage, "pat", 1).await;
    stage.until("that is told", |it| (n_told(it, 1) == 1).then_some(())).await;
    for nth in 2..=3 {
        let lead = stage.lead.take().unwrap();
        lead.stop("nobody leads for a while").await.unwrap();
        lead.ended().await;
        completes(&stage, "pat", nth).await;
        stage.lead = Some(stage.start(Setting::default()).await.unwrap());
        stage.until("that is told, too", move |it| (n_told(it, nth) == 1).then_some(())).await;
    }
    let told = stage.board.look(|it| [1, 2, 3].map(|nth| n_told(it, nth))).await.unwrap();
    assert_eq!(told, [1, 1, 1]);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_of_an_external_member_is_not_reported_again_after_the_lead_was_killed() {
    let mut stage = leaderless().await;
    join(&stage, "pat").await;
    for _ in 1..=2 {
        stage.task_for("write", "pat").await;
    }
    let mortal = tokio::runtime::Runtime::new().unwrap();
    let start = stage.start(Setting::default());
    let _killed = tokio::task::block_in_place(|| mortal.block_on(start)).unwrap();
    completes(&stage, "pat", 1).await;
    stage.until("that is told", |it| (n_told(it, 1) == 1).then_some(())).await;
    mortal.shutdown_background();
    let folder = stage.folder.path().to_owned();
    wait_for("the lead is gone", async || find_lead(&folder).is_none().then_some(())).await;
    completes(&stage, "pat", 2).await;
    stage.lead = Some(stage.start(Setting::default()).await.unwrap());
    stage.until("that is told, too", |it| (n_told(it, 2) == 1).then_some(())).await;
    let told = stage.board.look(|it| [1, 2].map(|nth| n_told(it, nth))).await.unwrap();
    assert_eq!(told, [1, 1]);
    stage.stop().await;
}

#[tokio::test]
async fn an_external_member_has_no_worktree_and_nothing_is_merged() {
    let project = Project::new();
    let stage = project.stage(|_| {}).await;
    join(&stage, "pat").await;
    stage.task_for("look", "pat").await;
    let shared = tempfile::tempdir().unwrap();
    let mut mirror = mirror(&stage, shared.path()).await;
    mirror.pass().await.unwrap();
    let task = shared.path().join("tasks/crew/task-1.json");
    change(&task, &json!({"status": "claimed", "claimed_by": "pat"}));
    mirror.pass().await.unwrap();
    change(&task, &json!({"status": "done", "result": "all is well"}));
    mirror.pass().await.unwrap();
    stage.until("it is done", is_done(1)).await;
    let trace = stage.trace().await;
    assert!(!trace.iter().any(|kind| kind == "task.merged"), "{trace:?}");
    let branches = git(&project.path(), &["branch", "--list"]);
    assert!(!branches.contains("pat"), "{branches}");
}
