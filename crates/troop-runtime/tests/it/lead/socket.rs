//! Other processes on the lead's socket.

use std::{fs::OpenOptions, io::Write as _};

use serde_json::json;
use tokio::net::UnixStream;
use tokio_util::task::TaskTracker;
use troop_model::{
    Actor, Asker, Command, Event, MemberName, NeedAnswer, NeedKind, NewTask, OperationId,
    TaskCommand, Version,
};
use troop_protocol::{
    Call, Client, ClientError, EventFeed, FailureKind, FollowCall, Incoming, NeedList, Peer, Query,
    SubscriptionNews, SubscriptionTicket, TeamList, TeamStanding, TranscriptEdge, TranscriptPage,
};
use troop_runtime::find_lead;
use uuid::Uuid;

use super::stage::{Setting, Stage};

pub(super) async fn connect(stage: &Stage) -> Client {
    let socket = find_lead(stage.folder.path()).unwrap().socket.unwrap();
    Client::connect(&socket, &TaskTracker::new()).await.unwrap()
}

fn person() -> Asker {
    Asker::from(Actor::human("zoe"))
}

fn create(subject: &str) -> Command {
    let new = NewTask { subject: subject.to_owned(), ..NewTask::default() };
    Command::Task(TaskCommand::Create(new))
}

