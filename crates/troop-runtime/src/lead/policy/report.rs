//! Missing reports: a member that says it is idle although it holds a task owes one.

use std::time::Duration;

use tokio::time::Instant;
use troop_model::{MemberName, Party, State, TaskNumber};

use super::work::at_work;
use crate::lead::crew::facts::MemberFacts;

/// The status of a report on a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum OwedReport {
    /// It was made, or is not needed.
    Given,
    /// The member has something else to handle first.
    Coming,
    /// It is missing.
    Owed,
}

/// The tasks on which an idle member owes a report: it holds them and was sent them. Its first idle report may be older than
/// its first task, and the lead may hold tasks while it is idle.
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

/// Whether a member that said it is idle owes a report on a task. A member that announces the end of its turns has until then;
/// another may be working as long as it says anything.
pub(in super::super) fn about(
    state: &State,
    member: &MemberName,
    facts: &MemberFacts,
    task: TaskNumber,
    grace: Duration,
    now: Instant,
) -> OwedReport {
    let party = Party::member(member);
    let is_held = at_work(state, member).any(|it| it == task);
    let asks = state.requests().any(|(_, it)| it.from == party)
        || state.tasks().get(task).is_some_and(|it| it.talk.question.is_some());
    let is_at_it = facts.work.engagement.is_some() || !facts.work.told.contains_key(&task);
    let speaks = !facts.wire.tells_end && now.duration_since(facts.signs.heard_at) < grace;
    let has_mail = state.mailbox().n_unread(&party) > 0;
    if !facts.is_open() || !is_held || asks || is_at_it || speaks {
        OwedReport::Given
    } else if has_mail || !facts.work.is_at_rest || facts.work.n_held > 0 {
        OwedReport::Coming
    } else {
        OwedReport::Owed
    }
}

#[cfg(test)]
mod tests;
