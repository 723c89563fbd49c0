//! The lead's socket: other processes on this machine give their commands here, so that they wait in one fair queue and pass
//! the same hooks as everybody else.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tokio::{net::UnixListener, sync::mpsc};
use tokio_util::task::TaskTracker;
use troop_model::State;
use troop_protocol::{
    Call, Failure, FailureKind, Incoming, Opened, PROTOCOL_VERSION, Peer, Request as Asked,
    Responder, Session,
};
use uuid::Uuid;

use super::input::LeadInput;
use crate::{
    Answers, Board,
    answers::{failure, signed},
};

/// The longest path that a socket can have on every system.
const MAX_PATH: usize = 100;

/// Where a lead takes commands, until this is dropped.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) path: PathBuf,
    listener: UnixListener,
}

impl Socket {
    /// Opens the socket of a team. Whoever holds the team's lock may take the place of one that was left behind.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let path = place(folder)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        // Whoever reaches it acts as whom it likes; that is for the owner alone.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(Self { path, listener })
    }

    /// Serves everybody who comes, until the lead has ended.
    pub(super) async fn serve(self, host: Host) {
        loop {
            let stream = tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    // One who could not come in is not everybody. There may be too many at the moment.
                    Err(_) => {
                        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                        continue;
                    }
                },
                () = host.inputs.closed() => return,
            };
            let (reader, writer) = stream.into_split();
            let (peer, said) = Peer::channel(reader, writer, &host.tracker);
            host.tracker.spawn(converse(peer, said, host.clone()));
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // If it is gone already, so much the better.
        drop(fs::remove_file(&self.path));
    }
}

/// Where the socket is: in the team's folder, or, where that is too far down, in one of the user's own.
fn place(folder: &Path) -> io::Result<PathBuf> {
    let near = folder.join("lead.sock");
    if near.as_os_str().len() <= MAX_PATH {
        return Ok(near);
    }
    let user = rustix::process::getuid().as_raw();
    let own = std::env::temp_dir().join(format!("troop-{user}"));
    fs::create_dir_all(&own)?;
    fs::set_permissions(&own, fs::Permissions::from_mode(0o700))?;
    Ok(own.join(format!("{}.sock", Uuid::now_v7().simple())))
}

/// What a conversation needs of the lead.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) board: Board,
    pub(super) answers: Answers,
    pub(super) inputs: mpsc::Sender<LeadInput>,
    pub(super) tracker: TaskTracker,
}

/// Talks with one process until it goes, or the lead does.
async fn converse(peer: Peer, mut said: mpsc::Receiver<Incoming>, host: Host) {
    let mut caller = None;
    loop {
        let incoming = tokio::select! {
            incoming = said.recv() => incoming,
            () = host.inputs.closed() => return peer.cut(),
        };
        match incoming {
            Some(Incoming::Request(asked)) => answer(asked, &mut caller, &host).await,
            // Nothing else is expected here, and nobody waits for an answer to it.
            Some(Incoming::Notification(_) | Incoming::Skipped(_)) => {}
            Some(Incoming::End(_)) | None => return,
        }
    }
}

async fn answer(asked: Asked, caller: &mut Option<Session>, host: &Host) {
    let Asked { asked, responder } = asked;
    let call = match Call::try_from(&asked) {
        Ok(call) => call,
        Err(error) => return refuse(responder, Failure::from(&error)),
    };
    match (call, caller.clone()) {
        (Call::Open(session), _) => {
            *caller = Some(session);
            open(responder, host).await;
        }
        (_, None) => {
            let what = format!("identify yourself first: `session/open`, then `{}`", asked.method);
            refuse(responder, Failure::new(FailureKind::Forbidden, &what));
        }
        (Call::Change(change), Some(session)) => {
            let request = signed(session, *change);
            // After the lead's end nobody answers.
            drop(host.inputs.send(LeadInput::Called(Box::new((request, responder)))).await);
        }
        (call, Some(session)) => {
            host.tracker.spawn(host.answers.clone().respond(session, call, responder));
        }
    }
}

async fn open(responder: Responder, host: &Host) {
    let look = |state: &State| state.team().map(|team| (team.name.clone(), state.version()));
    match host.board.look(look).await {
        Ok(Some((team, version))) => {
            let opened = Opened { protocol: PROTOCOL_VERSION, team, version };
            drop(responder.answer(&opened));
        }
        Ok(None) => refuse(responder, Failure::new(FailureKind::NotFound, "no team")),
        Err(error) => refuse(responder, failure(&error)),
    }
}

fn refuse(responder: Responder, failure: Failure) {
    // If the caller has gone, nobody needs the answer.
    drop(responder.refuse(failure));
}
