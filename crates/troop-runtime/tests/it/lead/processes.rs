//! Teammates that are real processes, written in Python.

use std::{path::PathBuf, sync::Arc, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use troop_model::{
    Command, MemberState, MessageKind, Outgoing, Settings, State, Status, TaskNumber,
};
use troop_process::Mark;
use troop_runtime::{Launch, LeadEnd, Programs, Timing};
use troop_testkit::wait_for;

use super::{
    hooks::{hooks, lines},
    is_done,
    stage::{Setting, Stage, quick, without_restarts},
};
use crate::support::{name, say};

const AGENTS: [&str; 8] = [
    "plain",
    "refuses-to-start",
    "never-ready",
    "tells-all",
    "ignores-term",
    "ignores-shutdown",
    "leaves-children",
    "no-such-program",
];

/// Runs members as processes of the script beside this file.
pub(super) fn programs() -> Arc<dyn Launch> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/lead/teammate.py");
    let program = |agent: &&str| {
        let program = if *agent == "no-such-program" { "/no/such/program" } else { "python3" };
        (smol_str::SmolStr::new(agent), vec![program.into(), script.clone().into()])
    };
    Arc::new(Programs {
        // No guard is needed: a test that passes leaves no process behind.
        troop: PathBuf::from("true"),
        own: AGENTS.iter().map(program).collect(),
        environment: vec![("GREETING".into(), "hello".into())],
    })
}

async fn stage() -> Stage {
    let timing = without_restarts();
    Stage::new(Setting { others: Some(programs()), timing, ..Setting::default() }).await
}

async fn pid_of(stage: &Stage, member: &'static str) -> u32 {
    stage.until("its process", move |state| state.member(&name(member))?.pid).await
}

pub(super) fn marked(stage: &Stage) -> Mark {
    let entry = troop_runtime::find_lead(stage.folder.path()).unwrap();
    Mark { session: entry.session, run: None }
}

#[tokio::test]
async fn a_program_that_speaks_the_protocol_is_a_teammate() {
    let stage = stage().await;
    stage.spawn("bob", "plain").await;
    stage.task("write").await;
    stage.until("it is done", is_done(1)).await;
    stage.submit(troop_model::Actor::human("zoe"), say("bob", "hi")).await.unwrap();
    stage
        .until("it answers", |state| {
            let answers = |it: &troop_model::Message| it.content == "heard: hi";
            state.mailbox().iter().any(answers).then_some(())
        })
        .await;
    let pid = pid_of(&stage, "bob").await;
    assert!(matches!(stage.stop().await, LeadEnd::Stopped { .. }));
    assert!(!PathBuf::from(format!("/proc/{pid}")).exists(), "it has stopped");
}

#[tokio::test]
async fn a_teammate_is_started_with_the_documented_arguments_and_environment() {
    let stage = stage().await;
    stage.spawn("bob", "tells-all").await;
    stage.until_state("bob", MemberState::Idle).await;
    let said = wait_for("its words are in the transcript", async || {
        let entries = stage.transcript("bob");
        entries.into_iter().find(|it| it.line.text.starts_with("[["))
    })
    .await;
    let (arguments, environment): (Vec<String>, std::collections::BTreeMap<String, String>) =
        serde_json::from_str(&said.line.text).unwrap();
    let session = troop_runtime::find_lead(stage.folder.path()).unwrap().session.to_string();
    let path = stage.folder.path().display().to_string();
    let wanted = [
        "--mode",
        "teammate",
        "--team",
        "crew",
        "--name",
        "bob",
        "--agent",
        "tells-all",
        "--lead-session",
        &session,
        "--path",
        &path,
    ];
    assert_eq!(arguments, wanted);
    assert_eq!(environment["TROOP_TEAMMATE"], "1");
    assert_eq!(environment["GREETING"], "hello");
    assert_eq!(
        environment.get("CARGO_MANIFEST_DIR").map(String::as_str),
        Some(env!("CARGO_MANIFEST_DIR")),
        "and ours"
    );
}

