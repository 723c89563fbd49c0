//! Sorts the messages of an inbox: the board's, new ones, and those that were read.
//!
//! A message to a member that troop does not run is put into its inbox, which counts as delivery; when it is gone from there, it
//! was read. Messages that others put there are sent through the board.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::{Map, Value};
use troop_model::{MemberName, Party, State};
use uuid::Uuid;

use super::letter::request_id;
use crate::{
    disk::{MAX_FILE, Stamp},
    mirror::{
        ids::Ids,
        layout::{self, Layout, Names, OutgoingLetter},
    },
};

/// A change at the end of a visit to an inbox. A message is put there before that is noted, and noted before the board hears of
/// it: a mirror that is killed in between puts it there again, at worst.
#[derive(Clone, Debug, PartialEq)]
pub enum InboxEffect {
    /// Forgets that a message lay there.
    ForgetNote(Uuid),
    RemoveLetter(String),
    MakeFolder,
    WriteLetter(MissingLetter),
    /// Writes an inbox that is one file.
    WriteFile(Vec<Value>),
    /// Notes which messages lie there.
    Note(Vec<Uuid>),
    Remember(KnownInbox),
    MarkDelivered(Vec<Uuid>),
    MarkRead(Vec<Uuid>),
}

/// Notes, remembers and reports what lies in an inbox, in this order.
fn closing(
    inbox: KnownInbox,
    noted: &BTreeSet<Uuid>,
    delivered: Vec<Uuid>,
    read: Vec<Uuid>,
) -> Vec<InboxEffect> {
    let new = inbox.letters.values().filter(|it| !noted.contains(it)).copied().collect();
    let mut effects = vec![InboxEffect::Note(new), InboxEffect::Remember(inbox)];
    effects.extend((!delivered.is_empty()).then_some(InboxEffect::MarkDelivered(delivered)));
    effects.extend((!read.is_empty()).then(|| InboxEffect::MarkRead(read.clone())));
    // Messages that were read no longer need a note.
    effects.extend(read.into_iter().map(InboxEffect::ForgetNote));
    effects
}

/// The field that names a message where an inbox is one file.
const ID: &str = "msg_id";

/// The known contents of an inbox.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownInbox {
    /// The messages, by the name of the file or of the entry.
    pub letters: BTreeMap<String, Uuid>,
    /// The stamp of an inbox that is one file.
    pub stamp: Option<Stamp>,
}

impl KnownInbox {
    pub fn ids(&self) -> BTreeSet<Uuid> {
        self.letters.values().copied().collect()
    }
}

/// The board's mail for the owner of an inbox.
#[derive(Clone, Debug)]
pub struct OwnerMail {
    pub member: MemberName,
    /// Whether troop runs the owner, and brings the mail in another way.
    pub is_running: bool,
    pub unread: BTreeSet<Uuid>,
    /// Unread messages that are not known to lie in the inbox.
    pub missing: Vec<OutgoingLetter>,
}

/// The mail of an owner, of which `known` lies in its inbox; none if the board does not know the owner.
pub fn owner_mail(state: &State, owner: &str, known: &BTreeSet<Uuid>) -> Option<OwnerMail> {
    let member = state.find_member(owner).ok()?;
    let reader = Party::member(&member.name);
    let mut unread = BTreeSet::new();
    let mut missing = Vec::new();
    for message in state.mailbox().unread_of(&reader) {
        unread.insert(message.id);
        if !known.contains(&message.id) {
            let request_id = request_id(state, message);
            let task = message.task.and_then(|it| state.tasks().shared(it));
            missing.push(OutgoingLetter { message: message.clone(), request_id, task });
        }
    }
    let is_running = member.is_running();
    Some(OwnerMail { is_running, member: member.name.clone(), unread, missing })
}

/// The contents of a folder that this mirror sees for the first time, if troop wrote all of them and noted so.
pub fn recognised_folder(there: &BTreeSet<String>, noted: &BTreeSet<Uuid>) -> Option<KnownInbox> {
    let letter = |name: &String| {
        let id = id_in_name(name).filter(|id| noted.contains(id))?;
        Some((name.clone(), id))
    };
    let letters = there.iter().map(letter).collect::<Option<_>>()?;
    Some(KnownInbox { letters, stamp: None })
}

