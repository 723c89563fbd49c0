//! The lead's socket: commands of other processes on this machine go through the lead's queue and the same hooks as those of
//! members.

use std::{
    fs, io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::fs::PermissionsExt as _,
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::{
    net::{UnixListener, UnixStream},
    sync::mpsc,
};
use tokio_util::task::TaskTracker;
use troop_model::{Asker, State};
use troop_protocol::{
    Call, Failure, FailureKind, Incoming, IncomingRequest, PROTOCOL_VERSION, Peer, Responder,
    SessionInfo,
};
use uuid::Uuid;

use super::{calls::refuse_caller, input::LeadInput};
use crate::{
    Answers, Board, CommandRequest,
    answers::{Subscriptions, signed},
};

/// The longest path of a socket that every system supports.
const MAX_PATH: usize = 100;

/// The socket of a lead; removed when this is dropped.
#[derive(Debug)]
pub(super) struct LeadSocket {
    pub(super) path: PathBuf,
    listener: UnixListener,
}

impl LeadSocket {
    /// Opens the socket of a team. The caller holds the team's lock, so it may replace a socket that was left behind.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let path = place(folder)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        // A client may act as anybody, so only the owner may connect.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(Self { path, listener })
    }

    /// Serves all clients until the lead has ended.
    pub(super) async fn serve(self, host: SocketHost) {
        loop {
            let stream = tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    // There may be too many connections at the moment; others may still succeed.
                    Err(_) => {
                        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                        continue;
                    }
                },
                () = host.inputs.closed() => return,
            };
            let caller = CallerSocket::of(&stream);
            let (reader, writer) = stream.into_split();
            let (peer, said) = Peer::channel(reader, writer, &host.tracker);
            host.tracker.spawn(converse(peer, said, caller, host.clone()));
        }
    }
}

impl Drop for LeadSocket {
    fn drop(&mut self) {
        // It may be gone already.
        drop(fs::remove_file(&self.path));
    }
}

/// The path of the socket: in the team's folder, or in a folder of the user if that path is too long.
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

/// The parts of the lead that a connection needs.
#[derive(Clone, Debug)]
pub(super) struct SocketHost {
    pub(super) board: Board,
    pub(super) answers: Answers,
    pub(super) inputs: mpsc::Sender<LeadInput>,
    pub(super) tracker: TaskTracker,
}

/// A command that another process sends through this lead.
#[derive(Debug)]
pub(super) struct SocketCommand {
    pub(super) request: CommandRequest,
    pub(super) responder: Responder,
    pub(super) caller: CallerSocket,
}

/// The connection of a caller. A caller that waited too long hangs up and gives its command to the board itself: what it sent
/// here must then have no effect, since the caller would not hear of it.
#[derive(Clone, Debug)]
pub(super) struct CallerSocket(Option<Arc<OwnedFd>>);

impl CallerSocket {
    fn of(stream: &UnixStream) -> Self {
        Self(stream.as_fd().try_clone_to_owned().ok().map(Arc::new))
    }

    /// Whether the caller closed its connection. One that only ended its own side still waits for the answer.
    pub(super) fn is_gone(&self) -> bool {
        let Some(stream) = &self.0 else { return false };
        let mut look = [PollFd::new(stream, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let n_ready = poll(&mut look, Some(&now));
        n_ready.is_ok() && look.iter().any(|it| it.revents().contains(PollFlags::HUP))
    }
}

/// Talks with one client until it disconnects, or the lead ends.
async fn converse(
    peer: Peer,
    mut said: mpsc::Receiver<Incoming>,
    socket: CallerSocket,
    host: SocketHost,
) {
    let mut caller = None;
    let mut subscriptions =
        Subscriptions::new(host.answers.clone(), peer.clone(), host.tracker.clone());
    loop {
        let incoming = tokio::select! {
            incoming = said.recv() => incoming,
            () = host.inputs.closed() => return peer.cut(),
        };
        match incoming {
            Some(Incoming::Request(asked)) => {
                answer(asked, &mut caller, &mut subscriptions, &socket, &host).await;
            }
            // Clients send only requests.
            Some(Incoming::Notification(_) | Incoming::Skipped(_)) => {}
            Some(Incoming::End(_)) | None => return,
        }
    }
}

async fn answer(
    asked: IncomingRequest,
    caller: &mut Option<Asker>,
    subscriptions: &mut Subscriptions,
    socket: &CallerSocket,
    host: &SocketHost,
) {
    let IncomingRequest { asked, responder } = asked;
    let call = match Call::try_from(&asked) {
        Ok(call) => call,
        Err(error) => return refuse_caller(responder, Failure::from(&error)),
    };
    match (call, caller.clone()) {
        (Call::Open(session), _) => {
            *caller = Some(session);
            open(responder, host).await;
        }
        (_, None) => {
            let what = format!("identify yourself first: `session/open`, then `{}`", asked.method);
            refuse_caller(responder, Failure::new(FailureKind::Forbidden, &what));
        }
        (Call::Change(change), Some(session)) => {
            let request = signed(session, *change);
            // The lead may have ended.
            let command = SocketCommand { request, responder, caller: socket.clone() };
            drop(host.inputs.send(LeadInput::Called(Box::new(command))).await);
        }
        (Call::Follow(call), Some(_)) => match subscriptions.take(call).await {
            Ok(start) => {
                drop(responder.answer(&start.ticket));
                subscriptions.start(start);
            }
            Err(failure) => refuse_caller(responder, failure),
        },
        (call, Some(session)) => {
            host.tracker.spawn(host.answers.clone().respond(session, call, responder));
        }
    }
}

async fn open(responder: Responder, host: &SocketHost) {
    let look = |state: &State| state.team().map(|team| (team.name.clone(), state.version()));
    match host.board.look(look).await {
        Ok(Some((team, version))) => {
            let opened = SessionInfo { protocol: PROTOCOL_VERSION, team, version };
            drop(responder.answer(&opened));
        }
        Ok(None) => refuse_caller(responder, Failure::new(FailureKind::NotFound, "no team")),
        Err(error) => refuse_caller(responder, Failure::from(&error)),
    }
}
