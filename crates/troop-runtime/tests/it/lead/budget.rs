//! How a lead enforces the team's budget.

use tokio::sync::mpsc;
use troop_model::{Actor, Budget, Command, Dollars, MemberState, Settings, Status, TaskNumber};
use troop_protocol::{FromLead, FromTeammate, ReportedStatus, ShutdownAck, UsageReport};
use troop_runtime::{LeadEnd, Until};

use super::{
    is_done,
    stage::{Part, Play, Setting, Stage, play},
};
use crate::support::{name, say};

/// A team with this budget of tokens.
fn setting(tokens: u64, until: Until) -> Setting {
    let budget = Budget { tokens: Some(tokens), ..Budget::default() };
    let settings = Settings { budget, retry_backoff_seconds: 0, ..Settings::default() };
    Setting { settings, until, ..Setting::default() }
}

/// Spends 60 tokens on every task, and gives back the one called `too much`; passes on what it hears.
fn spender(tell: mpsc::UnboundedSender<FromLead>) -> Play {
    play(move |mut part: Part| {
        let tell = tell.clone();
        async move {
            part.ready(true).await;
            part.idle().await;
            while let Some(said) = part.hear().await {
                // Not every test listens.
                drop(tell.send(said.clone()));
                match said {
                    FromLead::AssignTask { task } => {
                        let task_id = Some(task.id.clone());
                        let dollars = Some(0.25);
                        let report =
                            UsageReport { task_id, input: 60, dollars, ..UsageReport::default() };
                        part.say(FromTeammate::Usage(report)).await;
                        if task.subject == "too much" {
                            part.report(&task, ReportedStatus::Pending, "it is spent").await;
                            part.idle().await;
                        } else {
                            part.complete(&task).await;
                        }
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

fn raise(tokens: u64) -> Command {
    let settings = vec![("budget.tokens".to_owned(), tokens.into())];
    Command::UpdateTeam { description: None, settings }
}

#[tokio::test]
async fn reported_usage_is_counted_for_task_member_and_team() {
    let stage = Stage::new(setting(1_000, Until::Stopped)).await;
    stage.plays.add("spender", spender(mpsc::unbounded_channel().0));
    stage.spawn("bob", "spender").await;
    stage.task("one").await;
    stage.until("it is done", is_done(1)).await;
    let used = stage.board.look(|state| {
        let task = state.tasks().get(TaskNumber(1)).unwrap().usage;
        (task, state.member(&name("bob")).unwrap().usage, state.team().unwrap().usage)
    });
    let (task, member, team) = used.await.unwrap();
    assert_eq!((task.tokens(), task.dollars), (60, Dollars::new(0.25).unwrap()));
    assert_eq!((member, team), (task, task));
}

#[tokio::test]
async fn a_spent_budget_is_announced_and_holds_work_and_mail_until_it_is_raised() {
    let stage = Stage::new(setting(100, Until::Stopped)).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    stage.plays.add("spender", spender(tell));
    stage.spawn("bob", "spender").await;
    stage.until_state("bob", MemberState::Idle).await;
    stage.task("one").await;
    stage.task("too much").await;
    stage.task("three").await;
    let is_spent =
        |said: &FromLead| matches!(said, FromLead::UpdateContext(it) if it.spent.is_some());
    let mut heard = Vec::new();
    while let Some(said) = told.recv().await {
        let is_over = is_spent(&said);
        heard.push(said);
        if is_over {
            break;
        }
    }
    let FromLead::UpdateContext(context) = heard.last().unwrap() else { panic!() };
    assert_eq!(context.spent.as_deref(), Some("the team's budget is spent: 120 of 100 tokens"));
    stage
        .until("it is given back", |state| {
            let status = state.tasks().status(TaskNumber(2))?;
            (status == Status::Pending).then_some(())
        })
        .await;
    stage.submit(Actor::human("zoe"), say("bob", "are you there?")).await.unwrap();
    let unread = |state: &troop_model::State| {
        state.mailbox().iter().find(|it| it.content == "are you there?")?.receipts[0].delivered_at
    };
    stage.submit(Actor::human("zoe"), Command::Tick).await.unwrap();
    assert_eq!(stage.board.look(unread).await.unwrap(), None, "it waits on the board");
    stage.submit(Actor::human("zoe"), raise(10_000)).await.unwrap();
    stage.until("the rest is done", is_done(3)).await;
    stage.until("the mail has come", unread).await;
    let mut after = Vec::new();
    while let Ok(said) = told.try_recv() {
        after.push(said);
    }
    // A context from before the raise may still say that the budget is spent.
    let last = after.iter().rev().find(|it| matches!(it, FromLead::UpdateContext(_)));
    assert!(last.is_some_and(|said| !is_spent(said)), "it may go on: {after:?}");
}

#[tokio::test]
async fn a_run_ends_when_the_budget_is_spent_and_continues_when_it_is_raised() {
    let mut stage = Stage::new(setting(50, Until::Quiet)).await;
    stage.plays.add("spender", spender(mpsc::unbounded_channel().0));
    stage.spawn("bob", "spender").await;
    stage.task("one").await;
    stage.task("two").await;
    let ended = stage.lead.take().unwrap().ended().await;
    let reason = "the team's budget is spent: 60 of 50 tokens".to_owned();
    assert_eq!(ended, LeadEnd::Stopped { reason });
    let is_left = |state: &troop_model::State| state.tasks().status(TaskNumber(2));
    assert_eq!(stage.board.look(is_left).await.unwrap(), Some(Status::Pending));
    let again = stage.start(setting(50, Until::Stopped)).await.unwrap();
    let refused = stage.submit(Actor::human("zoe"), spawn("bob")).await.unwrap_err();
    assert!(refused.to_string().contains("budget is spent"), "{refused}");
    stage.submit(Actor::human("zoe"), raise(500)).await.unwrap();
    stage.submit(Actor::human("zoe"), spawn("bob")).await.unwrap();
    stage.until("the rest is done", is_done(2)).await;
    again.stop("the test is over").await.unwrap();
    again.ended().await;
}

fn spawn(who: &str) -> Command {
    Command::SpawnMember(troop_model::Spawn {
        member: troop_model::NewMember::new(name(who), "spender"),
        prompt: None,
    })
}
