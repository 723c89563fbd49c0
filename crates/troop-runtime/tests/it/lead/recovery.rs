//! Silence, sleep, and teammates that crash or cannot be started.

use std::{ffi::OsString, io, sync::Arc, time::Duration};

use tokio::sync::{Notify, mpsc};
use troop_model::{
    Command, MemberState, MessageKind, Outgoing, Settings, State, Status, TaskNumber, Time,
};
use troop_runtime::{Clock, Launch, LaunchSpec, LaunchedAgent, Programs, Timing};
use uuid::Uuid;

use super::{
    at_first,
    delegations::delegate,
    is_done,
    isolation::told,
    stage::{Part, Setting, Stage, play, raw, without_restarts, worker},
    starting::add,
};
use crate::support::name;

/// A team with leases of a minute, and a manual clock.
async fn with_clock() -> (Stage, Clock) {
    let clock = Clock::manual(Time::from_micros(1_700_000_000_000_000));
    let settings = Settings { lease_seconds: 60, retry_backoff_seconds: 0, ..Settings::default() };
    let stage = Stage::new(Setting { clock: clock.clone(), settings, ..Setting::default() }).await;
    (stage, clock)
}

/// Whether the lead has mail that contains this text.
fn is_told(what: &'static str) -> impl Fn(&State) -> Option<()> + Clone + Send + 'static {
    move |state| {
        let lead = troop_model::Party::member(&state.lead()?.name);
        let mut mail = state.mailbox().iter();
        mail.any(|it| it.to == lead && it.content.contains(what)).then_some(())
    }
}

#[tokio::test]
async fn a_teammate_that_is_silent_past_its_lease_is_restarted() {
    let (stage, clock) = with_clock().await;
    stage.plays.add(
        "sleeper",
        at_first(play(|mut part| async move {
            part.ready(true).await;
            part.idle().await;
            drop(part.task().await);
            // It hangs: it holds the task and is silent.
            while part.hear().await.is_some() {}
        })),
    );
    stage.spawn("bob", "sleeper").await;
    stage.task("wait").await;
    stage.until_state("bob", MemberState::Working).await;
    // Time passes while the lead listens.
    troop_testkit::wait_for("it is done by the one that came after", async || {
        clock.set(clock.now() + Duration::from_secs(1));
        stage.board.look(is_done(1)).await.unwrap()
    })
    .await;
    let trace = stage.trace().await;
    assert!(trace.contains(&"task.released".to_owned()), "{trace:?}");
    let attempts = |state: &State| state.tasks().get(TaskNumber(1)).unwrap().attempts;
    let attempts = stage.board.look(attempts).await.unwrap();
    assert_eq!(attempts, 2, "the hanging teammate does not get it again");
}

#[tokio::test]
async fn time_while_the_machine_slept_does_not_count_as_silence() {
    let (stage, clock) = with_clock().await;
    let go_on = Arc::new(Notify::new());
    let waits = Arc::clone(&go_on);
    stage.plays.add(
        "patient",
        play(move |mut part: Part| {
            let waits = Arc::clone(&waits);
            async move {
                part.ready(true).await;
                part.idle().await;
                let task = part.task().await.unwrap();
                waits.notified().await;
                part.complete(&task).await;
                while part.hear().await.is_some() {}
            }
        }),
    );
    stage.spawn("bob", "patient").await;
    stage.task("wait").await;
    stage.until_state("bob", MemberState::Working).await;
    // The whole machine sleeps for an hour.
    let woken_at = clock.now() + Duration::from_secs(3_600);
    clock.set(woken_at);
    stage
        .until("its lease is renewed", move |state| {
            let task = state.tasks().get(TaskNumber(1))?;
            task.hold.lease_until.filter(|until| *until > woken_at).map(drop)
        })
        .await;
    go_on.notify_one();
    stage.until("it is done", is_done(1)).await;
    let trace = stage.trace().await;
    assert!(!trace.contains(&"task.released".to_owned()), "{trace:?}");
}

#[tokio::test]
async fn a_restart_that_keeps_failing_is_given_up() {
    let stage = Stage::new(Setting::default()).await;
    let plays = stage.plays.clone();
    stage.plays.add(
        "last",
        play(move |part: Part| {
            let plays = plays.clone();
            async move {
                part.ready(true).await;
                // Its program is gone at the restart.
                plays.remove("last");
            }
        }),
    );
    stage.spawn("cyd", "last").await;
    stage.until("the lead hears that it is given up", is_told("cyd crashed too often")).await;
    let n_starts = stage.n_times("cyd", MemberState::Spawning).await;
    assert_eq!(n_starts, 3, "once as asked, twice again");
    let state = stage.board.look(|state| state.member(&name("cyd")).unwrap().state).await.unwrap();
    assert_eq!(state, MemberState::Crashed, "it was there before, so it is not removed");
}

#[tokio::test]
async fn the_lead_hears_of_a_crashed_teammate_whose_place_is_taken() {
    let stage = Stage::new(Setting::default()).await;
    stage.plays.add(
        "mortal",
        play(|mut part| async move {
            part.ready(true).await;
            drop(part.task().await);
        }),
    );
    stage.spawn("cyd", "worker").await;
    stage.spawn("bob", "mortal").await;
    stage.until_state("bob", MemberState::Idle).await;
    let settings = vec![("max_teammates".to_owned(), 1.into())];
    stage.lead_does(Command::UpdateTeam { description: None, settings }).await;
    stage.task_for("die", "bob").await;
    stage.until("the lead hears of it", is_told("bob crashed and will not be restarted: ")).await;
}

#[tokio::test]
async fn a_task_of_a_crashed_teammate_is_assigned_to_an_idle_one() {
    // No tick: only the crash triggers the assignment.
    let timing = Timing { tick: Duration::from_secs(600), ..without_restarts() };
    let stage = Stage::new(Setting { timing, ..Setting::default() }).await;
    let crash = Arc::new(Notify::new());
    let waits = Arc::clone(&crash);
    stage.plays.add(
        "crasher",
        play(move |mut part: Part| {
            let waits = Arc::clone(&waits);
            async move {
                part.ready(true).await;
                part.idle().await;
                // It crashes while it holds the task.
                drop(part.task().await);
                waits.notified().await;
            }
        }),
    );
    stage.spawn("cyd", "crasher").await;
    stage.until_state("cyd", MemberState::Idle).await;
    stage.task("risky").await;
    stage.until_state("cyd", MemberState::Working).await;
    stage.spawn("bob", "worker").await;
    stage.until_state("bob", MemberState::Idle).await;
    crash.notify_one();
    stage.until("it is done", is_done(1)).await;
    let task = stage.until("the task", |state| state.tasks().get(TaskNumber(1)).cloned()).await;
    assert_eq!((task.owner, task.attempts), (Some(name("bob")), 2));
}

#[tokio::test]
async fn reminders_and_stale_tasks_follow_the_clock_in_a_running_team() {
    let clock = Clock::manual(Time::from_micros(1_700_000_000_000_000));
    let mut settings =
        Settings { lease_seconds: 600_000, stale_after_minutes: 30, ..Settings::default() };
    settings.followup.interval_minutes = 10;
    settings.followup.max_reminders = 1;
    let stage = Stage::new(Setting { clock: clock.clone(), settings, ..Setting::default() }).await;
    stage.plays.add(
        "asker",
        play(|mut part| async move {
            part.ready(true).await;
            part.idle().await;
            let task = part.task().await.unwrap();
            let ask = serde_json::json!({"task": task.id, "question": "red or blue?"});
            drop(
                part.peer
                    .request::<serde_json::Value>(raw("task/ask_user", &ask.to_string()))
                    .await,
            );
            while part.hear().await.is_some() {}
        }),
    );
    stage.spawn("bob", "asker").await;
    stage.task("paint").await;
    let to_user = |what: &'static str| {
        move |state: &State| {
            let mut mail = state.mailbox().iter();
            let user = troop_model::Party::user();
            mail.any(|it| it.to == user && it.content.contains(what)).then_some(())
        }
    };
    let pass = |minutes: u64| clock.set(clock.now() + Duration::from_secs(60 * minutes));
    stage.until("the user is asked", to_user("bob asks about task-1")).await;
    pass(10);
    stage.until("and reminded", to_user("bob still asks about task-1")).await;
    pass(10);
    let unanswered = "task-1 got no answer from the user after a reminder";
    stage.until("the lead hears of it", is_told(unanswered)).await;
    pass(30);
    stage.until("and that nothing moves", is_told("task-1 has not moved for 30 minutes")).await;
    let status = |state: &State| state.tasks().status(TaskNumber(1));
    assert_eq!(stage.board.look(status).await.unwrap(), Some(Status::Stale));
}

