//! The live tasks by number, in leaves of neighbouring numbers.
//!
//! A leaf from a snapshot stays packed until it is used.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{Status, Task};
use crate::{
    SnapshotError, TaskNumber, Version,
    packed::{PackedPart, SnapshotParts},
};

/// How many numbers share a leaf: using one task unpacks at most this many.
const WIDTH: u32 = 32;

/// A live task and what the table knows about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Slot {
    pub(super) task: Arc<Task>,
    /// Its derived status, including `Blocked`.
    pub(super) status: Status,
    /// The version at which it became finished.
    pub(super) finished: Option<Version>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    /// By the numbers in them, divided by `WIDTH`. None is empty.
    leaves: BTreeMap<u32, PackedPart<Leaf>>,
    len: usize,
}

type Leaf = BTreeMap<TaskNumber, Slot>;

/// The leaves in the front of a snapshot: the length of each leaf.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PackedSlots {
    leaves: Vec<(u32, usize)>,
    len: usize,
}

impl Slots {
    pub(super) fn get(&self, number: TaskNumber) -> Option<&Slot> {
        self.leaves.get(&leaf_of(number))?.get().get(&number)
    }

    pub(super) fn get_mut(&mut self, number: TaskNumber) -> Option<&mut Slot> {
        self.leaves.get_mut(&leaf_of(number))?.get_mut().get_mut(&number)
    }

    pub(super) fn insert(&mut self, slot: Slot) {
        let number = slot.task.number;
        let leaf = self.leaves.entry(leaf_of(number)).or_default();
        if leaf.get_mut().insert(number, slot).is_none() {
            self.len += 1;
        }
    }

    pub(super) fn remove(&mut self, number: TaskNumber) -> Option<Slot> {
        let leaf = self.leaves.get_mut(&leaf_of(number))?.get_mut();
        let slot = leaf.remove(&number)?;
        if leaf.is_empty() {
            self.leaves.remove(&leaf_of(number));
        }
        self.len -= 1;
        Some(slot)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// All of them, oldest first. This unpacks everything.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Slot> {
        self.leaves.values().flat_map(|leaf| leaf.get().values())
    }

    pub(super) fn pack(&self, out: &mut Vec<u8>) -> PackedSlots {
        let leaves = self.leaves.iter().map(|(nth, leaf)| (*nth, leaf.pack(out)));
        PackedSlots { leaves: leaves.collect(), len: self.len }
    }

    pub(super) fn unpack(
        packed: PackedSlots,
        parts: &mut SnapshotParts,
    ) -> Result<Self, SnapshotError> {
        let leaves = packed.leaves.into_iter();
        let leaves = leaves.map(|(nth, len)| Ok((nth, parts.next(len)?))).collect::<Result<_, _>>();
        Ok(Self { leaves: leaves?, len: packed.len })
    }
}

fn leaf_of(number: TaskNumber) -> u32 {
    number.0 / WIDTH
}
