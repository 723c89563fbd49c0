//! Whether and when members are restarted, and failed operations retried.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;
use troop_model::{Member, MemberName, MemberState, Role, StateCause};

use crate::lead::Timing;

/// How long we retry after a fault of the machine ...
pub(in super::super) const FAULT_PATIENCE: Duration = Duration::from_secs(600);
/// ... and how long we wait at most between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Whether a member ended unexpectedly: it crashed, or died with its lead.
#[must_use]
pub fn was_cut_short(member: &Member) -> bool {
    member.role == Role::Member && member.state == MemberState::Crashed && !member.is_running()
}

/// Whether a member is started with its team: it was not stopped alone. That includes members that have never run.
#[must_use]
pub fn is_to_start_again(member: &Member) -> bool {
    let is_down = member.role == Role::Member && !member.is_running();
    !member.is_external() && is_down && member.state_cause != Some(StateCause::Asked)
}

/// How often each member crashed since it last finished a task.
#[derive(Debug, Default)]
pub(in super::super) struct Restarts {
    n_crashes: BTreeMap<MemberName, u32>,
    /// The members to restart, and how long after their crash is in the log.
    waiting: BTreeMap<MemberName, Duration>,
}

impl Restarts {
    /// Counts a crash. Returns whether the member is restarted: not if it crashed too often.
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

    /// The pause before the restart of a member, if it is to be restarted.
    pub(in super::super) fn pause(&self, member: &MemberName) -> Option<Duration> {
        self.waiting.get(member).copied()
    }

    /// The pause is over. Returns whether the restart is still planned.
    pub(in super::super) fn begin(&mut self, member: &MemberName) -> bool {
        self.waiting.remove(member).is_some()
    }

    /// Whether a member will be restarted.
    pub(in super::super) fn is_waiting(&self, member: &MemberName) -> bool {
        self.waiting.contains_key(member)
    }

    /// Resets the crashes of a member that has finished a task. A planned restart stays.
    pub(in super::super) fn forgive(&mut self, member: &MemberName) {
        self.n_crashes.remove(member);
    }

    /// Forgets a member that is gone.
    pub(in super::super) fn forget(&mut self, member: &MemberName) {
        self.n_crashes.remove(member);
        self.waiting.remove(member);
    }
}

/// How often something failed, and since when.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Tries {
    n_tries: u32,
    since: Instant,
}

impl Tries {
    pub(in super::super) fn new(now: Instant) -> Self {
        Self { n_tries: 0, since: now }
    }

    /// The pause before the next try; none if the time for retries is over.
    pub(in super::super) fn pause(&mut self, first: Duration, now: Instant) -> Option<Duration> {
        let doublings = self.n_tries.min(10);
        self.n_tries += 1;
        let is_worth_it = now.duration_since(self.since) < FAULT_PATIENCE;
        is_worth_it.then(|| (first * (1 << doublings)).min(MAX_PAUSE))
    }

    /// Whether this is the first failure, which is announced to people.
    pub(in super::super) fn is_first(self) -> bool {
        self.n_tries == 1
    }
}

/// Retries for members.
#[derive(Debug, Default)]
pub(in super::super) struct MemberRetries(BTreeMap<MemberName, Tries>);

/// The next try, and who hears of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct NextTry {
    pub(in super::super) pause: Duration,
    /// Whether it is new for this member ...
    pub(in super::super) is_new: bool,
    /// ... and whether it is for the whole team.
    pub(in super::super) is_news: bool,
}

impl MemberRetries {
    /// The next try after a failure; none if the time for retries is over.
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

    /// Ends all retries, and returns their members.
    pub(in super::super) fn take(&mut self) -> Vec<MemberName> {
        std::mem::take(&mut self.0).into_keys().collect()
    }

    /// Ends the retries for a member. Returns whether there were any.
    pub(in super::super) fn forget(&mut self, member: &MemberName) -> bool {
        self.0.remove(member).is_some()
    }
}

#[cfg(test)]
mod tests;
