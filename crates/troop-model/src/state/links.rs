//! The links of a team: who may delegate to whom.

use std::collections::BTreeMap;

use crate::{JournaledMap, Link, MemberName};

/// Both ends of a link.
type Ends = (MemberName, MemberName);

/// The links of a team, by their ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Links(JournaledMap<Ends, Link>);

impl Links {
    pub(crate) fn entries(&self) -> &BTreeMap<Ends, Link> {
        self.0.entries()
    }

    pub(crate) fn get(&self, from: &MemberName, to: &MemberName) -> Option<&Link> {
        self.entries().get(&(from.clone(), to.clone()))
    }

    pub(crate) fn set(&mut self, link: &Link) {
        self.0.insert((link.from.clone(), link.to.clone()), link.clone());
    }

    pub(crate) fn purge(&mut self, from: &MemberName, to: &MemberName) {
        self.0.remove(&(from.clone(), to.clone()));
    }

    /// Disables the links of a member that left.
    pub(crate) fn disable(&mut self, member: &MemberName) {
        let ends = self.entries().keys().filter(|(from, to)| from == member || to == member);
        let ends: Vec<_> = ends.cloned().collect();
        ends.iter().for_each(|key| self.0.update(key, |link| link.enabled = false));
    }

    /// Takes all links out of their team, which is gone.
    pub(crate) fn leave_team(&mut self) {
        let ends: Vec<_> = self.entries().keys().cloned().collect();
        ends.iter().for_each(|key| self.0.update(key, |link| link.team = None));
    }

    pub(super) fn begin(&mut self) {
        self.0.begin();
    }

    pub(super) fn rollback(&mut self) {
        self.0.rollback();
    }
}

impl From<BTreeMap<Ends, Link>> for Links {
    fn from(links: BTreeMap<Ends, Link>) -> Self {
        Self(links.into())
    }
}
