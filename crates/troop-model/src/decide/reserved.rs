//! Reserved tasks that can start now. Nobody hands a member such a task unless the team gives out work, so the member is started,
//! or told, or both.

use std::collections::BTreeSet;

use super::{Draft, Standing, supervision};
use crate::{
    Assignment, Fact, Member, MemberName, MessageKind, Party, StartGate, State, Status, Task,
    TaskNumber,
};

/// Starts or tells the members whose reserved tasks can start now and could not before.
pub(super) fn tell(draft: &mut Draft<'_>) {
    tell_of_new(draft);
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
        if !was_so && !is_own() {
            start_or_tell(draft, to, task, subject);
        }
    }
}

/// Tells assignees of tasks that this decision makes. Their status needs no copy of the state.
fn tell_of_new(draft: &mut Draft<'_>) {
    let tasks = &draft.state.tasks;
    let mut new = Vec::new();
    for fact in &draft.facts {
        let Fact::TaskCreated {
            task, assignee: Some(to), subject, blocked_by, approve_start, ..
        } = fact
        else {
            continue;
        };
        let can_begin = !approve_start && blocked_by.iter().all(|it| tasks.is_resolved(*it));
        if can_begin && draft.member() != Some(to) && is_concerned(draft, to) {
            new.push((*task, to.clone(), subject.clone()));
        }
    }
    new.iter().for_each(|(task, to, subject)| start_or_tell(draft, to, *task, subject));
}

fn start_or_tell(draft: &mut Draft<'_>, to: &MemberName, task: TaskNumber, subject: &str) {
    if let Err(refusal) = supervision::start_for_reserved(draft, to) {
        draft.tell_lead(format!("{to} cannot be started for {task}: {refusal}"), task);
    }
    if is_told(draft, to) {
        let content = format!("{task} is for you: {subject}");
        draft.tell(Party::member(to), MessageKind::TaskAssignment, content, Some(task));
    }
}

fn is_concerned(draft: &Draft<'_>, member: &MemberName) -> bool {
    is_told(draft, member) || supervision::is_startable(draft, member)
}

/// Whether a member gets mail about a reserved task: if another program runs it, or if members of this team claim their work.
/// The lead delegates tasks that it reserves itself: a member that is told would begin them first.
fn is_told(draft: &Draft<'_>, member: &MemberName) -> bool {
    let is_external = draft.state.member(member).is_some_and(Member::is_external);
    is_external || claims_work(draft) && !matches!(draft.who, Standing::Lead(_))
}

fn claims_work(draft: &Draft<'_>) -> bool {
    draft.state.team().is_some_and(|team| team.settings.assignment == Assignment::Claim)
}

/// The member that a task is reserved for and that could start it, and the task's subject.
fn reserved(state: &State, task: TaskNumber) -> Option<(&MemberName, &str)> {
    let found = state.tasks().get(task)?;
    let to = found.assignee.as_ref()?;
    let can_begin = state.tasks().status(task) == Some(Status::Pending)
        && found.start.gate != StartGate::Waiting;
    (state.member(to).is_some() && can_begin).then_some((to, &*found.subject))
}

/// Reserved tasks that may be able to start now.
fn touched(draft: &Draft<'_>) -> BTreeSet<TaskNumber> {
    let tasks = &draft.state.tasks;
    let is_theirs = |it: &TaskNumber| {
        let assignee = |task: &'_ Task| task.assignee.clone();
        tasks.get(*it).and_then(assignee).is_some_and(|it| is_concerned(draft, &it))
    };
    let mut touched = BTreeSet::new();
    for fact in draft.facts.iter().filter(|it| may_free(it)) {
        let Some(task) = fact.task() else { continue };
        let is_touched = match named(fact) {
            Some(member) => is_concerned(draft, member),
            None => is_theirs(&task),
        };
        touched.extend([task].into_iter().filter(|_| is_touched));
        touched.extend(tasks.dependents(task).filter(is_theirs));
    }
    touched
}

/// The member that a fact reserves its task for.
fn named(fact: &Fact) -> Option<&MemberName> {
    let Fact::TaskUpdated { change, .. } = fact else { return None };
    change.assignee.as_ref()?.as_ref()
}

/// Whether this fact may let a task start: its own, or one that waits for it.
fn may_free(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::TaskUpdated { .. }
            | Fact::TaskReleased { .. }
            | Fact::TaskSubmitted { .. }
            | Fact::TaskStartApproved { .. }
            | Fact::TaskCompleted { .. }
            | Fact::TaskApproved { .. }
            | Fact::TaskRejected { .. }
            | Fact::TaskCancelled { .. }
            | Fact::TaskFailed { .. }
            | Fact::TaskRetried { .. }
            | Fact::TaskDeleted { .. }
    )
}
