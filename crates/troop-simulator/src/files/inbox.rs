//! A visit to an inbox that is a folder. `troop_runtime::deciding::mirror` decides what becomes of each message and in which order;
//! when the board is asked, when the folder is listed and when the notes are read follows `troop-runtime/src/mirror/mail.rs` and
//! `mail/seeds.rs`. Change both together.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use troop_model::{Actor, Command, Fact, MemberName, Party, Version};
use troop_runtime::deciding::mirror::{
    FolderInbox, InboxEffect, LetterCase, MissingLetter, OwnerMail, Settlement, letter_case,
    owner_mail, read_file, recognised_folder,
};
use uuid::Uuid;

use super::mirror::SimulatedMirror;
use crate::disk::SystemLock;

/// A visit to the inbox of one member.
pub(super) struct SimulatedInboxVisit<'a> {
    mirror: &'a mut SimulatedMirror,
    owner: &'a str,
    folder: String,
}

impl<'a> SimulatedInboxVisit<'a> {
    pub(super) fn new(mirror: &'a mut SimulatedMirror, owner: &'a str) -> Self {
        let folder = format!("inbox/{owner}/");
        Self { mirror, owner, folder }
    }

    pub(super) async fn settle(mut self) -> Settlement {
        if self.rests().await {
            return Settlement::Done;
        }
        self.mirror.seat.boundary().await;
        let lock = format!("inbox/{}", self.owner);
        let Some(_lock) = SystemLock::take(&self.mirror.seat.world, &lock) else {
            return Settlement::Later;
        };
        self.mirror.board.catch_up().await;
        let known = self.mirror.inboxes.get(self.owner).cloned();
        let is_first = known.is_none();
        let mut inbox = known.unwrap_or_default();
        let mail = owner_mail(self.mirror.state(), self.owner, &inbox.ids());
        self.mirror.seat.boundary().await;
        let mut noted = self.noted();
        if let Some(mail) = mail.as_ref().filter(|_| is_first) {
            let over = noted.extract_if(.., |id| !mail.unread.contains(id));
            over.for_each(|id| self.forget_note(id));
        }
        let Some(mail) = mail else { return Settlement::Done };
        self.mirror.seat.boundary().await;
        let there = self.mirror.seat.world.disk.borrow().list(&self.folder);
        let mut arrived = Vec::new();
        let fresh: BTreeMap<_, _> =
            there.iter().filter(|it| !inbox.letters.contains_key(*it)).map(|it| (it, ())).collect();
        for name in fresh.into_keys() {
            if let Some(id) = self.take_letter(name, &mail).await {
                inbox.letters.insert(name.clone(), id);
                arrived.push(id);
            }
        }
        let sorted = FolderInbox::new(inbox, &there, &arrived, &mail, &noted);
        if sorted.is_incomplete {
            self.mirror.look_again(self.owner);
        }
        let effects = sorted.effects(&mail, &noted, arrived, &self.mirror.ids);
        self.run(effects, &mail.member).await;
        Settlement::Done
    }

    /// Takes a file that is new to this process: one that another wrote, or one whose message was read.
    async fn take_letter(&self, name: &str, mail: &OwnerMail) -> Option<Uuid> {
        let seat = &self.mirror.seat;
        let path = format!("{}{name}", self.folder);
        seat.boundary().await;
        let found = seat.world.disk.borrow().read(&path)?;
        let raw = read_file(&found.as_read()).ok()?;
        let withdrawn = match letter_case(Path::new(&path), &raw, mail) {
            LetterCase::Lies(id) => return Some(id),
            LetterCase::Withdrawn(id) => id,
            LetterCase::WithdrawnIfLogged(id) if self.was_sent(id, &mail.member).await => id,
            // All messages go through the board here.
            LetterCase::WithdrawnIfLogged(_) | LetterCase::New => return None,
        };
        self.forget_note(withdrawn);
        seat.boundary().await;
        seat.world.disk.borrow_mut().remove(&path);
        seat.tell(|| format!("removes {path}, which was read"));
        None
    }

