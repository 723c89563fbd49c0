//! The live tasks of a team and what is derived from them: who can start what, who waits for whom.
//!
//! Tasks that a snapshot brought stay packed until somebody looks at them, so opening a board costs little however
//! many tasks it has. Each slot therefore carries a digest of what the indexes need.

mod index;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use index::{Digest, Index, Rank};

use super::{Dependency, StartGate, Status, Task};
use crate::{Condition, IdPrefix, MemberName, TaskNumber, Version};

/// How many finished tasks stay on the live board; older ones are archived.
pub const LIVE_FINISHED: usize = if cfg!(test) { 4 } else { 1_000 };

/// How a task that is no longer live ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Finished {
    /// Archived as completed.
    Completed,
    /// Archived as cancelled.
    Cancelled,
    /// Deleted after it had ended; what it unblocked stays unblocked.
    Deleted,
}

/// The live tasks of a team.
#[derive(Clone, Debug, Default)]
pub struct TaskTable {
    slots: BTreeMap<TaskNumber, Slot>,
    /// What packed slots point into.
    packed: Arc<Vec<u8>>,
    last: TaskNumber,
    /// Ends of tasks that are not live, as far as they are not plain completions.
    ends: BTreeMap<TaskNumber, Finished>,
    n_archived: u32,
    index: Index,
    /// Tasks that left the board and wait to be archived; `None` for those erased after they had left.
    departed: Vec<(TaskNumber, Option<Arc<Task>>)>,
    undo: Vec<Undo>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Slot {
    id: Uuid,
    digest: Digest,
    body: Body,
}

/// A task, or where to find it: how far in, and how long. A snapshot has the length alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "usize", into = "usize")]
struct Body {
    task: OnceLock<Arc<Task>>,
    place: (usize, usize),
}

#[derive(Clone, Debug)]
struct Undo {
    number: TaskNumber,
    slot: Option<Slot>,
    last: TaskNumber,
    end: Option<Finished>,
    n_archived: u32,
    n_departed: usize,
}

impl TaskTable {
    /// One task, if it is live.
    #[must_use]
    pub fn get(&self, number: TaskNumber) -> Option<&Task> {
        self.slots.get(&number).map(|slot| slot.task(&self.packed))
    }

    /// One live task, to be kept while the board goes on.
    #[must_use]
    pub fn shared(&self, number: TaskNumber) -> Option<Arc<Task>> {
        let slot = self.slots.get(&number)?;
        slot.task(&self.packed);
        slot.body.task.get().cloned()
    }

    /// The numbers of all live tasks, oldest first.
    pub fn numbers(&self) -> impl DoubleEndedIterator<Item = TaskNumber> {
        self.slots.keys().copied()
    }

    /// How many tasks are live.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no task is live.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// All live tasks, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Task> {
        self.slots.values().map(|slot| slot.task(&self.packed))
    }

    /// Where a task stands: `Blocked` where it applies. None if there is no such task any more.
    #[must_use]
    pub fn status(&self, number: TaskNumber) -> Option<Status> {
        match self.slots.get(&number) {
            Some(slot) => Some(slot.digest.status),
            None => match self.end(number)? {
                Finished::Completed => Some(Status::Completed),
                Finished::Cancelled => Some(Status::Cancelled),
                Finished::Deleted => None,
            },
        }
    }

