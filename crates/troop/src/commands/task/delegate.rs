//! `troop task delegate`

use std::time::Duration;

use anyhow::Result;
use serde_json::Value;
use tokio::time::Instant;
use troop_app::team::TeamDesk;
use troop_model::{
    Command, Delegation, DelegationStatus, DelegationView, Fact, Member, MemberName, Refusal,
    State, TaskRef,
};
use troop_protocol::TeamStanding;
use troop_runtime::Board;
use uuid::Uuid;

use crate::{
    output::Printer,
    render,
    report::{Error, Hint, HintCommand},
};

/// How often we check whether somebody still leads the team.
const LOOK: Duration = Duration::from_secs(1);

/// A task and the member that is to do it.
#[derive(Debug)]
pub(super) struct DelegateOrder {
    pub(super) task: Option<TaskRef>,
    pub(super) to: MemberName,
    pub(super) subject: Option<String>,
    /// How long to wait for its end.
    pub(super) wait: Option<Duration>,
}

pub(super) async fn run(
    order: DelegateOrder,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let DelegateOrder { task, to, subject, wait } = order;
    let command = Command::Delegate { to, task, subject, trace_id: None };
    let done = desk.submit(command).await?;
    let mut facts = done.events.iter().map(|event| &event.fact);
    let started = facts.find(|fact| matches!(fact, Fact::DelegationStarted { .. }));
    let Some(Fact::DelegationStarted { delegation, .. }) = started else {
        return printer.text("nothing changed\n");
    };
    let board = desk.team(None).await?;
    let name = board.look(|state| state.team().map(|team| team.name.to_string())).await?;
    let name = name.unwrap_or_default();
    let found = match wait {
        Some(patience) => {
            let watched = Watched { desk, board: &board, name: &name, printer };
            watched.end(*delegation, patience).await?
        }
        None => look(&board, *delegation).await?,
    };
    show(&board, &found, printer).await?;
    match (found.status, wait) {
        (DelegationStatus::Failed | DelegationStatus::Cancelled, _) => {
            let hint = Hint::to("see the task", HintCommand::troop("task get").word(found.task.0));
            let to = &found.to;
            let task = found.task;
            let is_due = move |state: &State| state.tasks().get(task)?.start.not_before;
            let message = match board.look(is_due).await? {
                Some(_) => format!("{to} did not complete {task} this time; it will be retried"),
                None => format!("{to} did not complete {task}"),
            };
            Err(Error::refused(message, hint).into())
        }
        (DelegationStatus::Running, Some(_)) => {
            let (message, hint) = if desk.standing(&board).await? == TeamStanding::Running {
                let message = format!("{} still works on {}", found.to, found.task);
                (message, Hint::to("check later", HintCommand::troop("team delegations")))
            } else {
                let to = found.to.clone();
                let look = move |state: &State| state.member(&to).is_some_and(Member::is_running);
                let what = if board.look(look).await? { "does not go on" } else { "has not begun" };
                let message = format!("{} {what}: nobody leads the team", found.task);
                (message, Hint::to("run it", HintCommand::troop("resume").team(name)))
            };
            Err(Error::refused(message, hint).into())
        }
        (DelegationStatus::Running | DelegationStatus::Completed, _) => Ok(()),
    }
}

async fn look(board: &Board, id: Uuid) -> Result<Delegation> {
    let found = board.look(move |state| state.delegation(id).cloned()).await?;
    Ok(found.ok_or(Refusal::UnknownDelegation { delegation: id })?)
}

/// Waits for the end of a delegation.
struct Watched<'a> {
    desk: &'a TeamDesk,
    board: &'a Board,
    name: &'a str,
    printer: &'a Printer,
}

impl Watched<'_> {
    /// The delegation when it has ended, or as it is when time is up. A lead that dies tells nobody, so we also check for
    /// that.
    async fn end(&self, id: Uuid, patience: Duration) -> Result<Delegation> {
        let Self { desk, board, .. } = self;
        let mut news = board.subscribe(board.look(State::version).await?);
        let deadline = Instant::now() + patience;
        let mut before = None;
        loop {
            let found = look(board, id).await?;
            if found.status != DelegationStatus::Running {
                return Ok(found);
            }
            let is_led = desk.standing(board).await? == TeamStanding::Running;
            self.warn(before.replace(is_led), is_led);
            if Instant::now() >= deadline {
                return Ok(found);
            }
            let soon = deadline.min(Instant::now() + LOOK);
            if let Ok(event) = tokio::time::timeout_at(soon, news.next()).await {
                event?;
            }
        }
    }

    /// Warns the person once that nobody leads the team, so nothing moves.
    fn warn(&self, was_led: Option<bool>, is_led: bool) {
        let resume = HintCommand::troop("resume").team(self.name);
        let warning = match (was_led, is_led) {
            (None, false) => Hint::from("nobody leads the team; it starts with ")
                .and_run(resume)
                .and(", or when somebody claims it"),
            (Some(true), false) => Hint::from("the team's lead has ended, so this has stopped")
                .and_to("; ", "continue", resume),
            (_, true) | (Some(false), false) => return,
        };
        if !self.printer.json {
            self.printer.warn(warning);
        }
    }
}

async fn show(board: &Board, delegation: &Delegation, printer: &Printer) -> Result<()> {
    let found = delegation.clone();
    let number = delegation.task;
    if printer.json {
        let view: Value = board
            .look(move |state| serde_json::to_value(DelegationView::new(state, &found)))
            .await??;
        return printer.json(&view);
    }
    let subject = board
        .look(move |state| state.tasks().get(number).map(|task| task.subject.clone()))
        .await?
        .unwrap_or_default();
    let subject = render::one_line(&subject);
    let result = render::clean(delegation.result.as_deref().unwrap_or_default());
    let took = render::delegation_took(delegation).map(|took| format!(" after {took}"));
    let took = took.unwrap_or_default();
    let to = &delegation.to;
    printer.text(&match delegation.status {
        DelegationStatus::Running => format!("delegated {number}: {subject} ({to})\n"),
        DelegationStatus::Completed => {
            format!("{to} completed {number}: {subject}{took}\n{result}\n")
        }
        DelegationStatus::Failed => format!("{to} failed at {number}: {subject}{took}\n{result}\n"),
        DelegationStatus::Cancelled => {
            format!("{to} stopped working on {number}: {subject}{took}\n{result}\n")
        }
    })
}
