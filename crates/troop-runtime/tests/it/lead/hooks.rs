//! Hooks of a running team.

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use troop_model::{
    Command, Fact, MemberState, MessageKind, NewMember, NewTask, Outgoing, Settings, Spawn, State,
    Status, Task, TaskCommand, TaskNumber, TrailKind,
};
use troop_protocol::{FromLead, FromTeammate, ReportedStatus};
use troop_runtime::{Agreement, HookOptions, Hooks, HooksConfig};
use troop_testkit::{git, wait_for};

use super::{
    is_done,
    isolation::{Project, writer},
    processes::programs,
    stage::{Part, Play, Setting, Stage, play, raw, worker},
    starting::add,
};

/// Hooks that run in a folder, as pairs of event and command.
pub(super) fn hooks(folder: &Path, all: &[(&str, &str)]) -> Hooks {
    heard_hooks(folder, all).0
}

/// Like `hooks`, with their complaints.
fn heard_hooks(folder: &Path, hooks: &[(&str, &str)]) -> (Hooks, mpsc::Receiver<String>) {
    let hooks: Vec<_> =
        hooks.iter().map(|(event, command)| json!({"event": event, "command": command})).collect();
    let (config, mistakes) = HooksConfig::read(&json!({ "hooks": hooks }));
    assert!(mistakes.is_empty(), "{mistakes:?}");
    let environment = std::env::vars_os().collect();
    let (tracker, (warnings, heard)) = (TaskTracker::new(), mpsc::channel(8));
    let (folder, agreement) = (folder.to_owned(), Agreement::default());
    let options = HookOptions { folder, environment, agreement, tracker, warnings };
    (Hooks::new(config, options), heard)
}

