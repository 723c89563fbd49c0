//! An inbox that is a folder: one file per message, and taking a message means deleting its file.

use std::{collections::BTreeSet, io, path::Path};

use serde_json::{Map, Value};
use troop_model::OperationId;
use uuid::Uuid;

use super::{InboxVisit, LetterOutcome};
use crate::mirror::{
    MirrorError, Settlement,
    disk::{self, DiskFile},
    layout::{self, Unreadable},
    operation,
    rules::{self, FolderInbox, KnownInbox, LetterCase, OwnerMail},
    unusable,
};

/// The outcome for an unknown file.
enum LetterFate {
    Known(Uuid),
    Gone,
    Later,
}

impl InboxVisit<'_> {
    pub(super) async fn settle_folder(
        &mut self,
        mut inbox: KnownInbox,
        mail: Option<OwnerMail>,
        noted: BTreeSet<Uuid>,
    ) -> Result<Settlement, MirrorError> {
        let there: BTreeSet<String> =
            disk::list(&self.path).map_err(unusable(&self.path))?.into_iter().collect();
        let mut settled = Settlement::Done;
        let mut arrived = Vec::new();
        let fresh = there.iter().filter(|it| !inbox.letters.contains_key(*it));
        for (name, found) in in_order(&self.path, fresh)? {
            match self.take_letter(&self.path.join(name), found, mail.as_ref()).await? {
                LetterFate::Known(id) => {
                    inbox.letters.insert(name.clone(), id);
                    arrived.push(id);
                }
                LetterFate::Gone => {}
                LetterFate::Later => settled = Settlement::Later,
            }
        }
        let Some(mail) = mail else {
            self.mirror.memory.inboxes.remove(self.owner);
            return Ok(settled);
        };
        let sorted = FolderInbox::new(inbox, &there, &arrived, &mail, &noted);
        self.look_again_if(sorted.is_incomplete);
        let effects = sorted.effects(&mail, &noted, arrived, &self.mirror.memory.ids);
        self.run(effects, &mail.member).await?;
        Ok(settled)
    }

    /// Makes the folder of the inbox, and no other: a team that is gone meanwhile must not come back as an empty folder.
    pub(super) fn make_folder(&self) -> Result<(), MirrorError> {
        match std::fs::create_dir(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(unusable(&self.path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Takes an unknown file: one that an earlier mirror wrote, or a message from somebody.
    async fn take_letter(
        &mut self,
        path: &Path,
        found: DiskFile,
        mail: Option<&OwnerMail>,
    ) -> Result<LetterFate, MirrorError> {
        let operation = self.letter_operation(path, &found);
        let raw = match rules::read_file(&found) {
            Ok(raw) => raw,
            Err(Unreadable::NotJson(_)) if !self.mirror.outlasts(path, found.stamp) => {
                return Ok(LetterFate::Later);
            }
            Err(reason) => {
                return self.refuse_file(path, None, &reason.to_string(), operation).await;
            }
        };
        let Some(mail) = mail else {
            let reason = "there is no member of that name";
            return self.refuse_file(path, Some(&raw), reason, operation).await;
        };
        let withdrawn = match rules::letter_case(path, &raw, mail) {
            LetterCase::Lies(id) => return Ok(LetterFate::Known(id)),
            LetterCase::Withdrawn(id) => Some(id),
            LetterCase::WithdrawnIfLogged(id) => {
                self.was_sent(id, &mail.member).await?.then_some(id)
            }
            LetterCase::New => None,
        };
        if let Some(id) = withdrawn {
            self.forget_note(id);
            disk::remove(path).map_err(unusable(path))?;
            return Ok(LetterFate::Gone);
        }
        let id = match self.say(&mail.member, &raw, operation).await? {
            LetterOutcome::Refused(reason) => {
                return self.refuse_file(path, Some(&raw), &reason, operation).await;
            }
            LetterOutcome::Sent(id) => {
                self.mirror.notice_taken(path, format!("a message to {}", mail.member));
                id
            }
            LetterOutcome::Known(id) => id,
        };
        if mail.is_running {
            disk::remove(path).map_err(unusable(path))?;
            return Ok(LetterFate::Gone);
        }
        Ok(LetterFate::Known(id))
    }

    async fn refuse_file(
        &mut self,
        path: &Path,
        raw: Option<&Map<String, Value>>,
        reason: &str,
        operation: OperationId,
    ) -> Result<LetterFate, MirrorError> {
        disk::set_aside(path).map_err(unusable(path))?;
        let operation = OperationId(operation.nth_id(0x100));
        self.refuse_letter(path, raw, reason, operation).await?;
        Ok(LetterFate::Gone)
    }

    fn letter_operation(&self, path: &Path, found: &DiskFile) -> OperationId {
        let bytes = found.bytes.as_deref().unwrap_or_default();
        let shown = self.mirror.places.shown(path);
        operation::of(found.stamp.at, self.mirror.clock.now(), &[shown.as_bytes(), bytes])
    }
}

/// Files in the order of their messages' timestamps, or else of their own: a second message builds on the first.
fn in_order<'a>(
    folder: &Path,
    names: impl Iterator<Item = &'a String>,
) -> Result<Vec<(&'a String, DiskFile)>, MirrorError> {
    let mut letters = Vec::new();
    for name in names {
        let path = folder.join(name);
        if let Some(found) = disk::read(&path).map_err(unusable(&path))? {
            let said_at = rules::read_file(&found).ok().and_then(|raw| layout::said_at(&raw));
            letters.push((said_at.unwrap_or(found.stamp.at), name, found));
        }
    }
    letters.sort_by_key(|(at, name, _)| (*at, *name));
    Ok(letters.into_iter().map(|(_, name, found)| (name, found)).collect())
}
