//! Commands by way of the lead, where one runs on this machine: they wait in its queue and pass its hooks.

use std::{path::Path, pin::pin, time::Duration};

use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use troop_process::is_stopped;
use troop_protocol::{Client, ClientError, Session};

use crate::{CommandEffect, CommandRequest, find_lead};

/// How long a lead has to answer at all. One that was stopped, or hangs, must not hold up everybody else.
const PATIENCE: Duration = Duration::from_secs(2);

/// Gives a command to the lead that is found in a team's folder. None if nobody leads here, or it went away: then the board
/// itself is to take it, and if the lead did it after all, the same operation has one effect.
pub async fn relay(
    folder: &Path,
    request: &CommandRequest,
) -> Result<Option<CommandEffect>, ClientError> {
    let session = Session { actor: request.actor.clone(), origin: request.origin.clone() };
    let Some(lead) = LeadClient::connect(folder, &session, &TaskTracker::new()).await else {
        return Ok(None);
    };
    let (command, operation) = (request.command.clone(), request.operation);
    match lead.ask(async |client| client.call(command, operation).await).await {
        Ok(answer) => {
            Ok(Some(CommandEffect { version: answer.version, events: answer.events.into() }))
        }
        Err(ClientError::NoLead { .. } | ClientError::Gone) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A conversation with the lead of a team on this machine.
#[derive(Clone, Debug)]
pub struct LeadClient {
    client: Client,
    process: u32,
}

impl LeadClient {
    /// Begins one. None if nobody leads here, or does not answer.
    pub async fn connect(folder: &Path, session: &Session, tracker: &TaskTracker) -> Option<Self> {
        let lead = find_lead(folder)?;
        let socket = lead.socket?;
        let connect = async {
            let client = Client::connect(&socket, tracker).await?;
            client.open(session).await?;
            Ok::<_, ClientError>(client)
        };
        let client = timeout(PATIENCE, connect).await.ok()?.ok()?;
        Some(Self { client, process: lead.pid })
    }

    /// Asks for something, and waits as long as it takes: hooks may take their time. A lead whose process was stopped
    /// counts as gone.
    pub async fn ask<T>(
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
