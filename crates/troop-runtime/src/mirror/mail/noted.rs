//! Notes beside the inboxes about which messages were put into them.
//!
//! A message that is gone from an inbox was read only if it lay there. The board knows that a message was delivered, but not where:
//! there may be several folders, and an inbox may be lost. So each folder notes what its inboxes hold, one empty file per message.

use std::{collections::BTreeSet, fs, io};

use uuid::Uuid;

use super::InboxVisit;
use crate::mirror::{MirrorError, unusable};

impl InboxVisit<'_> {
    /// Notes messages that lie in the inbox.
    pub(super) fn note(&self, ids: &[Uuid]) -> Result<(), MirrorError> {
        let folder = self.mirror.places.noted(self.owner);
        for id in ids {
            let path = folder.join(id.to_string());
            if !path.exists() {
                fs::create_dir_all(&folder).map_err(unusable(&folder))?;
                fs::write(&path, "").map_err(unusable(&path))?;
            }
        }
        Ok(())
    }

    /// Messages that some mirror saw in the inbox, and that no mirror took away.
    pub(super) fn noted(&self) -> Result<BTreeSet<Uuid>, MirrorError> {
        let folder = self.mirror.places.noted(self.owner);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries.map_err(unusable(&folder))?,
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter_map(|name| name.parse().ok()).collect())
    }

    /// Forgets a message that we take from the inbox, or that was read.
    pub(super) fn forget_note(&self, id: Uuid) {
        // A note that stays is about a message that waits for nobody.
        drop(fs::remove_file(self.mirror.places.noted(self.owner).join(id.to_string())));
    }

    /// Forgets what lay in an inbox that is lost, so that waiting messages are put there again.
    pub(super) fn forget_notes(&mut self) -> Result<(), MirrorError> {
        self.mirror.memory.inboxes.remove(self.owner);
        let folder = self.mirror.places.noted(self.owner);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(&folder)(error)),
            _ => Ok(()),
        }
    }
}