#[tokio::test]
async fn hooks_get_the_pid_of_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let log = "echo \"$HOOK_teamName $HOOK_teammateName $HOOK_teammateAgentName $HOOK_teammatePid\" >> log";
    let hooks = hooks(folder.path(), &[("teammate-spawned", log)]);
    let setting = Setting { others: Some(programs()), hooks, ..Setting::default() };
    let stage = Stage::new(setting).await;
    stage.spawn("bob", "plain").await;
    let pid = pid_of(&stage, "bob").await;
    let seen = wait_for("the hook has run", async || lines(folder.path(), "log").pop()).await;
    assert_eq!(seen, format!("crew bob plain {pid}"));
}

#[tokio::test]
async fn every_crash_is_noticed_with_its_reason_and_another_teammate_does_the_task() {
    let stage = stage().await;
    let ways =
        [("exit 3", "exit code 3"), ("be killed", "killed by signal 9"), ("vanish", "exit code 0")];
    for (nth, (subject, reason)) in (1..).zip(ways) {
        stage.spawn("bob", "plain").await;
        stage.until_state("bob", MemberState::Idle).await;
        stage.task(subject).await;
        stage
            .until(reason, move |state| {
                let bob = state.member(&name("bob"))?;
                let is_down = bob.state_reason.as_deref().is_some_and(|it| it.contains(reason));
                (is_down && bob.state == MemberState::Crashed).then_some(())
            })
            .await;
        stage.spawn("cyd", "plain").await;
        stage.until("another teammate does it", is_done(nth)).await;
        let owner = move |state: &State| state.tasks().get(TaskNumber(nth)).unwrap().owner.clone();
        assert_eq!(stage.board.look(owner).await.unwrap(), Some(name("cyd")));
        for member in ["bob", "cyd"] {
            let remove = Command::RemoveMember { member: name(member), reason: None };
            stage.lead_does(remove).await;
        }
    }
}

#[tokio::test]
async fn the_reason_of_an_end_comes_before_the_last_output() {
    let settings = Settings { lease_seconds: 1, ..Settings::default() };
    let (others, timing) = (Some(programs()), without_restarts());
    let stage = Stage::new(Setting { others, timing, settings, ..Setting::default() }).await;
    stage.spawn("bob", "plain").await;
    stage.task("moan").await;
    stage.until_state("bob", MemberState::Crashed).await;
    let why = |state: &State| state.member(&name("bob")).unwrap().state_reason.clone();
    let why = stage.board.look(why).await.unwrap().unwrap();
    assert!(why.starts_with("it was silent for longer than its lease: …"), "{why}");
    assert!(why.trim_end().ends_with("why") && why.chars().count() < 500, "the end of them: {why}");
}

#[tokio::test]
async fn a_teammate_that_fails_to_start_is_removed_and_its_last_output_reported() {
    let stage = stage().await;
    for (agent, words) in [("refuses-to-start", "no licence"), ("no-such-program", "cannot be")] {
        stage.spawn("bob", agent).await;
        stage
            .until(words, move |state| {
                let told = |it: &troop_model::Message| {
                    it.content.starts_with("bob did not start") && it.content.contains(words)
                };
                let is_told = state.mailbox().iter().any(told);
                (is_told && state.member(&name("bob")).is_none()).then_some(())
            })
            .await;
    }
}

#[tokio::test]
async fn a_teammate_that_is_not_ready_in_time_is_removed() {
    let mut timing = quick();
    timing.ready = Duration::from_millis(300);
    let setting = Setting { others: Some(programs()), timing, ..Setting::default() };
    let stage = Stage::new(setting).await;
    stage.spawn("bob", "never-ready").await;
    stage.until("it is gone", |state| state.member(&name("bob")).is_none().then_some(())).await;
}