impl OwnerMail {
    /// Whether an inbox that is as it was seen last needs no change.
    pub fn is_in(&self, inbox: &KnownInbox) -> bool {
        let stays = |id| self.unread.contains(id) && !self.is_running;
        (self.missing.is_empty() || self.is_running) && inbox.letters.values().all(stays)
    }
}

/// The message of the board that an entry claims to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimedId {
    Known(Uuid),
    /// It is that message if the log has it as sent to this member. Other programs may give their messages such names, too.
    IfLogged(Uuid),
    Nothing,
}

pub fn claimed_id(entry: &Map<String, Value>, before: &KnownInbox, mail: &OwnerMail) -> ClaimedId {
    let Some(name) = entry.get(ID).and_then(Value::as_str) else { return ClaimedId::Nothing };
    if let Some(id) = before.letters.get(name) {
        return ClaimedId::Known(*id);
    }
    match name.parse::<Uuid>() {
        Ok(id) if !is_read_entry(entry) && mail.unread.contains(&id) => ClaimedId::Known(id),
        Ok(id) if !is_read_entry(entry) => ClaimedId::IfLogged(id),
        _ => ClaimedId::Nothing,
    }
}

/// The handling of an entry of an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryCase {
    /// It was read elsewhere. A client that keeps read messages keeps it.
    ReadElsewhere(Uuid),
    /// Its owner has read it here.
    Read(Uuid),
    /// troop runs its owner now, and brings it in another way.
    Withdrawn(Uuid),
    /// It waits there.
    Lies(Uuid),
    /// It concerns only the owner.
    Kept,
    /// Somebody put it there; it has to be sent through the board.
    New,
}

/// `known` is the message of the board that it is.
pub fn entry_case(
    entry: &Map<String, Value>,
    known: Option<Uuid>,
    mail: &OwnerMail,
    names: &Names,
) -> EntryCase {
    match known {
        Some(id) if !mail.unread.contains(&id) => EntryCase::ReadElsewhere(id),
        Some(id) if is_read_entry(entry) => EntryCase::Read(id),
        Some(id) if mail.is_running => EntryCase::Withdrawn(id),
        Some(id) => EntryCase::Lies(id),
        None if is_read_entry(entry) => EntryCase::Kept,
        // The client notes there which work it takes by itself.
        None if names.is_same(entry.get("from"), &mail.member) => EntryCase::Kept,
        None => EntryCase::New,
    }
}

/// An inbox that is one file, as it has to be.
#[derive(Debug, Default)]
pub struct SortedInbox {
    pub entries: Vec<Value>,
    pub inbox: KnownInbox,
    pub delivered: Vec<Uuid>,
    pub read: Vec<Uuid>,
    /// Whether waiting messages were thought to lie there and do not: the next visit puts them back.
    pub is_incomplete: bool,
}

impl SortedInbox {
    /// Adds an entry that is not new. Returns the message that no longer needs a note.
    pub fn add(&mut self, value: &Value, case: EntryCase) -> Option<Uuid> {
        let name = value.get(ID).and_then(Value::as_str);
        match case {
            EntryCase::ReadElsewhere(id) => {
                self.entries.extend(is_read(value).then(|| value.clone()));
                return Some(id);
            }
            EntryCase::Withdrawn(id) => return Some(id),
            EntryCase::Read(id) => self.read.push(id),
            EntryCase::Lies(id) => {
                self.inbox.letters.insert(name.unwrap_or_default().to_owned(), id);
            }
            EntryCase::Kept | EntryCase::New => {}
        }
        self.entries.push(value.clone());
        None
    }

    /// Adds an entry that somebody put there, and that is on the board now.
    pub fn add_taken(&mut self, entry: &Map<String, Value>, id: Uuid) {
        let mut entry = entry.clone();
        let name = entry.entry(ID).or_insert_with(|| Value::from(id.to_string()));
        let name = name.as_str().map_or_else(|| id.to_string(), str::to_owned);
        self.inbox.letters.insert(name, id);
        self.entries.push(Value::Object(entry));
        self.delivered.push(id);
    }

