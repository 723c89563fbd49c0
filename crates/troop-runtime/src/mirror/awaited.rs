//! New tasks that wait for others which are not there yet: programs write a plan file by file, in any order.

use std::collections::{BTreeMap, BTreeSet};

use super::ids::FileId;

/// Whether a file waits for tasks that the board does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaits {
    Nothing,
    /// Tasks whose files are there and were not taken yet.
    Files,
    /// Tasks whose files are not there, and may be written next.
    More,
}

/// Whether a file waits, and the files to visit first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AwaitedFiles {
    pub(super) awaits: Awaits,
    pub(super) first: Vec<FileId>,
}

/// Which files wait until another is taken.
#[derive(Debug, Default)]
pub(super) struct WaitingFiles {
    by: BTreeMap<FileId, BTreeSet<FileId>>,
    /// Files that waited for one that was refused.
    in_vain: BTreeSet<FileId>,
}

impl WaitingFiles {
    /// Whether the second file waits for the first, directly or through others.
    fn is_before(&self, first: &FileId, second: &FileId) -> bool {
        let mut reached = BTreeSet::new();
        let mut next = vec![first];
        while let Some(id) = next.pop() {
            if id == second {
                return true;
            }
            if reached.insert(id) {
                next.extend(self.by.get(id).into_iter().flatten());
            }
        }
        false
    }

    /// What a file waits for: `unknown` to the board, and of that `present` as files. Files that wait for each other would
    /// wait for ever, so that they wait for nothing.
    pub(super) fn add(
        &mut self,
        id: &FileId,
        unknown: &[FileId],
        present: &BTreeSet<FileId>,
    ) -> AwaitedFiles {
        let mut first = Vec::new();
        if self.in_vain.remove(id) {
            return AwaitedFiles { awaits: Awaits::Nothing, first };
        }
        let mut awaits = Awaits::Nothing;
        for other in unknown {
            if self.is_before(id, other) {
                return AwaitedFiles { awaits: Awaits::Nothing, first };
            }
            if !present.contains(other) {
                awaits = if awaits == Awaits::Files { awaits } else { Awaits::More };
                continue;
            }
            if self.by.entry(other.clone()).or_default().insert(id.clone()) {
                first.push(other.clone());
            }
            awaits = Awaits::Files;
        }
        AwaitedFiles { awaits, first }
    }

    /// The files that waited for this one, which was taken.
    pub(super) fn take(&mut self, id: &FileId) -> BTreeSet<FileId> {
        self.by.remove(id).unwrap_or_default()
    }

    /// The files that waited for this one, which was refused. They no longer wait for it.
    pub(super) fn refuse(&mut self, id: &FileId) -> BTreeSet<FileId> {
        let waiting = self.take(id);
        self.in_vain.extend(waiting.iter().cloned());
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> FileId {
        FileId::new(text).unwrap()
    }

    fn ids(texts: &[&str]) -> Vec<FileId> {
        texts.iter().map(|it| id(it)).collect()
    }

    fn check(
        awaited: &mut WaitingFiles,
        file: &str,
        unknown: &[&str],
        expect: Awaits,
        first: &[&str],
    ) {
        let present: BTreeSet<_> = ids(&["a", "b", "c"]).into_iter().collect();
        let found = awaited.add(&id(file), &ids(unknown), &present);
        assert_eq!(found, AwaitedFiles { awaits: expect, first: ids(first) }, "{file}");
    }

    #[test]
    fn a_file_waits_for_files_that_are_there_and_asks_for_each_once() {
        let mut awaited = WaitingFiles::default();
        check(&mut awaited, "a", &[], Awaits::Nothing, &[]);
        check(&mut awaited, "a", &["x"], Awaits::More, &[]);
        check(&mut awaited, "a", &["b", "x"], Awaits::Files, &["b"]);
        check(&mut awaited, "a", &["x", "b"], Awaits::Files, &[]);
        assert_eq!(awaited.take(&id("b")), BTreeSet::from([id("a")]));
        assert_eq!(awaited.take(&id("b")), BTreeSet::new());
    }

    #[test]
    fn files_that_wait_for_each_other_stop_waiting() {
        let mut awaited = WaitingFiles::default();
        check(&mut awaited, "a", &["b"], Awaits::Files, &["b"]);
        check(&mut awaited, "b", &["c"], Awaits::Files, &["c"]);
        check(&mut awaited, "c", &["a"], Awaits::Nothing, &[]);
        check(&mut awaited, "c", &["c"], Awaits::Nothing, &[]);
    }

    #[test]
    fn a_file_is_taken_once_when_the_file_it_waited_for_was_refused() {
        let mut awaited = WaitingFiles::default();
        check(&mut awaited, "a", &["b"], Awaits::Files, &["b"]);
        assert_eq!(awaited.refuse(&id("b")), BTreeSet::from([id("a")]));
        check(&mut awaited, "a", &["b"], Awaits::Nothing, &[]);
        check(&mut awaited, "a", &["b"], Awaits::Files, &["b"]);
    }
}
