//! The loop between a lead's wire and an agent: it gives the agent one piece of work at a time and listens to the
//! lead all the while.

mod queue;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_model::{MessageKind, panic_text};
use troop_protocol::{
    FromTeammate, Idle, Incoming, Level, Log, MessageOut, PROTOCOL_VERSION, Peer, Ready,
    ReportedStatus, ShutdownAck, TaskReport, WireTask,
};

use crate::{
    Agent, Turn, TurnOutcome, Work,
    agent::BoxFuture,
    wire::{MemberWire, Workplace},
};
use queue::{Farewell, WorkQueue};

/// How often a silent turn gives a sign of life.
pub const ALIVE: Duration = Duration::from_secs(10);

/// How long a teammate that ends at once waits until its last lines are read.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How long a teammate without work waits before it counts as at rest: longer than the time between two tasks of a
/// busy team, shorter than people take.
const AT_REST: Duration = Duration::from_millis(250);

/// How a teammate is run.
#[derive(Clone, Debug)]
pub struct TeammateOptions {
    pub place: Workplace,
    /// Cancelled when the process must end at once.
    pub terminated: CancellationToken,
    /// Called once when there has been nothing to do for a moment.
    pub at_rest: fn(),
}

impl TeammateOptions {
    /// The usual options.
    pub fn new(place: Workplace) -> Self {
        Self { place, terminated: CancellationToken::new(), at_rest: || () }
    }
}

/// Why a teammate ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The lead asked for it, and the agent agreed.
    Shutdown,
    /// The lead is gone.
    LeadGone,
    /// The process was told to end.
    Terminated,
}

/// Serves a lead until either of them ends. What the agent runs ends with it. Runs on any thread.
pub async fn serve<R, W>(
    agent: Box<dyn Agent>,
    reader: R,
    writer: W,
    options: TeammateOptions,
) -> Exit
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + 'static,
{
    let tracker = TaskTracker::new();
    let (peer, incoming) = Peer::channel(reader, writer, &tracker);
    let wire = Arc::new(MemberWire::new(peer.clone(), options.place.clone()));
    let queue = WorkQueue::new(Arc::clone(&wire));
    let sessions = BTreeMap::new();
    let teammate = Teammate { agent, sessions, queue, wire, incoming, options };
    let Err(exit) = teammate.run().await;
    match exit {
        Exit::Shutdown => peer.close().await,
        // Nothing runs now. Messages that were sent are still written, as far as the lead reads them.
        Exit::LeadGone | Exit::Terminated => {
            drop(timeout(LAST_WORDS, peer.close()).await);
            peer.cut();
        }
    }
    exit
}

/// The loop only ends with an [`Exit`].
enum Never {}

struct Teammate {
    agent: Box<dyn Agent>,
    /// The agents of delegations, each with its own session.
    sessions: BTreeMap<String, Box<dyn Agent>>,
    queue: WorkQueue,
    wire: Arc<MemberWire>,
    incoming: mpsc::Receiver<Incoming>,
    options: TeammateOptions,
}

impl Teammate {
    async fn run(mut self) -> Result<Never, Exit> {
        let name = self.options.place.name.clone();
        let ready = Ready { name, acknowledges: true, version: Some(PROTOCOL_VERSION) };
        self.say(&FromTeammate::Ready(ready)).await;
        let outcome = self.turn(Work::Start).await?;
        self.end_without_task(outcome).await;
        self.rest(None).await;
        loop {
            match self.next_work().await? {
                Work::Task(task) => {
                    self.report(&task, ReportedStatus::InProgress).await;
                    let outcome = self.turn(Work::Task(task.clone())).await?;
                    self.end_task(task, outcome).await;
                }
                Work::Resume { task, mail } => {
                    let outcome = self.turn(Work::Resume { task: task.clone(), mail }).await?;
                    self.end_task(task, outcome).await;
                }
                work @ Work::Shutdown { .. } => self.shut_down(work).await?,
                work @ (Work::Mail(_) | Work::Start) => {
                    self.wire.take_asked();
                    let outcome = self.turn(work).await?;
                    self.end_without_task(outcome).await;
                    // The lead knows that the member is idle, unless it has taken work by itself.
                    if self.wire.take_asked() {
                        self.rest(None).await;
                    } else {
                        self.say(&FromTeammate::TurnEnd {}).await;
                    }
                }
            }
        }
    }

    /// Waits for work, after reading everything that the lead has sent so far.
    async fn next_work(&mut self) -> Result<Work, Exit> {
        loop {
            while let Ok(incoming) = self.incoming.try_recv() {
                self.queue.hear(Some(incoming), None).await?;
            }
            if self.queue.take_loss() {
                self.rest(None).await;
            }
            if let Some(work) = self.queue.next_work() {
                return Ok(work);
            }
            let incoming = tokio::select! {
                incoming = next_heard(&mut self.incoming, self.options.at_rest) => incoming,
                () = self.options.terminated.cancelled() => return Err(Exit::Terminated),
            };
            self.queue.hear(incoming, None).await?;
        }
    }

    /// Lets the agent work, and listens to the lead meanwhile.
    async fn turn(&mut self, work: Work) -> Result<TurnOutcome, Exit> {
        let turn = Turn::new(Arc::clone(&self.wire));
        self.queue.begin(&work);
        let agent = match own_session(&work) {
            Some(key) => self.sessions.entry(key).or_insert_with(|| self.agent.fresh()),
            None => &mut self.agent,
        };
        let mut outcome = pin!(caught(agent.turn(work, &turn)));
        loop {
            tokio::select! {
                biased;
                outcome = &mut outcome => {
                    self.queue.end();
                    return Ok(outcome);
                }
                incoming = self.incoming.recv() => self.queue.hear(incoming, Some(&turn)).await?,
                () = self.options.terminated.cancelled() => return Err(Exit::Terminated),
                () = self.wire.quiet_for(self.wire.patience(ALIVE)) => {
                    drop(self.wire.say(&FromTeammate::Alive {}).await);
                }
            }
        }
    }

