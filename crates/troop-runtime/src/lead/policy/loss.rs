//! Which member loses a task by an event.

use troop_model::{Actor, Event, Fact, MemberName, RejectMode, State, TaskNumber};

/// A task that a member is about to lose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Loss {
    pub(in super::super) task: TaskNumber,
    pub(in super::super) member: MemberName,
}

/// The loss that another actor's event causes: the task is released, cancelled or ended. The state is the one before the event.
pub(in super::super) fn by_others(state: &State, event: &Event) -> Option<Loss> {
    let (Fact::TaskReleased { task, .. }
    | Fact::TaskFailed { task, .. }
    | Fact::TaskCompleted { task, .. }
    | Fact::TaskSubmitted { task, .. }
    | Fact::TaskRejected { task, mode: RejectMode::Cancel, .. }
    | Fact::TaskCancelled { task, .. }
    | Fact::TaskDeleted { task }) = &event.fact
    else {
        return None;
    };
    let member = state.tasks().get(*task)?.owner.clone()?;
    let is_its_word = event.actor == Actor::agent(&member);
    (!is_its_word).then_some(Loss { task: *task, member })
}

/// The member that loses a task because its lease expired. A member that releases a task itself is late, but not silent. The
/// state is the one before the event.
pub(in super::super) fn by_silence(state: &State, event: &Event) -> Option<MemberName> {
    let (Fact::TaskReleased { task, .. } | Fact::TaskFailed { task, .. }) = &event.fact else {
        return None;
    };
    let task = state.tasks().get(*task)?;
    let is_over = task.hold.lease_until.is_some_and(|until| until <= event.at);
    let owner = task.owner.clone()?;
    let is_its_word = event.actor == Actor::agent(&owner);
    (is_over && !is_its_word).then_some(owner)
}

/// Whether a member's folder may be free after this event.
pub(in super::super) fn frees_folder(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::TaskSubmitted { .. }
            | Fact::TaskCompleted { .. }
            | Fact::TaskApproved { .. }
            | Fact::TaskRejected { .. }
            | Fact::TaskCancelled { .. }
            | Fact::TaskFailed { .. }
            | Fact::TaskReleased { .. }
            | Fact::TaskDeleted { .. }
    )
}

/// Whether this event changes TEAM.md.
pub(in super::super) fn changes_team(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::TeamUpdated { .. }
            | Fact::MemberAdded { .. }
            | Fact::MemberRemoved { .. }
            | Fact::LinkSet { .. }
            | Fact::LinkPurged { .. }
    )
}

#[cfg(test)]
mod tests;
