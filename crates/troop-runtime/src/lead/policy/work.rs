//! Assigns tasks to members.

use std::collections::BTreeSet;

use troop_model::{Member, MemberName, MemberState, Role, State, Status, TaskNumber, work_to_give};

use crate::lead::crew::facts::MemberFacts;

/// A task for a free member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub member: MemberName,
    pub task: TaskNumber,
}

/// The next task for every free member, if the team has budget.
pub fn offers(state: &State, crew: &[(&MemberName, &MemberFacts)], is_spent: bool) -> Vec<Offer> {
    if is_spent {
        return Vec::new();
    }
    let mut taken = BTreeSet::new();
    let mut offers = Vec::new();
    let free = crew.iter().filter(|(name, facts)| is_without_work(state, name, facts));
    for (member, _) in free {
        let next = work_to_give(state, member).find(|it| !taken.contains(it));
        if let Some(task) = next {
            taken.insert(task);
            offers.push(Offer { member: (*member).clone(), task });
        }
    }
    offers
}

/// Whether a member is free and holds only tasks in review.
fn is_without_work(state: &State, member: &MemberName, facts: &MemberFacts) -> bool {
    let waits = |it: &Member| {
        let is_unbusy = matches!(it.state, MemberState::Idle | MemberState::Planning);
        it.role == Role::Member && is_unbusy
    };
    let tasks = state.tasks();
    facts.is_free(state.version())
        && state.member(member).is_some_and(waits)
        && tasks.held_by(member).all(|it| tasks.status(it) == Some(Status::InReview))
}

/// Whether a member has work, or gets some as soon as it is idle.
pub fn has_or_gets_work(state: &State, member: &MemberName) -> bool {
    at_work(state, member).next().is_some() || work_to_give(state, member).next().is_some()
}

/// The tasks that a member works on, without those it has submitted.
pub fn at_work(state: &State, member: &MemberName) -> impl Iterator<Item = TaskNumber> {
    let tasks = state.tasks();
    let is_at_work =
        |it: &TaskNumber| matches!(tasks.status(*it), Some(Status::InProgress | Status::Stale));
    tasks.held_by(member).filter(is_at_work)
}

/// The other tasks that a member works on.
pub fn others_at_work(
    state: &State,
    member: &MemberName,
    task: TaskNumber,
) -> impl Iterator<Item = TaskNumber> {
    at_work(state, member).filter(move |it| *it != task)
}

/// Whether a member has a task in progress, so that its folder changes.
pub fn is_working(state: &State, member: &MemberName) -> bool {
    let tasks = state.tasks();
    tasks.held_by(member).any(|task| tasks.status(task) == Some(Status::InProgress))
}

#[cfg(test)]
mod tests;
