//! Tasks that wait for themselves: accepted in what is observed, and marked.

use std::collections::BTreeMap;

use crate::team::{Task, TaskId};

/// The tasks that lie on a cycle. Not recursive, because a chain may be as long as a stream.
pub(crate) fn members(tasks: &BTreeMap<TaskId, Task>) -> Vec<TaskId> {
    // Most boards have no dependencies at all.
    if tasks.values().all(|task| task.blocked_by.is_empty()) {
        return Vec::new();
    }
    let mut search = Search { tasks, marks: BTreeMap::new(), path: Vec::new(), found: Vec::new() };
    for id in tasks.keys() {
        if !search.marks.contains_key(id) {
            search.from(id);
        }
    }
    search.found
}

/// Tarjan's search for what is strongly connected.
struct Search<'a> {
    tasks: &'a BTreeMap<TaskId, Task>,
    marks: BTreeMap<&'a TaskId, Mark>,
    /// What was reached and is not yet known to belong to anything.
    path: Vec<&'a TaskId>,
    found: Vec<TaskId>,
}

#[derive(Clone, Copy)]
struct Mark {
    reached: usize,
    /// The first that can be reached from here.
    lowest: usize,
    is_open: bool,
}

impl<'a> Search<'a> {
    fn from(&mut self, first: &'a TaskId) {
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

    fn reach(&mut self, id: &'a TaskId) -> std::collections::btree_set::Iter<'a, TaskId> {
        let reached = self.marks.len();
        self.marks.insert(id, Mark { reached, lowest: reached, is_open: true });
        self.path.push(id);
        self.tasks.get(id).map(|task| task.blocked_by.iter()).unwrap_or_default()
    }

    fn lower(&mut self, id: &TaskId, lowest: usize) {
        if let Some(mark) = self.marks.get_mut(id) {
            mark.lowest = mark.lowest.min(lowest);
        }
    }

    /// If this is where a group begins, all that is behind it on the path belongs to it.
    fn close(&mut self, id: &'a TaskId) {
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