    /// Counts messages as read that lay there before and are gone. One without a note was taken away by another mirror.
    pub fn add_gone(&mut self, before: &KnownInbox, mail: &OwnerMail, noted: &BTreeSet<Uuid>) {
        let still = self.inbox.ids();
        let is_gone = |id: &&Uuid| !still.contains(*id) && !self.read.contains(*id);
        let gone = before.letters.values().filter(is_gone);
        let waiting = gone.filter(|id| mail.unread.contains(*id) && !mail.is_running).copied();
        let (read, lost): (Vec<Uuid>, Vec<Uuid>) = waiting.partition(|id| noted.contains(id));
        self.read.extend(read);
        self.is_incomplete = !lost.is_empty();
    }

    /// Adds messages that wait for the owner, as far as there is room. Those in `noted` lay there before and are gone: they were
    /// read while no mirror ran.
    pub fn add_missing(
        &mut self,
        mail: &OwnerMail,
        noted: &BTreeSet<Uuid>,
        names: &Names,
        ids: &Ids,
    ) {
        if mail.is_running {
            return;
        }
        let there = self.inbox.ids();
        let mut n_bytes: u64 = self.entries.iter().map(size).sum();
        for posted in &mail.missing {
            let id = posted.message.id;
            if there.contains(&id) || self.read.contains(&id) {
                continue;
            }
            if noted.contains(&id) {
                self.read.push(id);
                continue;
            }
            let letter = layout::write_letter(Layout::Claude, posted, names, ids);
            let letter = Value::Object(letter);
            n_bytes += size(&letter);
            while n_bytes > MAX_FILE
                && let Some(nth) = self.entries.iter().position(is_read)
            {
                n_bytes -= size(&self.entries.remove(nth));
            }
            if n_bytes > MAX_FILE {
                // Nobody reads a file that is too large. The next messages wait until some are read.
                break;
            }
            self.entries.push(letter);
            self.inbox.letters.insert(id.to_string(), id);
            self.delivered.push(id);
        }
    }

    /// Writes the inbox if it differs from what lies there: `there` in a file with this stamp, if there is one. `noted` are the
    /// messages that some mirror saw there.
    pub fn effects(
        self,
        there: &[Value],
        stamp: Option<Stamp>,
        noted: &BTreeSet<Uuid>,
    ) -> Vec<InboxEffect> {
        let Self { entries, inbox, delivered, read, is_incomplete: _ } = self;
        let is_same = if stamp.is_some() { *there == *entries } else { entries.is_empty() };
        let mut effects = Vec::new();
        effects.extend((!is_same).then_some(InboxEffect::WriteFile(entries)));
        effects.extend(closing(KnownInbox { stamp, ..inbox }, noted, delivered, read));
        effects
    }
}

pub fn is_read(entry: &Value) -> bool {
    entry.as_object().is_some_and(is_read_entry)
}

fn is_read_entry(entry: &Map<String, Value>) -> bool {
    entry.get("read").and_then(Value::as_bool) == Some(true)
}

/// How many bytes an entry takes, at most.
fn size(entry: &Value) -> u64 {
    serde_json::to_vec_pretty(std::slice::from_ref(entry)).map_or(0, |it| it.len() as u64)
}

/// The handling of an unknown file in an inbox that is a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetterCase {
    /// A message of the board, which waits there.
    Lies(Uuid),
    /// A message of the board, which was read or comes in another way.
    Withdrawn(Uuid),
    /// A message of the board, if the log has it as sent to this member: then it was read.
    WithdrawnIfLogged(Uuid),
    /// Somebody put it there; it has to be sent through the board.
    New,
}

pub fn letter_case(path: &Path, raw: &Map<String, Value>, mail: &OwnerMail) -> LetterCase {
    match own_id(path, raw) {
        None => LetterCase::New,
        Some(id) if !mail.unread.contains(&id) => LetterCase::WithdrawnIfLogged(id),
        Some(id) if mail.is_running => LetterCase::Withdrawn(id),
        Some(id) => LetterCase::Lies(id),
    }
}

