//! Conversations over real sockets and pipes, with other processes.

use std::{
    env,
    fs::File,
    os::{fd::OwnedFd, unix::net::UnixStream as StdUnixStream},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use tokio::{
    net::UnixListener,
    process::{ChildStdin, ChildStdout},
};
use tokio_util::task::TaskTracker;
use troop_protocol::{
    FromLead, FromTeammate, Idle, Incoming, Level, Log, MessageIn, MessageOut, Peer, Ready,
    ReportedStatus, ShutdownAck, SkipReason, TeamContext, WireTask, stdio,
};

use crate::support::{End, ask, number, say, soon};

const ROLE: &str = "TROOP_TEST_ROLE";

/// Another process, killed when the test is over.
struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A conversation with a process over its standard input and output.
fn talk_to(command: &mut Command, tracker: &TaskTracker) -> (End, Other) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let reader = ChildStdout::from_std(child.stdout.take().unwrap()).unwrap();
    let writer = ChildStdin::from_std(child.stdin.take().unwrap()).unwrap();
    let (peer, incoming) = Peer::channel(reader, writer, tracker);
    (End { peer, incoming }, Other(child))
}

/// This test program, started again to echo over its standard streams.
fn echo() -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "streams::another_process", "--nocapture"]).env(ROLE, "echo");
    command
}

/// The program that [`echo`] starts; in a normal test run it does nothing.
#[tokio::test]
async fn another_process() {
    if env::var_os(ROLE).is_none() {
        return;
    }
    let tracker = TaskTracker::new();
    let (reader, writer) = stdio();
    let (peer, incoming) = Peer::channel(reader, writer, &tracker);
    answer_all(End { peer, incoming }).await;
}

/// Echoes notifications and answers requests with their number, until the other side is done.
async fn answer_all(mut end: End) {
    loop {
        match end.incoming.recv().await {
            Some(Incoming::Notification(said)) => end.peer.notify(said).await.unwrap(),
            Some(Incoming::Request(request)) => {
                let n = number(&request.asked);
                request.responder.answer(&n).unwrap();
            }
            Some(Incoming::Skipped(_)) => {}
            Some(Incoming::End(_)) | None => return end.peer.close().await,
        }
    }
}

/// Floods an end that echoes, and asks it things meanwhile.
async fn converse(mut end: End) {
    let asking = end.peer.clone();
    let peer = end.peer.clone();
    let talk = async {
        tokio::join!(
            async {
                for n in 0..2_000 {
                    peer.notify(say(n)).await.unwrap();
                }
            },
            async {
                for n in 0..100 {
                    assert_eq!(asking.request::<usize>(ask(n)).await.unwrap(), n);
                }
            },
            async {
                let mut n_heard = 0;
                while n_heard < 2_000 {
                    match end.incoming.recv().await {
                        Some(Incoming::Notification(said)) => {
                            assert_eq!(number(&said), n_heard);
                            n_heard += 1;
                        }
                        // The test runner in the other process prints its own lines.
                        Some(Incoming::Skipped(_)) => {}
                        other => panic!("{other:?}"),
                    }
                }
            }
        )
    };
    soon("the conversation", talk).await;
    soon("closing", end.peer.close()).await;
    while !matches!(soon("the end", end.incoming.recv()).await, None | Some(Incoming::End(None))) {}
}

#[tokio::test]
async fn a_conversation_over_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lead.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let tracker = TaskTracker::new();
    let serving = tracker.clone();
    tracker.spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (reader, writer) = stream.into_split();
        let (peer, incoming) = Peer::channel(reader, writer, &serving);
        answer_all(End { peer, incoming }).await;
    });
    let (reader, writer) = tokio::net::UnixStream::connect(&path).await.unwrap().into_split();
    let (peer, incoming) = Peer::channel(reader, writer, &tracker);
    converse(End { peer, incoming }).await;
    tracker.close();
    soon("all tasks to end", tracker.wait()).await;
}

#[tokio::test]
async fn a_conversation_with_a_child_over_its_pipes() {
    let tracker = TaskTracker::new();
    let (end, mut other) = talk_to(&mut echo(), &tracker);
    converse(end).await;
    assert!(other.0.wait().unwrap().success());
}

#[tokio::test]
async fn a_conversation_with_a_child_over_a_socket() {
    let tracker = TaskTracker::new();
    let (ours, theirs) = StdUnixStream::pair().unwrap();
    let output = OwnedFd::from(theirs.try_clone().unwrap());
    let mut command = echo();
    command.stdin(OwnedFd::from(theirs)).stdout(output);
    let _other = Other(command.spawn().unwrap());
    drop(command);
    ours.set_nonblocking(true).unwrap();
    let (reader, writer) = tokio::net::UnixStream::from_std(ours).unwrap().into_split();
    let (peer, incoming) = Peer::channel(reader, writer, &tracker);
    converse(End { peer, incoming }).await;
}

