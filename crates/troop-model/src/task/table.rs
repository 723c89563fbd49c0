//! The live tasks of a team and the indexes derived from them, such as available tasks and dependents.
//!
//! Tasks from a snapshot stay packed until they are used, so opening a board is cheap however many tasks it has. The indexes
//! are in the snapshot too, packed likewise.

mod index;
mod sets;
mod slots;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use index::{Index, PackedIndex, Rank};
use slots::{PackedSlots, Slot, Slots};

use super::{Dependency, StartGate, Status, Task};
use crate::{
    Condition, IdPrefix, MemberName, SnapshotError, TaskNumber, Version, packed::SnapshotParts,
};

/// The end of a task that is no longer live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskEnd {
    /// Archived as completed.
    Completed,
    /// Archived as cancelled.
    Cancelled,
    /// Deleted after it had ended; tasks that it unblocked stay unblocked.
    Deleted,
}

/// The live tasks of a team.
#[derive(Clone, Debug, Default)]
pub struct TaskTable {
    slots: Slots,
    last: TaskNumber,
    /// Ends of tasks that are not live, except plain completions.
    ends: BTreeMap<TaskNumber, TaskEnd>,
    n_archived: u32,
    index: Index,
    /// Tasks that left the board and wait to be archived; `None` for those erased after they had left.
    departed: Vec<(TaskNumber, Option<Arc<Task>>)>,
    undo: Vec<Undo>,
}

#[derive(Clone, Debug)]
struct Undo {
    number: TaskNumber,
    slot: Option<Slot>,
    last: TaskNumber,
    end: Option<TaskEnd>,
    n_archived: u32,
    n_departed: usize,
}

impl TaskTable {
    /// One task, if it is live.
    #[must_use]
    pub fn get(&self, number: TaskNumber) -> Option<&Task> {
        self.slots.get(number).map(|slot| slot.task.as_ref())
    }

    /// One live task, to keep while the board changes.
    #[must_use]
    pub fn shared(&self, number: TaskNumber) -> Option<Arc<Task>> {
        self.slots.get(number).map(|slot| Arc::clone(&slot.task))
    }

    /// The numbers of all live tasks, oldest first.
    pub fn numbers(&self) -> impl DoubleEndedIterator<Item = TaskNumber> {
        self.iter().map(|task| task.number)
    }