/// The message in a file that troop wrote.
fn own_id(path: &Path, raw: &Map<String, Value>) -> Option<Uuid> {
    let is_stored = raw.get("stored").and_then(Value::as_bool) == Some(true);
    id_in_name(path.file_name()?.to_str()?).filter(|_| is_stored)
}

/// The message that the name of a file is made of.
fn id_in_name(name: &str) -> Option<Uuid> {
    name.strip_prefix("msg-")?.strip_suffix(".json")?.parse().ok()
}

/// An inbox that is a folder, as it has to be.
#[derive(Debug, Default)]
pub struct FolderInbox {
    pub inbox: KnownInbox,
    /// Files to remove, and the messages in them.
    pub withdrawn: Vec<(String, Uuid)>,
    pub read: Vec<Uuid>,
    /// Whether waiting messages were thought to lie there and do not: the next visit puts them back.
    pub is_incomplete: bool,
}

/// A file to put into an inbox.
#[derive(Clone, Debug, PartialEq)]
pub struct MissingLetter {
    pub name: String,
    pub id: Uuid,
    pub content: Value,
}

impl FolderInbox {
    /// Sorts the known messages: those that are gone were read; those that were read or come in another way are removed. One
    /// that is gone and not in `noted` was taken away by another mirror.
    pub fn new(
        known: KnownInbox,
        there: &BTreeSet<String>,
        arrived: &[Uuid],
        mail: &OwnerMail,
        noted: &BTreeSet<Uuid>,
    ) -> Self {
        let mut sorted = Self::default();
        for (name, id) in known.letters {
            let is_unread = mail.unread.contains(&id) || arrived.contains(&id);
            if !there.contains(&name) {
                let was_read = is_unread && !mail.is_running && noted.contains(&id);
                sorted.read.extend(was_read.then_some(id));
                sorted.is_incomplete |= is_unread && !mail.is_running && !was_read;
            } else if is_unread && !mail.is_running {
                sorted.inbox.letters.insert(name, id);
            } else {
                sorted.withdrawn.push((name, id));
            }
        }
        sorted
    }

    /// Removes read messages, adds waiting ones, and reports both. `arrived` are those that others put there since the inbox was
    /// seen last. Those in `noted` that are gone were read while no mirror ran.
    pub fn effects(
        mut self,
        mail: &OwnerMail,
        noted: &BTreeSet<Uuid>,
        arrived: Vec<Uuid>,
        ids: &Ids,
    ) -> Vec<InboxEffect> {
        let missing = self.missing(mail, noted, ids);
        let Self { mut inbox, withdrawn, read, is_incomplete: _ } = self;
        let mut effects = Vec::new();
        for (name, id) in withdrawn {
            effects.extend([InboxEffect::ForgetNote(id), InboxEffect::RemoveLetter(name)]);
        }
        effects.push(InboxEffect::MakeFolder);
        let mut delivered = if mail.is_running { Vec::new() } else { arrived };
        for letter in missing {
            inbox.letters.insert(letter.name.clone(), letter.id);
            delivered.push(letter.id);
            effects.push(InboxEffect::WriteLetter(letter));
        }
        effects.extend(closing(inbox, noted, delivered, read));
        effects
    }

    /// Messages that wait for the owner and are not there.
    pub fn missing(
        &mut self,
        mail: &OwnerMail,
        noted: &BTreeSet<Uuid>,
        ids: &Ids,
    ) -> Vec<MissingLetter> {
        if mail.is_running {
            return Vec::new();
        }
        let there = self.inbox.ids();
        let mut missing = Vec::new();
        for posted in &mail.missing {
            let id = posted.message.id;
            if there.contains(&id) {
                continue;
            }
            if noted.contains(&id) {
                self.read.push(id);
                continue;
            }
            let names = Names::default();
            let letter = layout::write_letter(Layout::Seeds, posted, &names, ids);
            let content = Value::Object(letter);
            missing.push(MissingLetter { name: format!("msg-{id}.json"), id, content });
        }
        missing
    }
}
