//! The members of a team, and their states as the supervisor saw them.

use std::collections::BTreeMap;

use crate::{Event, Fact, JournaledMap, Member, MemberName, MemberState, Time, Usage};

/// The members of a team, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Roster(JournaledMap<MemberName, Member>);

impl Roster {
    pub(crate) fn entries(&self) -> &BTreeMap<MemberName, Member> {
        self.0.entries()
    }

    pub(crate) fn add(&mut self, event: &Event) {
        let Fact::MemberAdded { member, id, role, agent, expertise, model, permissions } =
            &event.fact
        else {
            return;
        };
        let added = Member {
            name: member.clone(),
            id: *id,
            role: *role,
            agent: agent.clone(),
            expertise: expertise.clone(),
            model: model.clone(),
            permissions: *permissions,
            state: MemberState::Stopped,
            state_since: event.at,
            state_reason: None,
            state_cause: None,
            pid: None,
            joined_at: event.at,
            usage: Usage::default(),
        };
        self.0.insert(member.clone(), added);
    }

    pub(crate) fn remove(&mut self, member: &MemberName) {
        self.0.remove(member);
    }

    pub(crate) fn update(&mut self, member: &MemberName, change: impl FnOnce(&mut Member)) {
        self.0.update(member, change);
    }

    /// Applies a state that the supervisor saw.
    pub(crate) fn note_state(&mut self, event: &Event) {
        let Fact::MemberStateChanged { member, state, reason, cause, pid } = &event.fact else {
            return;
        };
        self.update(member, |member| {
            member.state = *state;
            member.state_since = event.at;
            member.state_reason.clone_from(reason);
            member.state_cause = *cause;
            member.pid = *pid;
        });
    }

    /// A member that takes a task works. If the supervisor sees another state, another event records it.
    pub(crate) fn note_working(&mut self, member: &MemberName, at: Time) {
        use MemberState::{Crashed, Idle, Stopped};
        self.move_state(member, &[Idle, Stopped, Crashed], MemberState::Working, at);
    }

    /// A member that works and has given back its last task is idle.
    pub(crate) fn note_idle(&mut self, member: &MemberName, at: Time) {
        self.move_state(member, &[MemberState::Working], MemberState::Idle, at);
    }

    fn move_state(&mut self, member: &MemberName, from: &[MemberState], to: MemberState, at: Time) {
        if self.entries().get(member).is_some_and(|member| from.contains(&member.state)) {
            self.update(member, |member| {
                member.state = to;
                member.state_since = at;
                member.state_reason = None;
                member.state_cause = None;
            });
        }
    }

    pub(super) fn begin(&mut self) {
        self.0.begin();
    }

    pub(super) fn rollback(&mut self) {
        self.0.rollback();
    }
}

impl From<BTreeMap<MemberName, Member>> for Roster {
    fn from(members: BTreeMap<MemberName, Member>) -> Self {
        Self(members.into())
    }
}
