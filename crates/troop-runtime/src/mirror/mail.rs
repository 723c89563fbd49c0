//! Messages in files, for members that have no other way to get them.
//!
//! The board says who has read what. A message that waits for somebody whom nobody runs is put into its inbox, and that is
//! its delivery; when it is gone from where it lay, it was read. What others put there is said on the board.

mod claude;
mod noted;
mod seeds;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::{Map, Value};
use troop_model::{
    Actor, Command, Fact, MemberName, MemberState, Message, MessageKind, OperationId, Outgoing,
    Party, Refusal, State, StateCause, Version,
};
use uuid::Uuid;

use super::{
    Item, Mirror, MirrorError, Settled,
    disk::{self, Stamp},
    is_external_in,
    layout::{self, Layout, Letter, Posted},
    operation, unusable,
};
use crate::CommandEffect;

/// How the summary of a request begins that has another id in the files than here.
const REQUEST: &str = "request ";

/// What lies in an inbox, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Inbox {
    /// The messages, by the name of the file or of the entry.
    letters: BTreeMap<String, Uuid>,
    /// The file's, where an inbox is one.
    stamp: Option<Stamp>,
}

impl Inbox {
    fn ids(&self) -> BTreeSet<Uuid> {
        self.letters.values().copied().collect()
    }
}

/// What the board knows about somebody's mail.
struct Mail {
    member: MemberName,
    /// Whether it gets its mail in another way, because troop runs it.
    is_running: bool,
    unread: BTreeSet<Uuid>,
    /// Unread messages that are not known to lie in the inbox.
    missing: Vec<Posted>,
}

/// What came of a message that somebody put into an inbox.
enum Said {
    /// It is on the board.
    Sent(Uuid),
    Refused(String),
}

impl Mirror {
    pub(super) async fn settle_inbox(&mut self, owner: &str) -> Result<Settled, MirrorError> {
        let path = self.places.inbox(owner);
        if self.places.layout == Layout::Seeds && path.is_symlink() {
            disk::set_aside(&path).map_err(unusable(&path))?;
            self.notice_refused(&path, "it is a link, which may lead anywhere");
        }
        if !path.exists() {
            // Who reads takes messages out of an inbox. One that is gone is lost.
            self.forget_notes(owner)?;
        }
        let is_first = !self.inboxes.contains_key(owner);
        let inbox = self.inboxes.get(owner).cloned().unwrap_or_default();
        let mail = self.mail(owner, inbox.ids()).await?;
        if let Some(mail) = mail.as_ref().filter(|_| is_first) {
            self.clean_notes(owner, &mail.unread);
        }
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
                    let request_id = request_id(state, message);
                    let task = message.task.and_then(|it| state.tasks().shared(it));
                    missing.push(Posted { message: message.clone(), request_id, task });
                }
            }
            Some(Mail {
                is_running: member.is_running(),
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
            Ok(done) => {
                self.let_stop(&done).await?;
                Ok(Said::Sent(sent(&done.events).unwrap_or(operation.nth_id(1))))
            }
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

    /// Who has agreed to stop has stopped, if nobody runs it who would see that.
    async fn let_stop(&self, done: &CommandEffect) -> Result<(), MirrorError> {
        let stopping = done.events.iter().find_map(|event| {
            let Fact::MemberStateChanged { member, state, .. } = &event.fact else { return None };
            (*state == MemberState::Stopping).then_some(member)
        });
        let Some(member) = stopping.cloned() else { return Ok(()) };
        let asked = member.clone();
        if self.board.look(move |state| is_external_in(state, &asked)).await? {
            let (state, reason) = (MemberState::Stopped, Some("agreed to stop".to_owned()));
            let cause = Some(StateCause::Asked);
            let command = Command::SetMemberState { member, state, reason, cause, pid: None };
            let operation = OperationId(Uuid::now_v7());
            drop(self.submit_as(Actor::system(), operation, command).await?);
        }
        Ok(())
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
        let mut request_id = None;
        if let Some((_, asked)) = asked {
            let (to, from, meant) = (to.clone(), from.to_owned(), letter.request_id.clone());
            let look = move |state: &State| open_request(state, asked, (&to, &from), meant);
            request_id = self.board.look(look).await?;
            letter.approve.get_or_insert(true);
            if request_id.is_none() && letter.request_id.is_some() {
                // Nobody here asked that, so it is told as it stands.
                (letter.kind, letter.content) = (MessageKind::Message, letter.text);
            }
        } else if let Some(id) = letter.request_id.filter(|_| letter.summary.is_none()) {
            letter.summary = Some(format!("{REQUEST}{id}"));
        }
        let Letter { kind, content, summary, approve, .. } = letter;
        let to = to.to_string();
        Ok(Command::Send(Outgoing {
            summary,
            request_id,
            approve,
            ..Outgoing::new(to, kind, content)
        }))
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

    /// Whether a message of the board was sent to somebody, however long ago.
    async fn was_sent(&self, id: Uuid, to: &MemberName) -> Result<bool, MirrorError> {
        let reader = Party::member(to);
        let mut log = self.board.subscribe(Version::ZERO);
        while let Some(event) = log.next_stored().await? {
            if let Fact::MessageSent { id: sent, readers, .. } = &event.fact
                && *sent == id
            {
                return Ok(readers.contains(&reader));
            }
        }
        Ok(false)
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

/// The open request that an answer means: by its id here, or by what whoever asked calls it. Whoever does not say which
/// means the last one.
fn open_request(
    state: &State,
    kind: MessageKind,
    (asker, answerer): (&MemberName, &str),
    meant: Option<String>,
) -> Option<Uuid> {
    let open = state
        .requests()
        .filter(|(_, it)| it.kind == kind && it.from == *asker && it.to.as_str() == answerer);
    let Some(meant) = meant else { return open.max_by_key(|(_, it)| it.at).map(|(id, _)| *id) };
    if let Ok(id) = meant.parse() {
        // If that is none, the board says so.
        return Some(id);
    }
    let mut open = open.map(|(id, _)| *id);
    open.find(|id| called(state, *id).as_ref() == Some(&meant))
}

/// The request that a message is or answers, as whoever asked calls it.
fn request_id(state: &State, message: &Message) -> Option<String> {
    let id = message.request_id?;
    Some(called(state, id).unwrap_or_else(|| id.to_string()))
}

/// What whoever asked through a file calls a request.
fn called(state: &State, request: Uuid) -> Option<String> {
    let message = state.mailbox().iter().find(|it| it.id == request)?;
    Some(message.summary.as_deref()?.strip_prefix(REQUEST)?.to_owned())
}

/// The message that was sent.
fn sent<E: std::borrow::Borrow<troop_model::Event>>(events: &[E]) -> Option<Uuid> {
    events.iter().find_map(|event| {
        let Fact::MessageSent { id, .. } = &event.borrow().fact else { return None };
        Some(*id)
    })
}