#[tokio::test]
async fn another_process_sends_commands_through_the_lead() {
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
async fn a_command_of_a_caller_that_hung_up_has_no_effect() {
    let stage = Stage::new(Setting::default()).await;
    // Nothing here gives way to the lead, so the caller is gone before the lead hears of it: as when the lead was stopped.
    drop(ask_raw(&stage, "of a caller that left"));
    let waiting = ask_raw(&stage, "of a caller that waits");
    waiting.shutdown(std::net::Shutdown::Write).unwrap();
    let subjects = stage.until("the second task is made", |state| {
        let subjects = state.tasks().iter().map(|it| it.subject.clone()).collect::<Vec<_>>();
        subjects.iter().any(|it| it.ends_with("waits")).then_some(subjects)
    });
    assert_eq!(subjects.await, ["of a caller that waits"]);
}

/// Sends a command on the lead's socket, without waiting for anything.
fn ask_raw(stage: &Stage, subject: &str) -> std::os::unix::net::UnixStream {
    let socket = find_lead(stage.folder.path()).unwrap().socket.unwrap();
    let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
    let open = json!({"jsonrpc": "2.0", "id": 1, "method": "session/open", "params": {"actor": {"kind": "human", "name": "zoe"}}});
    let create =
        json!({"jsonrpc": "2.0", "id": 2, "method": "task/create", "params": {"subject": subject}});
    write!(stream, "{open}\n{create}\n").unwrap();
    stream
}

#[tokio::test]
async fn permissions_are_checked_at_the_socket_too() {
    let stage = Stage::new(Setting::default()).await;
    let client = connect(&stage).await;
    let eve: MemberName = "eve".parse().unwrap();
    let session = Asker::from(Actor::agent(&eve));
    let failed = |error| {
        let ClientError::Failed(failure) = error else { panic!("{error}") };
        failure
    };
    let first = client.call(create("x"), OperationId(Uuid::now_v7())).await.unwrap_err();
    assert_eq!(failed(first).kind, FailureKind::Forbidden, "a session must be opened first");
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

async fn follow(stage: &Stage, since: Version) -> EventFeed {
    let socket = find_lead(stage.folder.path()).unwrap().socket.unwrap();
    EventFeed::open(&socket, &person(), since, &TaskTracker::new()).await.unwrap()
}

async fn log_of(stage: &Stage) -> Vec<Event> {
    let mut log = stage.board.subscribe(Version::ZERO);
    let mut events = Vec::new();
    while let Some(event) = log.next_stored().await.unwrap() {
        events.push(event.as_ref().clone());
    }
    events
}

async fn take(feed: &mut EventFeed, until: Version) -> Vec<Event> {
    let mut events = Vec::new();
    while feed.version() < until {
        events.push(feed.next().await.unwrap());
    }
    events
}

#[tokio::test]
async fn a_subscriber_gets_every_event_once_and_in_order_and_can_resume() {
    let stage = Stage::new(Setting::default()).await;
    let client = connect(&stage).await;
    client.open(&person()).await.unwrap();
    let mut feed = follow(&stage, Version::ZERO).await;
    let mut last = Version::ZERO;
    for nth in 0..20 {
        let operation = OperationId(Uuid::now_v7());
        last = client.call(create(&format!("t{nth}")), operation).await.unwrap().version;
    }
    let all = take(&mut feed, last).await;
    let log: Vec<_> = log_of(&stage).await.into_iter().filter(|it| it.version <= last).collect();
    assert_eq!(all, log);
    let since = all[3].version;
    let mut again = follow(&stage, since).await;
    assert_eq!(take(&mut again, last).await, all[4..]);
}

#[tokio::test]
async fn a_slow_subscriber_blocks_no_one_and_misses_nothing() {
    let stage = Stage::new(Setting::default()).await;
    let client = connect(&stage).await;
    client.open(&person()).await.unwrap();
    let mut feed = follow(&stage, Version::ZERO).await;
    let mut last = Version::ZERO;
    for nth in 0..200 {
        let new = NewTask {
            subject: format!("t{nth}"),
            description: "x".repeat(60_000),
            ..NewTask::default()
        };
        let command = Command::Task(TaskCommand::Create(new));
        last = client.call(command, OperationId(Uuid::now_v7())).await.unwrap().version;
    }
    let versions: Vec<_> = take(&mut feed, last).await.into_iter().map(|it| it.version).collect();
    assert_eq!(versions, (1..=last.0).map(Version).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_subscription_ends_with_its_lead_and_goes_on_at_the_board() {
    let mut stage = Stage::new(Setting::default()).await;
    let mut feed = follow(&stage, Version::ZERO).await;
    let lead = stage.lead.take().unwrap();
    lead.stop("enough").await.unwrap();
    lead.ended().await;
    let ended = loop {
        match feed.next().await {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(ended, ClientError::Gone), "{ended}");
    let rest = stage.board.subscribe(feed.version()).next_stored().await.unwrap();
    let log = log_of(&stage).await;
    assert_eq!(rest.as_deref(), log.iter().find(|it| it.version > feed.version()));
}

#[tokio::test]
async fn a_subscription_can_be_cancelled_and_there_is_a_limit() {
    let stage = Stage::new(Setting::default()).await;
    let client = connect(&stage).await;
    client.open(&person()).await.unwrap();
    let subscribe = Call::Follow(FollowCall::Events { since: Version::ZERO });
    for nth in 1..=16 {
        let ticket: SubscriptionTicket =
            serde_json::from_str(client.ask_any(&subscribe).await.unwrap().get()).unwrap();
        assert_eq!(ticket.subscription, nth);
    }
    let kind_of = |error| {
        let ClientError::Failed(failure) = error else { panic!("{error}") };
        failure.kind
    };
    let refused = client.ask_any(&subscribe).await.unwrap_err();
    assert_eq!(kind_of(refused), FailureKind::Limit);
    let cancel = Call::Follow(FollowCall::Cancel { subscription: 3 });
    client.ask_any(&cancel).await.unwrap();
    assert_eq!(kind_of(client.ask_any(&cancel).await.unwrap_err()), FailureKind::NotFound);
    client.ask_any(&subscribe).await.unwrap();
}

#[tokio::test]
async fn the_socket_lists_all_needs_of_people() {
    let stage = Stage::new(Setting::default()).await;
    let client = connect(&stage).await;
    client.open(&person()).await.unwrap();
    let new =
        NewTask { subject: "deploy".to_owned(), approve_start: Some(true), ..NewTask::default() };
    let command = Command::Task(TaskCommand::Create(new));
    client.call(command, OperationId(Uuid::now_v7())).await.unwrap();
    let list: NeedList = client.query(&Query::Needs {}).await.unwrap();
    let [need] = list.needs.as_slice() else { panic!("{list:?}") };
    assert_eq!((need.kind, need.text.as_str()), (NeedKind::Start, "deploy"));
    for command in need.commands(NeedAnswer::Approve, "").unwrap() {
        client.call(command, OperationId(Uuid::now_v7())).await.unwrap();
    }
    let list: NeedList = client.query(&Query::Needs {}).await.unwrap();
    assert_eq!(list.needs, []);
}

#[tokio::test]
async fn the_teams_of_the_store_are_listed_with_their_standing() {
    let stage = Stage::new(Setting::default()).await;
    let client = connect(&stage).await;
    client.open(&person()).await.unwrap();
    let list: TeamList = client.query(&Query::Teams { all: false }).await.unwrap();
    let [team] = list.teams.as_slice() else { panic!("{list:?}") };
    assert_eq!((team.name.as_str(), team.state), ("crew", TeamStanding::Running));
}

/// Appends an entry to a transcript, as a lead does.
fn add_entry(stage: &Stage, member: &str, text: &str) {
    let folder = stage.folder.path().join("transcripts");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{member}.jsonl"));
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    let at = "2026-01-01T10:00:00Z";
    writeln!(file, r#"{{"at":"{at}","source":"troop","level":"info","text":"{text}"}}"#).unwrap();
}

fn newest_of(member: &str) -> Query {
    let from = TranscriptEdge::End;
    Query::Transcript { member: member.to_owned(), from, cursor: None, limit: 10 }
}

#[tokio::test]
async fn a_transcript_is_read_over_the_socket() {
    let stage = Stage::new(Setting::default()).await;
    let client = connect(&stage).await;
    client.open(&person()).await.unwrap();
    add_entry(&stage, "zed", "seen");
    let page: TranscriptPage = client.query(&newest_of("zed")).await.unwrap();
    assert_eq!(page.entries[0].line.text, "seen");
    let missing = client.query::<TranscriptPage>(&newest_of("nobody")).await.unwrap_err();
    let ClientError::Failed(failure) = missing else { panic!("{missing}") };
    assert_eq!(failure.kind, FailureKind::NotFound);
}

#[tokio::test]
async fn a_transcript_is_followed_over_the_socket() {
    let stage = Stage::new(Setting::default()).await;
    let socket = find_lead(stage.folder.path()).unwrap().socket.unwrap();
    let (reader, writer) = UnixStream::connect(&socket).await.unwrap().into_split();
    let (peer, mut incoming) = Peer::channel(reader, writer, &TaskTracker::new());
    let client = Client::new(peer);
    client.open(&person()).await.unwrap();
    add_entry(&stage, "zed", "before");
    let page: TranscriptPage = client.query(&newest_of("zed")).await.unwrap();
    let follow = FollowCall::Transcript { member: "zed".to_owned(), after: page.end };
    client.ask_any(&Call::Follow(follow)).await.unwrap();
    add_entry(&stage, "zed", "after");
    let Some(Incoming::Notification(said)) = incoming.recv().await else { panic!("nothing came") };
    let news = SubscriptionNews::try_from(&said).unwrap();
    let SubscriptionNews::Transcript(news) = news else { panic!("{news:?}") };
    let texts: Vec<_> = news.page.entries.iter().map(|it| it.line.text.as_str()).collect();
    assert_eq!((news.subscription, texts), (1, vec!["after"]));
}
