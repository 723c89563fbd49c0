//! Signs of life: which leases are renewed, which members hang, and whether the lead itself was asleep.

use std::time::Duration;

use tokio::time::Instant;
use troop_model::{MemberName, State};

use super::work::at_work;
use crate::lead::crew::facts::MemberFacts;

/// The members whose leases are renewed now: those heard since the last renewal, and those that wait for the lead.
pub(in super::super) fn renewals_due(
    state: &State,
    crew: &[(&MemberName, &MemberFacts)],
    is_folder_coming: impl Fn(&MemberName) -> bool,
    now: Instant,
) -> Vec<MemberName> {
    let Some(team) = state.team() else { return Vec::new() };
    let often = team.settings.lease() / 3;
    let is_due = |name: &MemberName, facts: &MemberFacts| {
        let waits_for_lead = facts.work.n_held > 0 || is_folder_coming(name);
        let signs = &facts.signs;
        let is_alive = waits_for_lead || signs.heard_at > signs.renewed_at;
        is_alive && now.duration_since(signs.renewed_at) >= often
    };
    let due = crew.iter().filter(|(name, facts)| is_due(name, facts));
    due.map(|(name, _)| (*name).clone()).collect()
}

/// The members that have mail to handle, or a turn to end, and give no sign of life. A member that works on a task loses it by
/// its lease instead, and the lead is never killed.
pub(in super::super) fn hanging(
    state: &State,
    crew: &[(&MemberName, &MemberFacts)],
    now: Instant,
) -> Vec<MemberName> {
    let Some(team) = state.team() else { return Vec::new() };
    let lease = team.settings.lease();
    let is_lead = |name: &MemberName| state.lead().is_some_and(|lead| lead.name == *name);
    let is_due = |name: &MemberName, facts: &MemberFacts| {
        at_work(state, name).next().is_none() && !is_lead(name) && hangs(facts, lease, now)
    };
    let due = crew.iter().filter(|(name, facts)| is_due(name, facts));
    due.map(|(name, _)| (*name).clone()).collect()
}

/// Whether a member that should give signs of life is busy and has given none for this time.
fn hangs(facts: &MemberFacts, time: Duration, now: Instant) -> bool {
    let is_at_it = !facts.has_no_conversation() || facts.work.is_in_turn;
    let last_sign = facts.signs.heard_at.max(facts.signs.roused_at);
    let is_silent = now.duration_since(last_sign) >= time;
    facts.wire.tells_end && facts.is_open() && is_at_it && is_silent
}

/// Whether so much time has passed since the last tick that this process, or the whole machine, must have been asleep.
pub(in super::super) fn was_asleep(state: &State, since_tick: Duration, tick: Duration) -> bool {
    let lease = state.team().map(|team| team.settings.lease()).unwrap_or_default();
    since_tick > 2 * tick + lease / 3
}

#[cfg(test)]
mod tests;
