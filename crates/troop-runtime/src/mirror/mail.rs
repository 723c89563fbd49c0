//! A visit to an inbox: messages that others put there go to the board, and messages that wait for its owner are put there.
//! `rules` decides what becomes of each message, and in which order; here it is done.

mod claude;
mod noted;
mod seeds;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use troop_model::{
    Command, Fact, MemberName, Message, OperationId, Party, Refusal, State, Version,
};
use uuid::Uuid;

use super::{
    Item, Mirror, MirrorError, Settlement,
    disk::{self, Stamp},
    layout::{self, Layout, Names},
    operation,
    rules::{self, InboxEffect, KnownInbox, MissingLetter, OwnerMail},
    unusable,
};
use crate::CommandEffect;

/// A visit to the inbox of one member.
pub(super) struct InboxVisit<'a> {
    mirror: &'a mut Mirror,
    owner: &'a str,
    /// The folder of its messages, or the file with all of them.
    path: PathBuf,
}

/// The result of sending a message that somebody put into an inbox.
enum LetterOutcome {
    /// It is on the board since now.
    Sent(Uuid),
    /// Some mirror sent it before.
    Known(Uuid),
    Refused(String),
}

impl<'a> InboxVisit<'a> {
    pub(super) fn new(mirror: &'a mut Mirror, owner: &'a str) -> Self {
        let path = mirror.places.inbox(owner);
        Self { mirror, owner, path }
    }

    pub(super) async fn settle(mut self) -> Result<Settlement, MirrorError> {
        if self.recognise().await? {
            return Ok(Settlement::Done);
        }
        let Some(_lock) = self.mirror.lock_inbox(self.owner, &self.path).await? else {
            return Ok(Settlement::Later);
        };
        // A board that is behind would take what another mirror put there for a message that was read.
        self.mirror.catch_up().await?;
        let layout = self.mirror.places.layout;
        if layout == Layout::Seeds && self.path.is_symlink() {
            disk::set_aside(&self.path).map_err(unusable(&self.path))?;
            self.mirror.notice_refused(&self.path, "it is a link, which may lead anywhere");
        }
        if !self.path.exists() {
            // A reader takes messages out of an inbox, but leaves the inbox. One that is gone is lost.
            self.forget_notes()?;
        }
        let known = self.mirror.memory.inboxes.get(self.owner).cloned();
        let is_first = known.is_none();
        let inbox = known.unwrap_or_default();
        let mail = self.mail(inbox.ids()).await?;
        let mut noted = self.noted()?;
        if let Some(mail) = mail.as_ref().filter(|_| is_first) {
            let over = noted.extract_if(.., |id| !mail.unread.contains(id));
            over.for_each(|id| self.forget_note(id));
        }
        match layout {
            Layout::Seeds => self.settle_folder(inbox, mail, noted).await,
            Layout::Claude => self.settle_file(inbox, mail, noted).await,
        }
    }

    /// Whether what lies in the inbox is what was seen last, or what troop wrote, and is what has to lie there.
    async fn recognise(&mut self) -> Result<bool, MirrorError> {
        if self.path.is_symlink() {
            return Ok(false);
        }
        if !self.path.exists() {
            // An inbox that is one file is made for its first message.
            let was_used = self.mirror.places.noted(self.owner).exists();
            let mail = self.mail(BTreeSet::new()).await?;
            // A file that is no member's inbox may be a lock or a half-written file beside one.
            let is_empty = mail.is_none_or(|it| it.is_in(&KnownInbox::default()));
            return Ok(self.mirror.places.layout == Layout::Claude && !was_used && is_empty);
        }
        let known = self.mirror.memory.inboxes.get(self.owner).cloned();
        let inbox = match self.mirror.places.layout {
            Layout::Seeds => {
                let there = disk::list(&self.path).map_err(unusable(&self.path))?;
                let there: BTreeSet<String> = there.into_iter().collect();
                match known {
                    Some(known) => Some(known).filter(|it| it.letters.keys().eq(&there)),
                    None => rules::recognised_folder(&there, &self.noted()?),
                }
            }
            Layout::Claude => {
                let stamp = Stamp::of(&self.path).map_err(unusable(&self.path))?;
                known.filter(|it| it.stamp == stamp)
            }
        };
        let Some(inbox) = inbox else { return Ok(false) };
        let mail = self.mail(inbox.ids()).await?;
        let is_at_rest = mail.is_some_and(|it| it.is_in(&inbox));
        if is_at_rest {
            self.mirror.memory.inboxes.insert(self.owner.to_owned(), inbox);
        }
        Ok(is_at_rest)
    }

    /// Has the inbox visited again, if messages are to be put back.
    fn look_again_if(&mut self, is_incomplete: bool) {
        if is_incomplete {
            self.mirror.work.mark(Item::Inbox(self.owner.to_owned()));
        }
    }

    /// The board's mail for the owner; none if it does not know the owner.
    async fn mail(&self, known: BTreeSet<Uuid>) -> Result<Option<OwnerMail>, MirrorError> {
        let owner = self.owner.to_owned();
        let look = move |state: &State| rules::owner_mail(state, &owner, &known);
        Ok(self.mirror.board.look(look).await?)
    }

