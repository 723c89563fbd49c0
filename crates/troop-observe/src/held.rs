//! Keeps updates of tasks whose creation has no result yet: when results come out of order, such an update is not lost.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::{correlate::PendingUse, team::ObservedTaskId, vocabulary::Operation};

/// How many updates we keep, and how many bytes of text. The oldest go first.
const MAX_UPDATES: usize = 64;
const MAX_BYTES: usize = 1 << 20;

/// Confirmed updates of tasks that are not known yet, the oldest first.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct HeldUpdates(VecDeque<PendingUse>);

impl HeldUpdates {
    pub(crate) fn keep(&mut self, update: PendingUse) {
        self.0.push_back(update);
        while self.0.len() > MAX_UPDATES
            || (self.0.len() > 1
                && self.0.iter().map(PendingUse::n_bytes).sum::<usize>() > MAX_BYTES)
        {
            self.0.pop_front();
        }
    }

    /// Takes the updates of a task, the oldest first.
    pub(crate) fn take(&mut self, task: &ObservedTaskId) -> Vec<PendingUse> {
        let all = std::mem::take(&mut self.0);
        let is_of_task = |it: &PendingUse| matches!(&it.operation, Operation::UpdateTask(it) if it.task == *task);
        let (found, rest) = all.into_iter().partition(is_of_task);
        self.0 = rest;
        found.into()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