    /// Reports how a task ended, and then that the member is ready for the next one.
    async fn end_task(&mut self, task: WireTask, outcome: TurnOutcome) {
        let mut report = TaskReport::about(&task, ReportedStatus::Completed);
        if let Some(key) = task.own_session()
            && outcome != TurnOutcome::Interrupted
        {
            self.sessions.remove(key);
        }
        // Another member has the task now, so the result does not matter. The lead only hears that the turn is over.
        if self.queue.take_loss() {
            return self.rest(None).await;
        }
        match outcome {
            TurnOutcome::Completed { result, summary } => {
                report.result = Some(result);
                report.summary = summary;
            }
            TurnOutcome::Failed { reason } => {
                report.status = ReportedStatus::Failed;
                report.reason = Some(reason);
            }
            TurnOutcome::Hopeless { reason } => {
                report.status = ReportedStatus::Failed;
                report.reason = Some(reason);
                report.for_good = true;
            }
            TurnOutcome::GaveBack { reason } | TurnOutcome::Refused { reason } => {
                report.status = ReportedStatus::Pending;
                report.reason = Some(reason);
            }
            TurnOutcome::Done => return self.rest(Some(task)).await,
            TurnOutcome::Interrupted => return self.queue.hold(task),
        }
        self.say(&FromTeammate::TaskUpdate(report)).await;
        self.rest(Some(task)).await;
    }

    async fn end_without_task(&mut self, outcome: TurnOutcome) {
        if let TurnOutcome::Failed { reason } | TurnOutcome::Hopeless { reason } = outcome {
            let log = Log { level: Level::Error, text: reason.clone() };
            self.say(&FromTeammate::Log(log)).await;
            self.say(&FromTeammate::Failed { reason }).await;
        }
    }

    async fn shut_down(&mut self, work: Work) -> Result<(), Exit> {
        let farewell = self.queue.take_farewell();
        let outcome = self.turn(work).await?;
        let ack = match outcome {
            TurnOutcome::Refused { reason } => ShutdownAck::refused(&reason),
            TurnOutcome::Completed { .. }
            | TurnOutcome::Failed { .. }
            | TurnOutcome::Hopeless { .. }
            | TurnOutcome::GaveBack { .. }
            | TurnOutcome::Interrupted
            | TurnOutcome::Done => ShutdownAck::agreed(),
        };
        let is_agreed = ack.approve;
        if is_agreed {
            for task in self.queue.take_tasks() {
                self.give_back(&task, &farewell).await;
            }
        }
        if let Some(response) = farewell.response(&ack) {
            self.say(&FromTeammate::Message(response)).await;
        }
        self.say(&FromTeammate::ShutdownAck(ack)).await;
        if is_agreed {
            return Err(Exit::Shutdown);
        }
        self.rest(None).await;
        Ok(())
    }

    async fn give_back(&mut self, task: &WireTask, farewell: &Farewell) {
        let reason = Some(format!("{} stops: {}", self.options.place.name, farewell.reason));
        let report = TaskReport { reason, ..TaskReport::about(task, ReportedStatus::Pending) };
        self.say(&FromTeammate::TaskUpdate(report)).await;
    }

    /// Reports that there is nothing to do, if that is so.
    async fn rest(&mut self, last: Option<WireTask>) {
        if self.queue.is_empty() {
            let last_task = last.map(|task| task.id);
            self.say(&FromTeammate::Idle(Idle { last_task })).await;
        }
    }

    async fn report(&mut self, task: &WireTask, status: ReportedStatus) {
        self.say(&FromTeammate::TaskUpdate(TaskReport::about(task, status))).await;
    }

    /// Sends something. If the lead is gone, the loop will notice.
    async fn say(&mut self, said: &FromTeammate) {
        drop(self.wire.say(said).await);
    }
}

impl Farewell {
    /// The answer to a shutdown request that came by mail.
    fn response(&self, ack: &ShutdownAck) -> Option<MessageOut> {
        let (to, request_id) = self.asked_by.clone()?;
        let content = ack.reason.as_deref().unwrap_or("I stop");
        let response = MessageOut::new(to, MessageKind::ShutdownResponse, content);
        Some(MessageOut { request_id, approve: Some(ack.approve), ..response })
    }
}

/// The next thing that the lead sends while the teammate has no work.
async fn next_heard(incoming: &mut mpsc::Receiver<Incoming>, at_rest: fn()) -> Option<Incoming> {
    match timeout(AT_REST, incoming.recv()).await {
        Ok(incoming) => incoming,
        Err(_elapsed) => {
            at_rest();
            incoming.recv().await
        }
    }
}

/// The session of a piece of work, if it is a delegation.
fn own_session(work: &Work) -> Option<String> {
    match work {
        Work::Task(task) | Work::Resume { task, .. } => task.own_session().map(str::to_owned),
        Work::Start | Work::Mail(_) | Work::Shutdown { .. } => None,
    }
}

/// A turn that panics has failed, and the member goes on.
async fn caught(mut turn: BoxFuture<'_, TurnOutcome>) -> TurnOutcome {
    std::future::poll_fn(|cx| {
        catch_unwind(AssertUnwindSafe(|| turn.as_mut().poll(cx))).unwrap_or_else(|panic| {
            let reason = format!("the agent panicked: {}", panic_text(panic.as_ref()));
            Poll::Ready(TurnOutcome::Failed { reason })
        })
    })
    .await
}
