//! Delegations to members that do not run yet.

use tokio::sync::mpsc;
use troop_model::{Actor, Command, MemberName, MemberState, NewMember, Status, TaskNumber};
use troop_protocol::{FromTeammate, Ready};

use super::{
    delegations::{announced, announcements, delegate, setting},
    stage::{Part, Setting, Stage, play},
};
use crate::support::name;

/// Adds a member that does not run.
pub(super) async fn add(stage: &Stage, member: &str, agent: &str) {
    let member = NewMember {
        name: name(member),
        agent: agent.into(),
        expertise: "waits to be asked".to_owned(),
        model: None,
        permissions: None,
    };
    stage.lead_does(Command::AddMember(member)).await;
}

#[tokio::test]
async fn a_delegation_starts_its_member_if_it_does_not_run() {
    let mut setting = setting();
    setting.settings.max_attempts = 1;
    let stage = Stage::new(setting).await;
    add(&stage, "fay", "worker").await;
    stage.task("write").await;
    stage.lead_does(delegate(1, "fay")).await;
    let [text] = stage.until("it is announced", announced(1)).await.try_into().unwrap();
    assert!(text.contains("## fay: task-1 (write) completed"), "{text}");
    // A delegation fails if its member cannot be started.
    add(&stage, "bob", "nobody-plays-this").await;
    stage.task("read").await;
    stage.lead_does(delegate(2, "bob")).await;
    let told = stage.until("that is announced", announced(2)).await;
    assert!(told[1].contains("## bob: task-2 (read) failed"), "{told:?}");
}

#[tokio::test]
async fn a_delegation_that_would_exceed_the_teammate_limit_is_refused() {
    let mut setting = setting();
    setting.settings.max_teammates = 1;
    setting.settings.max_attempts = 1;
    let stage = Stage::new(setting).await;
    stage.spawn("fay", "worker").await;
    stage.until_state("fay", MemberState::Idle).await;
    add(&stage, "bob", "worker").await;
    stage.task("write").await;
    let lead = Actor::agent(&MemberName::lead());
    let refused = stage.submit(lead, delegate(1, "bob")).await.unwrap_err().to_string();
    assert!(refused.contains("1 teammates are already running and the limit is 1"), "{refused}");
    let status = stage.board.look(|state| state.tasks().status(TaskNumber(1))).await.unwrap();
    assert_eq!(status, Some(Status::Pending), "it is still there for others");
}

#[tokio::test]
async fn a_delegation_made_without_a_lead_is_carried_out_by_the_next_lead() {
    let mut stage = Stage::new(setting()).await;
    let lead = stage.lead.take().unwrap();
    lead.stop("later").await.unwrap();
    lead.ended().await;
    add(&stage, "fay", "worker").await;
    stage.task("write").await;
    stage.lead_does(delegate(1, "fay")).await;
    let lead = stage.start(setting()).await.unwrap();
    stage.until("it is announced", announced(1)).await;
    lead.stop("the test is over").await.unwrap();
    lead.ended().await;
}

#[tokio::test]
async fn two_delegations_at_once_start_their_member_once() {
    let stage = Stage::new(setting()).await;
    add(&stage, "fay", "worker").await;
    for nth in 1..=2 {
        stage.task("write").await;
        stage.lead_does(delegate(nth, "fay")).await;
    }
    for nth in 1..=2 {
        stage.until("it is done", super::is_done(nth)).await;
    }
    let told = stage.until("it is announced", |state| {
        state.delegations().all(|it| it.is_announced).then(|| announcements(state))
    });
    let told = told.await.join("\n");
    assert!(!told.contains("failed"), "{told}");
    assert_eq!(stage.n_times("fay", MemberState::Spawning).await, 1);
}

#[tokio::test]
async fn a_program_that_gives_another_name_is_warned_about_and_works_all_the_same() {
    let (warnings, mut heard) = mpsc::channel(8);
    let stage = Stage::new(Setting { warnings: Some(warnings), ..Setting::default() }).await;
    stage.plays.add(
        "misnamed",
        play(|mut part: Part| async move {
            let name = "z".repeat(100);
            let ready = Ready { name, acknowledges: true, version: None };
            part.say(FromTeammate::Ready(ready)).await;
            part.idle().await;
            while part.hear().await.is_some() {}
        }),
    );
    stage.spawn("fay", "misnamed").await;
    stage.until_state("fay", MemberState::Idle).await;
    let warning = heard.recv().await.unwrap();
    assert!(
        warning.starts_with("fay: its program says in `team.ready` that it is `zzz"),
        "{warning}"
    );
    assert!(warning.len() < 200, "{warning}");
    assert!(stage.transcript("fay").iter().any(|it| it.line.text == warning));
    stage.spawn("gil", "worker").await;
    stage.until_state("gil", MemberState::Idle).await;
    assert!(heard.try_recv().is_err(), "gil gives its own name");
}
