//! The items that a mirror visits next, and those that it visits again later.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::Instant;

use super::Item;

/// How soon the mirror visits a file again that was half written or locked.
const AGAIN: Duration = Duration::from_millis(20);

/// In the order of items: newcomers first, so that their names are known; then what members do; then leavers.
#[derive(Debug, Default)]
pub(super) struct Worklist {
    dirty: BTreeSet<Item>,
    later: BTreeSet<Item>,
    /// Items that were locked or half written at the last visit.
    locked: BTreeSet<Item>,
    /// When postponed items are visited again.
    again: Option<Instant>,
}

impl Worklist {
    /// Marks an item. Returns whether it was not marked yet.
    pub(super) fn mark(&mut self, item: Item) -> bool {
        self.dirty.insert(item)
    }

    pub(super) fn mark_all(&mut self, items: impl IntoIterator<Item = Item>) {
        self.dirty.extend(items);
    }

    pub(super) fn next(&mut self) -> Option<Item> {
        self.dirty.pop_first()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.dirty.is_empty()
    }

    /// Has an item visited again soon, because somebody is writing it.
    pub(super) fn postpone(&mut self, item: Item, now: Instant) {
        self.again.get_or_insert(now + AGAIN);
        self.locked.insert(item.clone());
        self.later.insert(item);
    }

    /// An item is no longer being written.
    pub(super) fn settle(&mut self, item: &Item) {
        self.locked.remove(item);
    }

    /// Marks all postponed items.
    pub(super) fn resume(&mut self) {
        self.dirty.append(&mut self.later);
    }

    /// When to mark the postponed items.
    pub(super) fn again(&self) -> Option<Instant> {
        self.again
    }

    /// Marks the postponed items, because their time has come.
    pub(super) fn resume_on_time(&mut self) {
        self.again = None;
        self.resume();
    }

    /// Whether an item was locked or half written at the last visit.
    pub(super) fn was_locked(&self, item: &Item) -> bool {
        self.locked.contains(item)
    }

    pub(super) fn is_postponed(&self, item: &Item) -> bool {
        self.later.contains(item)
    }

    pub(super) fn has_postponed(&self) -> bool {
        !self.later.is_empty()
    }

    /// Whether files of tasks are marked that were not visited before.
    pub(super) fn has_unread_tasks(&self) -> bool {
        self.dirty.iter().filter(|it| is_task(it)).any(|it| !self.locked.contains(it))
    }

    /// Whether files of tasks are marked or postponed.
    pub(super) fn has_tasks(&self) -> bool {
        self.dirty.iter().chain(&self.later).any(is_task)
    }
}

fn is_task(item: &Item) -> bool {
    matches!(item, Item::Task(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::ids::FileId;

    fn task(id: &str) -> Item {
        Item::Task(FileId::new(id).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_postponed_item_is_visited_again_on_time_and_counts_as_locked() {
        let mut work = Worklist::default();
        work.mark_all([task("1"), Item::Leaving, Item::Config]);
        assert_eq!(work.next(), Some(Item::Config));
        assert_eq!(work.next(), Some(task("1")));
        let now = Instant::now();
        work.postpone(task("1"), now);
        work.postpone(task("2"), now + AGAIN);
        assert_eq!(work.again(), Some(now + AGAIN));
        assert!(work.was_locked(&task("1")) && work.has_postponed() && work.has_tasks());
        work.resume_on_time();
        assert_eq!(work.again(), None);
        assert!(!work.has_unread_tasks(), "both were looked at before");
        work.settle(&task("1"));
        assert!(work.has_unread_tasks());
        assert_eq!(work.next(), Some(task("1")));
        assert_eq!(work.next(), Some(task("2")));
        assert_eq!(work.next(), Some(Item::Leaving));
    }
}
