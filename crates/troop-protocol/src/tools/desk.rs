//! Where tools are carried out: who has them, who answers, and what was looked at in this turn.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};
use tokio::sync::Semaphore;
use troop_model::{Command, Dialect, TaskCommand, TaskRef, TaskView, Version};

use super::{Calls, Seat, board, claude, seen::TeamSeen};
use crate::{
    call::{Answer, Call, Change, FileCall, Query},
    code::{Failure, FailureKind},
};

/// The tools of one member, ready to be used.
#[derive(Debug)]
pub struct Toolbox<C> {
    calls: C,
    turn: Turn,
}

/// What was looked at since the turn began.
#[derive(Debug)]
pub(super) struct Turn {
    listed_at: Mutex<Option<Version>>,
    /// Creating is one after another: the next one has seen what the one before made.
    creating: Semaphore,
}

impl<C: Calls> Toolbox<C> {
    /// Tools for one turn, whose calls are answered by `calls`: what was listed in another turn does not count, because others
    /// may have worked since.
    #[must_use]
    pub fn new(calls: C) -> Self {
        Self { calls, turn: Turn { listed_at: Mutex::new(None), creating: Semaphore::new(1) } }
    }

    /// Who answers.
    pub fn calls(&self) -> &C {
        &self.calls
    }

    /// Runs a tool for somebody in this seat. The result is text for the model; so is a failure.
    pub async fn run(&self, seat: &Seat, name: &str, input: Value) -> Result<String, Failure> {
        seat.gate.check()?;
        let desk = Desk { calls: &self.calls, seat, turn: &self.turn };
        let outcome = match seat.dialect {
            Dialect::Claude => claude::run(name, input, &desk).await,
            Dialect::Board => board::run(name, input, &desk).await,
        };
        outcome.unwrap_or_else(|| Err(unknown(name, seat)))
    }
}

/// There is no such tool; but there may be one that was meant.
fn unknown(name: &str, seat: &Seat) -> Failure {
    let others = match seat.dialect {
        Dialect::Claude => board::names(),
        Dialect::Board => claude::names(),
    };
    let shown: Vec<_> = seat.tools().iter().map(|tool| tool.name).collect();
    let message = format!("there is no tool `{}`", troop_model::preview(name, 80).escape_debug());
    let hint = match troop_model::nearest(name, shown.iter().copied()) {
        _ if others.contains(&name) => {
            format!("that is a tool of the other dialect; the tools here are: {}", shown.join(", "))
        }
        Some(meant) => troop_model::did_you_mean(meant),
        None => format!("the team tools are: {}", shown.join(", ")),
    };
    Failure { hint: Some(hint), ..Failure::new(FailureKind::UnknownMethod, &message) }
}

impl Turn {
    fn set_listed(&self, version: Version) {
        *self.listed_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(version);
    }

    fn listed_at(&self) -> Option<Version> {
        *self.listed_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads an answer.
pub(super) fn read<'a, T: Deserialize<'a>>(answer: &'a RawValue) -> Result<T, Failure> {
    serde_json::from_str(answer.get()).map_err(|error| {
        Failure::new(FailureKind::Bug, &format!("the answer makes no sense: {error}"))
    })
}

/// What a tool works with.
pub(super) struct Desk<'a, C> {
    pub(super) calls: &'a C,
    pub(super) seat: &'a Seat,
    turn: &'a Turn,
}

impl<C: Calls> Desk<'_, C> {
    /// Asks for a change.
    pub(super) async fn change(&self, command: Command) -> Result<Answer, Failure> {
        let change = Box::new(Change { command, operation: None });
        self.ask(Call::Change(change)).await
    }

    /// Asks for a change of a task.
    pub(super) async fn change_task(&self, command: TaskCommand) -> Result<Answer, Failure> {
        self.change(Command::Task(command)).await
    }

    /// Looks at something.
    pub(super) async fn query<T: DeserializeOwned>(&self, query: Query) -> Result<T, Failure> {
        self.ask(Call::Query(query)).await
    }

    /// Asks for something about files of the workspace.
    pub(super) async fn file<T: DeserializeOwned>(&self, call: FileCall) -> Result<T, Failure> {
        self.ask(Call::File(call)).await
    }

    /// Looks at a page of tasks, to be read where it lies: [`read`].
    pub(super) async fn page(&self, query: Query) -> Result<Box<RawValue>, Failure> {
        self.calls.call(Call::Query(query)).await
    }

    /// One task with everything that belongs to it.
    pub(super) async fn task(&self, task: TaskRef) -> Result<TaskView, Failure> {
        self.query(Query::Task { task }).await
    }

    /// The team.
    pub(super) async fn team(&self) -> Result<TeamSeen, Failure> {
        self.query(Query::Team {}).await
    }

    /// Notes that the board was listed in this turn.
    pub(super) fn has_listed(&self, version: Version) {
        self.turn.set_listed(version);
    }

    /// Creates a task, if nobody put another on the board since it was listed in this turn. None if it was not listed.
    pub(super) async fn create_seen(
        &self,
        new: troop_model::NewTask,
    ) -> Option<Result<Answer, Failure>> {
        // It is never closed.
        let _permit = self.turn.creating.acquire().await.ok()?;
        let seen = Some(self.turn.listed_at()?);
        let created =
            self.change_task(TaskCommand::Create(troop_model::NewTask { seen, ..new })).await;
        if let Ok(answer) = &created {
            // Between the listing and this there was nothing that was not seen. Behind it, in the same batch, there may be.
            let own = answer.events.last().map_or(answer.version, |event| event.version);
            self.has_listed(own);
        }
        Some(created)
    }

    async fn ask<T: DeserializeOwned>(&self, call: Call) -> Result<T, Failure> {
        let answer = self.calls.call(call).await?;
        read(&answer)
    }
}
