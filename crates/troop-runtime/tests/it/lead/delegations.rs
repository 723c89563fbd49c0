//! Delegations with a running lead: their context, their end, and the conversation of their results.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use troop_model::{
    Actor, Asker, Command, Delegation, DelegationStatus, Dialect, Event, Fact, LinkChange,
    MemberName, MemberState, MessageKind, NewTask, Origin, Party, Settings, State, Status,
    TaskCommand, TaskNumber, Version,
};
use troop_protocol::{
    FromLead, FromTeammate, Level, Log, MessageIn, ReportedStatus, ShutdownAck, TeamContext,
    WireTask,
};
use troop_runtime::{CommandRequest, Signature};

use super::{
    stage::{Part, Play, Setting, Stage, play, quick, raw, without_restarts},
    starting::add,
};
use crate::support::{name, say};

/// A team whose lead gives out the work, with the settings that its dialect has by itself.
pub(super) fn setting() -> Setting {
    let settings =
        Settings { retry_backoff_seconds: 3_600, ..Settings::for_dialect(Dialect::Board) };
    Setting { settings, ..Setting::default() }
}

/// A thread of a group.
fn thread() -> Origin {
    Origin {
        user_id: Some("u1".into()),
        channel: Some("telegram".into()),
        chat_id: Some("c1".into()),
        peer_kind: Some("group".into()),
        local_key: Some("topic 3".into()),
    }
}

pub(super) fn delegate(task: u32, to: &str) -> Command {
    let task = Some(TaskNumber(task).into());
    Command::Delegate { to: name(to), task, subject: None, note: None, trace_id: None }
}

/// All announcements of delegations to the lead.
pub(super) fn announcements(state: &State) -> Vec<String> {
    let lead = Party::member(&state.lead().unwrap().name);
    let told = state.mailbox().iter().filter(|it| it.to == lead && it.from == Party::system());
    told.filter(|it| it.content.contains("that you delegated"))
        .map(|it| it.content.clone())
        .collect()
}

pub(super) fn announced(
    n: usize,
) -> impl Fn(&State) -> Option<Vec<String>> + Clone + Send + 'static {
    move |state| Some(announcements(state)).filter(|all| all.len() == n)
}

async fn only_delegation(stage: &Stage) -> Delegation {
    stage.until("a delegation", |state| state.delegations().next().cloned()).await
}

/// A member that passes on what it hears and handles tasks with `work`.
fn reporting<F>(
    tell: mpsc::UnboundedSender<FromLead>,
    work: impl Fn(Arc<Part>, WireTask) -> F + Clone + Send + Sync + 'static,
) -> Play
where
    F: Future<Output = ()> + Send + 'static,
{
    play(move |mut part: Part| {
        let (tell, work) = (tell.clone(), work.clone());
        async move {
            part.ready(true).await;
            part.idle().await;
            while let Some(said) = part.hear().await {
                drop(tell.send(said.clone()));
                match said {
                    FromLead::AssignTask { task } => {
                        let shared = Arc::new(part);
                        work(Arc::clone(&shared), task).await;
                        part = Arc::into_inner(shared).unwrap();
                    }
                    FromLead::Shutdown { .. } => {
                        return part.say(FromTeammate::ShutdownAck(ShutdownAck::agreed())).await;
                    }
                    FromLead::Message(_)
                    | FromLead::UpdateContext(_)
                    | FromLead::Interrupt { .. } => {}
                }
            }
        }
    })
}

async fn begin(part: &Part, task: &WireTask) {
    part.report(task, ReportedStatus::InProgress, "").await;
}

async fn log(part: &Part, text: &str) {
    part.say(FromTeammate::Log(Log { level: Level::Info, text: text.to_owned() })).await;
}

async fn task_said(told: &mut mpsc::UnboundedReceiver<FromLead>) -> WireTask {
    loop {
        if let FromLead::AssignTask { task } = told.recv().await.unwrap() {
            return task;
        }
    }
}

