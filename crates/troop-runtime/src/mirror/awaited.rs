//! Tasks that wait for others which are still to come: a plan is written file by file, in any order.

use std::collections::{BTreeMap, BTreeSet};

use troop_model::{Refusal, State};

use super::{Item, Mirror, MirrorError, ids::FileId, layout::TaskFile};

/// What a file waits for that no task of the board is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaits {
    Nothing,
    /// Tasks whose files are there and were not taken yet.
    Files,
    /// Tasks whose files are not there, and may be written next.
    More,
}

/// Which files wait until another is taken.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    by: BTreeMap<FileId, BTreeSet<FileId>>,
    /// Those whose other was refused.
    in_vain: BTreeSet<FileId>,
}

impl Awaited {
    /// Whether the second file waits for the first, directly or by way of others.
    fn is_before(&self, first: &FileId, second: &FileId) -> bool {
        let (mut reached, mut next) = (BTreeSet::new(), vec![first]);
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
}

impl Mirror {
    /// What a file waits for that is still to come. Files that wait for each other wait in vain.
    pub(super) async fn awaits(
        &mut self,
        id: &FileId,
        file: &TaskFile,
    ) -> Result<Awaits, MirrorError> {
        let meant: Vec<_> =
            file.waits_for.iter().flatten().map(|it| (it.clone(), self.ids.meant(it))).collect();
        if meant.is_empty() {
            return Ok(Awaits::Nothing);
        }
        let look = move |state: &State| -> Vec<String> {
            let mut unknown = meant;
            unknown.retain(|(_, task)| {
                matches!(state.resolve(task), Err(Refusal::UnknownTask { .. }))
            });
            unknown.into_iter().map(|(id, _)| id).collect()
        };
        let unknown = self.board.look(look).await?;
        if self.awaited.in_vain.remove(id) {
            return Ok(Awaits::Nothing);
        }
        let mut awaits = Awaits::Nothing;
        for other in unknown.iter().filter_map(|it| FileId::new(it)) {
            if self.awaited.is_before(id, &other) {
                return Ok(Awaits::Nothing);
            }
            if !self.places.task(&other).exists() {
                awaits = if awaits == Awaits::Files { awaits } else { Awaits::More };
                continue;
            }
            if self.awaited.by.entry(other.clone()).or_default().insert(id.clone()) {
                self.dirty.insert(Item::Task(other));
            }
            awaits = Awaits::Files;
        }
        Ok(awaits)
    }

    /// Looks again at files that waited for this one.
    pub(super) fn look_at_those_that_await(&mut self, id: &FileId) {
        let waiting = self.awaited.by.remove(id).unwrap_or_default();
        self.dirty.extend(waiting.into_iter().map(Item::Task));
    }

    /// Lets files go on that waited for one that was refused.
    pub(super) fn wait_no_more_for(&mut self, id: &FileId) {
        let waiting = self.awaited.by.get(id).into_iter().flatten().cloned();
        self.awaited.in_vain.extend(waiting);
        self.look_at_those_that_await(id);
    }
}
