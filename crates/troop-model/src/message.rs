//! Messages between members, and their receipts.

use std::{collections::BTreeSet, fmt, ops::Bound};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use uuid::Uuid;

use crate::{
    JournaledMap, MailMark, MemberName, Origin, TaskNumber, Time, Version, name,
    roster::shown_as_word,
};

/// The kind of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// A message to one recipient.
    #[default]
    #[serde(alias = "direct", alias = "chat")]
    Message,
    /// A message to all but the sender.
    Broadcast,
    /// The lead asks a member to stop.
    ShutdownRequest,
    /// The member agrees, or refuses with a reason.
    ShutdownResponse,
    /// A member asks for approval of its plan.
    PlanApprovalRequest,
    /// The lead's answer.
    PlanApprovalResponse,
    /// A member asks whether it may do something.
    PermissionRequest,
    /// The lead's or a person's answer.
    PermissionResponse,
    /// A member is idle.
    Idle,
    /// A task was assigned to a member.
    TaskAssignment,
    /// A notice from troop itself.
    System,
}

shown_as_word! {
    MessageKind {
        Message => "message", Broadcast => "broadcast",
        ShutdownRequest => "shutdown_request", ShutdownResponse => "shutdown_response",
        PlanApprovalRequest => "plan_approval_request", PlanApprovalResponse => "plan_approval_response",
        PermissionRequest => "permission_request", PermissionResponse => "permission_response",
        Idle => "idle", TaskAssignment => "task_assignment", System => "system",
    }
}

impl MessageKind {
    /// The kind of the request that this kind answers, if it is an answer.
    #[must_use]
    pub fn answers(self) -> Option<Self> {
        match self {
            Self::ShutdownResponse => Some(Self::ShutdownRequest),
            Self::PlanApprovalResponse => Some(Self::PlanApprovalRequest),
            Self::PermissionResponse => Some(Self::PermissionRequest),
            Self::Message
            | Self::Broadcast
            | Self::ShutdownRequest
            | Self::PlanApprovalRequest
            | Self::PermissionRequest
            | Self::Idle
            | Self::TaskAssignment
            | Self::System => None,
        }
    }

    /// The kind of the answer, if this kind is a request.
    #[must_use]
    pub fn answered_by(self) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.answers() == Some(self))
    }

    /// Parses a kind or one of its aliases: `direct` and `chat` mean a message.
    pub fn parse(text: &str) -> Result<Self, crate::UnknownWord> {
        match text {
            "direct" | "chat" => Ok(Self::Message),
            other => other.parse(),
        }
    }
}

/// The subject of a notice to a member, for programs that branch on it. People read the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// A hook refused something, and no other event says so.
    Vetoed,
    /// A hook refused what the member did. A separate event says so, too.
    DeedVetoed,
    /// The member's work is not done yet: it could not be merged, or a check failed. A separate event says so, too.
    NotDone,
    /// The member is idle but holds a task, and must report on it.
    ReportDue,
    /// A member has ended a task, and another event says so, too. The lead is told.
    Result,
    /// What the lead is to reach. The only notice of a person; logs of form 3 and older have these messages without it.
    Goal,
}

/// A sender or recipient: a member, the person, or troop itself.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Party(SmolStr);

impl Party {
    /// A member.
    #[must_use]
    pub fn member(name: &MemberName) -> Self {
        Self(SmolStr::new(name.as_str()))
    }

    /// The person at the keyboard.
    #[must_use]
    pub fn user() -> Self {
        Self(SmolStr::new_static(name::USER))
    }

    /// troop itself.
    #[must_use]
    pub fn system() -> Self {
        Self(SmolStr::new_static(name::SYSTEM))
    }

