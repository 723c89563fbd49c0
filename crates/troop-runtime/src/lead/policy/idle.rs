//! Which idle reports others hear of.

use troop_model::{MemberName, State, TaskRef};

use crate::lead::crew::facts::MemberFacts;

/// Whether others hear that a member is idle: it has done something since they last heard, or leads the team. Neither hooks nor
/// the lead learn anything from a member that was started and has done nothing yet.
pub(in super::super) fn is_news(
    state: &State,
    member: &MemberName,
    facts: &MemberFacts,
    last_task: Option<&TaskRef>,
) -> bool {
    let is_lead = state.lead().is_some_and(|lead| lead.name == *member);
    let has_worked = facts.idle.has_worked || last_task.is_some() || facts.work.n_held > 0;
    is_lead || has_worked
}

#[cfg(test)]
mod tests;
