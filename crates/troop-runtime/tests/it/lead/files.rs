//! Files of the workspace through the lead: members on their wires, other processes on the socket.

use std::{fs, sync::Arc};

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use troop_model::{
    Actor, Asker, Command, NewTask, OperationId, Origin, TaskCommand, WorkspaceScope,
};
use troop_protocol::{
    Client, ClientError, FailureKind, FileCall, FileChanged, FileContent, FileList, FromLead,
    PeerError,
};
use troop_runtime::{Signature, find_lead};
use uuid::Uuid;

use super::{
    delegations::led_by,
    stage::{Part, Setting, Stage, play, raw},
};
use crate::support::say;

fn write(path: &str, text: &str) -> FileCall {
    FileCall::Write {
        path: path.to_owned(),
        content: Some(text.to_owned()),
        base64: None,
        chat: None,
        task: None,
        operation: None,
    }
}

fn read(path: &str) -> FileCall {
    FileCall::Read { path: path.to_owned(), chat: None, task: None }
}

fn list() -> FileCall {
    FileCall::List { chat: None, task: None }
}

/// Lets a member make these calls in its first task and complete it. Returns the answers.
async fn calls(stage: &Stage, calls: Vec<FileCall>) -> Vec<Result<Value, PeerError>> {
    let (tell, mut told) = mpsc::unbounded_channel();
    let calls = Arc::new(calls);
    let act = play(move |mut part| {
        let (tell, calls) = (tell.clone(), Arc::clone(&calls));
        async move {
            part.ready(true).await;
            part.idle().await;
            let Some(task) = part.task().await else { return };
            for call in calls.iter() {
                tell.send(part.peer.request::<Value>(call).await).unwrap();
            }
            part.complete(&task).await;
            while part.hear().await.is_some() {}
        }
    });
    stage.plays.add("writer", act);
    stage.spawn("bob", "writer").await;
    stage
        .until("the task is done", |state| {
            state
                .tasks()
                .get(troop_model::TaskNumber(1))
                .filter(|it| it.status.is_terminal())
                .map(drop)
        })
        .await;
    let mut answers = Vec::new();
    while let Ok(answer) = told.try_recv() {
        answers.push(answer);
    }
    answers
}

async fn create(stage: &Stage, chat: &str) {
    let new = NewTask { subject: "write".to_owned(), ..NewTask::default() };
    let origin = Origin {
        user_id: Some("u1".into()),
        channel: Some("web".into()),
        chat_id: Some(chat.into()),
        ..Origin::default()
    };
    let signature = Signature::new(Asker { actor: Actor::human("zoe"), origin });
    stage.board.submit(signature.on(Command::Task(TaskCommand::Create(new)))).await.unwrap();
}

fn workspace(stage: &Stage, path: &str) -> std::path::PathBuf {
    stage.folder.path().join("workspace").join(path)
}

#[tokio::test]
async fn files_written_during_a_task_are_attached_to_it() {
    let stage = Stage::new(Setting::default()).await;
    create(&stage, "c1").await;
    let answers = calls(
        &stage,
        vec![write("out/a.md", "one"), write("out/a.md", "other"), read("out/a.md"), list()],
    )
    .await;
    let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    let written: FileChanged = serde_json::from_value(answers[1].clone()).unwrap();
    assert_eq!((written.path.as_str(), written.size, written.task.unwrap().0), ("out/a.md", 5, 1));
    let content: FileContent = serde_json::from_value(answers[2].clone()).unwrap();
    assert_eq!(content.content.as_deref(), Some("other"));
    let list: FileList = serde_json::from_value(answers[3].clone()).unwrap();
    let [file] = list.files.as_slice() else { panic!("{list:?}") };
    assert_eq!((file.by.as_ref().unwrap().name.as_str(), file.task.unwrap().0), ("bob", 1));
    assert_eq!(fs::read_to_string(workspace(&stage, "chats/c1/out/a.md")).unwrap(), "other");
    let attachments = stage
        .board
        .look(|state| {
            state.tasks().get(troop_model::TaskNumber(1)).unwrap().talk.attachments.clone()
        })
        .await
        .unwrap();
    let [attachment] = attachments.as_slice() else { panic!("{attachments:?}") };
    assert_eq!((attachment.by.name.as_str(), attachment.size), ("bob", Some(5)));
    let n_written = stage.trace().await.iter().filter(|kind| *kind == "workspace.written").count();
    assert_eq!(n_written, 2);
}

