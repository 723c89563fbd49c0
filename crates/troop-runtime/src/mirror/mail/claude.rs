//! An inbox that is one file: an array of messages, which are marked as read or taken out when they were.

use std::{collections::BTreeSet, path::Path};

use serde_json::{Map, Value};
use troop_model::{OperationId, Time};
use uuid::Uuid;

use super::{Inbox, Mail, Said};
use crate::mirror::{
    Mirror, MirrorError, Settled,
    disk::{self, DiskFile, MAX_FILE},
    layout::{self, Unreadable},
    operation, tasks, unusable,
};

/// The field that names a message.
const ID: &str = "msg_id";

/// What becomes of an inbox.
#[derive(Default)]
struct Sorted {
    entries: Vec<Value>,
    inbox: Inbox,
    delivered: Vec<Uuid>,
    read: Vec<Uuid>,
}

impl Mirror {
    pub(super) async fn settle_file(
        &mut self,
        owner: &str,
        before: Inbox,
        mail: Option<Mail>,
    ) -> Result<Settled, MirrorError> {
        let path = self.places.inbox(owner);
        let stamp = disk::Stamp::of(&path).map_err(unusable(&path))?;
        let is_quiet = mail.as_ref().is_none_or(|mail| {
            let stays = |id| mail.unread.contains(id) && !mail.is_running;
            (mail.missing.is_empty() || mail.is_running) && before.letters.values().all(stays)
        });
        if is_quiet && stamp == before.stamp {
            return Ok(Settled::Done);
        }
        let Some(_lock) = self.lock(&path).await? else { return Ok(Settled::Later) };
        let found = disk::read(&path).map_err(unusable(&path))?;
        let there = match found.as_ref().map(read).unwrap_or_else(|| Ok(Vec::new())) {
            Ok(there) => there,
            Err(reason) => return self.refuse_inbox(owner, found, &reason).await,
        };
        let Some(mail) = mail else { return self.refuse_all(&path, &there).await };
        let mut sorted = self.sort(owner, &there, &before, &mail, found.as_ref()).await?;
        self.add_missing(owner, &mut sorted, &mail).await?;
        sorted.inbox.stamp = match found {
            Some(found) if there == sorted.entries => Some(found.stamp),
            None if sorted.entries.is_empty() => None,
            _ => Some(self.write(&path, &Value::Array(sorted.entries))?),
        };
        self.note(owner, &before.ids(), &sorted.inbox)?;
        self.inboxes.insert(owner.to_owned(), sorted.inbox);
        self.record(&mail.member, sorted.delivered, sorted.read.clone()).await?;
        sorted.read.into_iter().for_each(|id| self.forget_note(owner, id));
        Ok(Settled::Done)
    }

    /// Goes through what lies there: ours, theirs, and what was read.
    async fn sort(
        &mut self,
        owner: &str,
        there: &[Value],
        before: &Inbox,
        mail: &Mail,
        found: Option<&DiskFile>,
    ) -> Result<Sorted, MirrorError> {
        let path = &self.places.inbox(owner);
        let written_at = found.map_or(self.clock.now(), |found| found.stamp.at);
        let (mut sorted, mut seen) = (Sorted::default(), Vec::new());
        let names = self.names().await?;
        for value in there {
            let Some(entry) = value.as_object() else {
                self.notice_refused(path, "an entry of it is not an object");
                continue;
            };
            let name = entry.get(ID).and_then(Value::as_str).map(str::to_owned);
            let is_read = is_read(value);
            let known = name.as_ref().and_then(|name| before.letters.get(name).copied());
            let known = match (&name, known) {
                (Some(name), None) if !is_read => self.own_id(name, mail).await?,
                (_, known) => known,
            };
            match known {
                Some(id) if !mail.unread.contains(&id) => {
                    // It was read in another way; a client that keeps what it read does so.
                    self.forget_note(owner, id);
                    sorted.entries.extend(is_read.then(|| value.clone()));
                }
                Some(id) if is_read => {
                    sorted.read.push(id);
                    sorted.entries.push(value.clone());
                }
                Some(id) if mail.is_running => self.forget_note(owner, id),
                Some(id) => {
                    sorted.inbox.letters.insert(name.unwrap_or_default(), id);
                    sorted.entries.push(value.clone());
                }
                None if is_read => sorted.entries.push(value.clone()),
                // The client notes there what it takes on by itself. That is nobody else's.
                None if names.is_same(entry.get("from"), &mail.member) => {
                    sorted.entries.push(value.clone());
                }
                None => {
                    let nth = seen.iter().filter(|it| *it == &entry).count();
                    seen.push(entry);
                    let operation = self.entry_operation(path, entry, nth, written_at);
                    self.take_entry(path, entry, mail, operation, &mut sorted).await?;
                }
            }
        }
        let still: BTreeSet<Uuid> = sorted.inbox.letters.values().copied().collect();
        let gone = before
            .letters
            .values()
            .filter(|id| !still.contains(*id) && mail.unread.contains(*id) && !mail.is_running);
        sorted.read.extend(gone);
        Ok(sorted)
    }

