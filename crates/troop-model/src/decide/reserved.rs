//! Reserved tasks that can start now. troop gives them to the members that it runs and starts those that do not run; others are
//! told.

use std::collections::BTreeSet;

use super::{Draft, Standing, lead, supervision};
use crate::{
    Assignment, Fact, Member, MemberName, MessageKind, Party, Role, StartGate, State, Status, Task,
    TaskNumber,
};

/// Starts or tells the members whose reserved tasks can start now and could not before.
pub(super) fn tell(draft: &mut Draft<'_>) {
    tell_of_new(draft);
    tell_of_loss(draft);
    let touched = touched(draft);
    if touched.is_empty() {
        return;
    }
    let after = draft.after();
    for task in touched {
        let Some((to, subject)) = reserved(&after, task) else { continue };
        let was_so = reserved(draft.state, task).is_some_and(|(before, _)| before == to);
        // A member that created the task for itself or released it needs no notice; nor does one from which it was taken back.
        let is_about = |it: &Fact| it.task() == Some(task);
        let is_taken = |it: &Fact| matches!(it, Fact::TaskReleased { owner, .. } if owner == to);
        let is_own = || {
            let mut facts = draft.facts.iter().filter(|it| is_about(it));
            match draft.member() == Some(to) {
                true => facts.next().is_some(),
                false => draft.who != Standing::System && facts.any(is_taken),
            }
        };
        if !was_so && !is_own() {
            let is_held_back = after.tasks().get(task).is_some_and(|it| it.start.is_held_back);
            start_or_tell(draft, to, task, subject, is_held_back);
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
    let is_held_back = matches!(draft.who, Standing::Lead(_));
    for (task, to, subject) in new {
        start_or_tell(draft, &to, task, &subject, is_held_back);
    }
}

/// Tells members that were told of a task that it is no longer for them.
fn tell_of_loss(draft: &mut Draft<'_>) {
    let mut lost = Vec::new();
    for fact in &draft.facts {
        let new = if let Fact::TaskAssigned { owner, .. } = fact {
            Some(owner)
        } else if let Fact::TaskUpdated { change, .. } = fact
            && let Some(new) = &change.assignee
        {
            new.as_ref()
        } else {
            continue;
        };
        let Some(task) = fact.task() else { continue };
        let Some((before, _)) = reserved(draft.state, task) else { continue };
        let is_held_back = draft.state.tasks.get(task).is_some_and(|it| it.start.is_held_back);
        let was_told = is_told(draft, before) && !(is_held_back && claims_work(draft.state));
        if was_told && new != Some(before) && draft.member() != Some(before) {
            let now = new.map(|new| format!(": it is for {new}")).unwrap_or_default();
            lost.push((before.clone(), task, format!("{task} is no longer for you{now}")));
        }
    }
    for (to, task, content) in lost {
        draft.tell(Party::member(&to), MessageKind::System, content, Some(task));
    }
}

fn start_or_tell(
    draft: &mut Draft<'_>,
    to: &MemberName,
    task: TaskNumber,
    subject: &str,
    is_held_back: bool,
) {
    if let Err(refusal) = supervision::start_for_reserved(draft, to) {
        draft.tell_lead(format!("{to} cannot be started for {task}: {refusal}"), task);
    }
    // What the lead itself reserves, it delegates: a member that is told would begin it first.
    let awaits_lead = is_held_back && claims_work(draft.state);
    if !awaits_lead && is_told(draft, to) {
        let content = format!("{task} is for you: {subject}");
        draft.tell(Party::member(to), MessageKind::TaskAssignment, content, Some(task));
    }
}

fn is_concerned(draft: &Draft<'_>, member: &MemberName) -> bool {
    is_told(draft, member) || supervision::is_startable(draft, member)
}

/// Whether a member gets mail about a task that is reserved for it: unless troop runs it, or starts it, and gives it the task.
fn is_told(draft: &Draft<'_>, member: &MemberName) -> bool {
    let Some(found) = draft.state.member(member) else { return false };
    let is_left_alone = !found.is_running() && lead::current(draft).is_err();
    found.is_external() || claims_work(draft.state) && (found.role == Role::Lead || is_left_alone)
}

/// The tasks that troop gives a member by itself, best first. Where members claim their work, these are the tasks that were
/// reserved for it, except by the lead, which delegates them.
pub fn work_to_give<'a>(
    state: &'a State,
    member: &'a MemberName,
) -> impl Iterator<Item = TaskNumber> + 'a {
    let claims = claims_work(state);
    let is_left = claims && state.member(member).is_none_or(Member::is_external);
    let tasks = state.tasks();
    let is_held_back = |it: &TaskNumber| tasks.get(*it).is_some_and(|it| it.start.is_held_back);
    let any = (!claims).then(|| tasks.ready_for(member));
    let reserved = (claims && !is_left).then(|| tasks.ready_and_reserved(member));
    let reserved = reserved.into_iter().flatten().filter(move |it| !is_held_back(it));
    any.into_iter().flatten().chain(reserved)
}

fn claims_work(state: &State) -> bool {
    state.team().is_some_and(|team| team.settings.assignment == Assignment::Claim)
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
