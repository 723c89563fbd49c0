//! Mail that waits for the agent, each message once.

use std::collections::{HashSet, VecDeque};

use troop_protocol::MessageIn;
use uuid::Uuid;

/// How many messages may wait. A lead that stores messages sends the rest again.
const MAX_WAITING: usize = 4_096;
/// How many messages are recognised when they arrive twice.
const MAX_KNOWN: usize = 2 * MAX_WAITING;

#[derive(Debug, Default)]
pub(super) struct MailQueue {
    waiting: VecDeque<MessageIn>,
    /// The ids of the latest messages, and their order.
    known: HashSet<Uuid>,
    order: VecDeque<Uuid>,
    /// Messages that the agent has read, but that are not yet acknowledged.
    pub(super) owed: Vec<Uuid>,
}

impl MailQueue {
    pub(super) fn receive(&mut self, message: MessageIn) {
        if message.id.is_some_and(|id| self.known.contains(&id)) {
            // The lead would not send it again if it knew that it was read.
            let waits = self.waiting.iter().any(|it| it.id == message.id);
            self.owed.extend(message.id.filter(|_| !waits));
            return;
        }
        if self.waiting.len() >= MAX_WAITING {
            return;
        }
        self.remember(message.id);
        self.waiting.push_back(message);
    }

    pub(super) fn has_some(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn take_one(&mut self) -> Option<MessageIn> {
        let message = self.waiting.pop_front()?;
        self.owed.extend(message.id);
        Some(message)
    }

    pub(super) fn take_all(&mut self) -> Vec<MessageIn> {
        std::iter::from_fn(|| self.take_one()).collect()
    }

    fn remember(&mut self, id: Option<Uuid>) {
        let Some(id) = id else { return };
        self.known.insert(id);
        self.order.push_back(id);
        if self.order.len() > MAX_KNOWN
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}
