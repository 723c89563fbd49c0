//! The conversation in which a lead's agent acts: that of the mail it was handed last.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::{Asker, Command, MessageKind, MessageView, Origin, Party};

/// The conversation in which an agent acts, and the requests that it acts on.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    current: Option<Origin>,
    /// The last request of each conversation: the parent trace of delegations made for it.
    requests: BTreeMap<Origin, Uuid>,
}

/// What a message says about the conversation that it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct MailMark<'a> {
    pub id: Uuid,
    pub from: &'a Party,
    pub kind: MessageKind,
    pub origin: &'a Origin,
}

impl MailMark<'_> {
    /// Whether the message begins or continues a conversation. Internal mail has none, and an answer to the reader's own request
    /// belongs to what it is doing, whoever answers.
    #[must_use]
    pub fn has_conversation(&self) -> bool {
        !self.origin.is_internal() && self.kind.answers().is_none()
    }
}

impl Conversation {
    /// The origin of what the agent does.
    #[must_use]
    pub fn origin(&self) -> Option<&Origin> {
        self.current.as_ref()
    }

    /// The agent was handed a message, and acts in its conversation from now on.
    pub fn turn_to(&mut self, mail: &MailMark<'_>) {
        if !mail.has_conversation() {
            return;
        }
        if *mail.from == Party::user() {
            self.requests.insert(mail.origin.clone(), mail.id);
        }
        self.current = Some(mail.origin.clone());
    }

    /// Puts a command of the agent into its conversation.
    pub fn place(&self, asker: &mut Asker, command: &mut Command) {
        let Some(origin) = &self.current else { return };
        asker.origin = origin.clone();
        if let Command::Delegate { trace_id: trace_id @ None, .. } = command {
            *trace_id = self.requests.get(origin).copied();
        }
    }
}

/// Of unread mail, that of one conversation, with everything that has none: an agent that reads requests of several users at once
/// cannot know for whom it acts. The conversation is the one at hand, else the first.
#[must_use]
pub fn of_one_conversation(
    mut unread: Vec<MessageView>,
    at_hand: Option<&Origin>,
) -> Vec<MessageView> {
    let first = unread.iter().find(|it| it.mark().has_conversation());
    if let Some(only) = at_hand.or(first.map(|it| &it.origin)).cloned() {
        unread.retain(|it| !it.mark().has_conversation() || it.origin == only);
    }
    unread
}
