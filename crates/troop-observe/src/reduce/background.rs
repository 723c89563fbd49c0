//! Follows members that are background agents of a headless session: the stream says when they work, and when they end.

use crate::{
    diff::ObservedChange,
    recognise::{BackgroundNews, BackgroundState},
    team::{MemberStatus, ObservedMember, ObservedTeam},
};

use super::set_status;

/// The member that this is about, if it is about one.
pub(crate) fn find_background<'a>(
    team: &'a ObservedTeam,
    news: &BackgroundNews,
) -> Option<&'a ObservedMember> {
    let is_same = |one: Option<&str>, other: Option<&str>| one.is_some() && one == other;
    team.members.iter().find(|it| {
        let agent_id = Some(it.agent_id.as_str());
        if it.background {
            return is_same(news.task_id.as_deref(), agent_id);
        }
        is_same(news.tool_use_id.as_deref(), it.tool_use_id.as_deref())
            || is_same(news.agent_id.as_deref(), agent_id)
    })
}

/// Changes the status of a member. A background agent that has finished is idle, and works again when it gets a message.
/// A teammate is over.
pub(crate) fn follow_background(
    team: &mut ObservedTeam,
    name: &str,
    state: BackgroundState,
) -> Option<ObservedChange> {
    let member = team.member_mut(name)?;
    let status = match (member.background, state) {
        (true, BackgroundState::Finished) => MemberStatus::Idle,
        (_, BackgroundState::Ended) | (false, BackgroundState::Finished) => MemberStatus::Shutdown,
        (false, BackgroundState::Works) => return None,
        (true, BackgroundState::Works) => {
            // One that was stopped can be resumed.
            let before = Some(member.clone());
            member.status = MemberStatus::Active;
            return Some(ObservedChange::Member { before, after: member.clone() });
        }
    };
    set_status(team, name, status)
}
