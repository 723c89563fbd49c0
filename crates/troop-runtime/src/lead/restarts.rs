//! Whether and when a teammate that crashed is started again.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use troop_model::MemberName;

use super::Timing;

/// How often each member crashed since it last finished something.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    n_crashes: BTreeMap<MemberName, u32>,
    /// Who will be started again.
    waiting: BTreeSet<MemberName>,
}

impl Restarts {
    /// How long to wait before the member is started again; never, if it crashed too often.
    pub(super) fn after_crash(&mut self, member: &MemberName, timing: &Timing) -> Option<Duration> {
        let n_crashes = self.n_crashes.entry(member.clone()).or_default();
        *n_crashes += 1;
        let doublings = n_crashes.saturating_sub(1).min(10);
        let pause = (*n_crashes <= timing.max_restarts).then(|| timing.restart * (1 << doublings));
        if pause.is_some() {
            self.waiting.insert(member.clone());
        }
        pause
    }

    /// The pause is over. Whether it still holds that the member is to be started.
    pub(super) fn begin(&mut self, member: &MemberName) -> bool {
        self.waiting.remove(member)
    }

    /// Whether a member that is down will be started again.
    pub(super) fn is_waiting(&self, member: &MemberName) -> bool {
        self.waiting.contains(member)
    }

    /// Forgets the crashes of a member that has done something, or is gone.
    pub(super) fn forget(&mut self, member: &MemberName) {
        self.n_crashes.remove(member);
        self.waiting.remove(member);
    }
}

#[cfg(test)]
mod tests;