#[tokio::test]
async fn a_crashing_teammate_is_restarted_a_limited_number_of_times() {
    let stage = Stage::new(Setting::default()).await;
    stage.plays.add("brief", play(|part| async move { part.ready(true).await }));
    stage.spawn("cyd", "brief").await;
    stage
        .until("the lead hears that it is given up", |state| {
            let lead = troop_model::Party::member(&state.lead()?.name);
            state.mailbox().iter().find(|it| {
                it.to == lead && it.content.contains("crashed too often and will not be restarted")
            })?;
            Some(())
        })
        .await;
    let trace = stage.trace().await;
    let n_starts = trace.iter().filter(|it| *it == "member.state_changed").count();
    let wanted = 1 + 3 * 3;
    assert_eq!(n_starts, wanted, "the lead; spawning, idle, crashed, three times; {trace:?}");
}

/// A machine that can start no process, or whose disk is full for those that start.
#[derive(Debug)]
struct Exhausted(Option<Programs>);

impl Launch for Exhausted {
    fn launch(&self, spec: &LaunchSpec) -> io::Result<LaunchedAgent> {
        match &self.0 {
            Some(programs) => programs.launch(spec),
            None => Err(rustix::io::Errno::AGAIN.into()),
        }
    }

    fn guard(&self, _: Uuid) -> io::Result<Option<tokio::process::Child>> {
        Ok(None)
    }
}