#[tokio::test]
async fn limits_and_bad_names_are_refused_and_the_member_goes_on() {
    let mut settings = Setting::default().settings;
    settings.workspace.quota_mb = Some(1);
    let stage = Stage::new(Setting { settings, ..Setting::default() }).await;
    create(&stage, "c1").await;
    let big = FileCall::Write {
        path: "big".into(),
        content: Some("x".repeat(10 * 1024 * 1024 + 1)),
        base64: None,
        chat: None,
        task: None,
        operation: None,
    };
    let other_chat = FileCall::List { chat: Some("c2".into()), task: None };
    let no_content = FileCall::Write {
        path: "a".into(),
        content: None,
        base64: None,
        chat: None,
        task: None,
        operation: None,
    };
    let answers = calls(
        &stage,
        vec![
            write("../up", "x"),
            read("nothing"),
            big,
            write("much", &"x".repeat(1_048_577)),
            other_chat,
            no_content,
            write("fine", "x"),
        ],
    )
    .await;
    let told: Vec<_> = answers
        .into_iter()
        .map(|answer| match answer {
            Ok(_) => "done".to_owned(),
            Err(error) => error.to_string(),
        })
        .collect();
    for (told, expected) in told.iter().zip([
        "`../up` is not a path in the workspace",
        "there is no file `nothing`",
        "has 10485761 bytes; a workspace file may have at most 10485760",
        "more than the team's workspace has room for: 0 of 1048576 bytes are used",
        "use the files of a chat that none of its tasks is from",
        "either `content` or `base64`",
        "done",
    ]) {
        assert!(told.contains(expected), "{told}");
    }
    assert_eq!(told.len(), 7);
}

#[tokio::test]
async fn an_assigned_task_names_its_workspace_and_chat() {
    for (scope, folder) in
        [(WorkspaceScope::Isolated, "chats/c1"), (WorkspaceScope::Shared, "shared")]
    {
        let mut settings = Setting::default().settings;
        settings.workspace.scope = scope;
        let stage = Stage::new(Setting { settings, ..Setting::default() }).await;
        let (tell, mut told) = mpsc::unbounded_channel();
        let act = play(move |mut part| {
            let tell = tell.clone();
            async move {
                part.ready(true).await;
                part.idle().await;
                let Some(task) = part.task().await else { return };
                tell.send(task.run.clone()).unwrap();
                part.complete(&task).await;
                while part.hear().await.is_some() {}
            }
        });
        stage.plays.add("asker", act);
        create(&stage, "c1").await;
        stage.spawn("bob", "asker").await;
        let run = *told.recv().await.unwrap().unwrap();
        let path = workspace(&stage, folder);
        assert_eq!(run.team_id, Some(stage.board.team().0));
        assert_eq!(run.workspace.as_deref(), path.to_str());
        assert_eq!((run.channel.as_deref(), run.chat_id.as_deref()), (Some("web"), Some("c1")));
        assert!(path.is_dir(), "tools of its own can write there");
    }
}

#[tokio::test]
async fn other_processes_use_files_through_the_socket() {
    let stage = Stage::new(Setting::default()).await;
    let socket = find_lead(stage.folder.path()).unwrap().socket.unwrap();
    let client = Client::connect(&socket, &TaskTracker::new()).await.unwrap();
    let early = client.file::<Value>(&list()).await.unwrap_err();
    assert!(matches!(early, ClientError::Failed(it) if it.kind == FailureKind::Forbidden));
    let session = Asker::from(Actor::human("zoe"));
    client.open(&session).await.unwrap();
    let written: FileChanged = client.file(&write("a.md", "hi")).await.unwrap();
    assert_eq!((written.size, written.task), (2, None));
    let files: FileList = client.file(&list()).await.unwrap();
    assert_eq!(files.files[0].by, Some(Actor::human("zoe")));
    let delete = FileCall::Delete { path: "a.md".into(), chat: None, task: None, operation: None };
    let deleted: FileChanged = client.file(&delete).await.unwrap();
    assert_eq!(deleted.size, 2);
    let ClientError::Failed(gone) = client.file::<Value>(&delete).await.unwrap_err() else {
        panic!("it is gone")
    };
    assert_eq!((gone.kind, gone.hint.is_some()), (FailureKind::NotFound, true));
    let trace = stage.trace().await;
    assert_eq!(trace.iter().filter(|kind| kind.starts_with("workspace.")).count(), 2);
}

