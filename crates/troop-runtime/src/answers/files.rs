//! Calls about files of the workspace.

use serde_json::value::RawValue;
use smol_str::SmolStr;
use troop_model::{Asker, FileQuestion, OperationId, TaskRef};
use troop_protocol::{Change, Failure, FileCall, content_bytes};

use super::{Answers, signed, to_json};
use crate::{
    CommandRequest,
    workspace::{FileRecord, FileRequest, WorkspaceError},
};

impl Answers {
    pub(super) async fn file(
        &self,
        asker: Asker,
        call: FileCall,
    ) -> Result<Box<RawValue>, Failure> {
        match call {
            FileCall::List { chat, task } => {
                answered(self.files.list(about(&asker, chat, task)).await)
            }
            FileCall::Read { path, chat, task } => {
                answered(self.files.read(about(&asker, chat, task), &path).await)
            }
            FileCall::Write { path, content, base64, chat, task, operation } => {
                let bytes = content_bytes(content, base64).map_err(WorkspaceError::from);
                let bytes = bytes.map_err(|error| Failure::from(&error))?;
                let written = self.files.write(about(&asker, chat, task), &path, bytes).await;
                self.note(asker, written, operation).await
            }
            FileCall::Delete { path, chat, task, operation } => {
                let deleted = self.files.delete(about(&asker, chat, task), &path).await;
                self.note(asker, deleted, operation).await
            }
        }
    }

    /// Records on the board what was done.
    async fn note(
        &self,
        asker: Asker,
        noted: Result<FileRecord, WorkspaceError>,
        operation: Option<OperationId>,
    ) -> Result<Box<RawValue>, Failure> {
        let FileRecord { changed, command } = noted.map_err(|error| Failure::from(&error))?;
        let request = signed(asker, Change { command, operation });
        self.board.submit(CommandRequest { fence: self.fence, ..request }).await?;
        to_json(&changed)
    }
}

fn about(asker: &Asker, chat: Option<String>, task: Option<TaskRef>) -> FileRequest {
    let question = FileQuestion { chat: chat.map(SmolStr::from), task };
    FileRequest { asker: asker.clone(), question }
}

fn answered<T: serde::Serialize>(
    answer: Result<T, WorkspaceError>,
) -> Result<Box<RawValue>, Failure> {
    to_json(&answer.map_err(|error| Failure::from(&error))?)
}
