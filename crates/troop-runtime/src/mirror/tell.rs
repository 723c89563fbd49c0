//! Commands of the mirror to the board, and notices to its user.

use std::path::Path;

use troop_model::{Actor, Asker, Command, OperationId, Origin, Refusal};

use super::{Mirror, MirrorError, MirrorNotice, rules};
use crate::{BoardError, CommandEffect, CommandRequest};

impl Mirror {
    /// Gives a command in the name of the member that a file names, or else of the lead.
    pub(super) async fn submit(
        &self,
        by: Option<&str>,
        operation: OperationId,
        command: Command,
    ) -> Result<Result<CommandEffect, Refusal>, MirrorError> {
        self.submit_as(rules::actor(by), operation, command).await
    }

    pub(super) async fn submit_as(
        &self,
        actor: Actor,
        operation: OperationId,
        command: Command,
    ) -> Result<Result<CommandEffect, Refusal>, MirrorError> {
        let origin = Origin::default();
        let request =
            CommandRequest { operation, asker: Asker { actor, origin }, command, fence: None };
        match self.board.submit(request).await {
            Ok(done) => Ok(Ok(done)),
            Err(BoardError::Refused(refusal)) => Ok(Err(refusal)),
            Err(error) => Err(error.into()),
        }
    }

    /// Tells the writer of something that it was refused; the lead, if the writer is unknown.
    pub(super) async fn refuse(
        &mut self,
        path: &Path,
        who: Option<&str>,
        operation: OperationId,
        reason: &str,
    ) -> Result<(), MirrorError> {
        self.notice_refused(path, reason);
        let names = self.names().await?;
        let told = rules::refusal(&names, who, &self.places.shown(path), reason);
        if let Some(told) = told {
            // A mailbox that is full is no reason to stop.
            drop(self.submit_as(Actor::system(), operation, told).await?);
        }
        Ok(())
    }

    pub(super) fn notice_refused(&self, path: &Path, reason: &str) {
        let reason = reason.to_owned();
        self.notice(MirrorNotice::Refused { path: self.places.shown(path), reason });
    }

    pub(super) fn notice_taken(&self, path: &Path, what: String) {
        self.notice(MirrorNotice::Taken { path: self.places.shown(path), what });
    }

    fn notice(&self, notice: MirrorNotice) {
        if let Some(notices) = &self.notices {
            // There may be no listener left.
            drop(notices.send(notice));
        }
    }
}
