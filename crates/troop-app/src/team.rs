//! One handle on one team, for every surface.
//!
//! A change goes through the lead where one runs on this machine: it waits in the lead's queue and passes its hooks. Otherwise
//! the board takes it. That policy is here and nowhere else, see [`TeamHandle`].

mod choice;
mod delegate;
mod delegations;
mod desk;
mod erase;
mod files;
mod hold;
mod mail;
mod member;
mod name;
mod news;
mod place;
mod question;
mod spawning;

use std::{
    path::{Path, PathBuf},
    sync::Mutex,
    time::Duration,
};

use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use troop_model::{
    Actor, Asker, Command, Context, Member, OperationId, Refusal, State, TaskCommand, TeamId,
    Version, decide, lock,
};
use troop_protocol::{Call, Client, ClientError, Failure, FailureKind, TeamStanding};
use troop_runtime::{
    Answers, Board, BoardError, BoardResult, Clock, CommandEffect, CommandRequest, LeadClient,
    LeadPresence, Signature, Subscription,
};
use uuid::Uuid;

use crate::{Error, Result};
pub use choice::Purpose;
pub use delegate::DelegateOrder;
pub use delegations::{DelegationProgress, DelegationStage, oldest_first};
pub use desk::{DeskNotice, DeskOptions, NoticeSink, StoppedLead, TeamDesk};
pub use erase::Deletion;
pub use mail::{Mailbag, RunningCall};
pub use member::MemberCaller;
pub use name::{first_free, free_name, name_of, team_name};
pub use news::{TeamNews, concerning};
pub use question::OpenQuestion;
pub use spawning::{SpawnOrder, again};

/// How often a waiting claim lets the time that passed have its effect.
const TICK: Duration = Duration::from_secs(1);

/// One team, for one caller.
#[derive(Debug)]
pub struct TeamHandle {
    board: Board,
    /// The team's own folder on this machine.
    folder: PathBuf,
    clock: Clock,
    /// Who asks.
    session: Asker,
    answers: Answers,
    /// The connection to the lead, while there is one.
    lead: Mutex<Option<LeadClient>>,
    tracker: TaskTracker,
}

