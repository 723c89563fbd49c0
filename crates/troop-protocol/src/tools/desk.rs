//! Runs tools for a member, and remembers what the member has listed in this turn.

use std::sync::Mutex;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};
use tokio::sync::Semaphore;
use troop_model::{Command, Dialect, TaskCommand, TaskRef, TaskView, Version, lock};

use super::{Calls, Seat, board, claude, seen::ToolTeam};
use crate::{
    call::{Answer, Call, Change, FileCall, Query},
    code::{Failure, FailureKind},
};

/// The tools of one member.
#[derive(Debug)]
pub struct Toolbox<C> {
    calls: C,
    turn: BoardSight,
}

/// The parts of the board that the agent has seen in this turn.
#[derive(Debug)]
pub(super) struct BoardSight {
    listed_at: Mutex<Option<Version>>,
    /// Tasks are created one at a time, so that each creation has seen the one before.
    creating: Semaphore,
}

impl<C: Calls> Toolbox<C> {
    /// Tools for one turn of the agent. A listing of an earlier turn does not count, because the board may have changed.
    #[must_use]
    pub fn new(calls: C) -> Self {
        Self {
            calls,
            turn: BoardSight { listed_at: Mutex::new(None), creating: Semaphore::new(1) },
        }
    }

    pub fn calls(&self) -> &C {
        &self.calls
    }

    /// Runs a tool for a member. The result is text for the model; so is a failure.
    pub async fn run(&self, seat: &Seat, name: &str, input: Value) -> Result<String, Failure> {
        seat.gate.check()?;
        seat.check_team(name)?;
        let desk = ToolDesk { calls: &self.calls, seat, turn: &self.turn };
        let outcome = match seat.dialect {
            Dialect::Claude => claude::run(name, input, &desk).await,
            Dialect::Board => board::run(name, input, &desk).await,
        };
        outcome.unwrap_or_else(|| Err(unknown(name, seat)))
    }
}

/// The error for an unknown tool, with a suggestion.
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
    Failure::new(FailureKind::UnknownMethod, &message).with_hint(hint)
}

impl BoardSight {
    fn set_listed(&self, version: Version) {
        *lock(&self.listed_at) = Some(version);
    }

    fn listed_at(&self) -> Option<Version> {
        *lock(&self.listed_at)
    }
}

/// Reads an answer.
pub(super) fn read<'a, T: Deserialize<'a>>(answer: &'a RawValue) -> Result<T, Failure> {
    serde_json::from_str(answer.get()).map_err(|error| {
        Failure::new(FailureKind::Bug, &format!("the answer cannot be read: {error}"))
    })
}

/// The environment of a running tool.
pub(super) struct ToolDesk<'a, C> {
    pub(super) calls: &'a C,
    pub(super) seat: &'a Seat,
    turn: &'a BoardSight,
}

impl<C: Calls> ToolDesk<'_, C> {
    pub(super) async fn change(&self, command: Command) -> Result<Answer, Failure> {
        let change = Box::new(Change { command, operation: None });
        self.ask(Call::Change(change)).await
    }

    pub(super) async fn change_task(&self, command: TaskCommand) -> Result<Answer, Failure> {
        self.change(Command::Task(command)).await
    }

    pub(super) async fn query<T: DeserializeOwned>(&self, query: Query) -> Result<T, Failure> {
        self.ask(Call::Query(query)).await
    }

    pub(super) async fn file<T: DeserializeOwned>(&self, call: FileCall) -> Result<T, Failure> {
        self.ask(Call::File(call)).await
    }

    /// An answer as raw JSON, to be borrowed from with [`read`].
    pub(super) async fn answer(&self, query: Query) -> Result<Box<RawValue>, Failure> {
        self.calls.call(Call::Query(query)).await
    }

    /// One task with everything that belongs to it.
    pub(super) async fn task(&self, task: TaskRef) -> Result<TaskView, Failure> {
        self.query(Query::Task { task, offset: 0 }).await
    }

    pub(super) async fn team(&self) -> Result<ToolTeam, Failure> {
        self.query(Query::Team {}).await
    }

    /// Remembers that the board was listed in this turn.
    pub(super) fn note_listing(&self, version: Version) {
        self.turn.set_listed(version);
    }

    /// Creates a task, unless another was added since the board was listed in this turn. None if it was not listed.
    pub(super) async fn create_seen(
        &self,
        new: troop_model::NewTask,
    ) -> Option<Result<Answer, Failure>> {
        // The semaphore is never closed.
        let _permit = self.turn.creating.acquire().await.ok()?;
        let seen = Some(self.turn.listed_at()?);
        let created =
            self.change_task(TaskCommand::Create(troop_model::NewTask { seen, ..new })).await;
        if let Ok(answer) = &created {
            // Nothing was added between the listing and this task. After it, in the same batch, something may have been.
            let own = answer.events.last().map_or(answer.version, |event| event.version);
            self.note_listing(own);
        }
        Some(created)
    }

    async fn ask<T: DeserializeOwned>(&self, call: Call) -> Result<T, Failure> {
        let answer = self.calls.call(call).await?;
        read(&answer)
    }
}
