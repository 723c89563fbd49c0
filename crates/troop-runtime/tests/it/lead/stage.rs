//! A test stage: a real lead on a real board, with members that the tests script.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use tempfile::TempDir;
use tokio::{
    io::DuplexStream,
    sync::{mpsc, watch},
};
use tokio_util::task::TaskTracker;
use troop_model::{Actor, Command, MemberState, NewMember, Settings, Spawn, State, TaskCommand};
use troop_protocol::{
    FromLead, FromTeammate, Idle, Incoming, Notification, PROTOCOL_VERSION, Peer, Ready,
    ReportedStatus, TaskReport, TranscriptEdge, TranscriptEntry, WireTask,
};
use troop_runtime::{
    Board, BoardResult, BoxFuture, Clock, CommandEffect, CommandRequest, Following, Hooks,
    InProcess, Launch, LaunchSpec, LaunchedAgent, Lead, LeadEnd, LeadOptions, LeadThinks, LeadWork,
    Signature, Timing, TranscriptReader, Until, Worktrees,
};
use troop_testkit::{TestStore, wait_for};

use crate::support::{name, new_team};

/// The script of a member, from its start to its exit.
pub(crate) type Play = Arc<dyn Fn(Part) -> BoxFuture<'static, ()> + Send + Sync>;

/// The member's end of a wire.
pub(crate) struct Part {
    pub(crate) spec: LaunchSpec,
    pub(crate) peer: Peer,
    heard: mpsc::Receiver<Incoming>,
}

impl Part {
    pub(crate) async fn say(&self, said: FromTeammate) {
        drop(self.peer.notify(&said).await);
    }

    pub(crate) async fn ready(&self, acknowledges: bool) {
        let name = self.spec.member.to_string();
        self.say(FromTeammate::Ready(Ready { name, acknowledges, version: None })).await;
    }

    /// Ready like an agent of this protocol version, which acknowledges mail and announces the end of its turns.
    pub(crate) async fn ready_acknowledging(&self) {
        let (name, version) = (self.spec.member.to_string(), Some(PROTOCOL_VERSION));
        self.say(FromTeammate::Ready(Ready { name, acknowledges: true, version })).await;
    }

    pub(crate) async fn idle(&self) {
        self.say(FromTeammate::Idle(Idle::default())).await;
    }

    /// The next message of the lead; none when the wire has ended.
    pub(crate) async fn hear(&mut self) -> Option<FromLead> {
        match self.heard.recv().await? {
            Incoming::Notification(said) => Some(FromLead::try_from(&said).unwrap()),
            Incoming::End(_) => None,
            other @ (Incoming::Request(_) | Incoming::Skipped(_)) => {
                panic!("a lead says {other:?}")
            }
        }
    }

    /// The next task from the lead; other messages are skipped.
    pub(crate) async fn task(&mut self) -> Option<WireTask> {
        loop {
            if let FromLead::AssignTask { task } = self.hear().await? {
                return Some(task);
            }
        }
    }

    pub(crate) async fn report(&self, task: &WireTask, status: ReportedStatus, text: &str) {
        let result = Some(text.to_owned());
        let report = TaskReport { result, ..TaskReport::about(task, status) };
        self.say(FromTeammate::TaskUpdate(report)).await;
    }

    pub(crate) async fn complete(&self, task: &WireTask) {
        self.report(task, ReportedStatus::Completed, &format!("by {}", self.spec.member)).await;
        self.say(FromTeammate::Idle(Idle { last_task: Some(task.id.clone()) })).await;
    }
}

