//! Whether and when a member is started again, or something else that failed is tried again.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;
use troop_model::{Member, MemberName, MemberState, Role, StateCause};

use crate::lead::Timing;

/// How long something that a fault of the machine prevents is tried in all ...
pub(in super::super) const PATIENCE: Duration = Duration::from_secs(600);
/// ... and how long we wait at most between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Whether a member ended although nobody wanted it to: it went with its lead, or crashed.
#[must_use]
pub fn was_cut_short(member: &Member) -> bool {
    member.role == Role::Member && member.state == MemberState::Crashed && !member.is_running()
}

/// Whether a member runs again with its team: nobody wanted it alone to stop. Members that have never run do, too.
#[must_use]
pub fn is_to_start_again(member: &Member) -> bool {
    let is_down = member.role == Role::Member && !member.is_running();
    !member.is_external() && is_down && member.state_cause != Some(StateCause::Asked)
}

/// How often each member crashed since it last finished something.
#[derive(Debug, Default)]
pub(in super::super) struct Restarts {
    n_crashes: BTreeMap<MemberName, u32>,
    /// Who will be started again, and how long after the log says that it is down.
    waiting: BTreeMap<MemberName, Duration>,
}

impl Restarts {
    /// Counts a crash. Returns whether the member is started again; not if it crashed too often.
    pub(in super::super) fn after_crash(&mut self, member: &MemberName, timing: &Timing) -> bool {
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
    pub(in super::super) fn pause(&self, member: &MemberName) -> Option<Duration> {
        self.waiting.get(member).copied()
    }

    /// The pause is over. Returns whether the member is still to be started.
    pub(in super::super) fn begin(&mut self, member: &MemberName) -> bool {
        self.waiting.remove(member).is_some()
    }

    /// Whether a member that is down will be started again.
    pub(in super::super) fn is_waiting(&self, member: &MemberName) -> bool {
        self.waiting.contains_key(member)
    }

    /// Counts the crashes of a member anew that has got something done. If it is down meanwhile, it is started again all the
    /// same.
    pub(in super::super) fn forgive(&mut self, member: &MemberName) {
        self.n_crashes.remove(member);
    }

    /// Forgets a member that is gone.
    pub(in super::super) fn forget(&mut self, member: &MemberName) {
        self.n_crashes.remove(member);
        self.waiting.remove(member);
    }
}

/// How often something was tried in vain, and since when.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Tries {
    n_tries: u32,
    since: Instant,
}

impl Tries {
    pub(in super::super) fn new(now: Instant) -> Self {
        Self { n_tries: 0, since: now }
    }

    /// How long to wait before the next try; none if it was tried for too long.
    pub(in super::super) fn pause(&mut self, first: Duration, now: Instant) -> Option<Duration> {
        let doublings = self.n_tries.min(10);
        self.n_tries += 1;
        let is_worth_it = now.duration_since(self.since) < PATIENCE;
        is_worth_it.then(|| (first * (1 << doublings)).min(MAX_PAUSE))
    }

    /// Whether this is the first try, of which people are told.
    pub(in super::super) fn is_first(self) -> bool {
        self.n_tries == 1
    }
}

/// What is tried again for members.
#[derive(Debug, Default)]
pub(in super::super) struct Failing(BTreeMap<MemberName, Tries>);

/// When something is tried again, and who is told now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct NextTry {
    pub(in super::super) pause: Duration,
    /// Whether it is new for this member ...
    pub(in super::super) is_new: bool,
    /// ... and whether it is for everybody.
    pub(in super::super) is_news: bool,
}

impl Failing {
    /// When something that failed is tried again; none if it was tried for too long.
    pub(in super::super) fn next_try(
        &mut self,
        member: &MemberName,
        first: Duration,
        now: Instant,
    ) -> Option<NextTry> {
        let is_known = !self.0.is_empty();
        let tries = self.0.entry(member.clone()).or_insert_with(|| Tries::new(now));
        let pause = tries.pause(first, now)?;
        let is_new = tries.is_first();
        Some(NextTry { pause, is_new, is_news: is_new && !is_known })
    }

    /// For whom something is tried again, and is not any more.
    pub(in super::super) fn take(&mut self) -> Vec<MemberName> {
        std::mem::take(&mut self.0).into_keys().collect()
    }

    /// Nothing is to be tried for a member any more. Returns whether something was.
    pub(in super::super) fn forget(&mut self, member: &MemberName) -> bool {
        self.0.remove(member).is_some()
    }
}

#[cfg(test)]
mod tests;
