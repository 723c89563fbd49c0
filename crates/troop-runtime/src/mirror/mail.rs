//! Messages in files, for members that have no other way to get them.
//!
//! The board says who has read what. A message that waits for somebody whom nobody runs is put into its inbox, and that is
//! its delivery; when it is gone from there, it was read. What others put there is said on the board.

mod claude;
mod seeds;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::{Map, Value};
use troop_model::{
    Command, Fact, MemberName, Message, MessageKind, OperationId, Outgoing, Party, Refusal, State,
    Version,
};
use uuid::Uuid;

use super::{
    Item, Mirror, MirrorError, Settled,
    disk::{self, Stamp},
    is_external,
    layout::{self, Layout, Letter},
    operation, unusable,
};

/// What lies in an inbox, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Inbox {
    /// The messages, by the name of the file or of the entry.
    letters: BTreeMap<String, Uuid>,
    /// The file's, where an inbox is one.
    stamp: Option<Stamp>,
}

/// What the board knows about somebody's mail.
struct Mail {
    member: MemberName,
    /// Whether it gets its mail in another way, because troop runs it.
    is_running: bool,
    /// Whether it gets its mail in no other way, so that what was handed over was put into its inbox.
    is_external: bool,
    unread: BTreeSet<Uuid>,
    /// Unread messages that are not known to lie in the inbox.
    missing: Vec<Missing>,
}

struct Missing {
    message: Message,
    was_delivered: bool,
}

/// What came of a message that somebody put into an inbox.
enum Said {
    /// It is on the board.
    Sent(Uuid),
    Refused(String),
}

impl Mirror {
    pub(super) async fn settle_inbox(&mut self, owner: &str) -> Result<Settled, MirrorError> {
        let inbox = self.inboxes.get(owner).cloned().unwrap_or_default();
        let known: BTreeSet<Uuid> = inbox.letters.values().copied().collect();
        let mail = self.mail(owner, known).await?;
        match self.places.layout {
            Layout::Seeds => self.settle_folder(owner, inbox, mail).await,
            Layout::Claude => self.settle_file(owner, inbox, mail).await,
        }
    }

    /// Marks the inboxes that differ from what was seen of them last.
    pub(super) fn mark_inboxes(&mut self) -> Result<(), MirrorError> {
        let folder = self.places.inboxes();
        let entries = std::fs::read_dir(&folder).map_err(unusable(&folder))?;
        for entry in entries {
            let path = entry.map_err(unusable(&folder))?.path();
            let Some(Item::Inbox(owner)) = self.item_at(&path) else { continue };
            let known = self.inboxes.get(&owner);
            let is_same = match self.places.layout {
                Layout::Seeds => {
                    let there = disk::list(&path).map_err(unusable(&path))?;
                    let known = known.into_iter().flat_map(|it| it.letters.keys());
                    there.iter().eq(known)
                }
                Layout::Claude => {
                    let stamp = Stamp::of(&path).map_err(unusable(&path))?;
                    path.extension().is_none_or(|it| it != "json")
                        || known.is_some_and(|it| it.stamp == stamp)
                }
            };
            if !is_same {
                self.dirty.insert(Item::Inbox(owner));
            }
        }
        Ok(())
    }

    /// What the board knows about somebody's mail; none if it does not know who that is.
    async fn mail(&self, owner: &str, known: BTreeSet<Uuid>) -> Result<Option<Mail>, MirrorError> {
        let owner = owner.to_owned();
        let look = move |state: &State| {
            let member = state.find_member(&owner).ok()?;
            let reader = Party::member(&member.name);
            let (mut unread, mut missing) = (BTreeSet::new(), Vec::new());
            for message in state.mailbox().unread_of(&reader) {
                unread.insert(message.id);
                if !known.contains(&message.id) {
                    let receipt = message.receipts.iter().find(|it| it.reader == reader);
                    let was_delivered = receipt.is_some_and(|it| it.delivered_at.is_some());
                    missing.push(Missing { message: message.clone(), was_delivered });
                }
            }
            Some(Mail {
                is_running: member.is_running(),
                is_external: is_external(state, &member.name),
                member: member.name.clone(),
                unread,
                missing,
            })
        };
        Ok(self.board.look(look).await?)
    }

