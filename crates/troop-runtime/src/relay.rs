//! The way of a caller's changes to a team: through its lead if one runs on this machine, else straight to the board. That
//! policy is here and nowhere else. A change that goes through the lead waits in the lead's queue and passes its hooks.

use std::{
    path::{Path, PathBuf},
    pin::pin,
    sync::Mutex,
    time::Duration,
};

use thiserror::Error;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use troop_model::{Asker, Command, MemberName, Origin, Refusal, Role, State, lock};
use troop_process::is_stopped;
use troop_protocol::{Answer, Client, ClientError, Failure, FailureKind};

use crate::{
    Board, BoardError, BoardResult, CommandRequest, LeadPresence, Signature, answers::changed,
    find_lead, workspace::WorkspaceFiles,
};

/// How long a lead may take to accept a conversation. One that was stopped, or hangs, must not hold up its callers.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why a change was not made, or may not have been made.
#[derive(Debug, Error)]
pub enum RouteError {
    /// The board refused it, or cannot be used.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The lead refused it, or would have.
    #[error(transparent)]
    Lead(Failure),
    /// The lead's answer cannot be understood, or the call cannot be sent to it.
    #[error(transparent)]
    Connection(ClientError),
}

impl From<RouteError> for Failure {
    fn from(error: RouteError) -> Self {
        match error {
            RouteError::Board(error) => error.into(),
            RouteError::Lead(failure) => failure,
            RouteError::Connection(error) => error.into(),
        }
    }
}

/// The way of one caller's changes to one team.
#[derive(Debug)]
pub struct TeamRoute {
    board: Board,
    /// The team's own folder, in which a running lead is found.
    folder: PathBuf,
    /// The asker, in the conversation that changes belong to.
    asker: Mutex<Asker>,
    /// The connection to the lead, while there is one.
    lead: Mutex<Option<LeadClient>>,
    tracker: TaskTracker,
}

impl TeamRoute {
    #[must_use]
    pub fn new(board: Board, folder: &Path, asker: Asker) -> Self {
        let folder = folder.to_owned();
        let asker = Mutex::new(asker);
        Self { board, folder, asker, lead: Mutex::new(None), tracker: TaskTracker::new() }
    }

    /// The asker, in the conversation that changes belong to.
    #[must_use]
    pub fn asker(&self) -> Asker {
        lock(&self.asker).clone()
    }

    /// From now on, changes belong to this conversation.
    pub fn act_in(&self, origin: &Origin) {
        let before = std::mem::replace(&mut lock(&self.asker).origin, origin.clone());
        if before != *origin {
            // A connection to the lead has one origin.
            self.disconnect();
        }
    }

    /// Gives a command, and waits until its effect is durable.
    pub async fn submit(&self, request: CommandRequest) -> Result<Answer, RouteError> {
        let command = request.command.clone();
        let operation = request.operation;
        let done = self.ask_lead(async |client| client.call(command, operation).await).await?;
        match done {
            Some(done) => Ok(done),
            None => {
                // What a lead checks before it gives a command to the board.
                let files = WorkspaceFiles::new(self.board.clone(), &self.folder);
                let checked = Box::pin(files.check_attachment(&request.command)).await;
                checked.map_err(|error| RouteError::Lead(Failure::from(&error)))?;
                let given = self.board.give_and_look(request, |state, done| changed(state, &done));
                Ok(given.await?.done().await?)
            }
        }
    }

    /// Asks the lead. None if nobody leads the team on this machine, or the lead went away or lost its store before it answered:
    /// then the caller gives the same operation to the board. If the lead did carry it out, that has no second effect.
    pub async fn ask_lead<T>(
        &self,
        ask: impl AsyncFnOnce(&Client) -> Result<T, ClientError>,
    ) -> Result<Option<T>, RouteError> {
        let Some(lead) = self.lead().await else { return Ok(None) };
        match lead.ask(ask).await {
            Ok(answer) => {
                // The next look must show it.
                self.board.catch_up().await?;
                Ok(Some(answer))
            }
            Err(ClientError::NoLead { .. } | ClientError::Gone) => {
                self.disconnect();
                Ok(None)
            }
            Err(ClientError::Failed(failure)) if failure.kind == FailureKind::Unavailable => {
                self.disconnect();
                Ok(None)
            }
            Err(ClientError::Failed(failure)) => Err(RouteError::Lead(failure)),
            Err(error) => Err(RouteError::Connection(error)),
        }
    }