    /// How a task that is not live any more ended; none if it is live or never was.
    #[must_use]
    pub fn end(&self, number: TaskNumber) -> Option<Finished> {
        let was_here = number.0 > 0 && number <= self.last && !self.slots.contains_key(&number);
        was_here.then(|| self.ends.get(&number).copied().unwrap_or(Finished::Completed))
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

    /// How many live tasks stand there.
    #[must_use]
    pub fn n_with(&self, status: Status) -> usize {
        self.index.by_status.get(&status).map_or(0, BTreeSet::len)
    }

    /// The live tasks that stand there, oldest first.
    pub fn with_status(&self, status: Status) -> impl DoubleEndedIterator<Item = TaskNumber> {
        self.index.by_status.get(&status).into_iter().flatten().copied()
    }

    /// The tasks that a member holds, oldest first.
    pub fn held_by(&self, member: &MemberName) -> impl Iterator<Item = TaskNumber> {
        self.index.held.get(member).into_iter().flatten().copied()
    }

    /// The tasks that are reserved for a member and not over, oldest first.
    pub fn reserved_for<'a>(
        &'a self,
        member: &'a MemberName,
    ) -> impl Iterator<Item = TaskNumber> + 'a {
        let is_meant = |digest: &Digest| {
            digest.assignee.as_ref() == Some(member) && !digest.stored.is_finished()
        };
        self.slots.iter().filter(move |(_, slot)| is_meant(&slot.digest)).map(|(number, _)| *number)
    }

    /// The live tasks that wait, or waited, for this one.
    pub fn dependents(&self, number: TaskNumber) -> impl Iterator<Item = TaskNumber> {
        self.index.dependents.get(&number).into_iter().flatten().copied()
    }

    /// What a member could claim: by priority, then by age. Back-off is not looked at.
    pub fn ready_for<'a>(&'a self, member: &MemberName) -> impl Iterator<Item = TaskNumber> + 'a {
        let mut open = self.index.ready.get(&None).into_iter().flatten().peekable();
        let mut reserved =
            self.index.ready.get(&Some(member.clone())).into_iter().flatten().peekable();
        std::iter::from_fn(move || {
            let from_reserved = match (open.peek(), reserved.peek()) {
                (Some(open), Some(reserved)) => reserved < open,
                (None, Some(_)) => true,
                (_, None) => false,
            };
            if from_reserved { reserved.next() } else { open.next() }.map(|(_, number)| *number)
        })
    }

    /// The best task that somebody could claim.
    #[must_use]
    pub fn first_ready(&self) -> Option<TaskNumber> {
        self.index.ready.values().filter_map(BTreeSet::first).min().map(|(_, number)| *number)
    }

    /// Everything that could be claimed by somebody: by priority, then by age.
    #[must_use]
    pub fn ready(&self) -> Vec<TaskNumber> {
        let mut ranks: Vec<&Rank> = self.index.ready.values().flatten().collect();
        ranks.sort_unstable();
        ranks.into_iter().map(|(_, number)| *number).collect()
    }

    /// The first few of those, without looking at all of them.
    pub(crate) fn some_ready(&self, n_tasks: usize) -> Vec<TaskNumber> {
        let heads = self.index.ready.values().flat_map(|ranks| ranks.iter().take(n_tasks));
        let mut ranks: Vec<&Rank> = heads.collect();
        ranks.sort_unstable();
        ranks.into_iter().take(n_tasks).map(|(_, number)| *number).collect()
    }

    /// The things that a task still waits for.
    #[must_use]
    pub fn open_dependencies(&self, number: TaskNumber) -> Vec<Dependency> {
        let slot = self.slots.get(&number);
        slot.into_iter()
            .flat_map(|slot| &slot.digest.blocked_by)
            .filter(|dependency| !self.is_resolved(**dependency))
            .copied()
            .collect()
    }

    /// The live tasks whose id begins like this.
    pub fn with_id_prefix<'a>(&'a self, prefix: &str) -> impl Iterator<Item = TaskNumber> + 'a {
        let wanted = IdPrefix::new(prefix);
        self.slots
            .iter()
            .filter(move |(_, slot)| wanted.is_some_and(|wanted| wanted.begins(slot.id)))
            .map(|(number, _)| *number)
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
                self.slots.get(&number).into_iter().flat_map(|slot| &slot.digest.blocked_by)
            {
                came_from.entry(dependency.task).or_insert_with(|| {
                    front.push(dependency.task);
                    number
                });
            }
        }
        None
    }

    /// Whether a dependency no longer holds anything up.
    #[must_use]
    pub fn is_resolved(&self, dependency: Dependency) -> bool {
        let ended_as = match self.slots.get(&dependency.task) {
            Some(slot) => Some(slot.digest.stored),
            // What was deleted had ended, and deleting is refused while somebody still waits for it.
            None => match self.end(dependency.task) {
                Some(Finished::Completed | Finished::Deleted) => Some(Status::Completed),
                Some(Finished::Cancelled) => Some(Status::Cancelled),
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
        let slot = Slot { id: task.id, digest: Digest::new(&task), body: Body::of(task) };
        self.slots.insert(number, slot);
        self.enter(number);
        self.refresh(number);
    }

    /// Changes a live task; does nothing if it is not live. `finished` is the version at which it became finished.
    pub(crate) fn update(
        &mut self,
        number: TaskNumber,
        at: Version,
        change: impl FnOnce(&mut Task),
    ) {
        self.remember(number);
        let Some(slot) = self.slots.get_mut(&number) else { return };
        slot.task(&self.packed);
        let Some(task) = slot.body.task.get_mut() else { return };
        let task = Arc::make_mut(task);
        change(task);
        let mut digest = Digest::new(task);
        digest.finished = digest.stored.is_finished().then(|| slot.digest.finished.unwrap_or(at));
        let has_moved = digest.stored != slot.digest.stored;
        self.leave(number);
        if let Some(slot) = self.slots.get_mut(&number) {
            slot.digest = digest;
        }
        self.enter(number);
        self.refresh(number);
        if has_moved {
            self.refresh_dependents(number);
            self.let_the_oldest_go();
        }
    }

    /// Takes a task away for good. What it had unblocked stays unblocked.
    pub(crate) fn delete(&mut self, number: TaskNumber) {
        self.remember(number);
        self.leave(number);
        if self.slots.remove(&number).is_none() {
            self.n_archived = self.n_archived.saturating_sub(1);
            self.departed.push((number, None));
        }
        self.ends.insert(number, Finished::Deleted);
    }

    /// From here on, changes can be taken back.
    pub(crate) fn begin(&mut self) {
        self.undo.clear();
    }

    /// Takes back all changes since `begin`.
    pub(crate) fn rollback(&mut self) {
        while let Some(undo) = self.undo.pop() {
            self.leave(undo.number);
            match undo.slot {
                Some(slot) => self.slots.insert(undo.number, slot),
                None => self.slots.remove(&undo.number),
            };
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

    /// Forgets the first departed: they are archived.
    pub(crate) fn forget_departed(&mut self, n_departed: usize) {
        self.departed.drain(..n_departed.min(self.departed.len()));
        self.undo.clear();
    }

    /// Keeps what the slot was, once per change.
    fn remember(&mut self, number: TaskNumber) {
        self.undo.push(Undo {
            number,
            slot: self.slots.get(&number).cloned(),
            last: self.last,
            end: self.ends.get(&number).copied(),
            n_archived: self.n_archived,
            n_departed: self.departed.len(),
        });
    }

    /// The same log gives the same live board everywhere, so what leaves it is a matter of counting.
    fn let_the_oldest_go(&mut self) {
        while self.index.finished.len() > LIVE_FINISHED {
            let Some((_, number)) = self.index.finished.first().copied() else { return };
            self.remember(number);
            self.leave(number);
            let Some(slot) = self.slots.remove(&number) else { return };
            if slot.digest.stored == Status::Cancelled {
                self.ends.insert(number, Finished::Cancelled);
            }
            slot.task(&self.packed);
            self.n_archived += 1;
            self.departed.push((number, slot.body.task.into_inner()));
        }
    }

    /// Brings a task's derived status up to date.
    fn refresh(&mut self, number: TaskNumber) {
        let Some(slot) = self.slots.get(&number) else { return };
        let waits = slot.digest.stored == Status::Pending
            && slot.digest.blocked_by.iter().any(|dependency| !self.is_resolved(*dependency));
        let status = if waits { Status::Blocked } else { slot.digest.stored };
        if status != slot.digest.status {
            self.leave(number);
            if let Some(slot) = self.slots.get_mut(&number) {
                slot.digest.status = status;
            }
            self.enter(number);
        }
    }

    fn refresh_dependents(&mut self, number: TaskNumber) {
        let dependents: Vec<_> = self.dependents(number).collect();
        dependents.into_iter().for_each(|dependent| self.refresh(dependent));
    }

    fn enter(&mut self, number: TaskNumber) {
        if let Some(slot) = self.slots.get(&number) {
            self.index.enter(number, &slot.digest);
        }
    }

    fn leave(&mut self, number: TaskNumber) {
        if let Some(slot) = self.slots.get(&number) {
            self.index.leave(number, &slot.digest);
        }
    }
}

#[cfg(test)]
impl TaskTable {
    /// Holds what is kept about the tasks against what the tasks themselves say.
    pub(crate) fn check(&self) {
        for (number, slot) in &self.slots {
            let task = slot.task(&self.packed);
            let waits = task.status == Status::Pending
                && task.blocked_by.iter().any(|dependency| !self.is_resolved(*dependency));
            let status = if waits { Status::Blocked } else { task.status };
            let finished = slot.digest.finished;
            assert_eq!(finished.is_some(), task.status.is_finished(), "{number} is finished");
            assert_eq!(slot.digest, Digest { status, finished, ..Digest::new(task) }, "{number}");
            assert_eq!(slot.id, task.id, "{number}");
        }
        let again = Index::of(self.slots.iter().map(|(number, slot)| (*number, &slot.digest)));
        assert_eq!(self.index, again, "the indexes are those of the tasks");
        let n_erased = self.ends.values().filter(|end| **end == Finished::Deleted).count();
        let n_all = self.slots.len() + self.n_archived() + n_erased;
        assert_eq!(n_all, self.last.0 as usize, "every task is live, archived or deleted");
    }
}

impl PartialEq for TaskTable {
    /// Compares what the tables stand for, not how much of it is packed.
    fn eq(&self, other: &Self) -> bool {
        self.last == other.last
            && self.ends == other.ends
            && self.n_archived == other.n_archived
            && self.index == other.index
            && self.iter().eq(other.iter())
    }
}

impl Slot {
    fn task(&self, packed: &[u8]) -> &Task {
        self.body.task.get_or_init(|| {
            let (start, len) = self.body.place;
            let bytes = packed.get(start..start + len).unwrap_or_default();
            Arc::new(
                postcard::from_bytes(bytes).expect(
                    "a snapshot that passed its checksum holds tasks as this format has them",
                ),
            )
        })
    }
}

impl From<usize> for Body {
    fn from(len: usize) -> Self {
        Self::packed(len)
    }
}

impl From<Body> for usize {
    fn from(body: Body) -> Self {
        body.place.1
    }
}

impl Body {
    fn packed(len: usize) -> Self {
        Self { task: OnceLock::new(), place: (0, len) }
    }

    fn of(task: Task) -> Self {
        Self { task: OnceLock::from(Arc::new(task)), place: (0, 0) }
    }
}

/// A table as a snapshot has it: digests in front, packed tasks behind.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PackedTable {
    slots: Vec<(TaskNumber, Slot)>,
    last: TaskNumber,
    ends: BTreeMap<TaskNumber, Finished>,
    n_archived: u32,
}

impl TaskTable {
    /// Packs the table; the tasks go to the end of `bodies`. Slots that nobody looked at are copied as they are.
    pub(crate) fn pack(&self, bodies: &mut Vec<u8>) -> PackedTable {
        let slots = self.slots.iter().map(|(number, slot)| {
            let start = bodies.len();
            match slot.body.task.get() {
                Some(task) => {
                    *bodies = postcard::to_extend(task.as_ref(), std::mem::take(bodies))
                        .expect("a task has no part that cannot be packed");
                }
                None => {
                    let (from, len) = slot.body.place;
                    bodies.extend(self.packed.get(from..from + len).unwrap_or_default());
                }
            }
            let body = Body::packed(bodies.len() - start);
            (*number, Slot { id: slot.id, digest: slot.digest.clone(), body })
        });
        PackedTable {
            slots: slots.collect(),
            last: self.last,
            ends: self.ends.clone(),
            n_archived: self.n_archived,
        }
    }

    /// Opens a packed table whose tasks begin at `start` of `packed`.
    pub(crate) fn unpack(table: PackedTable, packed: Arc<Vec<u8>>, mut start: usize) -> Self {
        let mut slots = table.slots;
        for (_, slot) in &mut slots {
            slot.body.place.0 = start;
            start += slot.body.place.1;
        }
        Self {
            index: Index::of(slots.iter().map(|(number, slot)| (*number, &slot.digest))),
            slots: slots.into_iter().collect(),
            packed,
            last: table.last,
            ends: table.ends,
            n_archived: table.n_archived,
            departed: Vec::new(),
            undo: Vec::new(),
        }
    }
}
