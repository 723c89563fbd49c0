//! What a mirror says to the board, and to those who look on.

use std::path::Path;

use troop_model::{Actor, ActorKind, Command, OperationId, Origin, Outgoing, Refusal};

use super::{Mirror, MirrorError, MirrorNotice};
use crate::{BoardError, CommandEffect, CommandRequest};

impl Mirror {
    /// Gives a command in the name of whom a file names; of the lead, if it names nobody.
    pub(super) async fn submit(
        &self,
        by: Option<&str>,
        operation: OperationId,
        command: Command,
    ) -> Result<Result<CommandEffect, Refusal>, MirrorError> {
        self.submit_as(actor(by), operation, command).await
    }

    pub(super) async fn submit_as(
        &self,
        actor: Actor,
        operation: OperationId,
        command: Command,
    ) -> Result<Result<CommandEffect, Refusal>, MirrorError> {
        let request =
            CommandRequest { operation, actor, origin: Origin::default(), command, fence: None };
        match self.board.submit(request).await {
            Ok(done) => Ok(Ok(done)),
            Err(BoardError::Refused(refusal)) => Ok(Err(refusal)),
            Err(error) => Err(error.into()),
        }
    }

    /// Tells whoever wrote something that it was refused, and the lead if nobody knows who that is.
    pub(super) async fn refuse(
        &mut self,
        path: &Path,
        who: Option<&str>,
        operation: OperationId,
        reason: &str,
    ) -> Result<(), MirrorError> {
        self.notice_refused(path, reason);
        let names = self.names().await?;
        let to = who.and_then(|who| names.find(who)).or_else(|| names.lead().cloned());
        let Some(to) = to else { return Ok(()) };
        let content =
            format!("what was written to `{}` was refused: {reason}", self.places.shown(path));
        let told = Command::Send(Outgoing::system(to.to_string(), content));
        // A mailbox that is full is no reason to stop.
        drop(self.submit_as(Actor::system(), operation, told).await?);
        Ok(())
    }

    pub(super) fn notice_refused(&self, path: &Path, reason: &str) {
        let (path, reason) = (self.places.shown(path), reason.to_owned());
        self.notice(MirrorNotice::Refused { path, reason });
    }

    pub(super) fn notice_taken(&self, path: &Path, what: String) {
        self.notice(MirrorNotice::Taken { path: self.places.shown(path), what });
    }

    pub(super) fn notice(&self, notice: MirrorNotice) {
        if let Some(notices) = &self.notices {
            // Nobody may listen any more.
            drop(notices.send(notice));
        }
    }
}

/// Whom a file names; the lead, if it names nobody.
pub(super) fn actor(by: Option<&str>) -> Actor {
    let name = by.unwrap_or(troop_model::LEAD_ALIASES[0]);
    Actor { kind: ActorKind::Agent, name: name.into() }
}
