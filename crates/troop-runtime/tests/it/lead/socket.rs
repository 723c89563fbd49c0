//! Other processes at the lead's socket.

use serde_json::json;
use tokio_util::task::TaskTracker;
use troop_model::{Actor, Command, MemberName, NewTask, OperationId, Origin, TaskCommand};
use troop_protocol::{Client, ClientError, FailureKind, Query, Session};
use troop_runtime::find_lead;
use uuid::Uuid;

use super::stage::{Setting, Stage};

pub(super) async fn connect(stage: &Stage) -> Client {
    let socket = find_lead(stage.folder.path()).unwrap().socket.unwrap();
    Client::connect(&socket, &TaskTracker::new()).await.unwrap()
}

fn person() -> Session {
    Session { actor: Actor::human("zoe"), origin: Origin::default() }
}

fn create(subject: &str) -> Command {
    let new = NewTask { subject: subject.to_owned(), ..NewTask::default() };
    Command::Task(TaskCommand::Create(new))
}

#[tokio::test]
async fn another_process_gives_commands_by_way_of_the_lead() {
    let stage = Stage::new(Setting::default()).await;
    let client = connect(&stage).await;
    let opened = client.open(&person()).await.unwrap();
    assert_eq!(opened.team.as_str(), "crew");
    let operation = OperationId(Uuid::now_v7());
    let first = client.call(create("write"), operation).await.unwrap();
    let again = client.call(create("write"), operation).await.unwrap();
    assert_eq!(first.events, again.events, "the same operation has one effect");
    assert_eq!(first.events[0].actor, Actor::human("zoe"));
    let task: serde_json::Value = serde_json::from_str(first.task.unwrap().get()).unwrap();
    assert_eq!((&task["number"], &task["subject"]), (&json!(1), &json!("write")));
    let list: serde_json::Value =
        client.query(&Query::Tasks { status: Default::default(), page: 1 }).await.unwrap();
    assert_eq!(list["tasks"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn rules_hold_at_the_socket_too() {
    let stage = Stage::new(Setting::default()).await;
    let client = connect(&stage).await;
    let eve: MemberName = "eve".parse().unwrap();
    let session = Session { actor: Actor::agent(&eve), origin: Origin::default() };
    let failed = |error| {
        let ClientError::Failed(failure) = error else { panic!("{error}") };
        failure
    };
    let first = client.call(create("x"), OperationId(Uuid::now_v7())).await.unwrap_err();
    assert_eq!(failed(first).kind, FailureKind::Forbidden, "who speaks must be said first");
    client.open(&session).await.unwrap();
    let refused = client.call(create("x"), OperationId(Uuid::now_v7())).await.unwrap_err();
    let refused = failed(refused);
    assert_eq!(refused.kind, FailureKind::Forbidden);
    assert!(refused.message.contains("`eve` is not a member"), "{refused}");
}

#[tokio::test]
async fn a_socket_ends_with_its_lead() {
    let mut stage = Stage::new(Setting::default()).await;
    let client = connect(&stage).await;
    client.open(&person()).await.unwrap();
    let folder = stage.folder.path().to_owned();
    let socket = find_lead(&folder).unwrap().socket.unwrap();
    let lead = stage.lead.take().unwrap();
    lead.stop("enough").await.unwrap();
    lead.ended().await;
    assert_eq!(find_lead(&folder), None);
    assert!(!socket.exists());
    let late = client.call(create("x"), OperationId(Uuid::now_v7())).await.unwrap_err();
    assert!(matches!(late, ClientError::Gone), "{late}");
}
