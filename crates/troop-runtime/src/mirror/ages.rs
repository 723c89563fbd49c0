//! How long files and locks have been unchanged, whatever their timestamps say.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::Instant;
use troop_model::Time;

use super::disk::Stamp;

/// How long the mirror remembers when it first saw something: longer than it waits for anything.
const KEPT: Duration = Duration::from_secs(60);

/// When files and locks were first seen in their current state.
#[derive(Debug, Default)]
pub(super) struct Ages {
    seen: BTreeMap<PathBuf, (Stamp, Instant)>,
}

impl Ages {
    /// How long something has been unchanged: by its timestamp, or, since another machine's clock may be ahead, by when we saw it.
    pub(super) fn age(
        &mut self,
        path: &Path,
        stamp: Stamp,
        now: Time,
        seen_at: Instant,
    ) -> Duration {
        now.since(stamp.at).max(self.seen_for(path, stamp, seen_at))
    }

    /// How long we have seen something unchanged; zero when we see it for the first time.
    pub(super) fn seen_for(&mut self, path: &Path, stamp: Stamp, now: Instant) -> Duration {
        let entry = (stamp, now);
        let seen = self.seen.entry(path.to_owned()).or_insert(entry);
        if seen.0 != stamp {
            *seen = entry;
        }
        now.duration_since(seen.1)
    }

    /// Forgets files that nobody asks about.
    pub(super) fn forget_old(&mut self, now: Instant) {
        self.seen.retain(|_, (_, since)| now.duration_since(*since) < KEPT);
    }
}

#[cfg(test)]
mod tests;
