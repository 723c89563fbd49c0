//! Moments to come.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::input::Due;

/// All moments that are waited for.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeSet<(Instant, Due)>,
}

impl Timers {
    /// Waits for a moment from now on.
    pub(super) fn set(&mut self, after: Duration, due: Due) {
        self.due.insert((Instant::now() + after, due));
    }

    /// Does not wait for a moment any more.
    pub(super) fn forget(&mut self, due: &Due) {
        self.due.retain(|(_, it)| it != due);
    }

    /// Whether such a moment is waited for.
    pub(super) fn has(&self, is_meant: impl Fn(&Due) -> bool) -> bool {
        self.due.iter().any(|(_, due)| is_meant(due))
    }

    /// The next moment, when it comes. If this is not waited for to the end, nothing is lost.
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
