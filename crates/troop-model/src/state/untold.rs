//! The results that the lead has not been told yet, with the members that they are from.

use std::collections::BTreeMap;

use crate::{Actor, Event, Fact, JournaledMap, Member, MemberName, Role, State, TaskNumber};

/// Results that a notice to the lead is still to tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UntoldResults(JournaledMap<TaskNumber, MemberName>);

impl UntoldResults {
    pub(crate) fn entries(&self) -> &BTreeMap<TaskNumber, MemberName> {
        self.0.entries()
    }

    /// Forgets a result that was announced or withdrawn.
    pub(crate) fn forget(&mut self, task: TaskNumber) {
        self.0.remove(&task);
    }

    /// Forgets the results of a member: the decision about it has announced them.
    pub(crate) fn forget_all_of(&mut self, member: &MemberName) {
        let its = self.entries().iter().filter(|(_, it)| *it == member);
        let its: Vec<_> = its.map(|(task, _)| *task).collect();
        its.into_iter().for_each(|task| self.forget(task));
    }

    pub(super) fn begin(&mut self) {
        self.0.begin();
    }

    pub(super) fn rollback(&mut self) {
        self.0.rollback();
    }
}

impl From<BTreeMap<TaskNumber, MemberName>> for UntoldResults {
    fn from(results: BTreeMap<TaskNumber, MemberName>) -> Self {
        Self(results.into())
    }
}

/// Remembers that the lead has to hear of a result of a member that troop runs, or no longer has to. Delegations have
/// their own announcement. The state is the one before the event.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other fact is about a result")]
pub(crate) fn note_result(state: &mut State, number: TaskNumber, event: &Event) {
    match &event.fact {
        Fact::TaskCompleted { .. }
        | Fact::TaskSubmitted { .. }
        | Fact::TaskFailed { retry_at: Some(_), .. } => {
            let owner = state.tasks.get(number).and_then(|task| task.owner.clone());
            let is_its_word = |it: &&Member| event.actor == Actor::agent(&it.name);
            let is_run = |it: &&Member| it.role == Role::Member && it.is_running();
            let is_delegated = state.delegated.entries().contains_key(&number);
            let member = owner.and_then(|it| state.member(&it).filter(is_its_word).filter(is_run));
            if let Some(member) = member.map(|it| it.name.clone()).filter(|_| !is_delegated) {
                state.untold.0.insert(number, member);
            }
        }
        // The rules have told the results of before in the same decision.
        Fact::TaskAssigned { owner, .. } | Fact::TaskClaimed { owner, .. } => {
            state.untold.forget_all_of(owner);
            state.untold.forget(number);
        }
        Fact::TaskRetried { .. } | Fact::TaskCancelled { .. } | Fact::TaskDeleted { .. } => {
            state.untold.forget(number);
        }
        _ => {}
    }
}