#[tokio::test]
async fn a_blocked_file_call_does_not_block_other_calls() {
    let stage = Stage::new(Setting::default()).await;
    let socket = find_lead(stage.folder.path()).unwrap().socket.unwrap();
    let session = Asker::from(Actor::human("zoe"));
    let connect = async || {
        let client = Client::connect(&socket, &TaskTracker::new()).await.unwrap();
        client.open(&session).await.unwrap();
        client
    };
    let (writer, other) = (connect().await, connect().await);
    // As if another process were changing the workspace while this is held.
    fs::create_dir_all(workspace(&stage, "")).unwrap();
    let lock = fs::File::create(workspace(&stage, ".lock")).unwrap();
    lock.lock().unwrap();
    let call = write("a.md", "hi");
    let mut writing = std::pin::pin!(writer.file::<FileChanged>(&call));
    tokio::select! {
        biased;
        done = &mut writing => panic!("the lock is still held: {done:?}"),
        () = async {
            let shown: FileList = other.file(&list()).await.unwrap();
            assert!(shown.files.is_empty());
            let tick = Command::Tick;
            other.call(tick, OperationId(Uuid::now_v7())).await.unwrap();
        } => {}
    }
    lock.unlock().unwrap();
    assert_eq!(writing.await.unwrap().size, 2);
}

#[tokio::test]
async fn the_lead_finds_the_files_of_the_conversation_that_it_is_in() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let stage = led_by(play(move |mut part: Part| {
        let tell = tell.clone();
        async move {
            part.ready(true).await;
            part.idle().await;
            while let Some(said) = part.hear().await {
                let FromLead::Message(message) = said else { continue };
                let ids = format!(r#"{{"messages":["{}"]}}"#, message.id.unwrap());
                part.peer.request::<Value>(raw("message/read", &ids)).await.unwrap();
                if message.content == "what is in it?" {
                    drop(tell.send(part.peer.request::<FileContent>(&read("out/a.md")).await));
                }
            }
        }
    }))
    .await;
    create(&stage, "c1").await;
    let assign = async {
        let is_there = |state: &troop_model::State| state.find_member("bob").ok().map(drop);
        stage.until("bob is there", is_there).await;
        let (task, to) = (Some(troop_model::TaskNumber(1).into()), "bob".parse().unwrap());
        let assign = Command::Task(TaskCommand::Assign { task, to });
        stage.board.submit(Signature::new(Actor::human("zoe")).on(assign)).await.unwrap();
    };
    let (mut written, ()) = tokio::join!(calls(&stage, vec![write("out/a.md", "one")]), assign);
    written.remove(0).unwrap();
    let origin = Origin {
        user_id: Some("u1".into()),
        channel: Some("web".into()),
        chat_id: Some("c1".into()),
        ..Origin::default()
    };
    let signature = Signature::new(Asker { actor: Actor::human("zoe"), origin });
    stage.board.submit(signature.on(say("lead", "what is in it?"))).await.unwrap();
    let content = told.recv().await.unwrap().unwrap();
    assert_eq!(content.content.as_deref(), Some("one"));
}

#[tokio::test]
async fn files_made_by_a_members_own_tools_are_attached_to_its_task() {
    let stage = Stage::new(Setting::default()).await;
    create(&stage, "c1").await;
    create(&stage, "c1").await;
    let act = play(|mut part| async move {
        part.ready(true).await;
        part.idle().await;
        while let Some(task) = part.task().await {
            let folder = task.run.as_ref().unwrap().workspace.clone().unwrap();
            let path = std::path::Path::new(&folder).join(format!("{}.md", task.id));
            fs::write(path, "by hand").unwrap();
            part.complete(&task).await;
        }
    });
    stage.plays.add("tools", act);
    stage.spawn("bob", "tools").await;
    for number in [1, 2] {
        stage.until("the task is done", super::is_done(number)).await;
        let look = move |state: &troop_model::State| {
            let found = state.tasks().get(troop_model::TaskNumber(number))?;
            let written = |it: &troop_model::Attachment| (it.path.clone(), it.by.name.to_string());
            Some(found.talk.attachments.iter().map(written).collect::<Vec<_>>())
        };
        let files = stage.until("its files are known", look).await;
        assert_eq!(files, [(format!("task-{number}.md"), "bob".to_owned())]);
    }
    stage.stop().await;
}