#[tokio::test]
async fn a_delegated_run_gets_its_whole_context_and_its_result_is_announced() {
    let stage = Stage::new(setting()).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add(
        "fay",
        reporting(tell, |part, task| async move {
            begin(&part, &task).await;
            log(&part, "on my way").await;
            part.complete(&task).await;
        }),
    );
    stage.spawn("fay", "fay").await;
    stage.until_state("fay", MemberState::Idle).await;
    stage.task("write").await;
    let trace_id = Some(uuid::Uuid::now_v7());
    let command = Command::Delegate {
        to: name("fay"),
        task: Some(TaskNumber(1).into()),
        subject: None,
        note: None,
        trace_id,
    };
    let signature =
        Signature::new(Asker { actor: Actor::agent(&MemberName::lead()), origin: thread() });
    stage.board.submit(signature.on(command)).await.unwrap();
    let run = task_said(&mut told).await.run.unwrap();
    let delegation = only_delegation(&stage).await;
    assert_eq!(run.session.unwrap(), format!("delegate:{}", delegation.id));
    assert_eq!(run.lane.as_deref(), Some("team"));
    assert_eq!(run.team_id, Some(stage.board.team().0));
    let task = stage.until("task 1", |state| state.tasks().get(TaskNumber(1)).cloned()).await;
    assert_eq!(run.task_id, Some(task.id));
    assert_eq!(run.delegation_id, Some(delegation.id));
    assert_eq!((run.trace_id, run.parent_trace_id), (Some(delegation.trace_id), trace_id));
    assert_eq!((run.channel.as_deref(), run.chat_id.as_deref()), (Some("telegram"), Some("c1")));
    assert_eq!(run.local_key.as_deref(), Some("topic 3"));
    let [text] = stage.until("it is announced", announced(1)).await.try_into().unwrap();
    assert!(text.contains("## fay: task-1 (write) completed after"), "{text}");
    assert!(text.contains("\nby fay\n"), "{text}");
    let delegation = only_delegation(&stage).await;
    assert_eq!((delegation.status, delegation.origin), (DelegationStatus::Completed, thread()));
    // Its lines during the run carry the run's session.
    let entries = stage.transcript("fay");
    let said = entries.iter().find(|it| it.line.text == "on my way").unwrap();
    assert_eq!(said.session.as_deref(), Some(format!("delegate:{}", delegation.id).as_str()));
    assert_eq!(entries.first().unwrap().session, None, "before, there was none");
}

#[tokio::test]
async fn delegated_work_comes_once_with_its_note_to_members_that_did_not_run() {
    let stage = Stage::new(setting()).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add(
        "fay",
        reporting(tell, |part, task| async move {
            begin(&part, &task).await;
            part.complete(&task).await;
        }),
    );
    for (nth, to) in [(1, "fay"), (2, "gil")] {
        add(&stage, to, "fay").await;
        stage.task("write").await;
        let command = Command::Delegate {
            to: name(to),
            task: Some(TaskNumber(nth).into()),
            subject: None,
            note: Some(format!("for {to} alone")),
            trace_id: None,
        };
        stage.lead_does(command).await;
    }
    stage
        .until("they are announced", |state| {
            let all: Vec<_> = state.delegations().map(|it| it.is_announced).collect();
            (all == [true, true]).then_some(())
        })
        .await;
    for member in ["fay", "gil"] {
        assert!(!was_idle_with_work(&stage.log().await, member), "{member}");
    }
    let mut notes = Vec::new();
    while let Ok(said) = told.try_recv() {
        match said {
            FromLead::AssignTask { task } => {
                let run = task.run.unwrap();
                assert!(run.session.unwrap().starts_with("delegate:"));
                notes.push(run.note.unwrap());
            }
            FromLead::Message(message) => panic!("it is handed the task as mail: {message:?}"),
            FromLead::UpdateContext(_) | FromLead::Shutdown { .. } | FromLead::Interrupt { .. } => {
            }
        }
    }
    notes.sort_unstable();
    assert_eq!(notes, ["for fay alone", "for gil alone"]);
}

/// Whether a member was shown as idle between getting its task and completing it.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other fact is about it")]
fn was_idle_with_work(log: &[Arc<Event>], member: &str) -> bool {
    let mut work = None;
    log.iter().any(|event| {
        match &event.fact {
            Fact::TaskAssigned { task, owner, .. } if *owner == name(member) => work = Some(*task),
            Fact::TaskCompleted { task, .. } if work == Some(*task) => work = None,
            Fact::MemberStateChanged { member: who, state: MemberState::Idle, .. } => {
                return work.is_some() && *who == name(member);
            }
            _ => {}
        }
        false
    })
}

