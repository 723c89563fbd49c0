//! An inbox that is a folder: one file per message, and taking a message means deleting its file.

use std::{collections::BTreeSet, io, path::Path};

use serde_json::{Map, Value};
use troop_model::OperationId;
use uuid::Uuid;

use super::{Inbox, Mail, Said};
use crate::mirror::{
    Mirror, MirrorError, Settled,
    disk::{self, DiskFile},
    layout::{self, Names, Unreadable},
    operation, tasks, unusable,
};

/// What became of a file that nobody knew.
enum Taken {
    Known(Uuid),
    Gone,
    Later,
}

impl Mirror {
    pub(super) async fn settle_folder(
        &mut self,
        owner: &str,
        mut inbox: Inbox,
        mail: Option<Mail>,
    ) -> Result<Settled, MirrorError> {
        let folder = self.places.inbox(owner);
        let there: BTreeSet<String> =
            disk::list(&folder).map_err(unusable(&folder))?.into_iter().collect();
        let before = inbox.ids();
        let mut settled = Settled::Done;
        let mut arrived = Vec::new();
        let fresh = there.iter().filter(|it| !inbox.letters.contains_key(*it));
        for (name, found) in in_order(&folder, fresh)? {
            match self.take_letter(owner, &folder.join(name), found, mail.as_ref()).await? {
                Taken::Known(id) => {
                    inbox.letters.insert(name.clone(), id);
                    arrived.push(id);
                }
                Taken::Gone => {}
                Taken::Later => settled = Settled::Later,
            }
        }
        let Some(mail) = mail else {
            self.inboxes.remove(owner);
            return Ok(settled);
        };
        let mut read = self.forget_taken(owner, &mut inbox, &mail, &there, &arrived)?;
        let mut delivered = if mail.is_running { Vec::new() } else { arrived };
        self.put_letters(owner, &mut inbox, &mail, (&mut delivered, &mut read))?;
        self.note(owner, &before, &inbox)?;
        self.inboxes.insert(owner.to_owned(), inbox);
        self.record(&mail.member, delivered, read.clone()).await?;
        read.into_iter().for_each(|id| self.forget_note(owner, id));
        Ok(settled)
    }

    /// Takes a file that nobody knew: one of ours from before, or what somebody put there.
    async fn take_letter(
        &mut self,
        owner: &str,
        path: &Path,
        found: DiskFile,
        mail: Option<&Mail>,
    ) -> Result<Taken, MirrorError> {
        let raw = match read(&found) {
            Ok(raw) => raw,
            Err(Unreadable::NotJson(_)) if !self.is_abandoned(path, found.stamp) => {
                return Ok(Taken::Later);
            }
            Err(reason) => {
                let operation = self.letter_operation(path, &found);
                return self.refuse_file(path, None, &reason.to_string(), operation).await;
            }
        };
        let operation = self.letter_operation(path, &found);
        let Some(mail) = mail else {
            let reason = "there is no member of that name";
            return self.refuse_file(path, Some(&raw), reason, operation).await;
        };
        let is_unread = |id| mail.unread.contains(&id);
        if let Some(id) = own_id(path, &raw)
            && (is_unread(id) || self.was_sent(id, &mail.member).await?)
        {
            if is_unread(id) && !mail.is_running {
                return Ok(Taken::Known(id));
            }
            self.forget_note(owner, id);
            disk::remove(path).map_err(unusable(path))?;
            return Ok(Taken::Gone);
        }
        match self.say(&mail.member, &raw, operation).await? {
            Said::Refused(reason) => self.refuse_file(path, Some(&raw), &reason, operation).await,
            Said::Sent(id) => {
                self.notice_taken(path, format!("a message to {}", mail.member));
                if mail.is_running {
                    disk::remove(path).map_err(unusable(path))?;
                    return Ok(Taken::Gone);
                }
                Ok(Taken::Known(id))
            }
        }
    }

    async fn refuse_file(
        &mut self,
        path: &Path,
        raw: Option<&Map<String, Value>>,
        reason: &str,
        operation: OperationId,
    ) -> Result<Taken, MirrorError> {
        disk::set_aside(path).map_err(unusable(path))?;
        let operation = OperationId(operation.nth_id(0x100));
        self.refuse_letter(path, raw, reason, operation).await?;
        Ok(Taken::Gone)
    }