    /// How many tasks are live.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no task is live.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.len() == 0
    }

    /// All live tasks, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Task> {
        self.slots.iter().map(|slot| slot.task.as_ref())
    }

    /// The status of a task, including `Blocked`. None if the task was deleted or never existed.
    #[must_use]
    pub fn status(&self, number: TaskNumber) -> Option<Status> {
        match self.slots.get(number) {
            Some(slot) => Some(slot.status),
            None => match self.end(number)? {
                TaskEnd::Completed => Some(Status::Completed),
                TaskEnd::Cancelled => Some(Status::Cancelled),
                TaskEnd::Deleted => None,
            },
        }
    }

    /// The end of a task that is no longer live; none if it is live or never existed.
    #[must_use]
    pub fn end(&self, number: TaskNumber) -> Option<TaskEnd> {
        let was_here = number.0 > 0 && number <= self.last && self.slots.get(number).is_none();
        was_here.then(|| self.ends.get(&number).copied().unwrap_or(TaskEnd::Completed))
    }

    /// The highest number that was ever used.
    #[must_use]
    pub fn last(&self) -> TaskNumber {
        self.last
    }

    /// How many tasks are archived.
    #[must_use]
    pub fn n_archived(&self) -> usize {
        self.n_archived as usize
    }

    /// How many live tasks have this status.
    #[must_use]
    pub fn n_with(&self, status: Status) -> usize {
        self.index.by_status().n_of(&status)
    }

    /// The live tasks with this status, oldest first.
    pub fn with_status(&self, status: Status) -> impl DoubleEndedIterator<Item = TaskNumber> {
        self.index.by_status().of(&status).copied()
    }

    /// The live tasks with a wanted status, by priority, then by age, without unpacking any of them.
    #[must_use]
    pub fn that_stand(&self, is_wanted: impl Fn(Status) -> bool) -> Vec<TaskNumber> {
        let sets = self.index.by_status().all().filter(|(status, _)| is_wanted(**status));
        let mut numbers: Vec<_> = sets.flat_map(|(_, numbers)| numbers).copied().collect();
        numbers.sort_unstable_by_key(|number| self.index.rank(*number));
        numbers
    }

    /// The tasks that a member holds, oldest first.
    pub fn held_by(&self, member: &MemberName) -> impl Iterator<Item = TaskNumber> {
        self.index.held().of(member).copied()
    }

    /// The tasks that are reserved for a member and not finished, oldest first.
    pub fn reserved_for<'a>(
        &'a self,
        member: &'a MemberName,
    ) -> impl Iterator<Item = TaskNumber> + 'a {
        let is_meant =
            |task: &&Task| task.assignee.as_ref() == Some(member) && !task.status.is_finished();
        self.iter().filter(is_meant).map(|task| task.number)
    }

    /// The live tasks that wait, or waited, for this one.
    pub fn dependents(&self, number: TaskNumber) -> impl Iterator<Item = TaskNumber> {
        self.index.dependents().of(&number).copied()
    }

    /// The tasks that a member could claim, by priority, then by age. Ignores back-off.
    pub fn ready_for<'a>(&'a self, member: &MemberName) -> impl Iterator<Item = TaskNumber> + 'a {
        let ready = self.index.ready();
        let mut open = ready.of(&None).peekable();
        let mut reserved = ready.of(&Some(member.clone())).peekable();
        std::iter::from_fn(move || {
            let from_reserved = match (open.peek(), reserved.peek()) {
                (Some(open), Some(reserved)) => reserved < open,
                (None, Some(_)) => true,
                (_, None) => false,
            };
            if from_reserved { reserved.next() } else { open.next() }.map(|(_, number)| *number)
        })
    }

    /// Those of them that are reserved for the member.
    pub fn ready_and_reserved(&self, member: &MemberName) -> impl Iterator<Item = TaskNumber> {
        self.index.ready().of(&Some(member.clone())).map(|(_, number)| *number)
    }

    /// The best task that some member could claim.
    #[must_use]
    pub fn first_ready(&self) -> Option<TaskNumber> {
        self.ready_sets().filter_map(BTreeSet::first).min().map(|(_, number)| *number)
    }

    /// All tasks that some member could claim, by priority, then by age.
    #[must_use]
    pub fn ready(&self) -> Vec<TaskNumber> {
        let mut ranks: Vec<&Rank> = self.ready_sets().flatten().collect();
        ranks.sort_unstable();
        ranks.into_iter().map(|(_, number)| *number).collect()
    }

    /// The first few of those, without unpacking the rest.
    pub(crate) fn some_ready(&self, n_tasks: usize) -> Vec<TaskNumber> {
        let heads = self.ready_sets().flat_map(|ranks| ranks.iter().take(n_tasks));
        let mut ranks: Vec<&Rank> = heads.collect();
        ranks.sort_unstable();
        ranks.into_iter().take(n_tasks).map(|(_, number)| *number).collect()
    }

    /// The dependencies that still block a task.
    #[must_use]
    pub fn open_dependencies(&self, number: TaskNumber) -> Vec<Dependency> {
        let slot = self.slots.get(number);
        slot.into_iter()
            .flat_map(|slot| &slot.task.blocked_by)
            .filter(|dependency| !self.is_resolved(**dependency))
            .copied()
            .collect()
    }

    /// The live tasks whose id has this prefix.
    pub fn with_id_prefix<'a>(&'a self, prefix: &str) -> impl Iterator<Item = TaskNumber> + 'a {
        let wanted = IdPrefix::new(prefix);
        self.iter()
            .filter(move |task| wanted.is_some_and(|wanted| wanted.begins(task.id)))
            .map(|task| task.number)
    }

    /// The path along which `from` already waits for `to`, both ends included.
    #[must_use]
    pub fn path_between(&self, from: TaskNumber, to: TaskNumber) -> Option<Vec<TaskNumber>> {
        let mut came_from = BTreeMap::from([(from, from)]);
        let mut front = vec![from];
        while let Some(number) = front.pop() {
            if number == to {
                let mut path = vec![to];
                let mut at = to;
                while at != from {
                    at = *came_from.get(&at)?;
                    path.push(at);
                }
                path.reverse();
                return Some(path);
            }
            for dependency in
                self.slots.get(number).into_iter().flat_map(|slot| &slot.task.blocked_by)
            {
                came_from.entry(dependency.task).or_insert_with(|| {
                    front.push(dependency.task);
                    number
                });
            }
        }
        None
    }

    /// Whether a dependency no longer blocks.
    #[must_use]
    pub fn is_resolved(&self, dependency: Dependency) -> bool {
        let ended_as = match self.slots.get(dependency.task) {
            Some(slot) => Some(slot.task.status),
            // A deleted task had ended, and nothing was waiting for it.
            None => match self.end(dependency.task) {
                Some(TaskEnd::Completed | TaskEnd::Deleted) => Some(Status::Completed),
                Some(TaskEnd::Cancelled) => Some(Status::Cancelled),
                None => None,
            },
        };
        match ended_as {
            Some(Status::Completed) => true,
            Some(Status::Cancelled) => dependency.until == Condition::OnFinish,
            _ => false,
        }
    }

    /// Puts a new task on the board.
    pub(crate) fn insert(&mut self, task: Task) {
        let number = task.number;
        self.remember(number);
        self.last = self.last.max(number);
        self.slots.insert(Slot { status: task.status, finished: None, task: Arc::new(task) });
        self.enter(number);
        self.refresh(number);
    }

    /// Changes a task; does nothing if it is not live. `at` is the version of the change, and `n_finished` how many finished
    /// tasks stay live.
    pub(crate) fn update(
        &mut self,
        number: TaskNumber,
        at: Version,
        n_finished: usize,
        change: impl FnOnce(&mut Task),
    ) {
        self.remember(number);
        self.leave(number);
        let Some(slot) = self.slots.get_mut(number) else { return };
        let before = slot.task.status;
        change(Arc::make_mut(&mut slot.task));
        slot.status = slot.task.status;
        slot.finished = slot.status.is_finished().then(|| slot.finished.unwrap_or(at));
        let has_moved = slot.status != before;
        self.enter(number);
        self.refresh(number);
        if has_moved {
            self.refresh_dependents(number);
            self.let_the_oldest_go(n_finished);
        }
    }

    /// Deletes a task. Tasks that it unblocked stay unblocked.
    pub(crate) fn delete(&mut self, number: TaskNumber) {
        self.remember(number);
        self.leave(number);
        if self.slots.remove(number).is_none() {
            self.n_archived = self.n_archived.saturating_sub(1);
            self.departed.push((number, None));
        }
        self.ends.insert(number, TaskEnd::Deleted);
    }

    /// From here on, changes can be undone.
    pub(crate) fn begin(&mut self) {
        self.undo.clear();
    }

    /// Undoes all changes since `begin`.
    pub(crate) fn rollback(&mut self) {
        while let Some(undo) = self.undo.pop() {
            self.leave(undo.number);
            match undo.slot {
                Some(slot) => self.slots.insert(slot),
                None => drop(self.slots.remove(undo.number)),
            }
            self.last = undo.last;
            match undo.end {
                Some(end) => self.ends.insert(undo.number, end),
                None => self.ends.remove(&undo.number),
            };
            self.n_archived = undo.n_archived;
            self.departed.truncate(undo.n_departed);
            self.enter(undo.number);
            self.refresh(undo.number);
            self.refresh_dependents(undo.number);
        }
    }

    /// A task that left the board but has not been archived yet.
    #[must_use]
    pub fn departed(&self, number: TaskNumber) -> Option<Arc<Task>> {
        let newest = self.departed.iter().rev().find(|(departed, _)| *departed == number)?;
        newest.1.clone()
    }

    /// The tasks that left the board since they were last taken, to be archived.
    #[must_use]
    pub fn all_departed(&self) -> &[(TaskNumber, Option<Arc<Task>>)] {
        &self.departed
    }

    /// Forgets the first departed tasks, which are archived.
    pub(crate) fn forget_departed(&mut self, n_departed: usize) {
        self.departed.drain(..n_departed.min(self.departed.len()));
        self.undo.clear();
    }

    /// Records the slot in the undo journal.
    fn remember(&mut self, number: TaskNumber) {
        self.undo.push(Undo {
            number,
            slot: self.slots.get(number).cloned(),
            last: self.last,
            end: self.ends.get(&number).copied(),
            n_archived: self.n_archived,
            n_departed: self.departed.len(),
        });
    }

    /// Lets the oldest finished tasks leave the board. By count alone, so that the same log gives the same board everywhere.
    fn let_the_oldest_go(&mut self, n_kept: usize) {
        while self.index.finished().len() > n_kept {
            let Some((_, number)) = self.index.finished().first().copied() else { return };
            self.remember(number);
            self.leave(number);
            let Some(slot) = self.slots.remove(number) else { return };
            if slot.task.status == Status::Cancelled {
                self.ends.insert(number, TaskEnd::Cancelled);
            }
            self.n_archived += 1;
            self.departed.push((number, Some(slot.task)));
        }
    }

    /// Brings a task's derived status up to date.
    fn refresh(&mut self, number: TaskNumber) {
        let Some(slot) = self.slots.get(number) else { return };
        let status = self.seen_as(&slot.task);
        if status != slot.status {
            self.leave(number);
            if let Some(slot) = self.slots.get_mut(number) {
                slot.status = status;
            }
            self.enter(number);
        }
    }

    /// The status of a task in view of its dependencies.
    fn seen_as(&self, task: &Task) -> Status {
        let waits = task.status == Status::Pending
            && task.blocked_by.iter().any(|dependency| !self.is_resolved(*dependency));
        if waits { Status::Blocked } else { task.status }
    }

    fn refresh_dependents(&mut self, number: TaskNumber) {
        let dependents: Vec<_> = self.dependents(number).collect();
        dependents.into_iter().for_each(|dependent| self.refresh(dependent));
    }

    fn ready_sets(&self) -> impl Iterator<Item = &BTreeSet<Rank>> {
        self.index.ready().all().map(|(_, set)| set)
    }

    fn enter(&mut self, number: TaskNumber) {
        if let Some(slot) = self.slots.get(number) {
            self.index.enter(slot);
        }
    }

    fn leave(&mut self, number: TaskNumber) {
        if let Some(slot) = self.slots.get(number) {
            self.index.leave(slot);
        }
    }
}