pub(super) fn lines(folder: &Path, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn each_event_fires_once_at_its_moment() {
    let folder = tempfile::tempdir().unwrap();
    let log = "echo \"$HOOK_event $HOOK_teammateName $HOOK_teamTaskId\" >> log";
    let events = [
        "team-created",
        "teammate-spawned",
        "teammate-idle",
        "task-created",
        "task-assigned",
        "task-completed",
        "team-shutdown",
    ];
    let hooks = hooks(folder.path(), &events.map(|event| (event, log)));
    let others = Some(programs());
    let stage = Stage::new(Setting { hooks, others, ..Setting::default() }).await;
    // Hooks that fire together may write in any order.
    let until = async |moment: &str, mut expected: Vec<&str>| {
        let seen = wait_for(moment, async || {
            let seen = lines(folder.path(), "log");
            (seen.len() >= expected.len()).then_some(seen)
        });
        let mut seen = seen.await;
        expected.sort_unstable();
        seen.sort_unstable();
        assert_eq!(seen, expected, "{moment}");
        std::fs::remove_file(folder.path().join("log")).unwrap();
    };
    until("the team is there", vec!["team-created  "]).await;
    stage.spawn("bob", "plain").await;
    until("bob is there, and has done nothing", vec!["teammate-spawned bob "]).await;
    stage.task("wait").await;
    let begun = vec!["task-created ann task-1", "task-assigned bob task-1"];
    until("there is something to do", begun).await;
    stage.plays.add("meddler", meddler());
    stage.spawn("eve", "meddler").await;
    refused(&stage, "while bob works").await;
    std::fs::write(stage.folder.path().join("go"), "").unwrap();
    let seen = wait_for("it is done, and there is nothing else to do", async || {
        let seen = lines(folder.path(), "log");
        (seen.len() >= 2).then_some(seen)
    });
    assert_eq!(seen.await, ["task-completed bob task-1", "teammate-idle bob "]);
    std::fs::remove_file(folder.path().join("log")).unwrap();
    refused(&stage, "when it is done").await;
    stage.stop().await;
    assert_eq!(
        lines(folder.path(), "log"),
        ["team-shutdown  "],
        "of what is refused, no hook hears"
    );
}

/// With each message, completes the task of another and creates one, which it may not. It never says that it is idle.
fn meddler() -> Play {
    play(|mut part: Part| async move {
        part.ready(true).await;
        while let Some(said) = part.hear().await {
            let FromLead::Message(message) = said else { continue };
            for (method, params) in [
                ("task/complete", r#"{"task":1,"result":"STOLEN"}"#),
                ("task/create", r#"{"subject":"more"}"#),
            ] {
                let asked = raw(method, params);
                part.peer.request::<serde_json::Value>(asked).await.unwrap_err();
            }
            let params = json!({"to": "user", "content": format!("tried {}", message.content)});
            let over = raw("message/send", &params.to_string());
            part.peer.request::<serde_json::Value>(over).await.unwrap();
        }
    })
}

/// Lets the meddler try, and waits until it has.
async fn refused(stage: &Stage, moment: &str) {
    stage.lead_does(Command::Send(Outgoing::message("eve", moment))).await;
    let tried = format!("tried {moment}");
    let look = move |state: &State| {
        state.mailbox().iter().find(|message| message.content == tried).map(drop)
    };
    stage.until(moment, look).await;
}

/// Completes its task twice, by a report and by a call, and says what came of the call.
fn hasty() -> Play {
    play(|mut part: Part| async move {
        part.ready(true).await;
        part.idle().await;
        let Some(task) = part.task().await else { return };
        part.report(&task, ReportedStatus::Completed, "first").await;
        let done = json!({"task": task.id, "result": "second"});
        let asked = part.peer.request::<serde_json::Value>(raw("task/complete", &done.to_string()));
        let told = async {
            let params = json!({"to": "user", "content": "completed twice"});
            part.peer.notify(raw("team.message", &params.to_string())).await.unwrap();
        };
        let (answer, ()) = tokio::join!(asked, told);
        let params = json!({"to": "user", "content": format!("refused: {}", answer.is_err())});
        part.peer.notify(raw("team.message", &params.to_string())).await.unwrap();
        while part.hear().await.is_some() {}
    })
}

#[tokio::test]
async fn hooks_hear_once_of_a_task_that_is_completed_twice_and_other_tasks_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let slow = "echo \"$HOOK_teamTaskId $HOOK_teamTaskResult\" >> seen; \
                test $HOOK_teamTaskId = task-2 || until test -e go; do sleep 0.01; done";
    let hooks = hooks(folder.path(), &[("task-completed", slow)]);
    let stage = Stage::new(Setting { hooks, ..Setting::default() }).await;
    stage.plays.add("hasty", hasty());
    stage.spawn("bob", "hasty").await;
    stage.task_for("write", "bob").await;
    let said = |words: &'static str| {
        move |state: &State| state.mailbox().iter().find(|it| it.content == words).map(drop)
    };
    stage.until("bob has completed it twice", said("completed twice")).await;
    stage.spawn("cyd", "worker").await;
    stage.task_for("read", "cyd").await;
    stage.until("another task is done meanwhile", is_done(2)).await;
    std::fs::write(folder.path().join("go"), "").unwrap();
    stage.until("bob hears of the second time", said("refused: true")).await;
    stage.until("the task is done", is_done(1)).await;
    stage.stop().await;
    assert_eq!(lines(folder.path(), "seen"), ["task-1 first", "task-2 by cyd"]);
}

#[tokio::test]
#[expect(clippy::wildcard_enum_match_arm, reason = "the test is about two kinds")]
async fn a_veto_of_a_task_that_was_cancelled_meanwhile_is_not_announced() {
    let folder = tempfile::tempdir().unwrap();
    let slow = "echo seen >> seen; until test -e go; do sleep 0.01; done; echo BAD >&2; exit 2";
    let hooks = hooks(folder.path(), &[("task-completed", slow)]);
    let stage = Stage::new(Setting { hooks, ..Setting::default() }).await;
    stage.spawn("bob", "worker").await;
    stage.task("write").await;
    wait_for("the hook judges", async || lines(folder.path(), "seen").pop()).await;
    let cancel = TaskCommand::Cancel { task: TaskNumber(1).into(), reason: "no".to_owned() };
    stage.lead_does(Command::Task(cancel)).await;
    std::fs::write(folder.path().join("go"), "").unwrap();
    stage.task("read").await;
    wait_for("the next task is judged", async || {
        (lines(folder.path(), "seen").len() > 1).then_some(())
    })
    .await;
    let log = stage.log().await;
    let is_veto = |event: &Fact| match event {
        Fact::TaskRefused { task, .. } => *task == Some(TaskNumber(1)),
        Fact::MessageSent { content, .. } => content.contains("BAD") && !content.contains("task-2"),
        _ => false,
    };
    let first = log
        .iter()
        .take_while(|it| !matches!(it.fact, Fact::TaskRefused { task: Some(TaskNumber(2)), .. }));
    let vetoes: Vec<_> = first.filter(|it| is_veto(&it.fact)).collect();
    assert!(vetoes.is_empty(), "{vetoes:?}");
}

#[tokio::test]
async fn each_hook_gets_the_values_of_its_event() {
    let folder = tempfile::tempdir().unwrap();
    let values = [
        "teamName",
        "teammateName",
        "teamTaskId",
        "teamTaskOwner",
        "teamTaskResult",
        "teamMemberCount",
        "teamTasksCompleted",
        "teamTasksTotal",
    ];
    let values = values.map(|it| format!("${{HOOK_{it}}}"));
    let log = format!("echo \"{}\" >> \"$HOOK_event\"", values.join("|"));
    let events =
        ["team-created", "teammate-idle", "task-assigned", "task-completed", "team-shutdown"];
    let hooks = hooks(folder.path(), &events.map(|event| (event, log.as_str())));
    let stage = Stage::new(Setting { hooks, ..Setting::default() }).await;
    // Three members, and two tasks of which one waits for approval, so that one is done in the end.
    add(&stage, "eve", "worker").await;
    stage.spawn("bob", "worker").await;
    stage.task_for("write", "bob").await;
    let subject = "read".to_owned();
    let new = NewTask { subject, approve_start: Some(true), ..NewTask::default() };
    stage.lead_does(Command::Task(TaskCommand::Create(new))).await;
    stage.until("it is done", is_done(1)).await;
    wait_for("bob is said to be idle", async || lines(folder.path(), "teammate-idle").pop()).await;
    stage.stop().await;
    let seen = |event: &str| lines(folder.path(), event).pop().unwrap_or_default();
    assert_eq!(seen("team-created"), "crew|||||||");
    assert_eq!(seen("teammate-idle"), "crew|bob||||||");
    assert_eq!(seen("task-assigned"), "crew|bob|task-1|bob||||");
    assert_eq!(seen("task-completed"), "crew|bob|task-1|bob|by bob|||");
    assert_eq!(seen("team-shutdown"), "crew|||||3|1|2");
}

#[tokio::test]
async fn a_teammate_that_gets_the_task_it_unblocked_is_not_reported_idle() {
    let folder = tempfile::tempdir().unwrap();
    let log = "echo \"$HOOK_event $HOOK_teamTaskId\" >> log";
    let hooks = hooks(folder.path(), &[("teammate-idle", log), ("task-completed", log)]);
    let stage = Stage::new(Setting { hooks, ..Setting::default() }).await;
    stage.task("first").await;
    for nth in 1..5 {
        let blocked_by = vec![TaskNumber(nth).into()];
        let new = NewTask { subject: "next".to_owned(), blocked_by, ..NewTask::default() };
        stage.lead_does(Command::Task(TaskCommand::Create(new))).await;
    }
    stage.spawn("bob", "worker").await;
    wait_for("bob is said to be idle", async || {
        lines(folder.path(), "log").iter().any(|it| it == "teammate-idle ").then_some(())
    })
    .await;
    stage.until("all is done", is_done(5)).await;
    stage.stop().await;
    let mut expected: Vec<_> = (1..=5).map(|nth| format!("task-completed task-{nth}")).collect();
    expected.push("teammate-idle ".to_owned());
    assert_eq!(lines(folder.path(), "log"), expected);
}

#[tokio::test]
async fn the_scripts_in_the_docs_of_hooks_check_the_worktree_of_the_member() {
    let page = include_str!("../../../../../docs/hooks.md");
    for (language, file, command) in [
        ("sh", ".troop/verify.sh", ".troop/verify.sh"),
        ("python", ".troop/verify.py", "python3 .troop/verify.py"),
    ] {
        let (project, (_, rest)) =
            (Project::new(), page.split_once(&format!("```{language}\n")).unwrap());
        let (script, _) = rest.split_once("```").unwrap();
        let (path, script_at) = (project.path(), project.path().join(file));
        std::fs::create_dir(path.join(".troop")).unwrap();
        std::fs::write(&script_at, script).unwrap();
        std::fs::set_permissions(&script_at, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(path.join("Makefile"), "test:\n\t@test -e good\n").unwrap();
        git(&path, &["add", "Makefile"]);
        git(&path, &["commit", "--quiet", "-m", "tests"]);
        let (hooks, mut complaints) = heard_hooks(&path, &[("TaskCompleted", command)]);
        let settings = Settings { max_attempts: 1, ..Settings::default() };
        let isolation = Some(project.isolation().await);
        let stage = Stage::new(Setting { hooks, settings, isolation, ..Setting::default() }).await;
        stage.plays.add("command", writer(|_, _, _| {}));
        stage.spawn("bob", "command").await;
        stage.task("write bad 1").await;
        let why = stage.until("task 1 has failed", |state| {
            let task = state.tasks().get(TaskNumber(1)).filter(|it| it.status == Status::Failed)?;
            task.trail.iter().rev().find_map(|it| it.note.clone())
        });
        let why = why.await;
        assert!(why.contains("is not done"), "{why}");
        stage.task("write good 1").await;
        stage.until("task 2 is done", is_done(2)).await;
        stage.stop().await;
        assert!(complaints.try_recv().is_err(), "nothing is wrong with it");
    }
}

#[tokio::test]
async fn a_veto_keeps_a_task_open_and_the_feedback_reaches_its_holder() {
    let folder = tempfile::tempdir().unwrap();
    let veto = "test -e fixed || { echo 'tests are missing' >&2; exit 2; }";
    let hooks = hooks(folder.path(), &[("TaskCompleted", veto)]);
    let stage = Stage::new(Setting { hooks, ..Setting::default() }).await;
    let path = folder.path().join("fixed");
    stage.plays.add(
        "careless",
        play(move |mut part: Part| {
            let path = path.clone();
            async move {
                part.ready(true).await;
                part.idle().await;
                // The task and the reason may come in either order: it completes the task once it has repaired it.
                let (mut is_first, mut again) = (true, None);
                while let Some(said) = part.hear().await {
                    match said {
                        FromLead::AssignTask { task } if is_first || path.exists() => {
                            is_first = false;
                            part.complete(&task).await;
                        }
                        FromLead::AssignTask { task } => again = Some(task),
                        FromLead::Message(message) => {
                            assert_eq!(message.content, "tests are missing");
                            std::fs::write(&path, "").unwrap();
                            if let Some(task) = again.take() {
                                part.complete(&task).await;
                            }
                        }
                        FromLead::UpdateContext(_)
                        | FromLead::Shutdown { .. }
                        | FromLead::Interrupt { .. } => {}
                    }
                }
            }
        }),
    );
    stage.spawn("bob", "careless").await;
    stage.task("write").await;
    stage.until("it is done after all", is_done(1)).await;
    let task = stage.board.look(|state| state.tasks().get(TaskNumber(1)).cloned()).await.unwrap();
    let task = task.unwrap();
    assert_eq!(task.attempts, 1, "it stayed with its holder");
    let refused: Vec<_> = task.trail.iter().filter(|it| it.what == TrailKind::Refused).collect();
    let notes: Vec<_> = refused.iter().filter_map(|it| it.note.as_deref()).collect();
    assert_eq!(notes, ["bob by a hook: tests are missing"]);
}

#[tokio::test]
async fn a_veto_of_idleness_keeps_a_teammate_at_work() {
    let folder = tempfile::tempdir().unwrap();
    let veto = "test -e swept || { touch swept; echo 'sweep the floor' >&2; exit 2; }";
    let hooks = hooks(folder.path(), &[("TeammateIdle", veto)]);
    let stage = Stage::new(Setting { hooks, ..Setting::default() }).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add(
        "sweeper",
        play(move |mut part: Part| {
            let tell = tell.clone();
            async move {
                part.ready(true).await;
                part.idle().await;
                while let Some(said) = part.hear().await {
                    match said {
                        FromLead::AssignTask { task } => part.complete(&task).await,
                        FromLead::Message(message) => {
                            tell.send(message.content).unwrap();
                            part.idle().await;
                        }
                        FromLead::UpdateContext(_)
                        | FromLead::Shutdown { .. }
                        | FromLead::Interrupt { .. } => {}
                    }
                }
            }
        }),
    );
    stage.spawn("bob", "sweeper").await;
    stage.task("write").await;
    assert_eq!(told.recv().await.unwrap(), "sweep the floor");
    stage
        .until("then the lead hears that it is idle", |state| {
            state.mailbox().iter().any(|it| it.content == "bob is idle").then_some(())
        })
        .await;
}

#[tokio::test]
async fn an_idle_report_without_work_is_not_announced() {
    let folder = tempfile::tempdir().unwrap();
    let log = "echo \"$HOOK_teammateName\" >> log";
    let hooks = hooks(folder.path(), &[("teammate-idle", log)]);
    let stage = Stage::new(Setting { hooks, ..Setting::default() }).await;
    // Started with a prompt, it ends that turn without a word about being idle.
    stage.plays.add(
        "reader",
        play(|mut part: Part| async move {
            part.ready_acknowledging().await;
            part.idle().await;
            while let Some(said) = part.hear().await {
                if let FromLead::Message(message) = said {
                    let read = json!({"messages": [message.id]}).to_string();
                    part.peer
                        .request::<serde_json::Value>(raw("message/read", &read))
                        .await
                        .unwrap();
                    part.say(FromTeammate::TurnEnd {}).await;
                }
            }
        }),
    );
    for member in ["bob", "cyd"] {
        stage.spawn(member, "worker").await;
        stage.until_state(member, MemberState::Idle).await;
    }
    for member in ["dan", "eve"] {
        let new = NewMember::new(member.parse().unwrap(), "reader");
        let prompt = Some("look around".to_owned());
        stage.lead_does(Command::SpawnMember(Spawn { member: new, prompt })).await;
    }
    stage.task_for("write", "cyd").await;
    wait_for("three have done something", async || {
        (lines(folder.path(), "log").len() >= 3).then_some(())
    })
    .await;
    let told = |state: &State| {
        let idle = state.mailbox().iter().filter(|it| it.kind == MessageKind::Idle);
        let mut told: Vec<_> = idle.map(|it| it.from.to_string()).collect();
        told.sort_unstable();
        (told.len() >= 3).then_some(told)
    };
    assert_eq!(stage.until("the lead hears of them", told).await, ["cyd", "dan", "eve"]);
    stage.stop().await;
    let mut seen = lines(folder.path(), "log");
    seen.sort_unstable();
    assert_eq!(seen, ["cyd", "dan", "eve"], "each once, and bob not at all");
}

#[tokio::test]
async fn a_vetoed_task_is_not_created_and_its_creator_hears_why() {
    let folder = tempfile::tempdir().unwrap();
    let veto = r#"echo '{"continue": false, "reason": "too vague"}'"#;
    let hooks = hooks(folder.path(), &[("TaskCreated", veto)]);
    let stage = Stage::new(Setting { hooks, ..Setting::default() }).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add(
        "planner",
        play(move |part: Part| {
            let tell = tell.clone();
            async move {
                part.ready(true).await;
                let asked = raw("task/create", r#"{"subject":"do it"}"#);
                let answer = part.peer.request::<serde_json::Value>(asked).await;
                tell.send(answer.unwrap_err().to_string()).unwrap();
                std::future::pending::<()>().await;
            }
        }),
    );
    stage
        .lead_does(Command::UpdateTeam {
            description: None,
            settings: vec![("task_creation".to_owned(), json!("members"))],
        })
        .await;
    stage.spawn("bob", "planner").await;
    assert!(told.recv().await.unwrap().contains("too vague"));
    let n_tasks = stage.board.look(|state| state.tasks().len()).await.unwrap();
    assert_eq!(n_tasks, 0);
    let log = stage.log().await;
    let refused = log.iter().find_map(|event| {
        let Fact::TaskRefused { task, subject, who, reason, .. } = &event.fact else { return None };
        Some((*task, subject.clone()?, who.name.clone(), reason.clone()))
    });
    assert_eq!(refused, Some((None, "do it".into(), "bob".into(), "too vague".into())));
    // A task that is created without the lead is cancelled.
    stage.task("do it").await;
    stage
        .until("it is cancelled", |state| {
            (state.tasks().status(TaskNumber(1))? == Status::Cancelled).then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_hook_that_hangs_or_crashes_does_not_stop_the_team() {
    let folder = tempfile::tempdir().unwrap();
    let all = [
        ("task-assigned", "sleep 600"),
        ("teammate-idle", "kill -9 $$"),
        ("task-completed", "head -c 200000 /dev/zero; exit 7"),
    ];
    let (hooks, mut complaints) = heard_hooks(folder.path(), &all);
    let stage = Stage::new(Setting { hooks, ..Setting::default() }).await;
    stage.spawn("bob", "worker").await;
    for _ in 0..3 {
        stage.task("write").await;
    }
    stage.until("all are done", is_done(3)).await;
    stage.until_state("bob", MemberState::Idle).await;
    // People are warned.
    while !complaints.recv().await.unwrap().contains(" on task-completed ") {}
}

#[tokio::test]
async fn a_member_that_exits_before_its_hook_has_agreed_is_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let slow = "until test -e gone; do sleep 0.01; done; rm gone";
    let hooks = hooks(folder.path(), &[("TaskCompleted", slow)]);
    let stage = Stage::new(Setting { hooks, ..Setting::default() }).await;
    let gone = folder.path().join("gone");
    stage.plays.add(
        "brief",
        play(move |mut part: Part| {
            let gone = gone.clone();
            async move {
                part.ready(true).await;
                part.idle().await;
                let Some(task) = part.task().await else { return };
                part.complete(&task).await;
                drop(part);
                std::fs::write(gone, "").unwrap();
            }
        }),
    );
    stage.spawn("bob", "brief").await;
    for _ in 0..3 {
        stage.task("write").await;
    }
    stage.until("all are done", is_done(3)).await;
}

#[tokio::test]
async fn a_failed_task_runs_no_completion_hook() {
    let folder = tempfile::tempdir().unwrap();
    let hooks = hooks(folder.path(), &[("TaskCompleted", "echo no >&2; exit 2")]);
    let stage = Stage::new(Setting { hooks, ..Setting::default() }).await;
    stage.plays.add(
        "failing",
        play(|mut part| async move {
            part.ready(true).await;
            part.idle().await;
            while let Some(task) = part.task().await {
                part.report(&task, ReportedStatus::Failed, "cannot").await;
                part.idle().await;
            }
        }),
    );
    stage.spawn("bob", "failing").await;
    stage.task("write").await;
    stage
        .until("it has failed for good", |state| {
            let task = state.tasks().get(TaskNumber(1))?;
            (task.status == Status::Failed && task.start.not_before.is_none()).then_some(())
        })
        .await;
}

/// Settings with at most two attempts per task.
fn tried_twice(checks: &[&str]) -> Settings {
    Settings {
        max_attempts: 2,
        retry_backoff_seconds: 0,
        checks: checks.iter().map(|it| (*it).to_owned()).collect(),
        ..Settings::default()
    }
}

/// Waits until task 1 has failed for good.
async fn failed(stage: &Stage) -> Task {
    let look = |state: &State| {
        let task = state.tasks().get(TaskNumber(1))?;
        let is_over = task.status == Status::Failed && task.start.not_before.is_none();
        is_over.then(|| task.clone())
    };
    stage.until("it has failed for good", look).await
}

#[tokio::test]
async fn an_agent_that_cannot_repair_fails_at_each_veto_of_a_hook() {
    let folder = tempfile::tempdir().unwrap();
    let veto = "echo seen >> seen; echo 'never good enough' >&2; exit 2";
    let hooks = hooks(folder.path(), &[("TaskCompleted", veto)]);
    let settings = tried_twice(&[]);
    let stage = Stage::new(Setting { hooks, settings, ..Setting::default() }).await;
    stage.plays.add("command", worker());
    stage.spawn("bob", "command").await;
    stage.task("write").await;
    let task = failed(&stage).await;
    assert_eq!(task.result.as_deref(), Some("never good enough"));
    assert_eq!((task.attempts, lines(folder.path(), "seen").len()), (2, 2));
    stage.stop().await;
}

#[tokio::test]
async fn an_attempt_fails_after_five_refusals() {
    let folder = tempfile::tempdir().unwrap();
    let veto = "echo seen >> seen; echo 'never good enough' >&2; exit 2";
    let hooks = hooks(folder.path(), &[("TaskCompleted", veto)]);
    let settings = Settings { max_attempts: 1, ..tried_twice(&[]) };
    let stage = Stage::new(Setting { hooks, settings, ..Setting::default() }).await;
    stage.spawn("bob", "worker").await;
    stage.task("write").await;
    let task = failed(&stage).await;
    assert_eq!(task.result.as_deref(), Some("never good enough"));
    assert_eq!((task.attempts, lines(folder.path(), "seen").len()), (1, 5));
    stage.stop().await;
}

#[tokio::test]
async fn an_agent_that_cannot_repair_fails_at_each_failed_check() {
    let setting = Setting { settings: tried_twice(&["echo no; exit 3"]), ..Setting::default() };
    let stage = Stage::new(setting).await;
    stage.plays.add("command", worker());
    stage.spawn("bob", "command").await;
    stage.task("write").await;
    let task = failed(&stage).await;
    let why = "the check `echo no; exit 3` ended with exit code 3:\nno";
    assert_eq!(task.result.as_deref(), Some(why));
    assert_eq!((task.attempts, task.proof.n_failed), (2, 2));
    stage.stop().await;
}

#[tokio::test]
async fn refused_completions_by_another_member_do_not_fail_a_task() {
    let folder = tempfile::tempdir().unwrap();
    let hooks = hooks(folder.path(), &[("TaskCompleted", "exit 2")]);
    let settings = Settings { max_attempts: 1, ..tried_twice(&[]) };
    let stage = Stage::new(Setting { hooks, settings, ..Setting::default() }).await;
    let holds = play(|mut part: Part| async move {
        part.ready(true).await;
        part.idle().await;
        while part.hear().await.is_some() {}
    });
    let claims = play(|mut part: Part| async move {
        part.ready(true).await;
        for _ in 0..6 {
            let done = raw("task/complete", r#"{"task":1,"result":"done"}"#);
            assert!(part.peer.request::<serde_json::Value>(done).await.is_err());
        }
        let over = raw("message/send", r#"{"to":"user","content":"six times"}"#);
        part.peer.request::<serde_json::Value>(over).await.unwrap();
        while part.hear().await.is_some() {}
    });
    stage.plays.add("holds", holds);
    stage.plays.add("claims", claims);
    stage.spawn("bob", "holds").await;
    stage.task_for("write", "bob").await;
    let held =
        |state: &State| state.tasks().get(TaskNumber(1)).filter(|it| it.owner.is_some()).map(drop);
    stage.until("bob has it", held).await;
    stage.spawn("cyd", "claims").await;
    let said =
        |state: &State| state.mailbox().iter().find(|it| it.content == "six times").map(drop);
    stage.until("cyd has tried", said).await;
    let task = stage.board.look(|state| state.tasks().get(TaskNumber(1)).cloned()).await.unwrap();
    assert_eq!(task.unwrap().status, Status::InProgress);
    stage.stop().await;
}
