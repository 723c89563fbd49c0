//! The answers to board calls. Every surface asks here: members on their wires, other processes on the lead's socket, and
//! surfaces in this process. Only a change differs: where a lead runs, the lead passes it through its queue and its hooks.

mod files;
mod presence;
mod queries;
mod subscriptions;
mod teams;
mod transcripts;

use std::path::{Path, PathBuf};

use serde_json::value::{RawValue, to_raw_value};
use troop_model::{Asker, OperationId, State, TaskView};
use troop_protocol::{Answer, Call, Change, Failure, FailureKind, Responder};
use troop_store::StoreError;
use uuid::Uuid;

use crate::{
    Board, BoardError, BoardResult, CommandEffect, CommandRequest, Signature,
    workspace::WorkspaceFiles,
};

pub use presence::LeadPresence;
pub(crate) use subscriptions::Subscriptions;
pub use teams::list_teams;
pub use transcripts::{TranscriptFeed, TranscriptReader};

/// Answers the calls of one team. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Answers {
    board: Board,
    /// The team's own folder on this machine: its lock, its socket, its transcripts, its workspace.
    folder: PathBuf,
    files: WorkspaceFiles,
    /// The fencing number of the lead that answers, if a lead does.
    fence: Option<u64>,
}

impl Answers {
    /// Answers from a board that is open here.
    #[must_use]
    pub fn new(board: Board, folder: &Path) -> Self {
        let files = WorkspaceFiles::new(board.clone(), folder);
        Self { board, folder: folder.to_owned(), files, fence: None }
    }

    /// Answers for the lead that has this fencing number.
    pub(crate) fn for_lead(self, fence: u64) -> Self {
        Self { fence: Some(fence), ..self }
    }

    /// Answers a call. A change goes straight to the board: no hook is asked.
    pub async fn answer(&self, asker: Asker, call: Call) -> Result<Box<RawValue>, Failure> {
        match call {
            Call::Query(query) => self.query(asker, query).await,
            Call::Change(change) => self.change(asker, *change).await,
            Call::File(call) => self.file(asker, call).await,
            Call::Follow(_) => {
                let what = "subscriptions need a separate conversation: use the lead's socket";
                Err(Failure::new(FailureKind::Forbidden, what))
            }
            Call::Open(_) => Err(Failure::new(FailureKind::Forbidden, "the caller is known here")),
        }
    }

    /// Answers a call through its responder.
    pub(crate) async fn respond(self, asker: Asker, call: Call, responder: Responder) {
        let answer = self.answer(asker, call).await;
        // If the caller has gone, nobody needs the answer.
        drop(responder.respond(answer.map_err(Into::into)));
    }

    /// Gives a command to the board, and answers with the task as the command left it.
    async fn carry_out(&self, request: CommandRequest) -> BoardResult<Answer> {
        let request = CommandRequest { fence: request.fence.or(self.fence), ..request };
        let given = self.board.give_and_look(request, |state, done| changed(state, &done)).await;
        given?.done().await
    }

    async fn change(&self, asker: Asker, change: Change) -> Result<Box<RawValue>, Failure> {
        let checked = Box::pin(self.files.check_attachment(&change.command)).await;
        checked.map_err(|error| Failure::from(&error))?;
        to_json(&self.carry_out(signed(asker, change)).await?)
    }
}

/// The change that somebody asks for, as a request to the board.
pub(crate) fn signed(asker: Asker, change: Change) -> CommandRequest {
    let operation = change.operation.unwrap_or_else(|| OperationId(Uuid::now_v7()));
    Signature { operation, asker }.on(change.command)
}

/// The effect of a call, with the task that it was about. A task that has left the board is not shown.
pub(crate) fn changed(state: &State, done: &CommandEffect) -> Answer {
    let task = done.task().and_then(|number| state.tasks().get(number));
    let task = task.and_then(|task| to_raw_value(&TaskView::brief(state, task)).ok());
    Answer { version: done.version, task, events: done.events.to_vec() }
}

impl From<&BoardError> for Failure {
    fn from(error: &BoardError) -> Self {
        match error {
            BoardError::Refused(refusal) => refusal.into(),
            BoardError::Store(store) => Self::new(store_failure(store), error),
            BoardError::Closed => Self::new(FailureKind::Unavailable, error),
            BoardError::Log { .. }
            | BoardError::Misplaced { .. }
            | BoardError::Archive { .. }
            | BoardError::NotALog { .. } => Self::new(FailureKind::Corrupt, error),
            BoardError::NoSuchTeam { .. } | BoardError::NoActiveTeam => {
                Self::new(FailureKind::NotFound, error)
            }
            BoardError::AlreadyActive { .. } | BoardError::FileInUse { .. } => {
                Self::new(FailureKind::Conflict, error)
            }
            BoardError::Broken { .. } => Self::new(FailureKind::Bug, error),
        }
    }
}

impl From<BoardError> for Failure {
    fn from(error: BoardError) -> Self {
        Self::from(&error)
    }
}

fn store_failure(error: &StoreError) -> FailureKind {
    match error {
        StoreError::Refused { .. } => FailureKind::Invalid,
        StoreError::NotFound { .. } => FailureKind::NotFound,
        StoreError::Conflict { .. } => FailureKind::Conflict,
        StoreError::Corrupt { .. } => FailureKind::Corrupt,
        StoreError::Bug { .. } => FailureKind::Bug,
        // After an error of an unknown class the change may have happened.
        StoreError::Unavailable { .. } | _ => FailureKind::Unavailable,
    }
}

fn to_json(answer: &impl serde::Serialize) -> Result<Box<RawValue>, Failure> {
    to_raw_value(answer).map_err(|error| Failure::new(FailureKind::Bug, &error))
}
