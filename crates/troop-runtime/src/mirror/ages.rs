//! How long something has been as it is, whatever its clock says.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::Instant;
use troop_model::Time;

use super::disk::Stamp;

/// How long it is remembered since when something was seen. Longer than anything is waited for.
const KEPT: Duration = Duration::from_secs(60);

/// Since when files and locks were seen as they are.
#[derive(Debug, Default)]
pub(super) struct Ages {
    seen: BTreeMap<PathBuf, (Stamp, Instant)>,
}

impl Ages {
    /// Whether something has been as it is for so long: by its own time, or, since another machine's clock may be ahead, by
    /// what was seen.
    pub(super) fn is_over(
        &mut self,
        path: &Path,
        stamp: Stamp,
        now: Time,
        limit: Duration,
    ) -> bool {
        now.since(stamp.at) > limit || self.is_seen_for(path, stamp, limit)
    }

    /// Whether something was seen as it is for so long.
    pub(super) fn is_seen_for(&mut self, path: &Path, stamp: Stamp, limit: Duration) -> bool {
        let entry = (stamp, Instant::now());
        let seen = self.seen.entry(path.to_owned()).or_insert(entry);
        if seen.0 != stamp {
            *seen = entry;
        }
        seen.1.elapsed() > limit
    }

    /// Forgets what nobody asks about any more.
    pub(super) fn forget_old(&mut self) {
        self.seen.retain(|_, (_, since)| since.elapsed() < KEPT);
    }
}

#[cfg(test)]
mod tests;
