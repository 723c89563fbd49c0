//! Delegations, as far as the rules cannot know: whether a member runs, and whether it is still in the middle of something.

use troop_model::{Member, MemberName, State};

use crate::lead::crew::facts::Engagement;

/// Whether a member must be started to work on what was delegated to it.
pub(in super::super) fn must_start(member: &Member, is_coming: bool) -> bool {
    !member.is_running() && !member.is_external() && !is_coming
}

/// Whether a member that has nothing to do any more was in the middle of a delegation and said nothing about its end. Then
/// that is the end of it, with what it said last.
pub(in super::super) fn ends_with(state: &State, member: &MemberName, work: &Engagement) -> bool {
    state.delegation_of(work.task).is_some_and(|it| it.to == *member)
}

#[cfg(test)]
mod tests;
