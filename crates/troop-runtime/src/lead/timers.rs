//! The timers of a lead.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::input::Due;

/// The pending timers of a lead.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeSet<(Instant, Due)>,
}

impl Timers {
    /// Sets a timer.
    pub(super) fn set(&mut self, after: Duration, due: Due) {
        self.due.insert((Instant::now() + after, due));
    }

    /// Removes a timer.
    pub(super) fn forget(&mut self, due: &Due) {
        self.due.retain(|(_, it)| it != due);
    }

    /// Whether a matching timer is pending.
    pub(super) fn has(&self, is_meant: impl Fn(&Due) -> bool) -> bool {
        self.due.iter().any(|(_, due)| is_meant(due))
    }

    /// Waits for the next timer. Cancel safe.
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