    /// Deletes the team and frees its name. Its log stays readable by its id until it is purged. Members that ended with a
    /// killed lead are no obstacle: nobody was left to record their end, so they are removed first.
    pub async fn delete(&self, signature: Signature) -> Result<Answer, RouteError> {
        let request = signature.on(Command::DeleteTeam);
        let done = match self.submit(request.clone()).await {
            Err(RouteError::Board(BoardError::Refused(Refusal::TeammateActive { .. }))) => {
                for member in self.dead_members().await? {
                    let reason = Some("its lead ended".to_owned());
                    let remove = Command::RemoveMember { member, reason };
                    self.submit(CommandRequest::new(self.asker(), remove)).await?;
                }
                self.submit(request).await
            }
            done => done,
        };
        let done = match done {
            // Another process deleted it and may have died before it freed the name.
            Err(RouteError::Board(BoardError::Refused(Refusal::TeamDeleted))) => {
                let version = self.board.look(State::version).await?;
                Answer { version, task: None, events: Vec::new() }
            }
            done => done?,
        };
        self.disconnect();
        Ok(done)
    }

    /// Whether a lead of the team answers on this machine.
    pub async fn is_led(&self) -> bool {
        self.lead().await.is_some()
    }

    /// The members that count as running but ended with their lead.
    async fn dead_members(&self) -> BoardResult<Vec<MemberName>> {
        let presence = LeadPresence::read(&self.folder);
        let look = move |state: &State| {
            let now = presence.members(state);
            let is_dead =
                |name: &MemberName| now.iter().any(|it| it.name == *name && !it.is_running());
            let running = state.members().filter(|it| it.role == Role::Member && it.is_running());
            running.map(|it| it.name.clone()).filter(is_dead).collect()
        };
        self.board.look(look).await
    }

    /// The lead that runs the team on this machine, if one does.
    async fn lead(&self) -> Option<LeadClient> {
        let known = lock(&self.lead).clone();
        if known.is_some() {
            return known;
        }
        let lead = LeadClient::connect(&self.folder, &self.asker(), &self.tracker).await?;
        *lock(&self.lead) = Some(lead.clone());
        Some(lead)
    }

    /// Drops the connection to the lead; the next change makes another.
    fn disconnect(&self) {
        *lock(&self.lead) = None;
    }
}

/// A conversation with the lead of a team on this machine.
#[derive(Clone, Debug)]
struct LeadClient {
    client: Client,
    process: u32,
}

impl LeadClient {
    /// Begins a conversation. None if no lead runs here, or it does not answer.
    async fn connect(folder: &Path, asker: &Asker, tracker: &TaskTracker) -> Option<Self> {
        let lead = find_lead(folder)?;
        let socket = lead.socket?;
        let connect = async {
            let client = Client::connect(&socket, tracker).await?;
            client.open(asker).await?;
            Ok::<_, ClientError>(client)
        };
        let client = timeout(PATIENCE, connect).await.ok()?.ok()?;
        Some(Self { client, process: lead.pid })
    }

    /// Makes calls and waits as long as they take: hooks may be slow. A lead whose process was stopped counts as gone.
    async fn ask<T>(
        &self,
        ask: impl AsyncFnOnce(&Client) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        let mut answer = pin!(ask(&self.client));
        loop {
            match timeout(PATIENCE, &mut answer).await {
                Ok(answer) => return answer,
                Err(_) if is_stopped(self.process) => return Err(ClientError::Gone),
                Err(_) => {}
            }
        }
    }
}
