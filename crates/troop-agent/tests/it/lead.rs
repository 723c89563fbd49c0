//! A lead at the other end of an in-memory wire, for tests.

use std::{cell::Cell, path::Path, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf},
    sync::mpsc,
    task::JoinHandle,
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_agent::{
    Agent, BoxFuture, Exit, TeammateOptions, Turn, TurnOutcome, Work, Workplace, serve,
};
use troop_protocol::{Envelope, Frame, FrameReader, Id, MAX_LINE};

/// Longer than any test should wait; with paused time it costs nothing.
const PATIENCE: Duration = Duration::from_secs(60);

/// The id that a question gets from the board of these tests.
const QUESTION: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// A lead, and the teammate that it drives.
pub(crate) struct Lead {
    writer: Option<WriteHalf<DuplexStream>>,
    reader: FrameReader<ReadHalf<DuplexStream>>,
    pub(crate) terminated: CancellationToken,
    teammate: JoinHandle<Exit>,
}

/// The method and parameters of something that a teammate sent.
pub(crate) type WireMessage = (String, Value);

thread_local! {
    /// How often the teammates of this thread were at rest.
    pub(crate) static N_RESTS: Cell<usize> = const { Cell::new(0) };
}

impl Lead {
    /// A teammate `ann` of the team `blue` that has just been started.
    pub(crate) fn start(agent: impl Agent + 'static, path: &Path) -> Self {
        let (ours, theirs) = tokio::io::duplex(1024 * 1024);
        let terminated = CancellationToken::new();
        let place = Workplace {
            name: "ann".to_owned(),
            team: "blue".to_owned(),
            path: path.to_owned(),
            environment: Vec::new(),
        };
        let at_rest = || N_RESTS.set(N_RESTS.get() + 1);
        let options = TeammateOptions {
            terminated: terminated.clone(),
            at_rest,
            ..TeammateOptions::new(place)
        };
        let (reader, writer) = tokio::io::split(theirs);
        let teammate = TaskTracker::new().spawn(serve(Box::new(agent), reader, writer, options));
        let (reader, writer) = tokio::io::split(ours);
        let reader = FrameReader::new(reader, MAX_LINE);
        Self { writer: Some(writer), reader, terminated, teammate }
    }

    /// A teammate that is ready and idle.
    pub(crate) async fn of(agent: impl Agent + 'static, path: &Path) -> Self {
        let mut lead = Self::start(agent, path);
        lead.hears("team.ready").await;
        lead.hears("team.idle").await;
        lead
    }

    pub(crate) async fn say(&mut self, method: &str, params: Value) {
        let line = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(&format!("{line}\n")).await;
    }

    pub(crate) async fn write(&mut self, text: &str) {
        self.writer.as_mut().unwrap().write_all(text.as_bytes()).await.unwrap();
    }

    pub(crate) async fn assign(&mut self, id: &str, description: &str) {
        let task = json!({"id": id, "subject": id, "description": description, "attempt": 1});
        self.say("team.assignTask", json!({ "task": task })).await;
    }

    pub(crate) async fn mail(&mut self, content: &str) {
        self.say("team.message", json!({"from": "lead", "content": content})).await;
    }

    /// Sends mail, and waits until the teammate has received it.
    pub(crate) async fn mails_and_knows(&mut self, content: &str) {
        let params = json!({"from": "lead", "content": content});
        let line = json!({"jsonrpc": "2.0", "id": 1, "method": "team.message", "params": params});
        self.write(&format!("{line}\n")).await;
        self.waits_for("answer").await;
    }

    async fn next(&mut self) -> Option<(Option<Id>, WireMessage)> {
        let frame = timeout(PATIENCE, self.reader.next()).await.expect("the teammate speaks");
        let (id, said) = match frame.unwrap()? {
            Frame::Envelope(Envelope::Notification(said)) => (None, said),
            Frame::Envelope(Envelope::Request { id, asked }) => (Some(id), asked),
            Frame::Envelope(Envelope::Response { outcome, .. }) => {
                let answer = match outcome {
                    Ok(result) => serde_json::from_str(result.get()).unwrap(),
                    Err(error) => error.message.into(),
                };
                return Some((None, ("answer".to_owned(), answer)));
            }
            Frame::Skipped(skipped) => panic!("no teammate says {skipped:?}"),
        };
        Some((id, (said.method, serde_json::from_str(said.params.get()).unwrap())))
    }

    /// The next thing that the teammate sends.
    pub(crate) async fn hear(&mut self) -> WireMessage {
        self.next().await.expect("the teammate is there").1
    }

