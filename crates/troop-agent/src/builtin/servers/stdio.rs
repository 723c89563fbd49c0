//! A server that is a program, spoken to over its standard input and output. It ends with us.

use std::{collections::BTreeMap, path::Path, process::Stdio};

use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;
use tokio_util::task::TaskTracker;
use troop_protocol::{Failure, FailureKind, Incoming, Notification, Peer};

use crate::process::{self, Group};

/// A program that serves.
#[derive(Debug)]
pub(super) struct Local {
    peer: Peer,
    // Dropped in this order: the conversation, then the process and all that it started.
    _group: Group,
    _child: tokio::process::Child,
}

impl Local {
    pub(super) fn start(
        program: &str,
        arguments: &[String],
        environment: &BTreeMap<String, String>,
        folder: &Path,
    ) -> Result<Self, String> {
        let mut command = process::command(program);
        command.args(arguments).envs(environment).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child =
            command.spawn().map_err(|error| format!("`{program}` cannot be started: {error}"))?;
        let group = Group::led_by(&child);
        let (Some(writer), Some(reader)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a started process has no pipes".to_owned());
        };
        let tracker = TaskTracker::new();
        let (peer, incoming) = Peer::channel(reader, writer, &tracker);
        tracker.spawn(hear(incoming));
        Ok(Self { peer, _group: group, _child: child })
    }

    pub(super) async fn request(&self, method: &str, params: &Value) -> Result<Value, String> {
        let asked = Notification::new(method, params).map_err(|error| error.to_string())?;
        self.peer.request(asked).await.map_err(|error| error.to_string())
    }

    pub(super) async fn notify(&self, method: &str) -> Result<(), String> {
        let said = Notification::new(method, &json!({})).map_err(|error| error.to_string())?;
        self.peer.notify(said).await.map_err(|error| error.to_string())
    }
}

/// Answers what servers ask: whether we are there. Nothing else is offered to them.
async fn hear(mut incoming: Receiver<Incoming>) {
    while let Some(incoming) = incoming.recv().await {
        if let Incoming::Request(request) = incoming {
            // Who has gone needs no answer.
            drop(if request.asked.method == "ping" {
                request.responder.answer(&json!({}))
            } else {
                let message = format!("`{}` is not offered", request.asked.method);
                request.responder.refuse(Failure::new(FailureKind::UnknownMethod, &message))
            });
        }
    }
}
