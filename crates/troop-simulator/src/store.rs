//! The simulated store: the contract of `troop-store` at its shortest. An append succeeds if the log is at the expected version,
//! wholly or not at all, and the same operation twice has one effect.

use std::{collections::BTreeMap, rc::Rc};

use troop_model::{Event, State, Version};
use uuid::Uuid;

/// A log, and the state that it stands for.
#[derive(Debug, Default)]
pub(crate) struct SimulatedStore {
    events: Vec<Rc<Event>>,
    /// The contents of a snapshot: the sum of all events.
    state: State,
    /// The appends that happened, with the version before them.
    appends: BTreeMap<Uuid, Version>,
}

/// The outcome of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppendResult {
    Done,
    /// Somebody else wrote first.
    Behind,
}

impl SimulatedStore {
    pub(crate) fn version(&self) -> Version {
        self.state.version()
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// The events after a version.
    pub(crate) fn after(&self, version: Version) -> Vec<Rc<Event>> {
        let skipped = usize::try_from(version.0).unwrap_or(usize::MAX);
        self.events.iter().skip(skipped).cloned().collect()
    }

    pub(crate) fn append(&mut self, batch: Uuid, after: Version, events: &[Event]) -> AppendResult {
        if self.appends.contains_key(&batch) {
            return AppendResult::Done;
        }
        if after != self.version() {
            return AppendResult::Behind;
        }
        self.appends.insert(batch, after);
        self.state.begin();
        for event in events {
            self.state.apply(event);
            self.events.push(Rc::new(event.clone()));
        }
        AppendResult::Done
    }

    /// Whether the log replays to the state.
    pub(crate) fn is_replayed(&self) -> bool {
        let mut again = State::default();
        for event in &self.events {
            again.apply(event);
        }
        again == self.state
    }
}