    /// Says on the board what somebody put into an inbox.
    async fn say(
        &self,
        to: &MemberName,
        raw: &Map<String, Value>,
        operation: OperationId,
    ) -> Result<Said, MirrorError> {
        let letter = match layout::read_letter(self.places.layout, raw) {
            Ok(letter) => letter,
            Err(reason) => return Ok(Said::Refused(reason.to_string())),
        };
        let names = self.names().await?;
        let from = names.canonical(&letter.from);
        let command = self.outgoing(to, &from, letter).await?;
        match self.submit(Some(&from), operation, command.clone()).await? {
            Ok(done) => Ok(Said::Sent(sent(&done.events).unwrap_or(operation.nth_id(1)))),
            Err(Refusal::ForgottenOperation { .. }) => {
                if let Some(id) = self.was_said(operation).await? {
                    return Ok(Said::Sent(id));
                }
                let operation = operation::anew(operation, self.clock.now());
                Ok(match self.submit(Some(&from), operation, command).await? {
                    Ok(done) => Said::Sent(sent(&done.events).unwrap_or(operation.nth_id(1))),
                    Err(refusal) => Said::Refused(refusal.to_string()),
                })
            }
            Err(refusal) => Ok(Said::Refused(refusal.to_string())),
        }
    }

    async fn outgoing(
        &self,
        to: &MemberName,
        from: &str,
        mut letter: Letter,
    ) -> Result<Command, MirrorError> {
        let asked = [
            (MessageKind::ShutdownResponse, MessageKind::ShutdownRequest),
            (MessageKind::PlanApprovalResponse, MessageKind::PlanApprovalRequest),
        ];
        let asked = asked.into_iter().find(|(answer, _)| *answer == letter.kind);
        if let Some((_, asked)) = asked.filter(|_| letter.request_id.is_none()) {
            // Whoever does not say which request it answers means the last one.
            let (to, from) = (to.clone(), from.to_owned());
            let look = move |state: &State| {
                let is_meant = |it: &troop_model::Request| {
                    it.kind == asked && it.from == to && it.to.as_str() == from
                };
                let open = state.requests().filter(|(_, it)| is_meant(it));
                open.max_by_key(|(_, it)| it.at).map(|(id, _)| *id)
            };
            letter.request_id = self.board.look(look).await?;
            letter.approve.get_or_insert(true);
        }
        let Letter { kind, content, summary, request_id, approve, .. } = letter;
        let to = to.to_string();
        Ok(Command::Send(Outgoing { to, kind, content, summary, request_id, approve }))
    }

    /// Whether something was said so long ago that the board has forgotten: the log has not.
    async fn was_said(&self, operation: OperationId) -> Result<Option<Uuid>, MirrorError> {
        let at_hand = move |state: &State| {
            let is_it = |message: &Message| {
                operation::is_same(OperationId(message.id), OperationId(operation.nth_id(1)))
            };
            state.mailbox().iter().find(|it| is_it(it)).map(|it| it.id)
        };
        if let Some(id) = self.board.look(at_hand).await? {
            return Ok(Some(id));
        }
        let mut log = self.board.subscribe(Version::ZERO);
        while let Some(event) = log.next_stored().await? {
            if operation::is_same(event.operation, operation)
                && let Some(id) = sent(std::slice::from_ref(&event))
            {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Records that messages lie in their reader's inbox, or were taken from there.
    async fn record(
        &self,
        reader: &MemberName,
        delivered: Vec<Uuid>,
        read: Vec<Uuid>,
    ) -> Result<(), MirrorError> {
        let fresh = || OperationId(Uuid::now_v7());
        let by = Some(reader.as_str());
        if !delivered.is_empty() {
            let command = Command::MarkDelivered { reader: None, messages: delivered };
            drop(self.submit(by, fresh(), command).await?);
        }
        if !read.is_empty() {
            let command = Command::MarkRead { reader: None, messages: Some(read) };
            drop(self.submit(by, fresh(), command).await?);
        }
        Ok(())
    }

    /// Refuses what somebody put into an inbox.
    async fn refuse_letter(
        &mut self,
        path: &Path,
        raw: Option<&Map<String, Value>>,
        reason: &str,
        operation: OperationId,
    ) -> Result<(), MirrorError> {
        let from = raw.and_then(|raw| raw.get("from")).and_then(Value::as_str).map(str::to_owned);
        self.refuse(path, from.as_deref(), operation, reason).await
    }
}

/// The message that was sent.
fn sent<E: std::borrow::Borrow<troop_model::Event>>(events: &[E]) -> Option<Uuid> {
    events.iter().find_map(|event| {
        let Fact::MessageSent { id, .. } = &event.borrow().fact else { return None };
        Some(*id)
    })
}
