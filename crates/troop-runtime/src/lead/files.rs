//! Calls about files of the workspace: answered beside the dispatcher, because a disk may take its time.

use serde_json::value::{RawValue, to_raw_value};
use smol_str::SmolStr;
use troop_model::{Asker, FileQuestion, OperationId, TaskRef};
use troop_protocol::{Failure, FailureKind, FileCall, Responder, content_bytes};
use uuid::Uuid;

use super::answers::{self, Caller};
use crate::{
    Board, Request,
    workspace::{FileRequest, Files, Noted, WorkspaceError},
};

/// A team's files, as its lead serves them.
#[derive(Clone, Debug)]
pub(super) struct FileDesk {
    pub(super) files: Files,
    pub(super) board: Board,
    pub(super) fence: Option<u64>,
}

impl FileDesk {
    /// Does what is asked, and answers.
    pub(super) async fn answer(self, caller: Caller, call: FileCall, responder: Responder) {
        let answer = self.serve(caller, call).await;
        // Who has gone needs no answer.
        drop(responder.respond(answer.map_err(Into::into)));
    }

    pub(super) async fn serve(
        &self,
        caller: Caller,
        call: FileCall,
    ) -> Result<Box<RawValue>, Failure> {
        match call {
            FileCall::List { chat, task } => {
                to_json(self.files.list(about(&caller, chat, task)).await)
            }
            FileCall::Read { path, chat, task } => {
                to_json(self.files.read(about(&caller, chat, task), &path).await)
            }
            FileCall::Write { path, content, base64, chat, task, operation } => {
                let bytes = content_bytes(content, base64).map_err(WorkspaceError::from);
                let bytes = bytes.map_err(|error| Failure::from(&error))?;
                let written = self.files.write(about(&caller, chat, task), &path, bytes).await;
                self.note(caller, written, operation).await
            }
            FileCall::Delete { path, chat, task, operation } => {
                let deleted = self.files.delete(about(&caller, chat, task), &path).await;
                self.note(caller, deleted, operation).await
            }
        }
    }

    /// Tells the board what was done.
    async fn note(
        &self,
        caller: Caller,
        noted: Result<Noted, WorkspaceError>,
        operation: Option<OperationId>,
    ) -> Result<Box<RawValue>, Failure> {
        let Noted { changed, command } = noted.map_err(|error| Failure::from(&error))?;
        let Caller { actor, origin } = caller;
        let operation = operation.unwrap_or_else(|| OperationId(Uuid::now_v7()));
        let request = Request { operation, actor, origin, command, fence: self.fence };
        self.board.submit(request).await.map_err(|error| answers::failure(&error))?;
        to_json(Ok(changed))
    }
}

fn about(caller: &Caller, chat: Option<String>, task: Option<TaskRef>) -> FileRequest {
    let question = FileQuestion { chat: chat.map(SmolStr::from), task };
    let asker = Asker { actor: caller.actor.clone(), origin: caller.origin.clone() };
    FileRequest { asker, question }
}

fn to_json<T: serde::Serialize>(
    answer: Result<T, WorkspaceError>,
) -> Result<Box<RawValue>, Failure> {
    let answer = answer.map_err(|error| Failure::from(&error))?;
    to_raw_value(&answer).map_err(|error| Failure::new(FailureKind::Bug, &error))
}
