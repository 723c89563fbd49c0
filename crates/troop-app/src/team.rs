//! One handle on one team, for every surface.
//!
//! Looks are answered here; a change takes the route of the runtime: through the lead if one runs on this machine, else to the
//! board.

mod choice;
mod delegate;
mod delegations;
mod desk;
mod erase;
mod files;
mod hold;
mod mail;
mod making;
mod member;
mod name;
mod news;
mod place;
mod question;
mod spawning;

use std::{path::Path, time::Duration};

use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::Instant;
use troop_model::{
    Actor, Asker, Command, OperationId, Origin, Refusal, State, TaskCommand, TeamId, Version,
};
use troop_protocol::{Answer, Call, Failure, FailureKind, Query};
use troop_runtime::{
    Answers, Board, BoardError, BoardResult, Clock, CommandRequest, RouteError, Signature,
    Subscription, TeamRoute,
};
use uuid::Uuid;

use crate::{Error, Result};
pub use choice::Purpose;
pub use delegate::DelegateOrder;
pub use delegations::{DelegationProgress, DelegationStage};
pub use desk::{DeskNotice, DeskOptions, NoticeSink, StoppedLead, TeamDesk, WhenOff};
pub use erase::Deletion;
pub use mail::{Mailbag, RunningCall};
pub(crate) use making::check_no_teammate;
pub use member::MemberCaller;
pub use name::{first_free, free_name, name_of, team_name};
pub use news::{TeamNews, concerning};
pub use spawning::SpawnOrder;

/// How often a waiting claim lets the time that passed have its effect.
const TICK: Duration = Duration::from_secs(1);

/// One team, for one caller.
#[derive(Debug)]
pub struct TeamHandle {
    board: Board,
    clock: Clock,
    /// The asker.
    asker: Asker,
    answers: Answers,
    route: TeamRoute,
}

impl TeamHandle {
    #[must_use]
    pub fn new(board: Board, folder: &Path, clock: Clock, asker: Asker) -> Self {
        Self {
            answers: Answers::new(board.clone(), folder),
            route: TeamRoute::new(board.clone(), folder, asker.clone()),
            board,
            clock,
            asker,
        }
    }

    #[must_use]
    pub fn id(&self) -> TeamId {
        self.board.team()
    }

    #[must_use]
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Looks at the team as it is in this process.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> BoardResult<T> {
        self.board.look(look).await
    }

    /// Everything that happens after a version of the log.
    #[must_use]
    pub fn subscribe(&self, since: Version) -> Subscription {
        self.board.subscribe(since)
    }

    /// Answers queries, as the lead's socket does: the team, its members, its standing.
    #[must_use]
    pub fn answers(&self) -> &Answers {
        &self.answers
    }

    /// Gives a command, signed by the caller.
    pub async fn submit(&self, command: Command) -> Result<Answer> {
        let signature = self.signature(None);
        if let Some(done) = self.begin(&command, signature.operation).await? {
            return Ok(done);
        }
        let request = signature.on(command);
        match self.route.submit(request.clone()).await {
            Ok(done) => Ok(done),
            Err(error) => Err(self.explain(error, &request).await?),
        }
    }

    /// Makes a query and reads the answer.
    pub async fn query<T: DeserializeOwned>(&self, query: Query) -> Result<T, Failure> {
        self.query_as(self.asker.clone(), query).await
    }

    /// Makes a query with somebody else's view of the team, and reads the answer.
    pub async fn query_as<T: DeserializeOwned>(
        &self,
        asker: Asker,
        query: Query,
    ) -> Result<T, Failure> {
        let answer = self.answers.answer(asker, Call::Query(query)).await?;
        serde_json::from_str(answer.get()).map_err(|error| Failure::new(FailureKind::Bug, &error))
    }