    /// Expects this as the next thing; returns its parameters. Ends of turns are skipped, unless they are expected.
    pub(crate) async fn hears(&mut self, method: &str) -> Value {
        loop {
            let (said, params) = self.hear().await;
            if said == method {
                return params;
            }
            assert_eq!(said, "turn/end", "before `{method}`: {params}");
        }
    }

    /// Skips everything before this; returns its parameters.
    pub(crate) async fn waits_for(&mut self, method: &str) -> Value {
        loop {
            let (said, params) = self.hear().await;
            if said == method {
                return params;
            }
        }
    }

    /// Expects a request and answers it.
    pub(crate) async fn answers(&mut self, result: Value) -> WireMessage {
        let (id, asked) = self.next().await.expect("the teammate is there");
        let id = id.unwrap_or_else(|| panic!("{asked:?} asks nothing"));
        let line = json!({"jsonrpc": "2.0", "id": id, "result": result});
        self.write(&format!("{line}\n")).await;
        asked
    }

    /// Expects a request and refuses it.
    pub(crate) async fn refuses(&mut self, message: &str) -> WireMessage {
        let (id, asked) = self.next().await.expect("the teammate is there");
        let id = id.unwrap_or_else(|| panic!("{asked:?} asks nothing"));
        let error = json!({"code": -32000, "message": message});
        self.write(&format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "error": error}))).await;
        asked
    }

    /// Reads the next thing. Answers it if it is a request, else skips it.
    pub(crate) async fn answers_request(&mut self, result: Value) -> Option<WireMessage> {
        let (id, asked) = self.next().await.expect("the teammate is there");
        let line = json!({"jsonrpc": "2.0", "id": id?, "result": result});
        self.write(&format!("{line}\n")).await;
        Some(asked)
    }

    /// Waits for a question of the teammate, and answers as a board that stores it. Returns the question.
    pub(crate) async fn stores_question(&mut self) -> Value {
        let sent = json!({"version": 7, "events": [{
            "version": 7, "schema": 1, "at": "2026-01-01T00:00:00Z", "actor": {"kind": "agent", "name": "ann"},
            "operation": QUESTION, "kind": "message.sent", "id": QUESTION, "from": "ann", "to": "lead",
            "message_kind": "permission_request", "content": "may I?", "request_id": QUESTION, "readers": ["lead"],
        }]});
        loop {
            if let Some((method, question)) = self.answers_request(sent.clone()).await {
                assert_eq!(method, "message/send");
                return question;
            }
        }
    }

    /// Sends the answer to the stored question: `permission_response` or `plan_approval_response`.
    pub(crate) async fn answers_question(&mut self, kind: &str, approve: bool, content: &str) {
        let answer = json!({
            "from": "lead", "content": content, "kind": kind, "requestId": QUESTION, "approve": approve,
        });
        self.say("team.message", answer).await;
    }

    /// Everything that the teammate sends until it ends, and its exit.
    pub(crate) async fn end(mut self) -> (Vec<WireMessage>, Exit) {
        let mut said = Vec::new();
        while let Some((_, it)) = self.next().await {
            said.push(it);
        }
        (said, timeout(PATIENCE, self.teammate).await.expect("the teammate ends").unwrap())
    }

    pub(crate) async fn leave(mut self) -> Exit {
        let mut writer = self.writer.take().unwrap();
        writer.shutdown().await.unwrap();
        timeout(PATIENCE, self.teammate).await.expect("the teammate ends").unwrap()
    }
}

/// An agent that records its work and calls a function for it.
pub(crate) struct Acts<F> {
    act: F,
    works: mpsc::UnboundedSender<Work>,
}

impl<F> Acts<F>
where
    F: for<'a> Fn(Work, &'a Turn) -> BoxFuture<'a, TurnOutcome> + Send,
{
    pub(crate) fn new(act: F) -> (Self, mpsc::UnboundedReceiver<Work>) {
        let (works, seen) = mpsc::unbounded_channel();
        (Self { act, works }, seen)
    }
}

impl<F> Agent for Acts<F>
where
    F: for<'a> Fn(Work, &'a Turn) -> BoxFuture<'a, TurnOutcome> + Clone + Send + 'static,
{
    fn turn<'a>(&'a mut self, work: Work, turn: &'a Turn) -> BoxFuture<'a, TurnOutcome> {
        // Not every test reads the work.
        drop(self.works.send(work.clone()));
        (self.act)(work, turn)
    }

    fn fresh(&self) -> Box<dyn Agent> {
        Box::new(Self { act: self.act.clone(), works: self.works.clone() })
    }
}
