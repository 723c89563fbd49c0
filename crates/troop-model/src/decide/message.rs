//! Messages that decisions send.

use uuid::Uuid;

use super::Draft;
use crate::{Fact, MessageKind, Notice, Origin, Party, TaskNumber};

/// A message that asks and answers nothing.
#[derive(Clone, Debug)]
pub(super) struct MessageDraft {
    pub(super) from: Party,
    pub(super) to: Party,
    /// The recipient, unless it is only for the log.
    pub(super) readers: Vec<Party>,
    pub(super) kind: MessageKind,
    pub(super) content: String,
    pub(super) summary: Option<String>,
    pub(super) notice: Option<Notice>,
    pub(super) task: Option<TaskNumber>,
    /// The message that it replaces.
    pub(super) supersedes: Option<Uuid>,
    pub(super) origin: Origin,
}

impl MessageDraft {
    pub(super) fn new(from: Party, to: Party, kind: MessageKind, content: String) -> Self {
        Self {
            from,
            readers: vec![to.clone()],
            to,
            kind,
            content,
            summary: None,
            notice: None,
            task: None,
            supersedes: None,
            origin: Origin::default(),
        }
    }
}

impl Draft<'_> {
    /// Sends a message, also if the mailbox is full. Returns its id.
    pub(super) fn send(&mut self, message: MessageDraft) -> Uuid {
        let id = self.new_id();
        self.push(Fact::MessageSent {
            id,
            from: message.from,
            to: message.to,
            message_kind: message.kind,
            content: message.content,
            summary: message.summary,
            notice: message.notice,
            request_id: None,
            approve: None,
            task: message.task,
            readers: message.readers,
            supersedes: message.supersedes,
            origin: message.origin,
        });
        id
    }
}
