//! Whether a member must be started for a delegation, which the rules of the board cannot know.

use troop_model::Member;

/// Whether a member must be started for a delegation.
pub(in super::super) fn must_start(member: &Member, is_coming: bool) -> bool {
    !member.is_running() && !member.is_external() && !is_coming
}

#[cfg(test)]
mod tests;
