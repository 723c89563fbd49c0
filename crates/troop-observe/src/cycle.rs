//! Finds tasks that wait for themselves. An observed team may have them; they are marked.

use std::collections::BTreeMap;

use crate::team::{ObservedTask, ObservedTaskId};

/// The tasks on a cycle. Not recursive, because a chain may be as long as the stream.
pub(crate) fn members(tasks: &BTreeMap<ObservedTaskId, ObservedTask>) -> Vec<ObservedTaskId> {
    // Most boards have no dependencies at all.
    if tasks.values().all(|task| task.blocked_by.is_empty()) {
        return Vec::new();
    }
    let mut search =
        CycleSearch { tasks, marks: BTreeMap::new(), path: Vec::new(), found: Vec::new() };
    for id in tasks.keys() {
        if !search.marks.contains_key(id) {
            search.from(id);
        }
    }
    search.found
}

/// Tarjan's algorithm for strongly connected components.
struct CycleSearch<'a> {
    tasks: &'a BTreeMap<ObservedTaskId, ObservedTask>,
    marks: BTreeMap<&'a ObservedTaskId, SearchMark>,
    /// Visited tasks that belong to no component yet.
    path: Vec<&'a ObservedTaskId>,
    found: Vec<ObservedTaskId>,
}

#[derive(Clone, Copy)]
struct SearchMark {
    reached: usize,
    /// The earliest visited task that can be reached from here.
    lowest: usize,
    is_open: bool,
}

impl<'a> CycleSearch<'a> {
    fn from(&mut self, first: &'a ObservedTaskId) {
        let mut walk = vec![(first, self.reach(first))];
        while let Some((at, next)) = walk.last_mut() {
            let at = *at;
            let Some(to) = next.next() else {
                walk.pop();
                self.close(at);
                if let Some((parent, _)) = walk.last() {
                    let lowest = self.marks.get(at).map_or(usize::MAX, |mark| mark.lowest);
                    self.lower(parent, lowest);
                }
                continue;
            };
            match self.marks.get(to).copied() {
                None if self.tasks.contains_key(to) => {
                    let next = self.reach(to);
                    walk.push((to, next));
                }
                Some(mark) if mark.is_open => self.lower(at, mark.reached),
                Some(_) | None => {}
            }
        }
    }

    fn reach(
        &mut self,
        id: &'a ObservedTaskId,
    ) -> std::collections::btree_set::Iter<'a, ObservedTaskId> {
        let reached = self.marks.len();
        self.marks.insert(id, SearchMark { reached, lowest: reached, is_open: true });
        self.path.push(id);
        self.tasks.get(id).map(|task| task.blocked_by.iter()).unwrap_or_default()
    }

    fn lower(&mut self, id: &ObservedTaskId, lowest: usize) {
        if let Some(mark) = self.marks.get_mut(id) {
            mark.lowest = mark.lowest.min(lowest);
        }
    }

    /// If a component begins here, everything after it on the path belongs to it.
    fn close(&mut self, id: &'a ObservedTaskId) {
        if self.marks.get(id).is_none_or(|mark| mark.lowest != mark.reached) {
            return;
        }
        let start = self.path.iter().rposition(|it| *it == id).unwrap_or(self.path.len());
        let group = self.path.split_off(start);
        for it in &group {
            if let Some(mark) = self.marks.get_mut(*it) {
                mark.is_open = false;
            }
        }
        let waits_for_itself = self.tasks.get(id).is_some_and(|it| it.blocked_by.contains(id));
        if group.len() > 1 || waits_for_itself {
            self.found.extend(group.into_iter().cloned());
        }
    }
}
