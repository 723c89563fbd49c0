//! Delegates a task, and waits for the result.

use std::time::Duration;

use tokio::time::Instant;
use troop_model::{
    Command, Delegation, DelegationStatus, Fact, Hint, HintCommand, Member, MemberName, Refusal,
    State, TaskRef,
};
use troop_protocol::TeamStanding;
use troop_runtime::Board;
use uuid::Uuid;

use super::{TeamDesk, name_of};
use crate::{Error, Result, hint::resume};

/// How often we check whether somebody still leads the team.
const LOOK: Duration = Duration::from_secs(1);

/// A task and the member that is to do it.
#[derive(Clone, Debug)]
pub struct DelegateOrder {
    pub task: Option<TaskRef>,
    pub to: MemberName,
    /// The work, if there is no task for it yet.
    pub subject: Option<String>,
    /// What the member should know besides the task's description.
    pub note: Option<String>,
    /// How long to wait for the result.
    pub wait: Option<Duration>,
}

impl TeamDesk {
    /// Delegates a task. If the order waits, returns the delegation when it has ended or time is up, and meanwhile warns if
    /// nobody leads the team. None if nothing changed.
    pub async fn delegate(
        &mut self,
        order: DelegateOrder,
        warn: impl Fn(Hint),
    ) -> Result<Option<Delegation>> {
        let DelegateOrder { task, to, subject, note, wait } = order;
        let command = Command::Delegate { to, task, subject, note, trace_id: None };
        let done = self.submit(command).await?;
        let mut facts = done.events.iter().map(|event| &event.fact);
        let started = facts.find(|fact| matches!(fact, Fact::DelegationStarted { .. }));
        let Some(Fact::DelegationStarted { delegation, .. }) = started else { return Ok(None) };
        let board = self.team(None).await?;
        Ok(Some(match wait {
            Some(patience) => self.wait_for(&board, *delegation, patience, warn).await?,
            None => find(&board, *delegation).await?,
        }))
    }

    /// A lead that dies tells nobody, so we also check for that.
    async fn wait_for(
        &self,
        board: &Board,
        id: Uuid,
        patience: Duration,
        warn: impl Fn(Hint),
    ) -> Result<Delegation> {
        let name = name_of(board).await?;
        let mut news = board.subscribe(board.look(State::version).await?);
        let deadline = Instant::now() + patience;
        let mut was_led = None;
        loop {
            let found = find(board, id).await?;
            if found.status != DelegationStatus::Running {
                return Ok(found);
            }
            let is_led = self.standing(board).await? == TeamStanding::Running;
            if let Some(warning) = stall(was_led.replace(is_led), is_led, &name) {
                warn(warning);
            }
            if Instant::now() >= deadline {
                return Ok(found);
            }
            let soon = deadline.min(Instant::now() + LOOK);
            if let Ok(event) = tokio::time::timeout_at(soon, news.next()).await {
                event?;
            }
        }
    }

    /// Refuses a delegation that has not completed its task, and says how it stands.
    pub async fn check_delegation(&mut self, delegation: &Delegation) -> Result<()> {
        let Delegation { to, task, .. } = delegation;
        let board = self.team(None).await?;
        let number = *task;
        if delegation.status != DelegationStatus::Running {
            let is_due = move |state: &State| state.tasks().get(number)?.start.not_before;
            let again = match board.look(is_due).await? {
                Some(_) => " this time; it will be retried",
                None => "",
            };
            let get = HintCommand::troop("task get").word(task.0);
            let message = format!("{to} did not complete {task}{again}");
            return Err(Error::refused(message, Hint::to("see the task", get)));
        }
        if self.standing(&board).await? == TeamStanding::Running {
            let later = Hint::to("check later", HintCommand::troop("team delegations"));
            return Err(Error::refused(format!("{to} still works on {task}"), later));
        }
        let member = to.clone();
        let has_begun = move |state: &State| state.member(&member).is_some_and(Member::is_running);
        let what = if board.look(has_begun).await? { "does not go on" } else { "has not begun" };
        let message = format!("{task} {what}: nobody leads the team");
        Err(Error::refused(message, Hint::to("run it", resume(name_of(&board).await?))))
    }
}

async fn find(board: &Board, id: Uuid) -> Result<Delegation> {
    let found = board.look(move |state| state.delegation(id).cloned()).await?;
    Ok(found.ok_or(Refusal::UnknownDelegation { delegation: id })?)
}

/// Why a delegation does not move, if that is new.
fn stall(was_led: Option<bool>, is_led: bool, name: &str) -> Option<Hint> {
    match (was_led, is_led) {
        (None, false) => Some(
            Hint::from("nobody leads the team; it starts with ")
                .and_run(resume(name))
                .and(", or when somebody claims it"),
        ),
        (Some(true), false) => {
            let ended = Hint::from("the team's lead has ended, so this has stopped");
            Some(ended.and_to("; ", "continue", resume(name)))
        }
        (_, true) | (Some(false), false) => None,
    }
}
