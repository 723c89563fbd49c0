//! How long a lead may lead without hearing that its lease was renewed. A lead that is cut off from its store hears nothing, also
//! not that another leads; it must end before another may begin, so that no two teams of members do the same work.

use std::time::Duration;

use tokio::time::Instant;

/// A lead ends this long before its lease does: its members must have ended when another takes the lead.
const MARGIN: Duration = Duration::from_secs(5);
/// A look that comes so late shows that this process, or the whole machine, was asleep.
const ASLEEP: Duration = Duration::from_secs(2);
/// Who was asleep has this time to hear what became of its lease.
const WAKING: Duration = Duration::from_secs(5);

/// The lease of a lead, measured with a clock that never jumps.
#[derive(Debug)]
pub(in super::super) struct Tenure {
    lease: Duration,
    /// When the renewal was asked for that was the last to come through.
    renewed_at: Instant,
    /// When the oldest unanswered renewal was asked for.
    asked_at: Option<Instant>,
    /// When it is looked at next.
    looks_at: Instant,
}

/// The result of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum TenureVerdict {
    /// The lead goes on, and looks again after this time.
    Holds(Duration),
    /// Another may lead soon.
    Over,
}

impl Tenure {
    pub(in super::super) fn new(lease: Duration, now: Instant) -> Self {
        let mut tenure = Self { lease, renewed_at: now, asked_at: None, looks_at: now };
        tenure.looks_at = tenure.ends_at();
        tenure
    }

    /// A renewal is asked for.
    pub(in super::super) fn ask(&mut self, now: Instant) {
        self.asked_at.get_or_insert(now);
    }

    /// The log shows a renewal. It may be an earlier one than the last that was asked for.
    pub(in super::super) fn renew(&mut self) {
        self.renewed_at = self.asked_at.take().unwrap_or(self.renewed_at);
    }

    /// How long after now the first look is due.
    pub(in super::super) fn first_look(&self, now: Instant) -> Duration {
        self.looks_at.saturating_duration_since(now)
    }

    /// Looks whether the lead may go on.
    pub(in super::super) fn look(&mut self, now: Instant) -> TenureVerdict {
        let was_asleep = now.duration_since(self.looks_at) > ASLEEP;
        let next = match self.ends_at() {
            end if end > now => end,
            _ if was_asleep => now + WAKING,
            _ => return TenureVerdict::Over,
        };
        self.looks_at = next;
        TenureVerdict::Holds(next.duration_since(now))
    }

    fn ends_at(&self) -> Instant {
        self.renewed_at + self.lease.saturating_sub(MARGIN)
    }
}

#[cfg(test)]
mod tests;
