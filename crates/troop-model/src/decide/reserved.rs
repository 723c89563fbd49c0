//! Reserved tasks of external members. troop does not run them, so it sends them mail when a reserved task can start.

use std::collections::BTreeSet;

use super::Draft;
use crate::{Fact, Member, MemberName, MessageKind, Party, State, Status, TaskNumber};

/// Tells the external members whose reserved tasks can start now and could not before.
pub(super) fn tell(draft: &mut Draft<'_>) {
    if !draft.state.members().any(Member::is_external) {
        return;
    }
    let touched = touched(draft);
    if touched.is_empty() {
        return;
    }
    let after = draft.after();
    for task in touched {
        let Some((to, subject)) = reserved(&after, task) else { continue };
        let was_so = reserved(draft.state, task).is_some_and(|(before, _)| before == to);
        // A member that created the task for itself or released it needs no notice.
        let is_own =
            || draft.member() == Some(to) && draft.facts.iter().any(|it| it.task() == Some(task));
        if was_so || is_own() {
            continue;
        }
        let content = format!("{task} is for you: {subject}");
        draft.tell(Party::member(to), MessageKind::TaskAssignment, content, Some(task));
    }
}

/// The external member that a task is reserved for and that could start it, and the task's subject.
fn reserved(state: &State, task: TaskNumber) -> Option<(&MemberName, &str)> {
    let found = state.tasks().get(task)?;
    let to = found.assignee.as_ref()?;
    let is_told = state.member(to).is_some_and(Member::is_external);
    let can_begin = state.tasks().status(task) == Some(Status::Pending);
    (is_told && can_begin).then_some((to, &*found.subject))
}

/// Reserved tasks that may be able to start now.
fn touched(draft: &Draft<'_>) -> BTreeSet<TaskNumber> {
    let tasks = &draft.state.tasks;
    let is_external = |it: &MemberName| draft.state.member(it).is_some_and(Member::is_external);
    let is_theirs = |it: &TaskNumber| {
        tasks.get(*it).is_some_and(|it| it.assignee.as_ref().is_some_and(is_external))
    };
    let mut touched = BTreeSet::new();
    for fact in draft.facts.iter().filter(|it| may_free(it)) {
        let Some(task) = fact.task() else { continue };
        touched.extend([task].into_iter().filter(|it| names_somebody(fact) || is_theirs(it)));
        touched.extend(tasks.dependents(task).filter(is_theirs));
    }
    touched
}

/// Whether a fact sets or changes the reservation of its task.
fn names_somebody(fact: &Fact) -> bool {
    matches!(fact, Fact::TaskCreated { assignee: Some(_), .. })
        || matches!(fact, Fact::TaskUpdated { change, .. } if change.assignee.is_some())
}

/// Whether this fact may let a task start: its own, or one that waits for it.
fn may_free(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::TaskCreated { .. }
            | Fact::TaskUpdated { .. }
            | Fact::TaskReleased { .. }
            | Fact::TaskSubmitted { .. }
            | Fact::TaskCompleted { .. }
            | Fact::TaskApproved { .. }
            | Fact::TaskRejected { .. }
            | Fact::TaskCancelled { .. }
            | Fact::TaskFailed { .. }
            | Fact::TaskRetried { .. }
            | Fact::TaskDeleted { .. }
    )
}