    async fn take_entry(
        &mut self,
        path: &Path,
        entry: &Map<String, Value>,
        mail: &Mail,
        operation: OperationId,
        sorted: &mut Sorted,
    ) -> Result<(), MirrorError> {
        let id = match self.say(&mail.member, entry, operation).await? {
            Said::Sent(id) => id,
            Said::Refused(reason) => {
                let text = entry.get("text").and_then(Value::as_str).unwrap_or_default();
                let reason = format!("{reason}; it said: {text}");
                let operation = OperationId(operation.nth_id(0x100));
                return self.refuse_letter(path, Some(entry), &reason, operation).await;
            }
        };
        self.notice_taken(path, format!("a message to {}", mail.member));
        if mail.is_running {
            return Ok(());
        }
        let mut entry = entry.clone();
        let name = entry.entry(ID).or_insert_with(|| Value::from(id.to_string()));
        let name = name.as_str().map_or_else(|| id.to_string(), str::to_owned);
        sorted.inbox.letters.insert(name, id);
        sorted.entries.push(Value::Object(entry));
        sorted.delivered.push(id);
        Ok(())
    }

    /// Adds what waits for somebody, as far as there is room. What lay there before nobody looked, and is gone, was read.
    async fn add_missing(
        &self,
        owner: &str,
        sorted: &mut Sorted,
        mail: &Mail,
    ) -> Result<(), MirrorError> {
        if mail.is_running {
            return Ok(());
        }
        let names = self.names().await?;
        let there = sorted.inbox.ids();
        let mut n_bytes: u64 = sorted.entries.iter().map(size).sum();
        for posted in &mail.missing {
            let message = &posted.message;
            if there.contains(&message.id) || sorted.read.contains(&message.id) {
                continue;
            }
            if self.is_noted(owner, message.id) {
                sorted.read.push(message.id);
                continue;
            }
            let letter =
                layout::write_letter(self.places.layout, posted, &names, self.ids.as_ref());
            let letter = Value::Object(letter);
            n_bytes += size(&letter);
            while n_bytes > MAX_FILE
                && let Some(nth) = sorted.entries.iter().position(is_read)
            {
                n_bytes -= size(&sorted.entries.remove(nth));
            }
            if n_bytes > MAX_FILE {
                // A file that is too large is read by nobody. What comes next waits until something was read.
                break;
            }
            sorted.entries.push(letter);
            sorted.inbox.letters.insert(message.id.to_string(), message.id);
            sorted.delivered.push(message.id);
        }
        Ok(())
    }

    /// The message of the board that a name stands for. Another program may give its own such names, too.
    async fn own_id(&self, name: &str, mail: &Mail) -> Result<Option<Uuid>, MirrorError> {
        let Ok(id) = name.parse::<Uuid>() else { return Ok(None) };
        let is_ours = mail.unread.contains(&id) || self.was_sent(id, &mail.member).await?;
        Ok(is_ours.then_some(id))
    }

    /// Moves an inbox away that nobody can read. What waits for its owner is put into a new one.
    async fn refuse_inbox(
        &mut self,
        owner: &str,
        found: Option<DiskFile>,
        reason: &Unreadable,
    ) -> Result<Settled, MirrorError> {
        let path = &self.places.inbox(owner);
        let is_half = matches!(reason, Unreadable::NotJson(_))
            && found.as_ref().is_some_and(|it| !self.is_abandoned(path, it.stamp));
        if is_half {
            return Ok(Settled::Later);
        }
        let at = found.map_or(self.clock.now(), |found| found.stamp.at);
        disk::set_aside(path).map_err(unusable(path))?;
        self.forget_notes(owner)?;
        let (shown, reason) = (self.places.shown(path), reason.to_string());
        let operation = operation::of(at, self.clock.now(), &[shown.as_bytes(), reason.as_bytes()]);
        self.refuse(path, None, operation, &reason).await?;
        Ok(Settled::Later)
    }

    /// Nobody has this inbox.
    async fn refuse_all(&mut self, path: &Path, there: &[Value]) -> Result<Settled, MirrorError> {
        let is_new = |it: &&Value| !is_read(it);
        if !there.iter().any(|it| is_new(&it)) {
            return Ok(Settled::Done);
        }
        disk::set_aside(path).map_err(unusable(path))?;
        for (nth, entry) in there.iter().filter(is_new).filter_map(Value::as_object).enumerate() {
            let operation = self.entry_operation(path, entry, nth, self.clock.now());
            let reason = "there is no member of that name";
            self.refuse_letter(path, Some(entry), reason, operation).await?;
        }
        Ok(Settled::Done)
    }

    fn entry_operation(
        &self,
        path: &Path,
        entry: &Map<String, Value>,
        nth: usize,
        written_at: Time,
    ) -> OperationId {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let at = text("timestamp").parse().unwrap_or(written_at);
        let (shown, nth) = (self.places.shown(path), nth.to_be_bytes());
        let parts = [shown.as_str(), text("from"), text("text"), text("timestamp"), text(ID)];
        let mut parts: Vec<_> = parts.iter().map(|it| it.as_bytes()).collect();
        parts.push(&nth);
        operation::of(at, self.clock.now(), &parts)
    }
}

fn read(found: &DiskFile) -> Result<Vec<Value>, Unreadable> {
    layout::read_array(found.bytes.as_deref().ok_or_else(|| tasks::too_large(found))?)
}

fn is_read(entry: &Value) -> bool {
    entry.get("read").and_then(Value::as_bool) == Some(true)
}

/// How many bytes an entry takes, at most.
fn size(entry: &Value) -> u64 {
    serde_json::to_vec_pretty(std::slice::from_ref(entry)).map_or(0, |it| it.len() as u64)
}