impl TeamHandle {
    #[must_use]
    pub fn new(board: Board, folder: &Path, clock: Clock, session: Asker) -> Self {
        Self {
            answers: Answers::new(board.clone(), folder),
            board,
            folder: folder.to_owned(),
            clock,
            session,
            lead: Mutex::new(None),
            tracker: TaskTracker::new(),
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

    /// What this machine knows about the team's lead and the log does not.
    #[must_use]
    pub fn presence(&self) -> LeadPresence {
        LeadPresence::read(&self.folder)
    }

    /// The members as they are now, also if the lead was killed.
    pub async fn members(&self) -> BoardResult<Vec<Member>> {
        let presence = self.presence();
        self.board.look(move |state| presence.members(state)).await
    }

    /// What the team is, in one word.
    pub async fn standing(&self) -> BoardResult<TeamStanding> {
        let presence = self.presence();
        let now = self.clock.now();
        self.board.look(move |state| presence.standing(state, now)).await
    }

    /// Gives a command, signed by the caller.
    pub async fn submit(&self, command: Command) -> Result<CommandEffect> {
        let operation = OperationId(Uuid::now_v7());
        self.submit_request(Signature { operation, asker: self.session.clone() }.on(command)).await
    }

    /// Gives a request that the caller has signed already.
    pub async fn submit_request(&self, request: CommandRequest) -> Result<CommandEffect> {
        let command = request.command.clone();
        let operation = request.operation;
        let by_lead = self.by_lead(async |client| client.call(command, operation).await).await;
        match by_lead {
            Ok(Some(answer)) => {
                Ok(CommandEffect { version: answer.version, events: answer.events.into() })
            }
            Ok(None) => Ok(self.board.submit(request).await?),
            Err(RelayFault::Client(ClientError::Failed(failure))) => {
                Err(self.explain(failure, &request).await?)
            }
            Err(RelayFault::Client(error)) => Err(error.into()),
            Err(RelayFault::Board(error)) => Err(error.into()),
        }
    }

    /// Answers a call. Looks are answered from the board here, changes and files by the lead where one runs.
    pub async fn call(&self, call: Call) -> Result<Box<RawValue>, Failure> {
        if matches!(call, Call::Change(_) | Call::File(_)) {
            match self.by_lead(async |client| client.ask_any(&call).await).await {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => {}
                Err(RelayFault::Client(error)) => return Err(error.into()),
                Err(RelayFault::Board(error)) => return Err(board_failure(&error)),
            }
        }
        self.answers.answer(self.session.clone(), call).await
    }

    /// Lets the time that passed have its effect: leases that ran out, retries that are due. If no lead supervises the team,
    /// whoever looks for work does this.
    pub async fn tick(&self) -> BoardResult<()> {
        let tick = CommandRequest::new(Actor::system(), Command::Tick);
        self.board.submit(tick).await.map(drop)
    }

    /// Claims the next task as soon as there is one. The claim goes the same way as any other change: by way of the lead where
    /// one runs, so that it passes the lead's hooks and waits for the member's worktree.
    pub async fn claim_next(&self, patience: Duration) -> Result<CommandEffect> {
        let mut news = self.subscribe(self.look(State::version).await?);
        let deadline = Instant::now() + patience;
        loop {
            self.tick().await?;
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

    /// Drops the connection to the lead; the next change makes another.
    pub fn disconnect(&self) {
        self.keep(None);
    }

    /// Asks the lead. None if nobody leads the team on this machine, or the lead went away: then the board takes the change,
    /// and if the lead did it after all, the same operation has one effect.
    async fn by_lead<T>(
        &self,
        ask: impl AsyncFnOnce(&Client) -> Result<T, ClientError>,
    ) -> Result<Option<T>, RelayFault> {
        let Some(lead) = self.lead().await else { return Ok(None) };
        match lead.ask(ask).await {
            Ok(answer) => {
                // The next look must show it.
                self.board.catch_up().await.map_err(RelayFault::Board)?;
                Ok(Some(answer))
            }
            Err(ClientError::NoLead { .. } | ClientError::Gone) => {
                self.disconnect();
                Ok(None)
            }
            Err(error) => Err(RelayFault::Client(error)),
        }
    }

    /// The lead that runs the team on this machine, if one does.
    async fn lead(&self) -> Option<LeadClient> {
        let known = lock(&self.lead).clone();
        if known.is_some() {
            return known;
        }
        let lead = LeadClient::connect(&self.folder, &self.session, &self.tracker).await?;
        self.keep(Some(lead.clone()));
        Some(lead)
    }

    fn keep(&self, lead: Option<LeadClient>) {
        *lock(&self.lead) = lead;
    }

    /// The rule behind a failure that the lead reported, if the rules refuse the same here: a refusal carries its hint.
    async fn explain(&self, failure: Failure, request: &CommandRequest) -> Result<Error> {
        let context = Context {
            now: self.clock.now(),
            asker: request.asker.clone(),
            operation: request.operation,
            fence: request.fence,
        };
        let command = request.command.clone();
        let refused = self.look(move |state| decide(state, &command, &context).err()).await?;
        let same = refused.filter(|it| failure.refusal.as_deref() == Some(it.name()));
        Ok(same.map_or_else(|| failure.into(), |refusal| BoardError::from(refusal).into()))
    }
}

/// A board's error as a failure of a call.
fn board_failure(error: &BoardError) -> Failure {
    if let BoardError::Refused(refusal) = error {
        refusal.into()
    } else {
        Failure::new(FailureKind::Unavailable, error)
    }
}

/// Why the lead did not answer as asked.
#[derive(Debug)]
enum RelayFault {
    Client(ClientError),
    Board(BoardError),
}

/// Whether a claim was refused because there is nothing to do now.
fn is_without_work(error: &Error) -> bool {
    let is_refused =
        matches!(error, Error::Board(BoardError::Refused(Refusal::NothingAvailable { .. })));
    // Work may have come between the lead's refusal and our look at the board.
    is_refused || matches!(error, Error::Lead(failure) if failure.kind == FailureKind::NoWork)
}
