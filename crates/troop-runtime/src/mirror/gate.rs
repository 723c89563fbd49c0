//! The way to the board for what others do to tasks. If a lead runs, it goes through the lead, whose hooks judge it like
//! everybody's commands.
//!
//! Hooks and checks may take long, and the mirror does not hold a file's lock meanwhile: it leaves the file as it is, and visits
//! it again when the answer has come.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};
use tokio_util::task::TaskTracker;
use troop_model::{OperationId, Refusal};
use troop_protocol::Failure;

use super::Item;
use crate::{
    Board, BoardError, CommandEffect, CommandRequest, find_lead,
    relay::{RouteError, TeamRoute},
};

/// How long a file stays locked while we wait for an answer.
const PATIENCE: Duration = Duration::from_millis(100);

/// The answer to a command.
#[derive(Clone, Debug)]
pub(super) enum GateAnswer {
    Done(CommandEffect),
    Refused(String),
    /// There is no answer yet.
    Waits,
}

/// The final answer of the lead or the board.
type GateResult = Result<GateAnswer, BoardError>;

#[derive(Debug)]
pub(super) struct CommandGate {
    board: Board,
    /// The folder in which a running lead is found.
    lead: Option<PathBuf>,
    waiting: BTreeMap<OperationId, Item>,
    answered: BTreeMap<OperationId, (Item, GateResult)>,
    said: mpsc::UnboundedReceiver<(OperationId, GateResult)>,
    say: mpsc::UnboundedSender<(OperationId, GateResult)>,
    tracker: TaskTracker,
}

impl CommandGate {
    pub(super) fn new(board: Board, lead: Option<PathBuf>) -> Self {
        let (say, said) = mpsc::unbounded_channel();
        Self {
            board,
            lead,
            waiting: BTreeMap::new(),
            answered: BTreeMap::new(),
            said,
            say,
            tracker: TaskTracker::new(),
        }
    }

    /// Whether a command from an item's files waits for its answer.
    pub(super) fn holds(&self, item: &Item) -> bool {
        self.waiting.values().any(|it| it == item)
    }

    /// Takes the answers that have arrived, then says whether a command from an item's files still waits.
    pub(super) fn still_holds(&mut self, item: &Item) -> bool {
        while let Ok((operation, said)) = self.said.try_recv() {
            self.note(operation, said);
        }
        self.holds(item)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Forgets answers to commands that an item's files no longer ask for.
    pub(super) fn forget(&mut self, item: &Item) {
        self.answered.retain(|_, (it, _)| it != item);
    }

    /// Waits for the next answer. Returns the item that it is about.
    pub(super) async fn next(&mut self) -> Item {
        loop {
            let Some((operation, said)) = self.said.recv().await else {
                return std::future::pending().await;
            };
            if let Some(item) = self.note(operation, said) {
                return item;
            }
        }
    }

    fn note(&mut self, operation: OperationId, said: GateResult) -> Option<Item> {
        let item = self.waiting.remove(&operation)?;
        self.answered.insert(operation, (item.clone(), said));
        Some(item)
    }

    /// Gives a command. `anew` is the operation to use if the board has forgotten whether the command was done: it was not, or
    /// the file and the board would not differ.
    pub(super) async fn give(
        &mut self,
        item: Item,
        request: CommandRequest,
        anew: OperationId,
    ) -> GateResult {
        let operation = request.operation;
        if let Some((_, said)) = self.answered.remove(&operation) {
            return said;
        }
        // The board answers while the file is locked, however long it takes. Only a lead may let its answer wait: for hooks.
        let Some(lead) = self.lead.clone().filter(|folder| find_lead(folder).is_some()) else {
            return give(&self.board, None, request, anew).await;
        };
        let board = self.board.clone();
        let say = self.say.clone();
        self.waiting.insert(operation, item);
        self.tracker.spawn(async move {
            let said = give(&board, Some(lead), request, anew).await;
            // If the mirror has ended, the next one asks again.
            drop(say.send((operation, said)));
        });
        let deadline = Instant::now() + PATIENCE;
        while let Ok(Some((answered, said))) = timeout_at(deadline, self.said.recv()).await {
            self.note(answered, said);
            if let Some((_, said)) = self.answered.remove(&operation) {
                return said;
            }
        }
        Ok(GateAnswer::Waits)
    }
}

async fn give(
    board: &Board,
    lead: Option<PathBuf>,
    request: CommandRequest,
    anew: OperationId,
) -> GateResult {
    let forgotten = Refusal::ForgottenOperation { operation: request.operation };
    let is_forgotten = |it: &Failure| it.refusal.as_deref() == Some(forgotten.name());
    let said = match give_once(board, lead.clone(), request.clone()).await? {
        Err(failure) if is_forgotten(&failure) => {
            give_once(board, lead, CommandRequest { operation: anew, ..request }).await?
        }
        said => said,
    };
    Ok(said.map_or_else(|failure| GateAnswer::Refused(failure.message), GateAnswer::Done))
}

async fn give_once(
    board: &Board,
    lead: Option<PathBuf>,
    request: CommandRequest,
) -> Result<Result<CommandEffect, Failure>, BoardError> {
    let given = match lead {
        Some(folder) => {
            let route = TeamRoute::new(board.clone(), &folder, request.asker.clone());
            let done = route.submit(request).await;
            done.map(|it| CommandEffect { version: it.version, events: it.events.into() })
        }
        None => board.submit(request).await.map_err(RouteError::Board),
    };
    match given {
        Ok(done) => Ok(Ok(done)),
        Err(RouteError::Board(BoardError::Refused(refusal))) => Ok(Err((&refusal).into())),
        Err(RouteError::Board(error)) => Err(error),
        Err(error @ (RouteError::Lead(_) | RouteError::Connection(_))) => Ok(Err(error.into())),
    }
}
