//! An inbox that is one file: an array of messages. Read messages are marked or removed.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use troop_model::{OperationId, Time};
use uuid::Uuid;

use super::{InboxVisit, LetterOutcome};
use crate::mirror::{
    Item, MirrorError, Settlement,
    disk::{self, DiskFile},
    layout::{self, Unreadable},
    operation,
    rules::{self, ClaimedId, EntryCase, KnownInbox, OwnerMail, SortedInbox},
    unusable,
};

impl InboxVisit<'_> {
    pub(super) async fn settle_file(
        &mut self,
        before: KnownInbox,
        mail: Option<OwnerMail>,
        noted: BTreeSet<Uuid>,
    ) -> Result<Settlement, MirrorError> {
        let found = disk::read(&self.path).map_err(unusable(&self.path))?;
        let there = match found.as_ref().map(read).unwrap_or_else(|| Ok(Vec::new())) {
            Ok(there) => there,
            Err(reason) => return self.refuse_inbox(found, &reason).await,
        };
        let Some(mail) = mail else { return self.refuse_all(&there).await };
        let mut sorted = self.sort(&there, &before, &mail, found.as_ref()).await?;
        sorted.add_gone(&before, &mail, &noted);
        let names = self.mirror.names().await?;
        sorted.add_missing(&mail, &noted, &names, &self.mirror.memory.ids);
        self.look_again_if(sorted.is_incomplete);
        let stamp = found.map(|it| it.stamp);
        self.run(sorted.effects(&there, stamp, &noted), &mail.member).await?;
        Ok(Settlement::Done)
    }

    /// Sorts the entries: those of the board, those of others, and those that were read.
    async fn sort(
        &mut self,
        there: &[Value],
        before: &KnownInbox,
        mail: &OwnerMail,
        found: Option<&DiskFile>,
    ) -> Result<SortedInbox, MirrorError> {
        let written_at = found.map_or(self.mirror.clock.now(), |found| found.stamp.at);
        let mut sorted = SortedInbox::default();
        let mut taken = Vec::new();
        let names = self.mirror.names().await?;
        for value in there {
            let Some(entry) = value.as_object() else {
                self.mirror.notice_refused(&self.path, "an entry of it is not an object");
                continue;
            };
            let known = match rules::claimed_id(entry, before, mail) {
                ClaimedId::Known(id) => Some(id),
                ClaimedId::IfLogged(id) => self.was_sent(id, &mail.member).await?.then_some(id),
                ClaimedId::Nothing => None,
            };
            let case = rules::entry_case(entry, known, mail, &names);
            if case == EntryCase::New {
                let nth = taken.iter().filter(|it| *it == &entry).count();
                taken.push(entry);
                let operation = self.entry_operation(entry, nth, written_at);
                self.take_entry(entry, mail, operation, &mut sorted).await?;
            } else if let Some(id) = sorted.add(value, case) {
                self.forget_note(id);
            }
        }
        Ok(sorted)
    }

    async fn take_entry(
        &mut self,
        entry: &Map<String, Value>,
        mail: &OwnerMail,
        operation: OperationId,
        sorted: &mut SortedInbox,
    ) -> Result<(), MirrorError> {
        let id = match self.say(&mail.member, entry, operation).await? {
            LetterOutcome::Sent(id) => {
                let what = format!("a message to {}", mail.member);
                self.mirror.notice_taken(&self.path, what);
                id
            }
            LetterOutcome::Known(id) => id,
            LetterOutcome::Refused(reason) => {
                let text = entry.get("text").and_then(Value::as_str).unwrap_or_default();
                let reason = format!("{reason}; it said: {text}");
                let operation = OperationId(operation.nth_id(0x100));
                let path = self.path.clone();
                return self.refuse_letter(&path, Some(entry), &reason, operation).await;
            }
        };
        self.learn_color(entry).await?;
        if !mail.is_running {
            sorted.add_taken(entry, id);
        }
        Ok(())
    }

    /// A message has the colour of its sender, which may be missing in the config.
    async fn learn_color(&mut self, entry: &Map<String, Value>) -> Result<(), MirrorError> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let (Some(from), Some(color)) = (text("from"), text(layout::COLOR)) else { return Ok(()) };
        let Some(sender) = self.mirror.names().await?.find(from) else { return Ok(()) };
        let colors = &mut self.mirror.memory.colors;
        if colors.insert(sender, color.to_owned()).as_deref() != Some(color) {
            self.mirror.work.mark(Item::Config);
        }
        Ok(())
    }

    /// Moves an unreadable inbox aside. The messages that wait for its owner are put into a new one.
    async fn refuse_inbox(
        &mut self,
        found: Option<DiskFile>,
        reason: &Unreadable,
    ) -> Result<Settlement, MirrorError> {
        let is_half = matches!(reason, Unreadable::NotJson(_))
            && found.as_ref().is_some_and(|it| !self.mirror.outlasts(&self.path, it.stamp));
        if is_half {
            return Ok(Settlement::Later);
        }
        let now = self.mirror.clock.now();
        let at = found.map_or(now, |found| found.stamp.at);
        disk::set_aside(&self.path).map_err(unusable(&self.path))?;
        self.forget_notes()?;
        let shown = self.mirror.places.shown(&self.path);
        let reason = reason.to_string();
        let operation = operation::of(at, now, &[shown.as_bytes(), reason.as_bytes()]);
        self.mirror.refuse(&self.path, None, operation, &reason).await?;
        Ok(Settlement::Later)
    }

    /// Refuses every message in an inbox that belongs to no member.
    async fn refuse_all(&mut self, there: &[Value]) -> Result<Settlement, MirrorError> {
        let is_new = |it: &&Value| !rules::is_read(it);
        if !there.iter().any(|it| is_new(&it)) {
            return Ok(Settlement::Done);
        }
        let path = self.path.clone();
        disk::set_aside(&path).map_err(unusable(&path))?;
        for (nth, entry) in there.iter().filter(is_new).filter_map(Value::as_object).enumerate() {
            let operation = self.entry_operation(entry, nth, self.mirror.clock.now());
            let reason = "there is no member of that name";
            self.refuse_letter(&path, Some(entry), reason, operation).await?;
        }
        Ok(Settlement::Done)
    }

    /// The operation for an entry, which is the nth of equal ones.
    fn entry_operation(
        &self,
        entry: &Map<String, Value>,
        nth: usize,
        written_at: Time,
    ) -> OperationId {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let at = text("timestamp").parse().unwrap_or(written_at);
        let shown = self.mirror.places.shown(&self.path);
        let nth = nth.to_be_bytes();
        let parts = [shown.as_str(), text("from"), text("text"), text("timestamp"), text("msg_id")];
        let mut parts: Vec<_> = parts.iter().map(|it| it.as_bytes()).collect();
        parts.push(&nth);
        operation::of(at, self.mirror.clock.now(), &parts)
    }
}

fn read(found: &DiskFile) -> Result<Vec<Value>, Unreadable> {
    layout::read_array(found.bytes.as_deref().ok_or_else(|| rules::too_large(found))?)
}
