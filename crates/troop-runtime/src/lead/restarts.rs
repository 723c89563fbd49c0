//! Whether and when a teammate that crashed is started again.

use std::{collections::BTreeMap, time::Duration};

use troop_model::MemberName;

use super::Timing;

/// How often each member crashed since it last finished something.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    n_crashes: BTreeMap<MemberName, u32>,
    /// Who will be started again, and how long after the log says that it is down.
    waiting: BTreeMap<MemberName, Duration>,
}

impl Restarts {
    /// Whether a member that crashed is started again; not if it crashed too often.
    pub(super) fn after_crash(&mut self, member: &MemberName, timing: &Timing) -> bool {
        let n_crashes = self.n_crashes.entry(member.clone()).or_default();
        *n_crashes += 1;
        let doublings = n_crashes.saturating_sub(1).min(10);
        let is_worth_it = *n_crashes <= timing.max_restarts;
        if is_worth_it {
            self.waiting.insert(member.clone(), timing.restart * (1 << doublings));
        }
        is_worth_it
    }

    /// How long to wait before a member that is down is started again, if it is.
    pub(super) fn pause(&self, member: &MemberName) -> Option<Duration> {
        self.waiting.get(member).copied()
    }

    /// The pause is over. Whether it still holds that the member is to be started.
    pub(super) fn begin(&mut self, member: &MemberName) -> bool {
        self.waiting.remove(member).is_some()
    }

    /// Whether a member that is down will be started again.
    pub(super) fn is_waiting(&self, member: &MemberName) -> bool {
        self.waiting.contains_key(member)
    }

    /// Counts the crashes of a member anew that has got something done. If it is down meanwhile, it is started again all the
    /// same.
    pub(super) fn forgive(&mut self, member: &MemberName) {
        self.n_crashes.remove(member);
    }

    /// Forgets a member that is gone.
    pub(super) fn forget(&mut self, member: &MemberName) {
        self.n_crashes.remove(member);
        self.waiting.remove(member);
    }
}

#[cfg(test)]
mod tests;