    /// Answers a call. Queries are answered from the board here, changes and files by the lead if one runs.
    pub async fn call(&self, mut call: Call) -> Result<Box<RawValue>, Failure> {
        if let Call::Change(change) = &mut call {
            // If the lead goes away in the middle, the board gets the same operation.
            let operation = *change.operation.get_or_insert_with(|| OperationId(Uuid::now_v7()));
            if let Some(done) = self.begin(&change.command, operation).await? {
                return to_raw_value(&done).map_err(|error| Failure::new(FailureKind::Bug, &error));
            }
        }
        if let Call::File(call) = &mut call {
            call.name_operation(|| OperationId(Uuid::now_v7()));
        }
        if matches!(call, Call::Change(_) | Call::File(_)) {
            let by_lead = self.route.ask_lead(async |client| client.ask_any(&call).await).await?;
            if let Some(answer) = by_lead {
                return Ok(answer);
            }
            return self.answers.answer(self.route.asker(), call).await;
        }
        self.answers.answer(self.asker.clone(), call).await
    }

    /// From now on, changes and files belong to this conversation. Looks are not bound by it.
    pub(crate) fn act_in(&self, origin: &Origin) {
        self.route.act_in(origin);
    }

    /// Begins a command, whether it is submitted or called. Leases and retries are brought up to date before a claim is judged.
    /// The deletion of the team has a way of its own; its answer is returned.
    async fn begin(&self, command: &Command, operation: OperationId) -> Result<Option<Answer>> {
        if *command == Command::DeleteTeam {
            return self.delete(operation).await.map(Some);
        }
        if matches!(command, Command::Task(TaskCommand::Claim { .. })) {
            self.tick().await?;
        }
        Ok(None)
    }

    /// Lets the time that passed have its effect: leases that ran out, retries that are due. A lead does this by itself.
    async fn tick(&self) -> BoardResult<()> {
        if self.route.is_led().await {
            return Ok(());
        }
        let tick = CommandRequest::new(Actor::system(), Command::Tick);
        self.board.submit(tick).await.map(drop)
    }

    /// Claims the next task as soon as there is one. The claim goes the same way as any other change: by way of the lead where
    /// one runs, so that it passes the lead's hooks and waits for the member's worktree.
    pub async fn claim_next(&self, patience: Duration) -> Result<Answer> {
        let mut news = self.subscribe(self.look(State::version).await?);
        let deadline = Instant::now() + patience;
        loop {
            match self.submit(Command::Task(TaskCommand::Claim { task: None })).await {
                Err(error) if is_without_work(&error) && Instant::now() < deadline => {}
                other => return other,
            }
            // Work becomes available by what others do, and by time that passes.
            let until = deadline.min(Instant::now() + TICK);
            if let Ok(event) = tokio::time::timeout_at(until, news.next()).await {
                event?;
            }
        }
    }

    fn signature(&self, operation: Option<OperationId>) -> Signature {
        let operation = operation.unwrap_or_else(|| OperationId(Uuid::now_v7()));
        Signature { operation, asker: self.route.asker() }
    }

    /// Why a change was not made. If the lead refused it and the rules refuse the same here, the refusal carries its hint.
    async fn explain(&self, error: RouteError, request: &CommandRequest) -> Result<Error> {
        let failure = match error {
            RouteError::Board(error) => return Ok(error.into()),
            RouteError::Connection(error) => return Ok(error.into()),
            RouteError::Lead(failure) => failure,
        };
        let now = self.clock.now();
        let request = request.clone();
        let refused = self.look(move |state| request.judged(state, now).err()).await?;
        let same = refused.filter(|it| failure.refusal.as_deref() == Some(it.name()));
        Ok(same.map_or_else(|| failure.into(), |refusal| BoardError::from(refusal).into()))
    }
}

/// Whether a claim was refused because there is nothing to do now.
fn is_without_work(error: &Error) -> bool {
    let is_refused =
        matches!(error, Error::Board(BoardError::Refused(Refusal::NothingAvailable { .. })));
    // Work may have come between the lead's refusal and our look at the board.
    is_refused || matches!(error, Error::Lead(failure) if failure.kind == FailureKind::NoWork)
}

#[cfg(test)]
mod tests;
