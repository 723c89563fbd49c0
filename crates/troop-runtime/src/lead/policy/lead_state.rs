//! The lead's own state in the log: whether it works or rests, and whether a request is left open.

use troop_model::{Member, MemberState, Permissions, State, StateCause};

use crate::lead::crew::facts::MemberFacts;

/// A state that the log should give the lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct LeadMove {
    pub(in super::super) to: MemberState,
    /// Whether a request is left open, which the next lead must know.
    pub(in super::super) cause: Option<StateCause>,
}

/// Moves a busy lead to working: an agent that thinks, or waits for permission, is not idle.
pub(in super::super) fn to_work(
    state: &State,
    facts: &MemberFacts,
    left_open: Option<StateCause>,
) -> Option<LeadMove> {
    let to = LeadMove { to: MemberState::Working, cause: left_open };
    let lead = state.lead().filter(|it| is_moving(it) || is_behind(it))?;
    change(state, lead, facts, to).filter(|_| !facts.work.is_at_rest)
}

/// Moves a lead to idle, once it has finished.
pub(in super::super) fn to_rest(
    state: &State,
    facts: &MemberFacts,
    left_open: Option<StateCause>,
) -> Option<LeadMove> {
    let to = LeadMove { to: MemberState::Idle, cause: left_open };
    let lead = state.lead().filter(|it| is_moving(it))?;
    change(state, lead, facts, to).filter(|_| facts.work.is_at_rest)
}

/// Whether the log still shows an open request that is closed by now.
pub(in super::super) fn has_closed(state: &State, left_open: Option<StateCause>) -> bool {
    let cause = state.lead().and_then(|lead| lead.state_cause);
    cause == Some(StateCause::LeftOpen) && left_open.is_none()
}

fn is_moving(lead: &Member) -> bool {
    matches!(lead.state, MemberState::Idle | MemberState::Working)
}

/// Whether the log, as far as it is followed, does not show yet that the lead is ready. It may read its first mail before.
fn is_behind(lead: &Member) -> bool {
    let is_down =
        matches!(lead.state, MemberState::Spawning | MemberState::Stopped | MemberState::Crashed);
    is_down && lead.permissions != Permissions::Plan
}

fn change(state: &State, lead: &Member, facts: &MemberFacts, to: LeadMove) -> Option<LeadMove> {
    let holds_task = state.tasks().held_by(&lead.name).next().is_some();
    let is_left = |it: &StateCause| matches!(it, StateCause::LeftOpen | StateCause::CouldNot);
    let is_known = lead.state == to.to && lead.state_cause.filter(is_left) == to.cause;
    (facts.is_open() && !holds_task && !is_known).then_some(to)
}

#[cfg(test)]
mod tests;
