//! Changes whose lead goes away before it has answered.

use std::{
    fs::{self, File},
    path::Path,
};

use tokio::net::UnixListener;
use tokio_util::task::TaskTracker;
use troop_model::{Actor, Asker, Version};
use troop_protocol::{Call, Failure, FailureKind, Incoming, Peer, SessionInfo};
use troop_runtime::{Board, LeadEntry, RouteError, Signature, TeamRoute, find_lead};
use troop_testkit::memory_store;
use uuid::Uuid;

use crate::support::{create, crew};

/// A lead's handling of a request.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// It ends, and never looked at the request.
    Dropped,
    /// It carries the request out and ends before it has answered.
    DoneAndDropped,
    /// It cannot reach its store.
    Unavailable,
    Forbidden,
}

/// Takes the place of a lead in a team's folder, as long as the file is open.
fn take_place(folder: &Path) -> (File, UnixListener) {
    let socket = folder.join("lead.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let session = Uuid::now_v7();
    let pid = std::process::id();
    let entry = LeadEntry { session, pid, socket: Some(socket), project: None, former: Vec::new() };
    let path = folder.join("lead.lock");
    fs::write(&path, serde_json::to_string(&entry).unwrap() + "\n").unwrap();
    let lock = File::open(&path).unwrap();
    lock.lock().unwrap();
    assert!(find_lead(folder).is_some(), "somebody leads the team");
    (lock, listener)
}

/// Serves one caller on the lead's socket, with real frames.
async fn serve(listener: UnixListener, board: Board, fate: Fate) {
    let (stream, _) = listener.accept().await.unwrap();
    let (reader, writer) = stream.into_split();
    let (_peer, mut incoming) = Peer::channel(reader, writer, &TaskTracker::new());
    while let Some(Incoming::Request(request)) = incoming.recv().await {
        let Call::Change(change) = Call::try_from(&request.asked).unwrap() else {
            let team = "crew".parse().unwrap();
            let opened = SessionInfo { protocol: 1, team, version: Version::ZERO };
            request.responder.answer(&opened).unwrap();
            continue;
        };
        match fate {
            Fate::Dropped => drop(request.responder),
            Fate::DoneAndDropped => {
                let operation = change.operation.unwrap();
                let signature = Signature { operation, asker: Asker::from(Actor::human("zoe")) };
                board.submit(signature.on(change.command)).await.unwrap();
                drop(request.responder);
            }
            Fate::Unavailable => {
                let failure = Failure::new(FailureKind::Unavailable, "the store is away");
                request.responder.refuse(failure).unwrap();
            }
            Fate::Forbidden => {
                let failure = Failure::new(FailureKind::Forbidden, "a hook says no");
                request.responder.refuse(failure).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_change_whose_lead_goes_away_has_one_effect_and_a_refused_one_none() {
    for (fate, n_expected) in [
        (Fate::Dropped, 1),
        (Fate::DoneAndDropped, 1),
        (Fate::Unavailable, 1),
        (Fate::Forbidden, 0),
    ] {
        let board = crew(memory_store().await.store()).await;
        let folder = tempfile::tempdir().unwrap();
        let (_lock, listener) = take_place(folder.path());
        let lead = TaskTracker::new().spawn(serve(listener, board.clone(), fate));
        let asker = Asker::from(Actor::human("zoe"));
        let route = TeamRoute::new(board.clone(), folder.path(), asker.clone());
        let done = route.submit(Signature::new(asker).on(create("dig"))).await;
        match (fate, done) {
            (Fate::Forbidden, Err(RouteError::Lead(failure))) => {
                assert_eq!(failure.message, "a hook says no");
            }
            (Fate::Dropped | Fate::DoneAndDropped | Fate::Unavailable, Ok(done)) => {
                assert_eq!(done.number().map(|number| number.0), Some(1), "{fate:?}");
                assert!(done.task.is_some(), "{fate:?}");
            }
            (fate, done) => panic!("{fate:?}: {done:?}"),
        }
        assert_eq!(board.look(|state| state.tasks().len()).await.unwrap(), n_expected, "{fate:?}");
        drop(route);
        lead.await.unwrap();
    }
}
