//! Commands by way of the lead, where one runs on this machine: they wait in its queue and pass its hooks.

use std::path::PathBuf;

use anyhow::Result;
use troop_model::{Context, TeamId, decide};
use troop_protocol::{ClientError, Failure};
use troop_runtime::{Board, CommandEffect, CommandRequest, relay};

use super::Desk;

impl Desk {
    /// Where what belongs to a team besides its log is kept.
    pub(crate) fn folder(&self, team: TeamId) -> PathBuf {
        self.surroundings.home.join("teams").join(team.to_string())
    }

    /// What a lead refuses is refused here for the same reason, and here is known what to do then.
    async fn explain(
        &self,
        failure: Failure,
        board: &Board,
        request: &CommandRequest,
    ) -> Result<anyhow::Error> {
        let context = Context {
            now: self.clock.now(),
            asker: request.asker(),
            operation: request.operation,
            fence: request.fence,
        };
        let command = request.command.clone();
        let refused = board.look(move |state| decide(state, &command, &context).err()).await?;
        let same = refused.filter(|it| failure.refusal.as_deref() == Some(it.name()));
        Ok(same.map_or_else(|| failure.into(), Into::into))
    }

    /// Gives a command to the lead. None if nobody leads here, or it went away: then the board itself takes it, and if the
    /// lead did it after all, the same operation has one effect.
    pub(super) async fn relay(
        &self,
        board: &Board,
        request: &CommandRequest,
    ) -> Result<Option<CommandEffect>> {
        match relay(&self.folder(board.team()), request).await {
            Ok(Some(done)) => {
                // What is shown next must show it.
                board.catch_up().await?;
                Ok(Some(done))
            }
            Ok(None) => Ok(None),
            Err(ClientError::Failed(failure)) => Err(self.explain(failure, board, request).await?),
            Err(error) => Err(error.into()),
        }
    }
}