    /// Whether a message of the board was sent to a member.
    async fn was_sent(&self, id: Uuid, to: &MemberName) -> bool {
        let reader = Party::member(to);
        let log = self.mirror.board.stored_after(Version::ZERO).await;
        log.iter().any(|event| {
            matches!(&event.fact, Fact::MessageSent { id: sent, readers, .. }
                if *sent == id && readers.contains(&reader))
        })
    }

    /// Whether what lies in the inbox is what was seen last, or what troop wrote, and is what has to lie there.
    async fn rests(&mut self) -> bool {
        self.mirror.seat.boundary().await;
        let known = self.mirror.inboxes.get(self.owner).cloned();
        let there = self.mirror.seat.world.disk.borrow().list(&self.folder);
        if there.is_empty() && known.is_none() {
            // Inboxes are made by their first message here.
            return false;
        }
        let inbox = match known {
            Some(known) => Some(known).filter(|it| it.letters.keys().eq(&there)),
            None => {
                self.mirror.seat.boundary().await;
                recognised_folder(&there, &self.noted())
            }
        };
        let Some(inbox) = inbox else { return false };
        let mail = owner_mail(self.mirror.state(), self.owner, &inbox.ids());
        let is_at_rest = mail.is_some_and(|it| it.is_in(&inbox));
        if is_at_rest {
            self.mirror.inboxes.insert(self.owner.to_owned(), inbox);
        }
        is_at_rest
    }

    /// Messages that some mirror saw in the inbox, and that no mirror took away.
    fn noted(&self) -> BTreeSet<Uuid> {
        self.mirror.seat.world.disk.borrow().noted_letters(self.owner).into_iter().collect()
    }

    fn forget_note(&self, id: Uuid) {
        self.mirror.seat.world.disk.borrow_mut().forget_letter(self.owner, id);
    }

    /// Brings the inbox to where it has to be, in the order that the rules give.
    async fn run(&mut self, effects: Vec<InboxEffect>, reader: &MemberName) {
        let seat = self.mirror.seat.clone();
        let disk = &seat.world.disk;
        for effect in effects {
            match effect {
                InboxEffect::ForgetNote(id) => self.forget_note(id),
                InboxEffect::RemoveLetter(name) => {
                    seat.boundary().await;
                    disk.borrow_mut().remove(&format!("{}{name}", self.folder));
                }
                // Only the other layout has inboxes that are files.
                InboxEffect::MakeFolder | InboxEffect::WriteFile(_) => {}
                InboxEffect::WriteLetter(MissingLetter { name, content, .. }) => {
                    seat.boundary().await;
                    let path = format!("{}{name}", self.folder);
                    let stamp = disk.borrow_mut().new_stamp(seat.now());
                    let bytes = serde_json::to_vec(&content).unwrap_or_default();
                    disk.borrow_mut().place(&path, bytes, stamp);
                    seat.count("a message was put into an inbox");
                    seat.tell(|| format!("writes {path}"));
                }
                InboxEffect::Note(ids) => {
                    for id in ids {
                        seat.boundary().await;
                        disk.borrow_mut().note_letter(self.owner, id);
                        seat.tell(|| {
                            format!("notes that {id} lies in the inbox of {}", self.owner)
                        });
                    }
                }
                InboxEffect::Remember(inbox) => {
                    self.mirror.inboxes.insert(self.owner.to_owned(), inbox);
                }
                InboxEffect::MarkDelivered(messages) => {
                    let command = Command::MarkDelivered { reader: None, messages };
                    drop(self.mirror.board.give(Actor::agent(reader), command).await);
                }
                InboxEffect::MarkRead(read) => {
                    seat.count("a message that was gone from an inbox counted as read");
                    seat.tell(|| format!("takes messages for read that are gone: {read:?}"));
                    let command = Command::MarkRead { reader: None, messages: Some(read) };
                    drop(self.mirror.board.give(Actor::agent(reader), command).await);
                }
            }
        }
    }
}
