//! Who owes a word: a member that says it is idle although it holds a task.

use std::time::Duration;

use tokio::time::Instant;
use troop_model::{MemberName, Party, State, TaskNumber};

use super::work::at_work;
use crate::lead::crew::facts::MemberFacts;

/// What is known of a word about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Word {
    /// It was said, or nobody waits for it.
    Given,
    /// The member has something else to deal with first.
    Coming,
    /// It is missing.
    Owed,
}

/// The tasks about which a member owes a word that says it is idle: it holds them and was told of them. What it says first
/// may have been said before it heard of any task, and the lead may hold tasks while it has nothing to do.
pub(in super::super) fn expected(
    state: &State,
    member: &MemberName,
    facts: &MemberFacts,
) -> Vec<TaskNumber> {
    let is_lead = state.lead().is_some_and(|lead| lead.name == *member);
    if is_lead || !facts.idle.has_said_so {
        return Vec::new();
    }
    at_work(state, member).filter(|task| facts.work.told.contains_key(task)).collect()
}

/// Whether a member that said it is idle still owes a word about a task that it holds. A member that says when it has dealt
/// with what it was told is waited for until then; another may be at it as long as it says anything.
pub(in super::super) fn about(
    state: &State,
    member: &MemberName,
    facts: &MemberFacts,
    task: TaskNumber,
    grace: Duration,
    now: Instant,
) -> Word {
    let party = Party::member(member);
    let is_held = at_work(state, member).any(|it| it == task);
    let asks = state.requests().any(|(_, it)| it.from == party)
        || state.tasks().get(task).is_some_and(|it| it.talk.question.is_some());
    let is_at_it = facts.work.engagement.is_some() || !facts.work.told.contains_key(&task);
    let speaks = !facts.wire.tells_end && now.duration_since(facts.signs.heard_at) < grace;
    let has_mail = state.mailbox().n_unread(&party) > 0;
    if !facts.is_open() || !is_held || asks || is_at_it || speaks {
        Word::Given
    } else if has_mail || !facts.work.is_at_rest || facts.work.n_held > 0 {
        Word::Coming
    } else {
        Word::Owed
    }
}

#[cfg(test)]
mod tests;