/// Makes a play of an async function.
pub(crate) fn play<F>(act: impl Fn(Part) -> F + Send + Sync + 'static) -> Play
where
    F: Future<Output = ()> + Send + 'static,
{
    Arc::new(move |part| Box::pin(act(part)))
}

/// Completes every task it gets, and stops when asked to.
pub(crate) fn worker() -> Play {
    play(|mut part| async move {
        part.ready(true).await;
        part.idle().await;
        while let Some(said) = part.hear().await {
            match said {
                FromLead::AssignTask { task } => part.complete(&task).await,
                FromLead::Shutdown { .. } => {
                    let ack = troop_protocol::ShutdownAck::agreed();
                    return part.say(FromTeammate::ShutdownAck(ack)).await;
                }
                FromLead::Message(_) | FromLead::UpdateContext(_) | FromLead::Interrupt { .. } => {}
            }
        }
    })
}

/// All plays, by agent name.
#[derive(Clone, Default)]
pub(crate) struct Plays(Arc<Mutex<BTreeMap<String, Play>>>);

impl Plays {
    pub(crate) fn add(&self, agent: &str, play: Play) {
        self.0.lock().unwrap().insert(agent.to_owned(), play);
    }

    pub(crate) fn remove(&self, agent: &str) {
        self.0.lock().unwrap().remove(agent);
    }

    fn launch(self, others: Option<Arc<dyn Launch>>) -> Arc<dyn Launch> {
        let run = move |spec: &LaunchSpec, wire: DuplexStream| {
            let play = self.0.lock().unwrap().get(spec.agent.as_str()).cloned()?;
            let spec = spec.clone();
            let act: BoxFuture<'static, ()> = Box::pin(async move {
                let tracker = TaskTracker::new();
                let (reader, writer) = tokio::io::split(wire);
                let (peer, heard) = Peer::channel(reader, writer, &tracker);
                play(Part { spec, peer, heard }).await;
            });
            Some(act)
        };
        Arc::new(InProcess { run, others: others.unwrap_or_else(|| Arc::new(Nobody)) })
    }
}

/// A launcher that starts no one.
#[derive(Debug)]
struct Nobody;

impl Launch for Nobody {
    fn launch(&self, spec: &LaunchSpec) -> std::io::Result<LaunchedAgent> {
        Err(std::io::Error::other(format!("nobody plays {}", spec.agent)))
    }

    fn guard(&self, _: uuid::Uuid) -> std::io::Result<Option<tokio::process::Child>> {
        Ok(None)
    }
}

/// Short times, so that tests do not wait.
pub(crate) fn quick() -> Timing {
    Timing {
        ready: Duration::from_secs(20),
        grace: Duration::from_millis(200),
        term: Duration::from_millis(200),
        tick: Duration::from_millis(20),
        renew: Duration::from_secs(20),
        restart: Duration::from_millis(5),
        max_restarts: 2,
        last_words: Duration::from_millis(50),
    }
}

/// Like `quick`, but crashed members are not restarted while a test lasts.
pub(crate) fn without_restarts() -> Timing {
    Timing { restart: Duration::from_secs(600), ..quick() }
}

/// A team with a running lead.
pub(crate) struct Stage {
    pub(crate) board: Board,
    pub(crate) plays: Plays,
    pub(crate) folder: TempDir,
    pub(crate) lead: Option<Lead>,
    /// Keeps the folder of the store alive.
    pub(crate) store: TestStore,
}

/// The options of a stage.
pub(crate) struct Setting {
    pub(crate) settings: Settings,
    pub(crate) timing: Timing,
    pub(crate) hooks: Hooks,
    pub(crate) isolation: Option<Worktrees>,
    pub(crate) until: Until,
    pub(crate) clock: Clock,
    /// Launches the members that have no play.
    pub(crate) others: Option<Arc<dyn Launch>>,
    /// Receives the warnings to people.
    pub(crate) warnings: Option<mpsc::Sender<String>>,
    /// The progress of the lead's agent on its last request.
    pub(crate) work: LeadWork,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            settings: Settings { retry_backoff_seconds: 0, ..Settings::default() },
            timing: quick(),
            hooks: Hooks::none(),
            isolation: None,
            until: Until::Stopped,
            clock: Clock::system(),
            others: None,
            warnings: None,
            work: LeadWork::Done,
        }
    }
}

impl Stage {
    /// The transcript of a member.
    pub(crate) fn transcript(&self, member: &str) -> Vec<TranscriptEntry> {
        let reader = TranscriptReader::new(self.folder.path(), &name(member));
        reader.page(TranscriptEdge::Beginning, None, usize::MAX).unwrap().entries
    }

    /// A team whose lead has no agent. The agent `worker` has a play already.
    pub(crate) async fn new(setting: Setting) -> Self {
        let store = troop_testkit::sqlite_store().await;
        let plays = Plays::default();
        plays.add("worker", worker());
        plays.add(
            "person",
            play(|mut part| async move {
                part.ready(true).await;
                while !matches!(part.hear().await, None | Some(FromLead::Shutdown { .. })) {}
            }),
        );
        let folder = tempfile::tempdir().unwrap();
        let mut new = new_team("crew");
        (new.settings, new.members) = (setting.settings.clone(), Vec::new());
        new.lead.agent = "person".into();
        let signature = Signature::new(Actor::human("zoe"));
        let (clock, always) = (setting.clock.clone(), Following::Always);
        let board =
            Board::create(store.store(), clock.clone(), always, &signature, new).await.unwrap();
        let mut stage = Self { board, plays, folder, lead: None, store };
        stage.lead = Some(stage.start(setting).await.unwrap());
        stage
    }

