//! The client of a lead on this machine: commands that it carries wait in the lead's queue and pass its hooks.

use std::{path::Path, pin::pin, time::Duration};

use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use troop_model::{Asker, Version};
use troop_process::is_stopped;
use troop_protocol::{Client, ClientError, EventFeed};

use crate::{CommandEffect, CommandRequest, find_lead};

/// How long a lead may take to accept a conversation. One that was stopped, or hangs, must not hold up its callers.
const PATIENCE: Duration = Duration::from_secs(2);

/// Gives a command to the lead of the team with this folder. None if no lead runs here, or the lead went away: then the
/// caller gives the command to the board. If the lead did carry it out, the same operation has one effect.
pub async fn relay(
    folder: &Path,
    request: &CommandRequest,
) -> Result<Option<CommandEffect>, ClientError> {
    let Some(lead) = LeadClient::connect(folder, &request.asker, &TaskTracker::new()).await else {
        return Ok(None);
    };
    let command = request.command.clone();
    let operation = request.operation;
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
    /// Begins a conversation. None if no lead runs here, or it does not answer.
    pub async fn connect(folder: &Path, session: &Asker, tracker: &TaskTracker) -> Option<Self> {
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

    /// Follows the log of the team through its lead, on a separate conversation. None if no lead runs here, or it does not
    /// answer: then the board itself can be followed from the same version on.
    pub async fn subscribe(
        folder: &Path,
        session: &Asker,
        since: Version,
        tracker: &TaskTracker,
    ) -> Option<EventFeed> {
        let socket = find_lead(folder)?.socket?;
        timeout(PATIENCE, EventFeed::open(&socket, session, since, tracker)).await.ok()?.ok()
    }

    /// Makes calls and waits as long as they take: hooks may be slow. A lead whose process was stopped counts as gone.
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
