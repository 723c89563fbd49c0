//! Delegations, as far as the rules cannot know: whether a member must be started for one.

use troop_model::Member;

/// Whether a member must be started to work on what was delegated to it.
pub(in super::super) fn must_start(member: &Member, is_coming: bool) -> bool {
    !member.is_running() && !member.is_external() && !is_coming
}

#[cfg(test)]
mod tests;
