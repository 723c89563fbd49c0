//! Watches the lead's agent: how far it is with what it was told, and what went wrong with it.

use std::sync::{Arc, Mutex};

use tokio::{io::DuplexStream, sync::watch};
use troop_agent::{Agent, BoxFuture, Setback, Thinking, Turn, TurnOutcome, Work, Workplace};
use troop_model::lock;
use troop_runtime::LeadWork;

/// Runs an agent in this process for a member.
pub(super) fn serve(
    agent: Box<dyn Agent>,
    place: Workplace,
    wire: DuplexStream,
    watch: LeadWatch,
) -> BoxFuture<'static, ()> {
    let options = troop_agent::TeammateOptions::new(place);
    let (reader, writer) = tokio::io::split(wire);
    Box::pin(async move {
        let agent = Box::new(WatchedAgent { agent, watch });
        troop_agent::serve(agent, reader, writer, options).await;
    })
}

/// How far the lead's agent is with what it was told, and what went wrong with it.
#[derive(Clone, Debug, Default)]
pub struct LeadWatch {
    fault: Arc<Mutex<Option<String>>>,
    /// What made the agent wait in its last turn.
    setback: Arc<Mutex<Setback>>,
    work: watch::Sender<LeadWork>,
}

/// How a lead's agent left what it was told in an earlier run. It does not continue by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnfinishedLead {
    /// It could not do it.
    Failed,
    /// It was in the middle of its script.
    CutShort,
}

impl UnfinishedLead {
    /// A predicate for messages, such as "was cut short …".
    #[must_use]
    pub fn says(self) -> &'static str {
        match self {
            Self::Failed => "could not do what it was told, and does not go on with that by itself",
            Self::CutShort => {
                "was cut short in the middle of its script, and does not go on with that by itself"
            }
        }
    }

    fn work(self) -> LeadWork {
        match self {
            Self::Failed => LeadWork::Failed,
            Self::CutShort => LeadWork::Open,
        }
    }
}

impl LeadWatch {
    /// A watch on an agent that may have left something undone in an earlier run.
    pub fn of_left(left: Option<UnfinishedLead>) -> Self {
        let watch = Self::default();
        if let Some(left) = left {
            watch.work.send_replace(left.work());
            watch.note(Some(format!("it {}", left.says())));
        }
        watch
    }

    fn note(&self, fault: Option<String>) {
        *lock(&self.fault) = fault;
    }

    pub fn fault(&self) -> Option<String> {
        lock(&self.fault).clone()
    }

    /// The error that the agent was still trying to get over.
    pub fn setback(&self) -> Option<String> {
        lock(&self.setback).error()
    }

    pub fn work(&self) -> watch::Receiver<LeadWork> {
        self.work.subscribe()
    }
}

/// An agent with a watch on it.
struct WatchedAgent {
    agent: Box<dyn Agent>,
    watch: LeadWatch,
}

impl Agent for WatchedAgent {
    fn turn<'a>(&'a mut self, work: Work, turn: &'a Turn) -> BoxFuture<'a, TurnOutcome> {
        match work {
            work @ (Work::Start | Work::Mail(_)) => Box::pin(self.noted(work, turn)),
            // The result of a task is on the board.
            work @ (Work::Task(_) | Work::Resume { .. } | Work::Shutdown { .. }) => {
                self.agent.turn(work, turn)
            }
        }
    }

    fn fresh(&self) -> Box<dyn Agent> {
        Box::new(Self { agent: self.agent.fresh(), watch: self.watch.clone() })
    }

    fn thinks(&self) -> Option<Thinking> {
        self.agent.thinks()
    }
}

impl WatchedAgent {
    /// Runs a turn and notes how far the agent is with what it was told.
    async fn noted(&mut self, work: Work, turn: &Turn) -> TurnOutcome {
        let watch = self.watch.clone();
        let stood = *watch.work.borrow();
        let earlier = watch.fault();
        // An agent that cannot continue from the board has lost what it left undone, unless a person tells it again.
        let goes_on = self.agent.thinks().is_some();
        let forgets = || goes_on || stood == LeadWork::Done || turn.has_heard();
        // This stays if the agent is killed in the middle of the turn.
        watch.work.send_replace(LeadWork::Open);
        *lock(&watch.setback) = turn.setback().clone();
        let mut ending = self.agent.turn(work, turn);
        let outcome = tokio::select! {
            biased;
            outcome = &mut ending => outcome,
            () = turn.only_waits().cancelled() => {
                watch.work.send_replace(if forgets() { LeadWork::Done } else { stood });
                ending.await
            }
        };
        let (stands, fault) = match &outcome {
            TurnOutcome::Interrupted if goes_on => (LeadWork::Interrupted, None),
            TurnOutcome::Interrupted if !turn.only_waits().is_cancelled() => (LeadWork::Open, None),
            TurnOutcome::Done | TurnOutcome::Completed { .. } | TurnOutcome::Interrupted => {
                (LeadWork::Done, None)
            }
            TurnOutcome::Failed { reason } | TurnOutcome::Hopeless { reason } => {
                (LeadWork::Failed, Some(reason.clone()))
            }
            TurnOutcome::GaveBack { .. } | TurnOutcome::Refused { .. } => (LeadWork::Open, None),
        };
        let (stands, fault) = if forgets() { (stands, fault) } else { (stood, earlier.or(fault)) };
        watch.note(fault);
        watch.work.send_replace(stands);
        outcome
    }
}
