//! How long files and locks have been as they are, whatever their own clocks say.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::Instant;
use troop_model::Time;

use super::disk::Stamp;

/// How long the mirror remembers since when it has seen something. Longer than it waits for anything.
const KEPT: Duration = Duration::from_secs(60);

/// Since when files and locks were seen as they are.
#[derive(Debug, Default)]
pub(super) struct Ages {
    seen: BTreeMap<PathBuf, (Stamp, Instant)>,
}

impl Ages {
    /// How long something has been as it is: by its own time, or, since another machine's clock may be ahead, by what was seen.
    pub(super) fn age(
        &mut self,
        path: &Path,
        stamp: Stamp,
        now: Time,
        seen_at: Instant,
    ) -> Duration {
        now.since(stamp.at).max(self.seen_for(path, stamp, seen_at))
    }

    /// How long something was seen as it is; nothing at all when it is seen for the first time.
    pub(super) fn seen_for(&mut self, path: &Path, stamp: Stamp, now: Instant) -> Duration {
        let entry = (stamp, now);
        let seen = self.seen.entry(path.to_owned()).or_insert(entry);
        if seen.0 != stamp {
            *seen = entry;
        }
        now.duration_since(seen.1)
    }

    /// Forgets what nobody asks about any more.
    pub(super) fn forget_old(&mut self, now: Instant) {
        self.seen.retain(|_, (_, since)| now.duration_since(*since) < KEPT);
    }
}

#[cfg(test)]
mod tests;
