//! Requests that wait for their responses.

use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, MutexGuard},
};

use serde_json::value::RawValue;
use tokio::sync::oneshot;
use troop_model::lock;

use crate::envelope::{ErrorObject, Id};

type ResponseOutcome = Result<Box<RawValue>, ErrorObject>;

/// All open requests of one end. Ids are 1, 2, 3 ….
#[derive(Debug, Default)]
pub(super) struct PendingRequests(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    waiting: HashMap<u64, oneshot::Sender<ResponseOutcome>>,
    last_id: u64,
    is_over: bool,
}

/// Whether a response belongs to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResponseMatch {
    /// It does, even if nobody waits for it.
    Asked,
    Unasked,
}

/// The right to one response; given up when it is dropped.
#[derive(Debug)]
pub(super) struct Ticket<'a> {
    pending: &'a PendingRequests,
    id: u64,
    answer: oneshot::Receiver<ResponseOutcome>,
}

impl PendingRequests {
    /// A place in the table, unless responses have ended.
    pub(super) fn ticket(&self) -> Option<Ticket<'_>> {
        let mut table = self.lock();
        if table.is_over {
            return None;
        }
        table.last_id += 1;
        let id = table.last_id;
        let (sender, answer) = oneshot::channel();
        table.waiting.insert(id, sender);
        Some(Ticket { pending: self, id, answer })
    }

    pub(super) fn answer(&self, id: &Id, outcome: ResponseOutcome) -> ResponseMatch {
        let Id::Number(number) = id else { return ResponseMatch::Unasked };
        let mut table = self.lock();
        match number.as_u64() {
            Some(id) if (1..=table.last_id).contains(&id) => {
                if let Some(sender) = table.waiting.remove(&id) {
                    // The caller may have stopped waiting.
                    drop(sender.send(outcome));
                }
                ResponseMatch::Asked
            }
            _ => ResponseMatch::Unasked,
        }
    }

    /// No more responses will come.
    pub(super) fn end(&self) {
        let mut table = self.lock();
        table.is_over = true;
        let waiting = mem::take(&mut table.waiting);
        drop(table);
        drop(waiting);
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        lock(&self.0)
    }
}

impl Ticket<'_> {
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// The response, or none if none will come.
    pub(super) async fn answer(mut self) -> Option<ResponseOutcome> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.pending.lock().waiting.remove(&self.id);
    }
}
