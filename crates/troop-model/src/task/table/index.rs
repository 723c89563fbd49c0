//! What is derived from the live tasks so that nobody need look through all of them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use serde::{Deserialize, Serialize};

use super::{Dependency, StartGate, Status, Task};
use crate::{MemberName, TaskNumber, Version};

/// What the indexes know about a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Digest {
    /// As stored in the task.
    pub(super) stored: Status,
    /// As everybody sees it: `Blocked` where it applies.
    pub(super) status: Status,
    pub(super) priority: i32,
    pub(super) assignee: Option<MemberName>,
    pub(super) owner: Option<MemberName>,
    pub(super) awaits_start: bool,
    pub(super) finished: Option<Version>,
    pub(super) blocked_by: Vec<Dependency>,
}

pub(super) type Rank = (Reverse<i32>, TaskNumber);

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Index {
    pub(super) by_status: BTreeMap<Status, BTreeSet<TaskNumber>>,
    /// What can be claimed, by whom it is reserved for, best first.
    pub(super) ready: BTreeMap<Option<MemberName>, BTreeSet<Rank>>,
    pub(super) dependents: BTreeMap<TaskNumber, BTreeSet<TaskNumber>>,
    pub(super) held: BTreeMap<MemberName, BTreeSet<TaskNumber>>,
    pub(super) finished: BTreeSet<(Version, TaskNumber)>,
}

impl Digest {
    pub(super) fn new(task: &Task) -> Self {
        Self {
            stored: task.status,
            status: task.status,
            priority: task.priority,
            assignee: task.assignee.clone(),
            owner: task.owner.clone(),
            awaits_start: task.start == StartGate::Waiting,
            finished: None,
            blocked_by: task.blocked_by.clone(),
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.status == Status::Pending && self.owner.is_none() && !self.awaits_start
    }
}

impl Index {
    pub(super) fn enter(&mut self, number: TaskNumber, digest: &Digest) {
        self.by_status.entry(digest.status).or_default().insert(number);
        if digest.is_ready() {
            let rank = (Reverse(digest.priority), number);
            self.ready.entry(digest.assignee.clone()).or_default().insert(rank);
        }
        if let Some(owner) = &digest.owner
            && !digest.stored.is_terminal()
        {
            self.held.entry(owner.clone()).or_default().insert(number);
        }
        if let Some(version) = digest.finished {
            self.finished.insert((version, number));
        }
        for dependency in &digest.blocked_by {
            self.dependents.entry(dependency.task).or_default().insert(number);
        }
    }

    pub(super) fn leave(&mut self, number: TaskNumber, digest: &Digest) {
        remove_from(&mut self.by_status, &digest.status, &number);
        remove_from(&mut self.ready, &digest.assignee, &(Reverse(digest.priority), number));
        if let Some(owner) = &digest.owner {
            remove_from(&mut self.held, owner, &number);
        }
        if let Some(version) = digest.finished {
            self.finished.remove(&(version, number));
        }
        for dependency in &digest.blocked_by {
            remove_from(&mut self.dependents, &dependency.task, &number);
        }
    }

    /// The index of many slots at once: sorted input makes this much faster than entering them one by one.
    pub(super) fn of<'a>(slots: impl Iterator<Item = (TaskNumber, &'a Digest)>) -> Self {
        let mut by_status: BTreeMap<Status, Vec<TaskNumber>> = BTreeMap::new();
        let mut ready: BTreeMap<Option<MemberName>, Vec<Rank>> = BTreeMap::new();
        let mut index = Self::default();
        for (number, digest) in slots {
            by_status.entry(digest.status).or_default().push(number);
            if digest.is_ready() {
                let rank = (Reverse(digest.priority), number);
                ready.entry(digest.assignee.clone()).or_default().push(rank);
            }
            if digest.owner.is_some() || digest.finished.is_some() || !digest.blocked_by.is_empty()
            {
                let rest = Digest { awaits_start: true, ..digest.clone() };
                index.enter(number, &rest);
            }
        }
        index.by_status =
            by_status.into_iter().map(|(k, v)| (k, v.into_iter().collect())).collect();
        index.ready = ready.into_iter().map(|(k, v)| (k, v.into_iter().collect())).collect();
        index
    }
}

/// Keeps no empty sets, so that equal tables have equal indexes.
fn remove_from<K: Ord, V: Ord>(map: &mut BTreeMap<K, BTreeSet<V>>, key: &K, value: &V) {
    if let Some(set) = map.get_mut(key) {
        set.remove(value);
        if set.is_empty() {
            map.remove(key);
        }
    }
}
