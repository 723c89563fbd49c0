//! Matches tool uses with their results, which arrive in different messages.
//!
//! Every collection is bounded: at worst we miss an event, and memory does not grow.

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use troop_model::Time;

use crate::vocabulary::Operation;

/// How many uses may wait, and how many expired uses we remember.
const MAX_WAITING: usize = 256;
/// How many bytes all of these may hold. The newest one is kept whatever its size.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// How many results we keep that arrived before their use, and how long each may be.
const MAX_EARLY: usize = 64;
const MAX_EARLY_LINE: usize = 16 * 1024;
/// How many uses and messages we remember, in order to recognise a replay.
const MAX_SETTLED: usize = 4096;

/// After this long, we no longer expect a result.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(30);

/// A tool use without a result yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PendingUse {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) operation: Operation,
    /// The agent that used the tool, if it was not the session itself.
    pub(crate) actor: Option<String>,
    pub(crate) received_at: Time,
    /// The stream's time when it was asked; of a line without a time, that of the next line that has one.
    #[serde(default)]
    pub(crate) stamped_at: Option<Time>,
    /// Whether a supplement was published for it.
    pub(crate) is_announced: bool,
}

impl PendingUse {
    pub(crate) fn n_bytes(&self) -> usize {
        let actor = self.actor.as_ref().map_or(0, String::len);
        self.id.len() + self.tool.len() + actor + self.operation.n_bytes()
    }
}

/// Uses without results, and results without uses.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Correlator {
    /// The oldest first.
    waiting: VecDeque<PendingUse>,
    /// Uses that waited too long. A late result still counts, for example when a person took time to allow the tool.
    late: VecDeque<PendingUse>,
    /// Lines with results whose uses have not arrived.
    #[serde(skip)]
    early: VecDeque<Early>,
    settled: SettledUse,
}

#[derive(Debug)]
struct Early {
    /// The hashes of the uses' ids.
    ids: Vec<u64>,
    line: Vec<u8>,
}

impl Correlator {
    /// Keeps a use until its result arrives. A use with the same id replaces the former.
    pub(crate) fn add(&mut self, pending: PendingUse) {
        for shelf in [&mut self.waiting, &mut self.late] {
            shelf.retain(|it| it.id != pending.id);
        }
        self.waiting.push_back(pending);
        if self.waiting.len() > MAX_WAITING {
            self.give_up_oldest();
        }
        self.forget_to(MAX_BYTES);
    }

    /// Drops the oldest until the rest holds no more than this.
    fn forget_to(&mut self, max_bytes: usize) {
        let all = self.late.iter().chain(&self.waiting);
        let mut n_bytes: usize = all.map(PendingUse::n_bytes).sum();
        while n_bytes > max_bytes && self.late.len() + self.waiting.len() > 1 {
            let oldest = self.late.pop_front().or_else(|| self.waiting.pop_front());
            n_bytes -= oldest.map_or(0, |it| it.n_bytes());
        }
    }

    /// Removes and returns the use with this id.
    pub(crate) fn take(&mut self, id: &str) -> Option<PendingUse> {
        let shelves = [&mut self.waiting, &mut self.late];
        let found = shelves.into_iter().find_map(|shelf| {
            let at = shelf.iter().position(|it| it.id == id)?;
            shelf.remove(at)
        });
        if found.is_some() {
            self.settled.add(id);
        }
        found
    }

    pub(crate) fn is_awaited(&self, id: &str) -> bool {
        self.waiting.iter().chain(&self.late).any(|it| it.id == id)
    }

    pub(crate) fn is_settled(&self, id: &str) -> bool {
        self.settled.has(id)
    }

    /// Remembers an id that must not count twice; returns whether it is new.
    pub(crate) fn settle(&mut self, id: &str) -> bool {
        self.settled.add(id)
    }

    /// Expires uses that have waited longer than this, by our clock or by that of the stream; returns how many.
    pub(crate) fn flush(&mut self, now: Time, stamp: Option<Time>, max_age: Duration) -> usize {
        for it in &mut self.waiting {
            it.stamped_at = it.stamped_at.or(stamp);
        }
        let is_too_old = |it: &PendingUse| {
            let by_stream = stamp.zip(it.stamped_at).map(|(stamp, asked)| stamp.since(asked));
            by_stream.max(Some(now.since(it.received_at))) > Some(max_age)
        };
        let n_waiting = self.waiting.len();
        while self.waiting.front().is_some_and(is_too_old) {
            self.give_up_oldest();
        }
        n_waiting - self.waiting.len()
    }

    /// Whether a use waits for the id of the task that it creates.
    pub(crate) fn awaits_a_task(&self) -> bool {
        let mut all = self.waiting.iter().chain(&self.late);
        all.any(|it| matches!(it.operation, Operation::CreateTask { .. }))
    }

    pub(crate) fn n_waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The waiting uses, the oldest first.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &PendingUse> {
        self.waiting.iter()
    }

    /// Keeps a line with results whose uses may still arrive.
    pub(crate) fn keep_early(&mut self, ids: Vec<u64>, line: &[u8]) {
        if line.len() > MAX_EARLY_LINE || ids.iter().all(|id| self.settled.known.contains(id)) {
            return;
        }
        let mut room = Vec::new();
        if self.early.len() == MAX_EARLY {
            room = self.early.pop_front().map(|it| it.line).unwrap_or_default();
        }
        room.clear();
        room.extend_from_slice(line);
        self.early.push_back(Early { ids, line: room });
    }

    /// The line with the result of this use, if it arrived first.
    pub(crate) fn take_early(&mut self, id: &str) -> Option<Vec<u8>> {
        let id = hash(id);
        let early = self.early.iter_mut().find(|it| it.ids.contains(&id))?;
        early.ids.retain(|it| *it != id);
        Some(early.line.clone())
    }

    fn give_up_oldest(&mut self) {
        self.late.extend(self.waiting.pop_front());
        if self.late.len() > MAX_WAITING {
            self.late.pop_front();
        }
    }
}

/// The hashes of the last ids that have been settled.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<u64>", into = "Vec<u64>")]
struct SettledUse {
    order: VecDeque<u64>,
    known: HashSet<u64>,
}

impl SettledUse {
    fn has(&self, id: &str) -> bool {
        self.known.contains(&hash(id))
    }

    fn add(&mut self, id: &str) -> bool {
        let hash = hash(id);
        if !self.known.insert(hash) {
            return false;
        }
        self.order.push_back(hash);
        if self.order.len() > MAX_SETTLED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

impl From<SettledUse> for Vec<u64> {
    fn from(settled: SettledUse) -> Self {
        settled.order.into()
    }
}

impl From<Vec<u64>> for SettledUse {
    fn from(mut ids: Vec<u64>) -> Self {
        let n_too_many = ids.len().saturating_sub(MAX_SETTLED);
        ids.drain(..n_too_many);
        Self { known: ids.iter().copied().collect(), order: ids.into() }
    }
}

/// The hash of an id. FNV-1a, because hashes are saved and every version must compute the same.
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
