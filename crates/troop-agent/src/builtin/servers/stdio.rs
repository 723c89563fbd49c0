//! A server that is a program, which we talk to over its standard input and output. It ends with us.

use std::{
    collections::BTreeMap,
    pin::pin,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::Child,
    sync::{mpsc::Receiver, watch},
    time::timeout,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use troop_model::lock;
use troop_process::{Group, Tail};
use troop_protocol::{Failure, FailureKind, Incoming, Notification, Peer, PeerError};

use super::{McpFault, McpHost};

/// How much of its standard error is kept.
const MAX_SAID: usize = 1_000;
/// How long a server that closed its output may take to end.
const END: Duration = Duration::from_secs(2);
/// How long its last output may take to arrive: its children may keep the pipe open for ever.
const LAST: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct LocalServer {
    peer: Peer,
    /// Ends the process, and everything it started.
    _over: DropGuard,
    /// Its exit status.
    ended: watch::Receiver<Option<ExitStatus>>,
    /// The end of its standard error.
    said: Arc<Mutex<Tail>>,
}

impl LocalServer {
    pub(super) fn start(
        program: &str,
        arguments: &[String],
        environment: &BTreeMap<String, String>,
        host: &McpHost,
    ) -> Result<Self, String> {
        let mut command = troop_process::command(program);
        command.args(arguments).current_dir(&host.folder);
        command.envs(host.environment.iter().map(|(name, value)| (name, value)));
        // Keys are for the agent alone, unless the file names one for this server.
        for name in &host.hidden {
            command.env_remove(name);
        }
        command.envs(environment);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| format!("`{program}` cannot be started: {error}"))?;
        let group = Group::led_by(&child);
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(writer), Some(reader), Some(errors)) = pipes else {
            return Err("a started process has no pipes".to_owned());
        };
        let tracker = TaskTracker::new();
        let (peer, incoming) = Peer::channel(reader, writer, &tracker);
        let said = Arc::new(Mutex::new(Tail::of(MAX_SAID)));
        let (tell, ended) = watch::channel(None);
        tracker.spawn(hear(incoming));
        let over = CancellationToken::new();
        let running = ServerProcess { child, group, over: over.clone() };
        tracker.spawn(watch_over(running, errors, Arc::clone(&said), tell));
        Ok(Self { peer, _over: over.drop_guard(), ended, said })
    }

    pub(super) async fn request(&self, method: &str, params: &Value) -> Result<Value, McpFault> {
        let asked = Notification::new(method, params).map_err(|error| told(&error))?;
        match self.peer.request(asked).await {
            Ok(answer) => Ok(answer),
            Err(PeerError::Closed) => Err(McpFault::Gone(self.last_words().await)),
            Err(error) => Err(told(&error)),
        }
    }

    pub(super) async fn notify(&self, method: &str) -> Result<(), McpFault> {
        let said = Notification::new(method, &json!({})).map_err(|error| told(&error))?;
        self.peer.notify(said).await.map_err(|error| told(&error))
    }

    /// How it ended, and what it printed last.
    async fn last_words(&self) -> String {
        let mut ended = self.ended.clone();
        // It may have closed its output and keep running.
        let ended = timeout(END, ended.wait_for(Option::is_some)).await.ok();
        let status = ended.and_then(Result::ok).and_then(|status| *status);
        let how = match status.map(|status| (status, status.code())) {
            Some((_, Some(code))) => format!("it ended with exit code {code}"),
            Some((status, None)) => format!("it ended: {status}"),
            None => "it says no more".to_owned(),
        };
        let said = lock(&self.said).text();
        if said.trim().is_empty() { how } else { format!("{how}; it said: {}", said.trim()) }
    }
}

fn told(error: &dyn std::fmt::Display) -> McpFault {
    McpFault::Failed(error.to_string())
}

/// Keeps the end of its standard error, and reads all of it so that the server never blocks.
async fn keep(mut errors: impl AsyncRead + Unpin, said: Arc<Mutex<Tail>>) {
    let mut piece = [0; 1_024];
    while let Ok(n @ 1..) = errors.read(&mut piece).await {
        let mut said = lock(&said);
        said.push(piece.get(..n).unwrap_or_default());
    }
}

/// A running server.
struct ServerProcess {
    child: Child,
    group: Group,
    over: CancellationToken,
}

/// Reads the standard error of a server, and reports its exit status once the last of that has arrived. Its children
/// end right after it.
async fn watch_over(
    ServerProcess { mut child, group, over }: ServerProcess,
    errors: impl AsyncRead + Unpin,
    said: Arc<Mutex<Tail>>,
    tell: watch::Sender<Option<ExitStatus>>,
) {
    let mut kept = pin!(keep(errors, said));
    let ended = over.run_until_cancelled(async {
        tokio::select! {
            status = child.wait() => {
                drop(timeout(LAST, &mut kept).await);
                status
            }
            () = &mut kept => child.wait().await,
        }
    });
    let status = ended.await;
    drop(group);
    let status = match status {
        Some(status) => status,
        None => child.wait().await,
    };
    // There may be no receiver left.
    tell.send_replace(status.ok());
}

/// Answers the requests of servers: we only offer `ping`.
async fn hear(mut incoming: Receiver<Incoming>) {
    while let Some(incoming) = incoming.recv().await {
        if let Incoming::Request(request) = incoming {
            // If the server is gone, nobody needs the answer.
            drop(if request.asked.method == "ping" {
                request.responder.answer(&json!({}))
            } else {
                let message = format!("`{}` is not offered", request.asked.method);
                request.responder.refuse(Failure::new(FailureKind::UnknownMethod, &message))
            });
        }
    }
}
