//! Access lists: who may give a team, or one delegation, work.

use smol_str::SmolStr;

use crate::{Origin, Refusal, Settings};

/// Checks a conversation against a team's lists. troop's own traffic always passes.
pub(crate) fn check_team(settings: &Settings, origin: &Origin) -> Result<(), Refusal> {
    if origin.is_internal() {
        return Ok(());
    }
    if !admits(
        &settings.access.allow_user_ids,
        &settings.access.deny_user_ids,
        origin.user_id.as_ref(),
    ) {
        return Err(Refusal::UserDenied { user: origin.user_id.clone().unwrap_or_default() });
    }
    if !admits(
        &settings.access.allow_channels,
        &settings.access.deny_channels,
        origin.channel.as_ref(),
    ) {
        return Err(Refusal::ChannelDenied { channel: origin.channel.clone().unwrap_or_default() });
    }
    Ok(())
}

/// Deny beats allow, and an empty allow list admits everyone. A caller without a user id passes only an empty allow list.
pub(crate) fn admits(allow: &[SmolStr], deny: &[SmolStr], who: Option<&SmolStr>) -> bool {
    match who {
        Some(who) => !deny.contains(who) && (allow.is_empty() || allow.contains(who)),
        None => allow.is_empty(),
    }
}