    /// Starts another lead of the same team.
    pub(crate) async fn start(&self, setting: Setting) -> Result<Lead, troop_runtime::LeadError> {
        let options = LeadOptions {
            board: self.board.clone(),
            clock: setting.clock,
            folder: self.folder.path().to_owned(),
            project: self.folder.path().to_owned(),
            holder: "zoe".to_owned(),
            thinks: LeadThinks::Here,
            launch: self.plays.clone().launch(setting.others),
            hooks: setting.hooks,
            isolation: setting.isolation,
            checks: Vec::new(),
            agreement: troop_runtime::Agreement::default(),
            environment: std::env::vars_os().collect(),
            timing: setting.timing,
            until: setting.until,
            work: watch::channel(setting.work).1,
            warnings: setting.warnings,
        };
        Box::pin(Lead::start(options)).await
    }

    pub(crate) async fn submit(
        &self,
        actor: Actor,
        command: Command,
    ) -> BoardResult<CommandEffect> {
        self.board.submit(CommandRequest::new(actor, command)).await
    }

    pub(crate) async fn lead_does(&self, command: Command) {
        self.submit(Actor::agent(&troop_model::MemberName::lead()), command).await.unwrap();
    }

    /// Adds a member and starts it.
    pub(crate) async fn spawn(&self, member: &str, agent: &str) {
        let member = NewMember::new(name(member), agent);
        self.lead_does(Command::SpawnMember(Spawn { member, prompt: None })).await;
    }

    pub(crate) async fn task(&self, subject: &str) {
        let new = troop_model::NewTask { subject: subject.to_owned(), ..Default::default() };
        self.lead_does(Command::Task(TaskCommand::Create(new))).await;
    }

    pub(crate) async fn task_for(&self, subject: &str, assignee: &str) {
        let (subject, assignee) = (subject.to_owned(), Some(name(assignee)));
        let new = troop_model::NewTask { subject, assignee, ..Default::default() };
        self.lead_does(Command::Task(TaskCommand::Create(new))).await;
    }

    /// Waits until the board matches.
    pub(crate) async fn until<T: Send + 'static>(
        &self,
        what: &str,
        look: impl Fn(&State) -> Option<T> + Clone + Send + 'static,
    ) -> T {
        wait_for(what, async || self.board.look(look.clone()).await.unwrap()).await
    }

    pub(crate) async fn until_state(&self, member: &'static str, wanted: MemberState) {
        let what = format!("{member} is {wanted}");
        self.until(&what, move |state| {
            state.member(&name(member)).filter(|it| it.state == wanted).map(drop)
        })
        .await;
    }

    /// All events of the log.
    pub(crate) async fn log(&self) -> Vec<Arc<troop_model::Event>> {
        let mut news = self.board.subscribe(troop_model::Version::ZERO);
        let mut log = Vec::new();
        while let Some(event) = news.next_stored().await.unwrap() {
            log.push(event);
        }
        log
    }

    /// The kinds of all events.
    pub(crate) async fn trace(&self) -> Vec<String> {
        self.log().await.iter().map(|event| event.fact.kind().to_owned()).collect()
    }

    /// How often a member entered a state.
    pub(crate) async fn n_times(&self, member: &str, wanted: MemberState) -> usize {
        let mut news = self.board.subscribe(troop_model::Version::ZERO);
        let mut n_times = 0;
        while let Some(event) = news.next_stored().await.unwrap() {
            let is_it = matches!(&event.fact, troop_model::Fact::MemberStateChanged { member: who, state, .. }
                if who.as_str() == member && *state == wanted);
            n_times += usize::from(is_it);
        }
        n_times
    }

    /// Stops the lead and returns how it ended.
    pub(crate) async fn stop(mut self) -> LeadEnd {
        let lead = self.lead.take().unwrap();
        lead.stop("the test is over").await.unwrap();
        lead.ended().await
    }
}

/// A notification from raw JSON, which may be invalid for the protocol.
pub(crate) fn raw(method: &str, params: &str) -> Notification {
    let line = format!(r#"{{"method":"{method}","params":{params}}}"#);
    serde_json::from_str::<serde_json::Value>(&line).unwrap();
    Notification {
        method: method.to_owned(),
        params: serde_json::value::RawValue::from_string(params.to_owned()).unwrap(),
    }
}