#[tokio::test]
async fn a_task_goes_to_a_member_that_did_not_run_and_only_then_it_is_shown_working() {
    for dialect in [Dialect::Board, Dialect::Claude] {
        let settings = Settings::for_dialect(dialect);
        let stage = Stage::new(Setting { settings, ..Setting::default() }).await;
        let go_on = Arc::new(Notify::new());
        let gate = Arc::clone(&go_on);
        let (tell, _told) = mpsc::unbounded_channel();
        let work = move |part: Arc<Part>, task: WireTask| {
            let gate = Arc::clone(&gate);
            async move {
                gate.notified().await;
                part.complete(&task).await;
            }
        };
        stage.plays.add("slow", reporting(tell, work));
        for (nth, member) in [(1, "fay"), (2, "gil")] {
            add(&stage, member, "slow").await;
            if dialect == Dialect::Claude {
                // Any idle member gets a task that is for nobody.
                stage.task_for("write", member).await;
            } else {
                stage.task("write").await;
                let to = name(member);
                let order = TaskCommand::Assign { task: Some(TaskNumber(nth).into()), to };
                stage.submit(Actor::human("zoe"), Command::Task(order)).await.unwrap();
            }
            stage.until_state(member, MemberState::Working).await;
            let pid = stage.board.look(move |state| state.member(&name(member)).unwrap().pid);
            assert!(pid.await.unwrap().is_some(), "{member} works, so it runs");
            go_on.notify_one();
            stage.until("it is done", super::is_done(nth)).await;
            stage.until_state(member, MemberState::Idle).await;
        }
        stage.stop().await;
    }
}

#[tokio::test]
async fn the_lead_hears_of_every_result_of_members_that_go_straight_on() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let lead = leading(move |_, message| {
        let tell = tell.clone();
        async move { drop(tell.send(message)) }
    });
    let stage = led_in(Setting::default(), lead).await;
    let user = |nth: u32| Origin { user_id: Some(format!("u{nth}").into()), ..thread() };
    for nth in 1..=6 {
        let new = NewTask { subject: format!("task {nth}"), ..NewTask::default() };
        let asker = Asker { actor: Actor::agent(&MemberName::lead()), origin: user(nth % 2) };
        let command = Command::Task(TaskCommand::Create(new));
        stage.board.submit(Signature::new(asker).on(command)).await.unwrap();
    }
    for member in ["fay", "gil"] {
        stage.spawn(member, "worker").await;
    }
    let mut results: Vec<Option<Origin>> = vec![None; 6];
    while results.contains(&None) {
        let message = told.recv().await.unwrap();
        for (nth, result) in (1..).zip(&mut results) {
            if message.content.contains(&format!("task-{nth} is completed"))
                || message.content.contains(&format!("task-{nth}; it is completed"))
            {
                assert_eq!(result.replace(message.origin.clone()), None, "{}", message.content);
            }
        }
    }
    let wanted: Vec<_> = (1..=6).map(|nth| Some(user(nth % 2))).collect();
    assert_eq!(results, wanted, "each in the conversation of its task");
    stage.stop().await;
}

#[tokio::test]
async fn work_that_was_not_delegated_belongs_to_the_members_own_session() {
    let stage = Stage::new(Setting::default()).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add("fay", reporting(tell, |part, task| async move { part.complete(&task).await }));
    stage.spawn("fay", "fay").await;
    stage.submit(Actor::human("zoe"), say("fay", "hello")).await.unwrap();
    stage.task("write").await;
    let (mut mail, mut task) = (None, None);
    while mail.is_none() || task.is_none() {
        match told.recv().await.unwrap() {
            FromLead::Message(message) => mail = Some(message),
            FromLead::AssignTask { task: given } => task = Some(given),
            FromLead::UpdateContext(_) | FromLead::Shutdown { .. } | FromLead::Interrupt { .. } => {
            }
        }
    }
    assert_eq!(mail.unwrap().session.as_deref(), Some("teammate:fay"));
    let run = task.unwrap().run.unwrap();
    assert_eq!((run.session.as_deref(), run.delegation_id), (Some("teammate:fay"), None));
    assert_eq!(run.lane.as_deref(), Some("team"));
}