#[cfg(test)]
impl TaskTable {
    /// Checks the derived indexes against the tasks.
    pub(crate) fn check(&self) {
        let mut again = Index::default();
        for slot in self.slots.iter() {
            let number = slot.task.number;
            assert_eq!(slot.status, self.seen_as(&slot.task), "{number}");
            assert_eq!(slot.finished.is_some(), slot.status.is_finished(), "{number} is finished");
            again.enter(slot);
        }
        assert_eq!(self.index, again, "the indexes are those of the tasks");
        assert_eq!(self.slots.iter().count(), self.slots.len(), "every slot counts");
        let n_erased = self.ends.values().filter(|end| **end == TaskEnd::Deleted).count();
        let n_all = self.slots.len() + self.n_archived() + n_erased;
        assert_eq!(n_all, self.last.0 as usize, "every task is live, archived or deleted");
    }
}

impl PartialEq for TaskTable {
    /// Compares the contents, whether packed or not.
    fn eq(&self, other: &Self) -> bool {
        self.last == other.last
            && self.ends == other.ends
            && self.n_archived == other.n_archived
            && self.index == other.index
            && self.iter().eq(other.iter())
    }
}

/// The table in the front of a snapshot: everything small, and the lengths of the packed parts.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PackedTable {
    slots: PackedSlots,
    index: PackedIndex,
    last: TaskNumber,
    ends: BTreeMap<TaskNumber, TaskEnd>,
    n_archived: u32,
}

impl TaskTable {
    /// Packs the table; its parts go to the end of `out`. Unused parts are copied as they are.
    pub(crate) fn pack(&self, out: &mut Vec<u8>) -> PackedTable {
        PackedTable {
            slots: self.slots.pack(out),
            index: self.index.pack(out),
            last: self.last,
            ends: self.ends.clone(),
            n_archived: self.n_archived,
        }
    }

    /// Opens a packed table.
    pub(crate) fn unpack(
        table: PackedTable,
        parts: &mut SnapshotParts,
    ) -> Result<Self, SnapshotError> {
        Ok(Self {
            slots: Slots::unpack(table.slots, parts)?,
            index: Index::unpack(&table.index, parts)?,
            last: table.last,
            ends: table.ends,
            n_archived: table.n_archived,
            departed: Vec::new(),
            undo: Vec::new(),
        })
    }
}
