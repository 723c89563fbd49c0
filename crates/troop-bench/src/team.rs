//! Teams to measure with.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::task::JoinSet;
use troop_model::{
    Actor, Command, Event, Fact, MemberName, NewMember, NewTask, NewTeamCommand, OperationId,
    Settings, TaskCommand, TaskNumber, TaskRef, TeamId, Time, Version, encode,
};
use troop_runtime::{Board, Clock, CommandEffect, CommandRequest, Following, Signature};
use troop_store::{Missing, Store, StoreUrl};
use uuid::Uuid;

/// How many commands run at once where their time does not matter.
pub(crate) const CROWD: usize = 512;

/// Opens the store behind a URL.
pub(crate) async fn open_store(url: &str) -> Result<Arc<dyn Store>> {
    Ok(troop_store::open(&StoreUrl::parse(url)?, Missing::Make).await?)
}

/// Makes a team of a lead and numbered members.
pub(crate) async fn create(store: Arc<dyn Store>, n_members: usize) -> Result<Board> {
    let new = new_team("bench", n_members, Settings::default())?;
    create_with(store, Following::WhenAsked, new).await
}

/// Makes such a team for a lead that follows what others write.
pub(crate) async fn create_to_lead(
    store: Arc<dyn Store>,
    n_members: usize,
    settings: Settings,
) -> Result<Board> {
    create_with(store, Following::Always, new_team("led", n_members, settings)?).await
}

fn new_team(name: &str, n_members: usize, settings: Settings) -> Result<NewTeamCommand> {
    Ok(NewTeamCommand {
        goal: String::new(),
        team: TeamId(Uuid::now_v7()),
        name: name.parse()?,
        description: String::new(),
        settings,
        lead: newcomer(MemberName::lead()),
        members: (0..n_members).map(|nth| Ok(newcomer(member(nth)?))).collect::<Result<_>>()?,
    })
}

async fn create_with(
    store: Arc<dyn Store>,
    following: Following,
    new: NewTeamCommand,
) -> Result<Board> {
    let signature = Signature::new(person());
    Ok(Board::create(store, Clock::system(), following, &signature, new).await?)
}

pub(crate) async fn open(
    store: Arc<dyn Store>,
    team: TeamId,
    following: Following,
) -> Result<Board> {
    Ok(Board::open(store, Clock::system(), following, team).await?)
}

fn newcomer(name: MemberName) -> NewMember {
    NewMember::new(name, "builtin")
}

/// The name of a member.
pub(crate) fn member(nth: usize) -> Result<MemberName> {
    Ok(format!("member-{nth}").parse()?)
}

pub(crate) fn person() -> Actor {
    Actor::human("bench")
}

/// Puts so many new tasks on the board, reserved for a member or for nobody.
pub(crate) async fn add_tasks(
    board: &Board,
    n_tasks: usize,
    assignee: Option<&MemberName>,
) -> Result<()> {
    let command = new_task(assignee);
    submit_many(board, n_tasks, move |_| command.clone()).await
}

/// Puts one new task on the board.
pub(crate) async fn add_task(board: &Board) -> Result<CommandEffect> {
    Ok(board.submit(CommandRequest::new(person(), new_task(None))).await?)
}

fn new_task(assignee: Option<&MemberName>) -> Command {
    Command::Task(TaskCommand::Create(NewTask {
        seen: None,
        id: None,
        subject: "Measure how long this takes".to_owned(),
        description: "One of many tasks, with a description of a usual length: a sentence or two \
                      that say what is to be done and how one sees that it is done."
            .to_owned(),
        priority: 0,
        task_type: None,
        assignee: assignee.cloned(),
        blocked_by: Vec::new(),
        until: None,
        approve_start: None,
        checks: Vec::new(),
        metadata: troop_model::Metadata::default(),
    }))
}

/// Fills the board up with tasks that anybody can claim.
pub(crate) async fn top_up(board: &Board, n_tasks: usize) -> Result<()> {
    let anybody = member(0)?;
    let n_ready = board.look(move |state| state.tasks().ready_for(&anybody).count()).await?;
    add_tasks(board, n_tasks.saturating_sub(n_ready), None).await
}

/// Submits many commands at once and waits for all.
pub(crate) async fn submit_many(
    board: &Board,
    n_commands: usize,
    command: impl Fn(usize) -> Command + Clone + Send + Sync + 'static,
) -> Result<()> {
    let mut crowd = JoinSet::new();
    for first in 0..CROWD.min(n_commands) {
        let board = board.clone();
        let command = command.clone();
        crowd.spawn(async move {
            for nth in (first..n_commands).step_by(CROWD) {
                board.submit(CommandRequest::new(person(), command(nth))).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = crowd.join_next().await {
        done??;
    }
    Ok(())
}

/// Claims the next task.
pub(crate) async fn claim(board: &Board, actor: &Actor) -> Result<TaskNumber> {
    let done = board.submit(CommandRequest::new(actor.clone(), claiming())).await?;
    done.task().context("a claim names no task")
}

/// The command that claims the next task.
pub(crate) fn claiming() -> Command {
    Command::Task(TaskCommand::Claim { task: None })
}

/// Completes a task.
pub(crate) async fn complete(
    board: &Board,
    actor: &Actor,
    task: TaskNumber,
) -> Result<CommandEffect> {
    Ok(board.submit(CommandRequest::new(actor.clone(), completing(task))).await?)
}

/// The command that completes a task.
pub(crate) fn completing(task: TaskNumber) -> Command {
    Command::Task(TaskCommand::Complete {
        task: TaskRef::Number(task),
        result: "done".to_owned(),
        summary: None,
        attempt: None,
    })
}

/// A line of a log, of the size that claiming and completing write.
pub(crate) fn sample_line() -> Result<String> {
    let owner = member(0)?;
    let at = Time::from_micros(1_794_700_800_123_456);
    let fact = Fact::TaskClaimed {
        task: TaskNumber(12_345),
        owner: owner.clone(),
        attempt: 1,
        lease_until: at,
    };
    let operation = OperationId(Uuid::now_v7());
    Ok(encode(&Event {
        version: Version(123_456),
        at,
        actor: Actor::agent(&owner),
        operation,
        fact,
    }))
}