    /// Everybody but the sender.
    #[must_use]
    pub fn everybody() -> Self {
        Self(SmolStr::new_static(name::EVERYBODY))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl PartialEq<MemberName> for Party {
    fn eq(&self, other: &MemberName) -> bool {
        self.0 == other.as_str()
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub id: Uuid,
    /// The sender: set by the board, never taken from the message.
    pub from: Party,
    /// The recipient: a name, or `*`.
    pub to: Party,
    pub kind: MessageKind,
    pub content: String,
    /// A one-line summary.
    pub summary: Option<String>,
    /// When it was stored.
    pub sent_at: Time,
    /// The request that it makes or answers.
    pub request_id: Option<Uuid>,
    /// The answer to that request.
    pub approve: Option<bool>,
    /// The subject of a notice.
    pub notice: Option<Notice>,
    /// The task that it is about.
    pub task: Option<TaskNumber>,
    /// The conversation that it belongs to, where answers go.
    pub origin: Origin,
    /// One receipt for each reader.
    pub receipts: Vec<Receipt>,
}

impl Message {
    /// What it says about the conversation that it belongs to.
    #[must_use]
    pub fn mark(&self) -> MailMark<'_> {
        MailMark { id: self.id, from: &self.from, kind: self.kind, origin: &self.origin }
    }

    /// Whether a newer notice that repeats what it says may replace it: nobody has got it yet.
    #[must_use]
    pub fn is_replaceable(&self) -> bool {
        let is_result = self.notice == Some(Notice::Result);
        let is_idle = self.kind == MessageKind::Idle && self.task.is_none();
        (is_result || is_idle) && self.receipts.iter().all(|it| it.delivered_at.is_none())
    }

    /// Whether it is in the inbox of a person: it belongs to a conversation of that user, or to none of any user.
    #[must_use]
    pub fn is_in_inbox_of(&self, viewer: &Origin) -> bool {
        let user = self.origin.user_id.as_ref();
        viewer.is_internal() || user.is_none_or(|user| viewer.user_id.as_ref() == Some(user))
    }
}

/// The receipt of a message for one reader. Its existence means that the message is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub reader: Party,
    pub delivered_at: Option<Time>,
    pub read_at: Option<Time>,
}

/// The messages in memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mailbox {
    messages: JournaledMap<Version, Message>,
    unread: JournaledMap<(Party, Version), ()>,
    /// How many unread messages each reader has; no entry means none.
    n_unread: JournaledMap<Party, usize>,
    /// Messages that all readers have read, oldest first.
    settled: JournaledMap<Version, ()>,
}