#[tokio::test]
async fn a_run_that_ends_without_a_report_is_completed_with_its_last_log_line() {
    for (said, result) in [(Some("all is written"), "all is written"), (None, "done")] {
        for at_end in [FromTeammate::TurnEnd {}, FromTeammate::Idle(Default::default())] {
            let stage = Stage::new(setting()).await;
            let (tell, _told) = mpsc::unbounded_channel();
            stage.plays.add(
                "fay",
                reporting(tell, move |part, task| {
                    let at_end = at_end.clone();
                    async move {
                        begin(&part, &task).await;
                        for text in said.iter().flat_map(|said| ["I begin", *said]) {
                            log(&part, text).await;
                        }
                        part.say(at_end).await;
                    }
                }),
            );
            stage.spawn("fay", "fay").await;
            stage.until_state("fay", MemberState::Idle).await;
            stage.task("write").await;
            stage.lead_does(delegate(1, "fay")).await;
            stage.until("it is announced", announced(1)).await;
            let task =
                stage.until("task 1", |state| state.tasks().get(TaskNumber(1)).cloned()).await;
            assert_eq!((task.status, task.result.as_deref()), (Status::Completed, Some(result)));
        }
    }
}

#[tokio::test]
async fn an_idle_report_before_a_task_has_begun_does_not_complete_it() {
    let stage = Stage::new(setting()).await;
    let (tell, _told) = mpsc::unbounded_channel();
    let go_on = Arc::new(Notify::new());
    let gate = Arc::clone(&go_on);
    stage.plays.add(
        "fay",
        reporting(tell, move |part, task| {
            let gate = Arc::clone(&gate);
            async move {
                // It has not begun, so this is about earlier work.
                part.idle().await;
                part.say(FromTeammate::TurnEnd {}).await;
                log(&part, "heard").await;
                gate.notified().await;
                begin(&part, &task).await;
                part.complete(&task).await;
            }
        }),
    );
    stage.spawn("fay", "fay").await;
    stage.until_state("fay", MemberState::Idle).await;
    stage.task("write").await;
    stage.lead_does(delegate(1, "fay")).await;
    troop_testkit::wait_for("its log line is heard", async || {
        let entries = stage.transcript("fay");
        entries.iter().any(|it| it.line.text == "heard").then_some(())
    })
    .await;
    // All commands given to the board before this one are decided.
    stage
        .lead_does(Command::Task(TaskCommand::Comment {
            task: TaskNumber(1).into(),
            text: "?".into(),
        }))
        .await;
    assert_eq!(only_delegation(&stage).await.status, DelegationStatus::Running);
    go_on.notify_one();
    let [text] = stage.until("it is announced", announced(1)).await.try_into().unwrap();
    assert!(text.contains("\nby fay\n"), "{text}");
}

#[tokio::test]
async fn runs_at_once_are_announced_once_and_each_task_is_done_when_its_own_run_ends() {
    let stage = Stage::new(setting()).await;
    let go_on = Arc::new(Notify::new());
    let gate = Arc::clone(&go_on);
    let (tell, _told) = mpsc::unbounded_channel();
    stage.plays.add(
        "slow",
        reporting(tell.clone(), move |part, task| {
            let gate = Arc::clone(&gate);
            async move {
                begin(&part, &task).await;
                gate.notified().await;
                part.complete(&task).await;
            }
        }),
    );
    stage.spawn("fay", "worker").await;
    stage.spawn("bob", "slow").await;
    for member in ["fay", "bob"] {
        stage.until_state(member, MemberState::Idle).await;
    }
    for subject in ["quick", "slow"] {
        stage.task(subject).await;
    }
    for (nth, to) in [(2, "bob"), (1, "fay")] {
        stage.lead_does(delegate(nth, to)).await;
    }
    stage.until("the first is done", super::is_done(1)).await;
    let told = stage.board.look(announcements).await.unwrap();
    assert!(told.is_empty(), "{told:?}");
    go_on.notify_one();
    let [text] = stage.until("both are announced", announced(1)).await.try_into().unwrap();
    assert!(text.contains("## fay: task-1") && text.contains("## bob: task-2"), "{text}");
    let idle = stage.board.look(|state| {
        state.mailbox().iter().filter(|it| it.content.contains("is idle; task-")).count()
    });
    assert_eq!(idle.await.unwrap(), 0, "it is not said a second time");
}

