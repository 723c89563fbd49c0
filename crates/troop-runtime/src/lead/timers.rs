//! Moments that a lead waits for.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::input::Due;

/// All moments that a lead waits for.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeSet<(Instant, Due)>,
}

impl Timers {
    /// Waits for a moment that comes so long from now.
    pub(super) fn set(&mut self, after: Duration, due: Due) {
        self.due.insert((Instant::now() + after, due));
    }

    /// Stops waiting for a moment.
    pub(super) fn forget(&mut self, due: &Due) {
        self.due.retain(|(_, it)| it != due);
    }

    /// Whether the lead waits for such a moment.
    pub(super) fn has(&self, is_meant: impl Fn(&Due) -> bool) -> bool {
        self.due.iter().any(|(_, due)| is_meant(due))
    }

    /// The next moment, when it comes. Dropping this future loses nothing.
    pub(super) async fn next(&mut self) -> Due {
        let Some((at, _)) = self.due.first() else { return std::future::pending().await };
        sleep_until(*at).await;
        match self.due.pop_first() {
            Some((_, due)) => due,
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests;
