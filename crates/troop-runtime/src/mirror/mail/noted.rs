//! Which messages were put into which inbox, noted beside them.
//!
//! A message that is gone from an inbox was read only if it lay there. The board says that a message was delivered, and not where:
//! there may be several folders, and an inbox may be lost. So each folder notes what its inboxes hold, one empty file per message.

use std::{collections::BTreeSet, fs, io};

use uuid::Uuid;

use super::InboxVisit;
use crate::mirror::{
    MirrorError,
    rules::{KnownInbox, WaitingMail},
    unusable,
};

impl InboxVisit<'_> {
    /// Notes what lies in the inbox since `before`. After it was put there: a mirror that is killed in between puts it there
    /// again, at worst.
    pub(super) fn note(
        &self,
        before: &BTreeSet<Uuid>,
        inbox: &KnownInbox,
    ) -> Result<(), MirrorError> {
        let folder = self.mirror.places.noted(self.owner);
        for id in inbox.letters.values().filter(|it| !before.contains(it)) {
            let path = folder.join(id.to_string());
            if !path.exists() {
                fs::create_dir_all(&folder).map_err(unusable(&folder))?;
                fs::write(&path, "").map_err(unusable(&path))?;
            }
        }
        Ok(())
    }

    /// Those of the messages that wait for the owner which were put into its inbox here, and not taken from there by us.
    pub(super) fn noted(&self, mail: &WaitingMail) -> BTreeSet<Uuid> {
        let folder = self.mirror.places.noted(self.owner);
        let waiting = mail.missing.iter().map(|it| it.message.id);
        waiting.filter(|id| folder.join(id.to_string()).exists()).collect()
    }

    /// Forgets a message that is taken from the inbox by us, or was read.
    pub(super) fn forget_note(&self, id: Uuid) {
        // One that stays is about a message that waits for nobody.
        drop(fs::remove_file(self.mirror.places.noted(self.owner).join(id.to_string())));
    }

    /// Forgets what lay in an inbox that is lost: what waits for its owner is put there again.
    pub(super) fn forget_notes(&mut self) -> Result<(), MirrorError> {
        self.mirror.memory.inboxes.remove(self.owner);
        let folder = self.mirror.places.noted(self.owner);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(&folder)(error)),
            _ => Ok(()),
        }
    }

    /// Forgets notes about what was read while nobody looked.
    pub(super) fn clean_notes(&self, unread: &BTreeSet<Uuid>) {
        let Ok(entries) = fs::read_dir(self.mirror.places.noted(self.owner)) else { return };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        for id in names.filter_map(|name| name.parse().ok()).filter(|id| !unread.contains(id)) {
            self.forget_note(id);
        }
    }
}