/// A program that exits before it is ready, because the disk is full.
fn without_room() -> Programs {
    let own = ["sh", "-c", "echo 'here: No space left on device' >&2; exit 1"];
    let own = own.map(OsString::from).to_vec();
    Programs { troop: "troop".into(), own: [("late".into(), own)].into(), environment: Vec::new() }
}

/// A team on an exhausted machine, and the warnings to people.
async fn exhausted(programs: Option<Programs>) -> (Stage, mpsc::Receiver<String>) {
    let (warnings, warned) = mpsc::channel(8);
    let settings = Settings { max_attempts: 1, retry_backoff_seconds: 0, ..Settings::default() };
    let others = Some(Arc::new(Exhausted(programs)) as Arc<dyn Launch>);
    let warnings = Some(warnings);
    (Stage::new(Setting { settings, others, warnings, ..Setting::default() }).await, warned)
}

#[tokio::test]
async fn a_start_on_an_exhausted_machine_is_retried_and_costs_no_attempt() {
    let none = "Resource temporarily unavailable";
    let no_room = "exit code 1: here: No space left on device";
    for (programs, why) in [(None, none), (Some(without_room()), no_room)] {
        let (stage, mut warned) = exhausted(programs).await;
        add(&stage, "cyd", "late").await;
        stage.task("write").await;
        stage.lead_does(delegate(1, "cyd")).await;
        let warning = told(&mut warned).await;
        let says = format!("cyd cannot be started now; retrying: {why}");
        assert!(warning.starts_with(&says), "{warning}");
        stage.plays.add("late", worker());
        stage.until("it is done", is_done(1)).await;
        let task = stage.until("how", |state| state.tasks().get(TaskNumber(1)).cloned()).await;
        assert_eq!(task.attempts, 1);
        assert_eq!(stage.n_times("cyd", MemberState::Crashed).await, 0);
        assert!(warned.try_recv().is_err(), "people are told once");
        stage.stop().await;
    }
}

#[tokio::test]
async fn a_teammate_waiting_to_start_can_be_stopped_alone_and_with_its_team() {
    let (stage, mut warned) = exhausted(None).await;
    stage.spawn("cyd", "late").await;
    told(&mut warned).await;
    let request = Outgoing::new("cyd", MessageKind::ShutdownRequest, "not needed");
    stage.lead_does(Command::Send(request)).await;
    stage.until_state("cyd", MemberState::Stopped).await;
    stage.spawn("bob", "late").await;
    told(&mut warned).await;
    let board = stage.board.clone();
    stage.stop().await;
    let state = board.look(|state| state.member(&name("bob")).unwrap().state).await.unwrap();
    assert_eq!(state, MemberState::Stopped);
}

#[tokio::test]
async fn a_new_teammate_that_cannot_be_started_is_removed() {
    let stage = Stage::new(Setting::default()).await;
    stage.spawn("cyd", "nobody-plays-this").await;
    stage
        .until("it is gone and the lead knows why", |state| {
            let told = state.mailbox().iter().any(|it| it.content.starts_with("cyd did not start"));
            (told && state.member(&name("cyd")).is_none()).then_some(())
        })
        .await;
    // The name is free again.
    stage.spawn("cyd", "worker").await;
    stage.until_state("cyd", MemberState::Idle).await;
}