#[tokio::test]
async fn a_teammate_that_ignores_shutdown_gets_sigterm_and_then_sigkill() {
    let stage = stage().await;
    // The first exits on SIGTERM, the second only on SIGKILL.
    for (member, agent, signal) in [("bob", "ignores-shutdown", 15), ("cyd", "ignores-term", 9)] {
        stage.spawn(member, agent).await;
        stage.until_state(member, MemberState::Idle).await;
        let pid = pid_of(&stage, member).await;
        stage.lead_does(stop(member)).await;
        stage.until_state(member, MemberState::Stopped).await;
        assert!(!PathBuf::from(format!("/proc/{pid}")).exists(), "{member} is gone");
        let entries = stage.transcript(member);
        let how = format!("killed by signal {signal}");
        assert!(entries.iter().any(|it| it.line.text == how), "{how}: {entries:?}");
    }
}

#[tokio::test]
async fn a_teammate_has_the_grace_period_to_finish_and_stop() {
    assert_eq!(Timing::default().grace, Duration::from_secs(3), "as seeds and design say");
    let timing = Timing { grace: Duration::from_secs(600), ..without_restarts() };
    let stage =
        Stage::new(Setting { others: Some(programs()), timing, ..Setting::default() }).await;
    stage.spawn("bob", "plain").await;
    stage.task("wait").await;
    stage.until_state("bob", MemberState::Working).await;
    stage.lead_does(stop("bob")).await;
    // It reads the request when it has finished its task.
    std::fs::write(stage.folder.path().join("go"), "").unwrap();
    stage.until_state("bob", MemberState::Stopped).await;
    let entries = stage.transcript("bob");
    assert!(entries.iter().any(|it| it.line.text == "exit code 0"), "{entries:?}");
    let done = stage.board.look(is_done(1)).await.unwrap();
    assert_eq!(done, Some(()), "its task is done");
}

fn stop(member: &str) -> Command {
    Command::Send(Outgoing::new(member, MessageKind::ShutdownRequest, "enough"))
}

#[tokio::test]
async fn no_child_process_outlives_its_teammate() {
    let stage = stage().await;
    stage.spawn("bob", "leaves-children").await;
    stage.until_state("bob", MemberState::Idle).await;
    let mark = marked(&stage);
    // During `exec` a process has no mark for a moment.
    wait_for("it and its two children, one in its own session", async || {
        (mark.processes().len() == 3).then_some(())
    })
    .await;
    let pid = pid_of(&stage, "bob").await;
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
    stage.until_state("bob", MemberState::Crashed).await;
    assert_eq!(mark.processes(), Vec::<u32>::new());
    assert!(matches!(stage.stop().await, LeadEnd::Stopped { .. }));
}

#[tokio::test]
async fn a_process_suspended_past_its_lease_loses_its_task_to_another() {
    let settings = Settings {
        lease_seconds: 3,
        max_attempts: 10,
        retry_backoff_seconds: 0,
        ..Settings::default()
    };
    let (others, timing) = (Some(programs()), without_restarts());
    let stage = Stage::new(Setting { others, timing, settings, ..Setting::default() }).await;
    stage.spawn("bob", "plain").await;
    stage.until_state("bob", MemberState::Idle).await;
    let pid = pid_of(&stage, "bob").await;
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::STOP).unwrap();
    stage.task("write").await;
    stage.until("it has the task", |state| state.tasks().held_by(&name("bob")).next()).await;
    stage.spawn("cyd", "plain").await;
    stage.until("another teammate does it", is_done(1)).await;
    let owner =
        stage.until("its owner", |state| state.tasks().get(TaskNumber(1))?.owner.clone()).await;
    assert_eq!(owner, name("cyd"));
}

#[tokio::test]
async fn garbage_between_protocol_lines_is_skipped() {
    let stage = stage().await;
    stage.spawn("bob", "plain").await;
    stage.task("babble").await;
    stage.until("it is done anyway", is_done(1)).await;
    let entries = stage.transcript("bob");
    let n_skipped = entries.iter().filter(|it| it.line.text.starts_with("skipped")).count();
    assert!(n_skipped >= 5, "each is logged: {entries:?}");
    let n_done = stage.board.look(|state| state.tasks().n_with(Status::Completed)).await.unwrap();
    assert_eq!(n_done, 1);
}
