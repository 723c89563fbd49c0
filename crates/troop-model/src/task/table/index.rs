//! Indexes of the live tasks, to avoid scanning all of them.
//!
//! Each part from a snapshot stays packed until it is used.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use serde::{Deserialize, Serialize};

use super::{StartGate, Status, sets::Sets, slots::Slot};
use crate::{
    MemberName, SnapshotError, TaskNumber, Version,
    packed::{PackedPart, SnapshotParts},
};

pub(super) type Rank = (Reverse<i32>, TaskNumber);

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Index {
    by_status: PackedPart<Sets<Status, TaskNumber>>,
    /// The tasks that can be claimed, by the member that they are reserved for, best first.
    ready: PackedPart<Sets<Option<MemberName>, Rank>>,
    dependents: PackedPart<Sets<TaskNumber, TaskNumber>>,
    held: PackedPart<Sets<MemberName, TaskNumber>>,
    finished: PackedPart<BTreeSet<(Version, TaskNumber)>>,
    /// The priorities of all tasks whose priority is not 0.
    priorities: PackedPart<BTreeMap<TaskNumber, i32>>,
}

/// The indexes in the front of a snapshot: the length of each part.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PackedIndex {
    by_status: usize,
    ready: usize,
    dependents: usize,
    held: usize,
    finished: usize,
    priorities: usize,
}

impl Index {
    pub(super) fn by_status(&self) -> &Sets<Status, TaskNumber> {
        self.by_status.get()
    }

    pub(super) fn ready(&self) -> &Sets<Option<MemberName>, Rank> {
        self.ready.get()
    }

    pub(super) fn dependents(&self) -> &Sets<TaskNumber, TaskNumber> {
        self.dependents.get()
    }

    pub(super) fn held(&self) -> &Sets<MemberName, TaskNumber> {
        self.held.get()
    }

    pub(super) fn finished(&self) -> &BTreeSet<(Version, TaskNumber)> {
        self.finished.get()
    }

    pub(super) fn rank(&self, number: TaskNumber) -> Rank {
        (Reverse(self.priorities.get().get(&number).copied().unwrap_or_default()), number)
    }

    pub(super) fn enter(&mut self, slot: &Slot) {
        let task = &slot.task;
        self.by_status.get_mut().insert(slot.status, task.number);
        if is_ready(slot) {
            self.ready.get_mut().insert(task.assignee.clone(), rank(slot));
        }
        if let Some(owner) = &task.owner
            && !task.status.is_terminal()
        {
            self.held.get_mut().insert(owner.clone(), task.number);
        }
        if let Some(version) = slot.finished {
            self.finished.get_mut().insert((version, task.number));
        }
        if task.priority != 0 {
            self.priorities.get_mut().insert(task.number, task.priority);
        }
        for dependency in &task.blocked_by {
            self.dependents.get_mut().insert(dependency.task, task.number);
        }
    }

    pub(super) fn leave(&mut self, slot: &Slot) {
        let task = &slot.task;
        self.by_status.get_mut().remove(&slot.status, &task.number);
        if is_ready(slot) {
            self.ready.get_mut().remove(&task.assignee, &rank(slot));
        }
        if let Some(owner) = &task.owner {
            self.held.get_mut().remove(owner, &task.number);
        }
        if let Some(version) = slot.finished {
            self.finished.get_mut().remove(&(version, task.number));
        }
        if task.priority != 0 {
            self.priorities.get_mut().remove(&task.number);
        }
        for dependency in &task.blocked_by {
            self.dependents.get_mut().remove(&dependency.task, &task.number);
        }
    }

    pub(super) fn pack(&self, out: &mut Vec<u8>) -> PackedIndex {
        PackedIndex {
            by_status: self.by_status.pack(out),
            ready: self.ready.pack(out),
            dependents: self.dependents.pack(out),
            held: self.held.pack(out),
            finished: self.finished.pack(out),
            priorities: self.priorities.pack(out),
        }
    }

    pub(super) fn unpack(
        packed: &PackedIndex,
        parts: &mut SnapshotParts,
    ) -> Result<Self, SnapshotError> {
        Ok(Self {
            by_status: parts.next(packed.by_status)?,
            ready: parts.next(packed.ready)?,
            dependents: parts.next(packed.dependents)?,
            held: parts.next(packed.held)?,
            finished: parts.next(packed.finished)?,
            priorities: parts.next(packed.priorities)?,
        })
    }
}

fn is_ready(slot: &Slot) -> bool {
    slot.status == Status::Pending
        && slot.task.owner.is_none()
        && slot.task.start.gate != StartGate::Waiting
}

fn rank(slot: &Slot) -> Rank {
    (Reverse(slot.task.priority), slot.task.number)
}
