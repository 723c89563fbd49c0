//! Commands by way of the lead, where one runs on this machine: they wait in its queue and pass its hooks.

use std::{path::Path, time::Duration};

use tokio_util::task::TaskTracker;
use troop_protocol::{Client, ClientError, Session};

use crate::{Done, Request, find_lead};

/// How long a lead has to answer at all. One that was stopped, or hangs, must not hold up everybody else.
const PATIENCE: Duration = Duration::from_secs(2);

/// Gives a command to the lead that is found in a team's folder. None if nobody leads here, or it went away: then the board
/// itself is to take it, and if the lead did it after all, the same operation has one effect.
pub async fn relay(folder: &Path, request: &Request) -> Result<Option<Done>, ClientError> {
    let Some(socket) = find_lead(folder).and_then(|entry| entry.socket) else { return Ok(None) };
    let tracker = TaskTracker::new();
    let asked = async {
        let client = tokio::time::timeout(PATIENCE, async {
            let client = Client::connect(&socket, &tracker).await?;
            let (actor, origin) = (request.actor.clone(), request.origin.clone());
            client.open(&Session { actor, origin }).await?;
            Ok::<_, ClientError>(client)
        });
        let client = client.await.unwrap_or(Err(ClientError::Gone))?;
        client.call(request.command.clone(), request.operation).await
    };
    match asked.await {
        Ok(answer) => Ok(Some(Done { version: answer.version, events: answer.events.into() })),
        Err(ClientError::NoLead { .. } | ClientError::Gone) => Ok(None),
        Err(error) => Err(error),
    }
}