#[tokio::test]
async fn a_crash_ends_a_delegation_and_is_announced_once() {
    let settings = Settings { max_attempts: 1, ..setting().settings };
    let timing = without_restarts();
    let stage = Stage::new(Setting { settings, timing, ..setting() }).await;
    stage.plays.add(
        "crasher",
        play(|mut part| async move {
            part.ready(true).await;
            part.idle().await;
            drop(part.task().await);
        }),
    );
    stage.spawn("cyd", "crasher").await;
    stage.until_state("cyd", MemberState::Idle).await;
    stage.task("risky").await;
    stage.lead_does(delegate(1, "cyd")).await;
    let [text] = stage.until("it is announced", announced(1)).await.try_into().unwrap();
    assert!(text.contains("did not work out this time") && text.contains("cyd crashed"), "{text}");
    assert!(text.contains("tell the user"), "{text}");
    assert_eq!(only_delegation(&stage).await.status, DelegationStatus::Failed);
    let status = stage.board.look(|state| state.tasks().status(TaskNumber(1))).await.unwrap();
    assert_eq!(status, Some(Status::Failed), "it had no other attempt");
}

/// A lead's agent that reads each message and handles it with `act`.
pub(super) fn leading<F>(
    act: impl Fn(Arc<Part>, MessageIn) -> F + Clone + Send + Sync + 'static,
) -> Play
where
    F: Future<Output = ()> + Send + 'static,
{
    play(move |mut part: Part| {
        let act = act.clone();
        async move {
            part.ready(true).await;
            while let Some(said) = part.hear().await {
                match said {
                    FromLead::Message(message) => {
                        let id = message.id.unwrap();
                        let read = raw("message/read", &format!(r#"{{"messages":["{id}"]}}"#));
                        drop(part.peer.notify(read).await);
                        let shared = Arc::new(part);
                        act(Arc::clone(&shared), message).await;
                        part = Arc::into_inner(shared).unwrap();
                    }
                    FromLead::Shutdown { .. } => return,
                    FromLead::AssignTask { .. }
                    | FromLead::UpdateContext(_)
                    | FromLead::Interrupt { .. } => {}
                }
            }
        }
    })
}

pub(super) async fn ask(part: &Part, method: &str, params: Value) -> Result<Value, String> {
    let asked = raw(method, &params.to_string());
    part.peer.request::<Value>(asked).await.map_err(|error| error.to_string())
}

/// A stage whose lead's agent plays this.
pub(super) async fn led_by(lead: Play) -> Stage {
    led_in(setting(), lead).await
}

pub(super) async fn led_in(setting: Setting, lead: Play) -> Stage {
    let settings = setting.settings.clone();
    let mut stage = Stage::new(Setting { settings, ..Setting::default() }).await;
    let first = stage.lead.take().unwrap();
    first.stop("another takes over").await.unwrap();
    first.ended().await;
    stage.plays.add("person", lead);
    stage.lead = Some(stage.start(setting).await.unwrap());
    stage
}

#[tokio::test]
async fn actions_of_the_leads_agent_belong_to_the_conversation_it_handles() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let stage = led_by(leading(move |part, message| {
        let tell = tell.clone();
        async move {
            if message.kind == MessageKind::Idle {
                return;
            }
            let said = if message.from == "user" {
                let task =
                    ask(&part, "task/create", json!({"subject": message.content})).await.unwrap();
                let task = &task["task"]["number"];
                ask(&part, "delegation/start", json!({"to": "fay", "task": task})).await
            } else {
                ask(&part, "message/send", json!({"to": "user", "content": "here it is"})).await
            };
            drop(tell.send((message, said)));
        }
    }))
    .await;
    stage.spawn("fay", "worker").await;
    stage.until_state("fay", MemberState::Idle).await;
    let from = |user: &str| {
        let origin = Origin { user_id: Some(user.into()), ..thread() };
        Signature::new(Asker { actor: Actor::human(user), origin })
    };
    stage.board.submit(from("u1").on(say("lead", "write"))).await.unwrap();
    let (asked, _) = told.recv().await.unwrap();
    assert_eq!(asked.origin, thread(), "the lead is told where it was asked");
    let delegation = only_delegation(&stage).await;
    assert_eq!((&delegation.origin, delegation.parent_trace_id), (&thread(), asked.id));
    let task = stage.until("task 1", |state| state.tasks().get(TaskNumber(1)).cloned()).await;
    assert_eq!(task.provenance.origin, thread());
    let (announcement, _) = told.recv().await.unwrap();
    assert!(announcement.content.contains("## fay: task-1"), "{}", announcement.content);
    let answer = stage.until("the answer", |state| {
        state.mailbox().iter().find(|it| it.content == "here it is").cloned()
    });
    assert_eq!(answer.await.origin, thread(), "the answer goes where the question came from");
    // The lead's agent cannot delegate for a user whom the link denies.
    let link =
        stage.until("the link", |state| state.links().find(|it| it.to == name("fay")).cloned());
    let link = link.await;
    let change = LinkChange::new(link.from, link.to);
    let deny = LinkChange { user_deny: Some(vec!["u2".into()]), ..change };
    stage.lead_does(Command::SetLink(deny)).await;
    stage.board.submit(from("u2").on(say("lead", "read"))).await.unwrap();
    let (_, said) = told.recv().await.unwrap();
    let refused = said.unwrap_err();
    assert!(refused.contains("user `u2` may not cause delegations to `fay`"), "{refused}");
}

#[tokio::test]
async fn a_delegated_run_acts_in_its_members_name_alone() {
    let stage = Stage::new(setting()).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let (answer, mut answers) = mpsc::unbounded_channel();
    stage.plays.add(
        "fay",
        reporting(tell, move |part, task| {
            let answer = answer.clone();
            async move {
                begin(&part, &task).await;
                let said =
                    ask(&part, "message/send", json!({"to": "user", "content": "half done"})).await;
                drop(answer.send(said));
                drop(answer.send(ask(&part, "task/create", json!({"subject": "more"})).await));
                part.complete(&task).await;
            }
        }),
    );
    stage.spawn("fay", "fay").await;
    stage.until_state("fay", MemberState::Idle).await;
    let lead = Signature::new(Asker { actor: Actor::agent(&MemberName::lead()), origin: thread() });
    let new = NewTask { subject: "write".to_owned(), ..NewTask::default() };
    let create = Command::Task(TaskCommand::Create(new));
    for command in [create, delegate(1, "fay")] {
        let operation = troop_model::OperationId(uuid::Uuid::now_v7());
        stage.board.submit(Signature { operation, ..lead.clone() }.on(command)).await.unwrap();
    }
    let sent = answers.recv().await.unwrap().unwrap();
    assert_eq!(sent["events"][0]["actor"], json!({"kind": "agent", "name": "fay"}));
    assert_eq!(sent["events"][0]["origin"]["local_key"], "topic 3", "it reaches the thread");
    let refused = answers.recv().await.unwrap().unwrap_err();
    assert!(refused.contains("`fay` may not create tasks"), "{refused}");
    let run = serde_json::to_value(task_said(&mut told).await.run).unwrap();
    assert!(!run.to_string().contains("\"u1\""), "it is not told who asked: {run}");
    stage.until("it is announced", announced(1)).await;
}

#[tokio::test]
async fn a_fresh_team_context_precedes_each_piece_of_work() {
    // No tick: only the work makes this lead send a context.
    let timing = troop_runtime::Timing { tick: std::time::Duration::from_secs(600), ..quick() };
    let stage = Stage::new(Setting { timing, ..setting() }).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add("fay", reporting(tell, |part, task| async move { part.complete(&task).await }));
    stage.spawn("fay", "fay").await;
    stage.until_state("fay", MemberState::Idle).await;
    let context = |said| {
        let FromLead::UpdateContext(TeamContext { team_md, .. }) = said else { panic!("{said:?}") };
        team_md
    };
    let first = context(told.recv().await.unwrap()).unwrap();
    assert!(first.starts_with("<system_context name=\"TEAM.md\">\n# Team crew\n"), "{first}");
    assert!(first.contains("You are `fay`, a member of this team."), "{first}");
    add(&stage, "bob", "worker").await;
    stage.task("write").await;
    stage.lead_does(delegate(1, "fay")).await;
    let second = context(told.recv().await.unwrap()).unwrap();
    assert!(second.contains("`bob` (member): waits to be asked"), "{second}");
    assert!(matches!(told.recv().await.unwrap(), FromLead::AssignTask { .. }));
    // The same holds for mail.
    stage.lead_does(Command::RemoveMember { member: name("bob"), reason: None }).await;
    stage.submit(Actor::human("zoe"), say("fay", "hello")).await.unwrap();
    let third = context(told.recv().await.unwrap()).unwrap();
    assert!(!third.contains("bob"), "{third}");
    assert!(matches!(told.recv().await.unwrap(), FromLead::Message(_)));
}

#[tokio::test]
async fn everyone_can_query_the_team_context_and_delegations() {
    let stage = Stage::new(setting()).await;
    stage.spawn("fay", "worker").await;
    stage.until_state("fay", MemberState::Idle).await;
    stage.task("write").await;
    stage.lead_does(delegate(1, "fay")).await;
    stage.until("it is announced", announced(1)).await;
    for (actor, wanted) in [
        (Actor::human("zoe"), "and you lead this team"),
        (Actor::agent(&MemberName::lead()), "and you lead this team"),
        (Actor::agent(&name("fay")), "You are `fay`, a member"),
        (Actor::agent(&name("eve")), "You are NOT part of any team."),
    ] {
        let client = super::socket::connect(&stage).await;
        client.open(&Asker::from(actor)).await.unwrap();
        let answer: troop_protocol::ContextText = client
            .query(&troop_protocol::Query::Context { dialect: None, is_client: false })
            .await
            .unwrap();
        assert!(answer.team_md.contains(wanted), "{}", answer.team_md);
        let list: Value = client.query(&troop_protocol::Query::Delegations {}).await.unwrap();
        assert_eq!(list["delegations"][0]["status"], "completed", "{list}");
    }
}

#[tokio::test]
async fn a_delegation_is_announced_once_however_often_the_lead_changes() {
    let stage = Stage::new(setting()).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add(
        "stuck",
        reporting(tell, |part, task| async move {
            begin(&part, &task).await;
            std::future::pending::<()>().await;
        }),
    );
    stage.spawn("fay", "stuck").await;
    stage.until_state("fay", MemberState::Idle).await;
    stage.task("write").await;
    stage.lead_does(delegate(1, "fay")).await;
    task_said(&mut told).await;
    // Other leads take over, each from one that is known to be dead. The delegation continues each time.
    let first = stage.lead.as_ref().map_or(0, troop_runtime::Lead::fence);
    for over in first..first + 3 {
        let take = Command::TakeLead {
            session: uuid::Uuid::now_v7(),
            holder: "zoe".to_owned(),
            over: Some(over),
            checks: Vec::new(),
        };
        stage.board.submit(CommandRequest::new(Actor::system(), take)).await.unwrap();
    }
    let complete = TaskCommand::Complete {
        task: TaskNumber(1).into(),
        result: "written after all".to_owned(),
        summary: None,
        attempt: None,
    };
    stage.submit(Actor::agent(&name("fay")), Command::Task(complete)).await.unwrap();
    let [text] = stage.until("it is announced", announced(1)).await.try_into().unwrap();
    assert!(text.contains("written after all"), "{text}");
    let mut log = stage.board.subscribe(Version::ZERO);
    let mut n_announced = 0;
    while let Some(event) = log.next_stored().await.unwrap() {
        n_announced += usize::from(matches!(event.fact, Fact::DelegationsAnnounced { .. }));
    }
    assert_eq!(n_announced, 1);
}