impl Mailbox {
    /// The unread messages of a reader, oldest first.
    pub fn unread_of<'a>(&'a self, reader: &Party) -> impl Iterator<Item = &'a Message> {
        self.unread_range(reader).filter_map(|(_, version)| self.messages.entries().get(version))
    }

    /// How many unread messages a reader has.
    #[must_use]
    pub fn n_unread(&self, reader: &Party) -> usize {
        self.n_unread.entries().get(reader).copied().unwrap_or(0)
    }

    /// All messages in memory, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.messages.entries().values()
    }

    pub(crate) fn insert(&mut self, version: Version, message: Message) {
        for receipt in &message.receipts {
            let n_unread = self.n_unread(&receipt.reader);
            self.n_unread.insert(receipt.reader.clone(), n_unread + 1);
            self.unread.insert((receipt.reader.clone(), version), ());
        }
        if message.receipts.is_empty() {
            self.settled.insert(version, ());
        }
        self.messages.insert(version, message);
    }

    pub(crate) fn mark_delivered(&mut self, reader: &Party, ids: &[Uuid], at: Time) {
        for version in self.find_unread(reader, ids) {
            self.messages.update(&version, |message| {
                for receipt in
                    message.receipts.iter_mut().filter(|receipt| receipt.reader == *reader)
                {
                    receipt.delivered_at.get_or_insert(at);
                }
            });
        }
    }

    pub(crate) fn mark_read(&mut self, reader: &Party, ids: &[Uuid], at: Time) {
        for version in self.find_unread(reader, ids) {
            self.forget_unread(reader, version);
            let mut all_read = false;
            self.messages.update(&version, |message| {
                for receipt in
                    message.receipts.iter_mut().filter(|receipt| receipt.reader == *reader)
                {
                    receipt.delivered_at.get_or_insert(at);
                    receipt.read_at.get_or_insert(at);
                }
                all_read = message.receipts.iter().all(|receipt| receipt.read_at.is_some());
            });
            if all_read {
                self.settled.insert(version, ());
            }
        }
    }

    /// Forgets the unread messages of a member that left, so that a later member of that name does not get them.
    pub(crate) fn drop_reader(&mut self, reader: &Party) {
        let left: Vec<_> = self.unread_range(reader).map(|(_, version)| *version).collect();
        left.into_iter().for_each(|version| self.drop_unread(reader, version));
    }

    /// Removes a reader from a message.
    pub(crate) fn drop_message(&mut self, reader: &Party, id: Uuid) {
        for version in self.find_unread(reader, &[id]) {
            self.drop_unread(reader, version);
        }
    }

    fn drop_unread(&mut self, reader: &Party, version: Version) {
        self.forget_unread(reader, version);
        let mut all_read = false;
        self.messages.update(&version, |message| {
            message.receipts.retain(|receipt| receipt.reader != *reader);
            all_read = message.receipts.iter().all(|receipt| receipt.read_at.is_some());
        });
        if all_read {
            self.settled.insert(version, ());
        }
    }

    pub(crate) fn begin(&mut self) {
        self.messages.begin();
        self.unread.begin();
        self.n_unread.begin();
        self.settled.begin();
    }

    pub(crate) fn rollback(&mut self) {
        self.messages.rollback();
        self.unread.rollback();
        self.n_unread.rollback();
        self.settled.rollback();
    }

    /// Forgets the oldest messages that all readers have read, except the last `n_kept`.
    pub(crate) fn forget_settled(&mut self, n_kept: usize) {
        while self.settled.entries().len() > n_kept {
            let Some(oldest) = self.settled.entries().keys().next().copied() else { return };
            self.settled.remove(&oldest);
            self.messages.remove(&oldest);
        }
    }

    fn forget_unread(&mut self, reader: &Party, version: Version) {
        self.unread.remove(&(reader.clone(), version));
        match self.n_unread(reader) {
            0 | 1 => self.n_unread.remove(reader),
            n_unread => self.n_unread.insert(reader.clone(), n_unread - 1),
        }
    }

    fn find_unread(&self, reader: &Party, ids: &[Uuid]) -> Vec<Version> {
        let ids: BTreeSet<&Uuid> = ids.iter().collect();
        let is_meant = |version: &Version| {
            self.messages.entries().get(version).is_some_and(|message| ids.contains(&message.id))
        };
        self.unread_range(reader).map(|(_, version)| *version).filter(is_meant).collect()
    }

    fn unread_range(&self, reader: &Party) -> impl Iterator<Item = &(Party, Version)> {
        let start = (reader.clone(), Version::ZERO);
        let end = (reader.clone(), Version(u64::MAX));
        self.unread
            .entries()
            .range((Bound::Included(start), Bound::Included(end)))
            .map(|(key, ())| key)
    }
}

#[cfg(test)]
impl Mailbox {
    /// Checks the derived indexes against the messages.
    pub(crate) fn check(&self, n_settled: usize) {
        let mut unread = BTreeSet::new();
        let mut settled = BTreeSet::new();
        for (version, message) in self.messages.entries() {
            let waiting = message.receipts.iter().filter(|receipt| receipt.read_at.is_none());
            let before = unread.len();
            unread.extend(waiting.map(|receipt| (receipt.reader.clone(), *version)));
            if unread.len() == before {
                settled.insert(*version);
            }
        }
        assert!(self.unread.entries().keys().eq(&unread), "who has not read what");
        assert!(self.settled.entries().keys().eq(&settled), "what all have read");
        assert!(settled.len() <= n_settled, "what all have read leaves the mailbox");
        for (reader, n_unread) in self.n_unread.entries() {
            assert_eq!(self.unread_range(reader).count(), *n_unread, "unread of {reader}");
        }
        let n_unread: usize = self.n_unread.entries().values().sum();
        assert_eq!(n_unread, unread.len(), "every unread message is counted");
    }
}
