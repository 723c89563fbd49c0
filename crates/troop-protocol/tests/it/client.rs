//! Calls to a board over a socket. This board gives canned answers; its decisions are tested elsewhere.

use std::path::Path;

use serde_json::{Value, json, value::to_raw_value};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::task::TaskTracker;
use troop_model::{
    Actor, Asker, Command, Event, Fact, OperationId, TaskCommand, TaskNumber, Time, Version,
};
use troop_protocol::{
    Answer, Call, Client, ClientError, Failure, FailureKind, Incoming, IncomingRequest,
    PROTOCOL_VERSION, Peer, Query, SessionInfo,
};
use uuid::Uuid;

use crate::support::soon;

fn session() -> Asker {
    Asker::from(Actor::human("ann"))
}

fn claimed(operation: OperationId) -> Event {
    let fact = Fact::TaskCommented { task: TaskNumber(7), text: "hm".into() };
    let (version, at) = (Version(3), Time::from_micros(1_000_000));
    Event { version, at, actor: Actor::human("ann"), operation, fact }
}

async fn answer(request: IncomingRequest) {
    let IncomingRequest { asked, responder } = request;
    let answered = match Call::try_from(&asked) {
        Err(error) => responder.refuse(Failure::from(&error)),
        Ok(Call::Open(open)) => {
            assert_eq!(open, session());
            let team = "docs".parse().unwrap();
            let opened = SessionInfo { protocol: PROTOCOL_VERSION, team, version: Version(2) };
            responder.answer(&opened)
        }
        Ok(Call::Query(query)) => responder.answer(&format!("{query:?}")),
        Ok(Call::File(call)) => responder.answer(&format!("{call:?}")),
        Ok(Call::Follow(call)) => responder.answer(&format!("{call:?}")),
        Ok(Call::Change(change)) if change.command == Command::CompleteTeam => {
            let failure = Failure {
                kind: FailureKind::Forbidden,
                message: "`ann` may not".into(),
                refusal: Some("forbidden".into()),
                hint: Some("ask the lead".into()),
            };
            responder.refuse(failure)
        }
        Ok(Call::Change(change)) if change.command == Command::DeleteTeam => return,
        Ok(Call::Change(change)) => {
            let task = Some(to_raw_value(&json!({"number": 7})).unwrap());
            let events = vec![claimed(change.operation.unwrap())];
            responder.answer(&Answer { version: Version(3), task, events })
        }
    };
    answered.unwrap();
}

async fn serve(stream: UnixStream, tracker: TaskTracker) {
    let (reader, writer) = stream.into_split();
    let (peer, mut incoming) = Peer::channel(reader, writer, &tracker);
    while let Some(Incoming::Request(request)) = incoming.recv().await {
        if request.asked.method == "team/tick" {
            peer.cut();
        }
        answer(request).await;
    }
}

/// A client, with a server that answers it.
async fn client(folder: &Path, tracker: &TaskTracker) -> Client {
    let path = folder.join("lead.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let serving = tracker.clone();
    tracker.spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        serve(stream, serving.clone()).await;
    });
    Client::connect(&path, tracker).await.unwrap()
}

#[tokio::test]
async fn a_client_opens_asks_and_changes() {
    let (folder, tracker) = (tempfile::tempdir().unwrap(), TaskTracker::new());
    let client = client(folder.path(), &tracker).await;
    let opened = soon("the greeting", client.open(&session())).await.unwrap();
    assert_eq!((opened.team.as_str(), opened.version), ("docs", Version(2)));
    let seen: String = soon("the answer", client.query(&Query::Members {})).await.unwrap();
    assert_eq!(seen, "Members");
    let operation = OperationId(Uuid::now_v7());
    let command = TaskCommand::Comment { task: TaskNumber(7).into(), text: "hm".into() };
    let answer = client.call(Command::Task(command), operation);
    let answer = soon("the answer", answer).await.unwrap();
    assert_eq!((answer.version, answer.events), (Version(3), vec![claimed(operation)]));
    assert_eq!(answer.task.unwrap().get(), r#"{"number":7}"#);
    drop(client);
    tracker.close();
    soon("both sides to end", tracker.wait()).await;
}

#[tokio::test]
async fn a_client_learns_why_a_call_failed() {
    let (folder, tracker) = (tempfile::tempdir().unwrap(), TaskTracker::new());
    let client = client(folder.path(), &tracker).await;
    let call = async |command| {
        let answer = client.call(command, OperationId(Uuid::now_v7()));
        soon("the refusal", answer).await.unwrap_err()
    };
    let ClientError::Failed(failure) = call(Command::CompleteTeam).await else { panic!() };
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Forbidden, "`ann` may not"));
    assert_eq!(failure.hint, Some("ask the lead".into()));
    let ClientError::Failed(failure) = call(Command::DeleteTeam).await else { panic!() };
    assert_eq!(failure.kind, FailureKind::Unavailable, "the server dropped the request");
    let bad = client.query::<Value>(&Query::Members {});
    let seen = soon("the answer", bad).await.unwrap();
    assert_eq!(seen, json!("Members"), "the conversation goes on");
    assert!(matches!(call(Command::Tick).await, ClientError::Gone), "it may have been done or not");
}

#[tokio::test]
async fn connecting_without_a_lead_fails() {
    let (folder, tracker) = (tempfile::tempdir().unwrap(), TaskTracker::new());
    let path = folder.path().join("lead.sock");
    let error = Client::connect(&path, &tracker).await.unwrap_err();
    assert!(matches!(error, ClientError::NoLead { .. }), "{error}");
    // A lead that was killed leaves its socket behind.
    drop(UnixListener::bind(&path).unwrap());
    let error = Client::connect(&path, &tracker).await.unwrap_err();
    assert!(matches!(error, ClientError::NoLead { .. }), "{error}");
}
