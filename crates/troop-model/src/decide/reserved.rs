//! Tasks that are reserved for members which troop does not run: such a member hears by mail that one can begin, as it does
//! when one is given to it. Nobody else would tell it.

use std::collections::BTreeSet;

use super::Draft;
use crate::{Fact, Member, MemberName, MessageKind, Party, State, Status, TaskNumber};

/// Tells those whose tasks can begin now, and could not before.
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
        // Who made it for itself, or gives it back, knows of it.
        let is_own =
            || draft.member() == Some(to) && draft.facts.iter().any(|it| it.task() == Some(task));
        if was_so || is_own() {
            continue;
        }
        let content = format!("{task} is for you: {subject}");
        draft.tell(Party::member(to), MessageKind::TaskAssignment, content, Some(task));
    }
}

/// For whom of those whom troop does not run a task is reserved that can begin, and what it is.
fn reserved(state: &State, task: TaskNumber) -> Option<(&MemberName, &str)> {
    let found = state.tasks().get(task)?;
    let to = found.assignee.as_ref()?;
    let is_told = state.member(to).is_some_and(Member::is_external);
    let can_begin = state.tasks().status(task) == Some(Status::Pending);
    (is_told && can_begin).then_some((to, &*found.subject))
}

/// Tasks of such members that may be able to begin now.
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

/// Whether a fact says for whom its task is.
fn names_somebody(fact: &Fact) -> bool {
    matches!(fact, Fact::TaskCreated { assignee: Some(_), .. })
        || matches!(fact, Fact::TaskUpdated { change, .. } if change.assignee.is_some())
}

/// Whether a task may be able to begin after this: its own, or one that waits for it.
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
