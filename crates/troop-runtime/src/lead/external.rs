//! External members: after one has ended a task, the lead waits a while for its last messages.

use troop_model::{ActorKind, Event, Fact, Member, MemberName, MessageKind, Party};

use super::{input::Due, post::Post};

/// Starts the wait for last messages when an external member has ended a task.
pub(super) fn expect_last_words(post: &mut Post, event: &Event) {
    let (Fact::TaskCompleted { task, .. }
    | Fact::TaskSubmitted { task, .. }
    | Fact::TaskFailed { task, retry_at: Some(_), .. }) = event.fact
    else {
        return;
    };
    let Ok(member) = event.actor.name.parse::<MemberName>() else { return };
    let state = &post.state;
    let is_external = event.actor.kind == ActorKind::Agent
        && state.member(&member).is_some_and(Member::is_external);
    let is_delegated = state.delegations().any(|it| it.task == task && it.to == member);
    if is_external && !is_delegated {
        let due = Due::LastWords(member);
        post.timers.forget(&due);
        post.timers.set(post.timing.last_words, due);
    }
}

/// An idle message ends the wait.
pub(super) fn end_last_words(post: &mut Post, from: &Party, kind: MessageKind) {
    let member = from.as_str().parse::<MemberName>().ok();
    if let Some(member) = member.filter(|_| kind == MessageKind::Idle) {
        post.timers.forget(&Due::LastWords(member));
    }
}