    /// Forgets files that are gone or need not be there; gives the messages that were taken.
    fn forget_taken(
        &mut self,
        owner: &str,
        inbox: &mut Inbox,
        mail: &Mail,
        there: &BTreeSet<String>,
        arrived: &[Uuid],
    ) -> Result<Vec<Uuid>, MirrorError> {
        let mut read = Vec::new();
        for (name, id) in std::mem::take(&mut inbox.letters) {
            let is_unread = mail.unread.contains(&id) || arrived.contains(&id);
            if !there.contains(&name) {
                read.extend((is_unread && !mail.is_running).then_some(id));
            } else if is_unread && !mail.is_running {
                inbox.letters.insert(name, id);
            } else {
                // It was read in another way, or will be.
                let path = self.places.inbox(owner).join(&name);
                self.forget_note(owner, id);
                disk::remove(&path).map_err(unusable(&path))?;
            }
        }
        Ok(read)
    }

    /// Puts what waits for somebody into its inbox. What lay there before nobody looked, and is gone, was read.
    fn put_letters(
        &mut self,
        owner: &str,
        inbox: &mut Inbox,
        mail: &Mail,
        (delivered, read): (&mut Vec<Uuid>, &mut Vec<Uuid>),
    ) -> Result<(), MirrorError> {
        let folder = self.places.inbox(owner);
        // Only this one: a team that is gone meanwhile must not come back as an empty folder.
        match std::fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(unusable(&folder)(error));
            }
            _ => {}
        }
        if mail.is_running {
            return Ok(());
        }
        let there: BTreeSet<Uuid> = inbox.letters.values().copied().collect();
        for posted in &mail.missing {
            let message = &posted.message;
            if there.contains(&message.id) {
                continue;
            }
            if self.is_noted(owner, message.id) {
                read.push(message.id);
                continue;
            }
            let name = file_name(message.id);
            let letter = layout::write_letter(
                self.places.layout,
                posted,
                &Names::default(),
                self.ids.as_ref(),
            );
            self.write(&folder.join(&name), &Value::Object(letter))?;
            inbox.letters.insert(name, message.id);
            delivered.push(message.id);
        }
        Ok(())
    }

    fn letter_operation(&self, path: &Path, found: &DiskFile) -> OperationId {
        let bytes = found.bytes.as_deref().unwrap_or_default();
        let shown = self.places.shown(path);
        operation::of(found.stamp.at, self.clock.now(), &[shown.as_bytes(), bytes])
    }
}

fn read(found: &DiskFile) -> Result<Map<String, Value>, Unreadable> {
    layout::read_object(found.bytes.as_deref().ok_or_else(|| tasks::too_large(found))?)
}

/// Files in the order in which they were written, as far as they say or the system knows: whoever says a second thing means
/// the first one as said.
fn in_order<'a>(
    folder: &Path,
    names: impl Iterator<Item = &'a String>,
) -> Result<Vec<(&'a String, DiskFile)>, MirrorError> {
    let mut letters = Vec::new();
    for name in names {
        let path = folder.join(name);
        if let Some(found) = disk::read(&path).map_err(unusable(&path))? {
            let said_at = read(&found).ok().and_then(|raw| layout::said_at(&raw));
            letters.push((said_at.unwrap_or(found.stamp.at), name, found));
        }
    }
    letters.sort_by_key(|(at, name, _)| (*at, *name));
    Ok(letters.into_iter().map(|(_, name, found)| (name, found)).collect())
}

fn file_name(id: Uuid) -> String {
    format!("msg-{id}.json")
}

/// The message that a file of ours holds.
fn own_id(path: &Path, raw: &Map<String, Value>) -> Option<Uuid> {
    let is_stored = raw.get("stored").and_then(Value::as_bool) == Some(true);
    let name = path.file_name()?.to_str()?;
    let id = name.strip_prefix("msg-")?.strip_suffix(".json")?.parse().ok();
    id.filter(|_| is_stored)
}