#[test]
fn files_serve_as_standard_streams() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    let lines: Vec<_> = (0..500).map(|n| json!({"method": "say", "params": {"n": n}})).collect();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&input, text).unwrap();
    let mut command = echo();
    command.stdin(File::open(&input).unwrap()).stdout(File::create(&output).unwrap());
    assert!(command.status().unwrap().success());
    let said = std::fs::read_to_string(&output).unwrap();
    let said = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let numbers: Vec<_> = said.filter_map(|line| line["params"]["n"].as_u64()).collect();
    assert_eq!(numbers, (0..500).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_shared_pipe_does_not_become_non_blocking() {
    let tracker = TaskTracker::new();
    // A shell holds the same descriptions of both pipes while the child talks over them, and uses them afterwards.
    let program = env::current_exe().unwrap();
    let script = r#""$0" --exact streams::another_process --nocapture
        for fd in 0 1; do
            flags=$(sed -n 's/^flags:[[:space:]]*//p' /proc/self/fdinfo/$fd)
            echo "{\"method\":\"flags\",\"params\":{\"n\":$((flags & 04000))}}"
        done"#;
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(script).arg(program).env(ROLE, "echo");
    let (mut end, _other) = talk_to(&mut shell, &tracker);
    assert_eq!(soon("an answer", end.peer.request::<usize>(ask(7))).await.unwrap(), 7);
    soon("closing", end.peer.close()).await;
    let mut flags = Vec::new();
    loop {
        match end.next().await {
            Incoming::Notification(said) => flags.push(number(&said)),
            Incoming::Skipped(_) => {}
            Incoming::End(None) => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(flags, [0, 0], "neither became non-blocking");
}

fn message(from: &str, content: &str) -> FromLead {
    let params = json!({"from": from, "content": content});
    FromLead::Message(serde_json::from_value::<MessageIn>(params).unwrap())
}

#[tokio::test]
async fn a_program_that_knows_only_the_table_is_a_teammate() {
    let tracker = TaskTracker::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/teammate.py");
    let mut python = Command::new("python3");
    let (mut end, mut other) = talk_to(python.args([script, "ann"]), &tracker);

    let ready = Ready { name: "ann".into(), acknowledges: false, version: None };
    assert_eq!(heard(&mut end).await, FromTeammate::Ready(ready), "always the first line");
    let Incoming::Skipped(skipped) = end.next().await else { panic!("not skipped") };
    assert_eq!(skipped.reason, SkipReason::NotJson);

    let task = json!({"id": "task-7", "subject": "the dishes", "attempt": 1, "blockedBy": []});
    let task: WireTask = serde_json::from_value(task).unwrap();
    let context = TeamContext { tasks: vec![task.clone()], ..TeamContext::default() };
    end.peer.notify(&FromLead::UpdateContext(context)).await.unwrap();
    let log = Log { level: Level::Info, text: "1 tasks".into() };
    assert_eq!(heard(&mut end).await, FromTeammate::Log(log));

    end.peer.notify(&message("bob", "hi é\n\u{1f980}")).await.unwrap();
    let FromTeammate::Message(MessageOut { to, content, .. }) = heard(&mut end).await else {
        panic!("no message")
    };
    assert_eq!((to.as_str(), content.as_str()), ("bob", "HI É\n\u{1f980}"));

    end.peer.notify(&FromLead::AssignTask { task: task.clone() }).await.unwrap();
    for (status, result) in
        [(ReportedStatus::InProgress, None), (ReportedStatus::Completed, Some("did the dishes"))]
    {
        let FromTeammate::TaskUpdate(report) = heard(&mut end).await else { panic!("no report") };
        assert_eq!((report.status, report.result.as_deref()), (status, result));
        assert_eq!(report.task_id, task.id);
    }
    assert_eq!(heard(&mut end).await, FromTeammate::Idle(Idle { last_task: Some(task.id) }));

    end.peer.notify(&FromLead::Shutdown { reason: "done".into() }).await.unwrap();
    assert_eq!(heard(&mut end).await, FromTeammate::ShutdownAck(ShutdownAck::agreed()));
    assert!(matches!(end.next().await, Incoming::End(None)));
    assert!(other.0.wait().unwrap().success());
}

async fn heard(end: &mut End) -> FromTeammate {
    FromTeammate::try_from(&end.said().await).unwrap()
}