    /// Sends what somebody put into the inbox through the board.
    async fn say(
        &self,
        to: &MemberName,
        raw: &Map<String, Value>,
        operation: OperationId,
    ) -> Result<LetterOutcome, MirrorError> {
        let letter = match layout::read_letter(self.mirror.places.layout, raw) {
            Ok(letter) => letter,
            Err(reason) => return Ok(LetterOutcome::Refused(reason.to_string())),
        };
        let to = to.clone();
        let look = move |state: &State| {
            let from = Names::new(state).canonical(&letter.from);
            let command = rules::outgoing(state, &to, &from, letter);
            (state.version(), from, command)
        };
        let (before, from, command) = self.mirror.board.look(look).await?;
        let sent = |done: &CommandEffect, operation: OperationId| {
            let id = rules::sent(&done.events).unwrap_or(operation.nth_id(1));
            let is_new = done.version > before;
            if is_new { LetterOutcome::Sent(id) } else { LetterOutcome::Known(id) }
        };
        match self.mirror.submit(Some(&from), operation, command.clone()).await? {
            Ok(done) => Ok(sent(&done, operation)),
            Err(Refusal::ForgottenOperation { .. }) => {
                if let Some(id) = self.find_sent(operation).await? {
                    return Ok(LetterOutcome::Known(id));
                }
                let operation = operation::anew(operation, self.mirror.clock.now());
                Ok(match self.mirror.submit(Some(&from), operation, command).await? {
                    Ok(done) => sent(&done, operation),
                    Err(refusal) => LetterOutcome::Refused(refusal.to_string()),
                })
            }
            Err(refusal) => Ok(LetterOutcome::Refused(refusal.to_string())),
        }
    }

    /// Finds a message that was sent so long ago that the board has forgotten its operation; the log has not.
    async fn find_sent(&self, operation: OperationId) -> Result<Option<Uuid>, MirrorError> {
        let at_hand = move |state: &State| {
            let is_it = |message: &Message| {
                operation::is_same(OperationId(message.id), OperationId(operation.nth_id(1)))
            };
            state.mailbox().iter().find(|it| is_it(it)).map(|it| it.id)
        };
        if let Some(id) = self.mirror.board.look(at_hand).await? {
            return Ok(Some(id));
        }
        let mut log = self.mirror.board.subscribe(Version::ZERO);
        while let Some(event) = log.next_stored().await? {
            if operation::is_same(event.operation, operation)
                && let Some(id) = rules::sent(std::slice::from_ref(&event))
            {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Whether a message of the board was sent to a member, however long ago.
    async fn was_sent(&self, id: Uuid, to: &MemberName) -> Result<bool, MirrorError> {
        let reader = Party::member(to);
        let mut log = self.mirror.board.subscribe(Version::ZERO);
        while let Some(event) = log.next_stored().await? {
            if let Fact::MessageSent { id: sent, readers, .. } = &event.fact
                && *sent == id
            {
                return Ok(readers.contains(&reader));
            }
        }
        Ok(false)
    }

    /// Brings the inbox to where it has to be, in the order that the rules give.
    async fn run(
        &mut self,
        effects: Vec<InboxEffect>,
        reader: &MemberName,
    ) -> Result<(), MirrorError> {
        let by = Some(reader.as_str());
        let fresh = || OperationId(Uuid::now_v7());
        let mut written = None;
        for effect in effects {
            match effect {
                InboxEffect::ForgetNote(id) => self.forget_note(id),
                InboxEffect::RemoveLetter(name) => {
                    let path = self.path.join(name);
                    disk::remove(&path).map_err(unusable(&path))?;
                }
                InboxEffect::MakeFolder => self.make_folder()?,
                InboxEffect::WriteLetter(MissingLetter { name, content, .. }) => {
                    self.mirror.write(&self.path.join(&name), &content)?;
                }
                InboxEffect::WriteFile(entries) => {
                    written = Some(self.mirror.write(&self.path, &Value::Array(entries))?);
                }
                InboxEffect::Note(ids) => self.note(&ids)?,
                InboxEffect::Remember(inbox) => {
                    let stamp = written.or(inbox.stamp);
                    let inbox = KnownInbox { stamp, ..inbox };
                    self.mirror.memory.inboxes.insert(self.owner.to_owned(), inbox);
                }
                InboxEffect::MarkDelivered(messages) => {
                    let command = Command::MarkDelivered { reader: None, messages };
                    drop(self.mirror.submit(by, fresh(), command).await?);
                }
                InboxEffect::MarkRead(read) => {
                    let command = Command::MarkRead { reader: None, messages: Some(read) };
                    drop(self.mirror.submit(by, fresh(), command).await?);
                }
            }
        }
        Ok(())
    }

    /// Refuses what somebody put into the inbox.
    async fn refuse_letter(
        &mut self,
        path: &Path,
        raw: Option<&Map<String, Value>>,
        reason: &str,
        operation: OperationId,
    ) -> Result<(), MirrorError> {
        let from = raw.and_then(|raw| raw.get("from")).and_then(Value::as_str);
        self.mirror.refuse(path, from, operation, reason).await
    }
}
