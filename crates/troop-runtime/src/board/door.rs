//! The guard that gives commands under file locks, for a team whose files other programs write.
//!
//! A program claims a task under the lock of its file. So the mirror, which keeps the files in step, gives commands about tasks
//! under the same locks: while it runs, it guards the door of the board.

use std::sync::Mutex;

use tokio::sync::{mpsc, oneshot};
use troop_model::{State, lock};

use super::{Board, BoardJob, BoardReply, CommandEffect, CommandRequest};
use crate::BoardError;

/// A command that is to be given under the locks of files.
pub(crate) struct DoorJob {
    pub(crate) request: Box<CommandRequest>,
    pub(super) reply: Box<dyn BoardReply>,
}

/// The answer to a command, which waits until the files show it.
pub(crate) enum DoorAnswer {
    Done(Box<dyn BoardReply>),
    Refused(Box<dyn BoardReply>, BoardError),
}

impl DoorAnswer {
    /// The caller gets it.
    pub(crate) fn deliver(self) {
        match self {
            Self::Done(reply) => reply.tell(),
            Self::Refused(reply, error) => reply.refuse(error),
        }
    }
}

/// Keeps the answer to a command back, for the guard.
struct KeptReply {
    reply: Box<dyn BoardReply>,
    keeper: oneshot::Sender<DoorAnswer>,
}

impl BoardReply for KeptReply {
    fn look(&mut self, state: &State, done: CommandEffect) {
        self.reply.look(state, done);
    }

    fn tell(self: Box<Self>) {
        // The guard may have ended; the caller learns that the board did not answer.
        drop(self.keeper.send(DoorAnswer::Done(self.reply)));
    }

    fn refuse(self: Box<Self>, error: BoardError) {
        drop(self.keeper.send(DoorAnswer::Refused(self.reply, error)));
    }
}

/// The guard that gives commands under file locks, if there is one.
#[derive(Debug, Default)]
pub(super) struct BoardDoor(Mutex<Option<mpsc::UnboundedSender<DoorJob>>>);

impl BoardDoor {
    /// Passes on a command that is to be given under locks; returns it if there is no guard.
    pub(super) fn pass(&self, job: DoorJob) -> Result<(), DoorJob> {
        match lock(&self.0).as_ref() {
            Some(jobs) => jobs.send(job).map_err(|unsent| unsent.0),
            None => Err(job),
        }
    }

    pub(super) fn is_guarded(&self) -> bool {
        lock(&self.0).is_some()
    }
}

impl Board {
    /// Has commands about tasks given by the receiver, until it is dropped.
    pub(crate) fn guard_door(&self) -> mpsc::UnboundedReceiver<DoorJob> {
        let (sender, jobs) = mpsc::unbounded_channel();
        *lock(&self.door.0) = Some(sender);
        jobs
    }

    /// Lets commands about tasks go straight to the board again.
    pub(crate) fn open_door(&self) {
        *lock(&self.door.0) = None;
    }

    /// Gives a command that waited in the door; the answer is not delivered yet. None if the board is closed, which the caller
    /// learns by itself.
    pub(crate) async fn give_from_door(&self, job: DoorJob) -> Option<DoorAnswer> {
        let DoorJob { request, reply } = job;
        let (keeper, answer) = oneshot::channel();
        let kept = Box::new(KeptReply { reply, keeper });
        self.enqueue(BoardJob::Submit(request, kept)).await.ok()?;
        answer.await.ok()
    }
}

impl DoorJob {
    /// Answers a command that was not given.
    pub(crate) fn refuse(self, error: BoardError) {
        self.reply.refuse(error);
    }
}
