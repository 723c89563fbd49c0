//! The operations that a team remembers, so that a repeated one has one effect.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{JournaledMap, Limits, OperationId, Refusal, Time, Version};

/// A team may forget an operation this much older than the end of its log; see also [`Limits`].
const REMEMBERED_SPAN: Duration = Duration::from_secs(600);
/// An operation made this recently, by the clock of the process that decides, cannot repeat a forgotten one. Without this,
/// one machine whose clock is far ahead would lock out all others.
const FRESH: Duration = Duration::from_secs(2);

/// Where an operation's events are in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The version before its first event.
    pub after: Version,
    /// How many events it has.
    pub n_events: u32,
}

/// The last operations, by id and by age.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "PackedOperations")]
pub(crate) struct Operations {
    /// By the version before its first event.
    by_age: JournaledMap<Version, OperationRecord>,
    /// The creation time of the newest operation that was forgotten.
    forgotten: JournaledMap<(), Time>,
    #[serde(skip_serializing)]
    by_id: JournaledMap<OperationId, Version>,
}

/// The operations in a snapshot.
#[derive(Deserialize)]
struct PackedOperations {
    by_age: BTreeMap<Version, OperationRecord>,
    forgotten: BTreeMap<(), Time>,
}

/// An operation that happened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct OperationRecord {
    operation: OperationId,
    n_events: u32,
    at: Time,
}

impl Operations {
    /// Where the events of an operation are, if it happened.
    pub(super) fn span(&self, operation: OperationId) -> Option<Span> {
        let after = *self.by_id.entries().get(&operation)?;
        let n_events = self.by_age.entries().get(&after)?.n_events;
        Some(Span { after, n_events })
    }

    /// Refuses an operation that may have been forgotten.
    pub(super) fn check_age(&self, operation: OperationId, now: Time) -> Result<(), Refusal> {
        let made_at = operation.made_at();
        let mut forgotten = self.forgotten.entries().values();
        if forgotten.any(|forgotten| made_at <= *forgotten) && made_at + FRESH < now {
            return Err(Refusal::ForgottenOperation { operation });
        }
        Ok(())
    }

    /// Remembers that an event of this operation is at `version`.
    pub(crate) fn note(
        &mut self,
        operation: OperationId,
        version: Version,
        at: Time,
        limits: &Limits,
    ) {
        if let Some(after) = self.by_id.entries().get(&operation) {
            self.by_age.update(after, |it| it.n_events += 1);
            return;
        }
        let after = Version(version.0.saturating_sub(1));
        self.by_id.insert(operation, after);
        self.by_age.insert(after, OperationRecord { operation, n_events: 1, at });
        while let Some((oldest, it)) = self.by_age.entries().first_key_value()
            && is_forgettable(self.by_age.entries().len(), at.since(it.at), limits)
        {
            let oldest = *oldest;
            let operation = it.operation;
            let before = self.forgotten.entries().get(&()).copied().unwrap_or_default();
            self.forgotten.insert((), before.max(operation.made_at()));
            self.by_age.remove(&oldest);
            self.by_id.remove(&operation);
        }
    }

    pub(super) fn begin(&mut self) {
        self.by_age.begin();
        self.forgotten.begin();
        self.by_id.begin();
    }

    pub(super) fn rollback(&mut self) {
        self.by_age.rollback();
        self.forgotten.rollback();
        self.by_id.rollback();
    }
}

/// Whether the oldest of `n_operations`, at this age, may be forgotten.
fn is_forgettable(n_operations: usize, age: Duration, limits: &Limits) -> bool {
    n_operations > limits.max_operations
        || (n_operations > limits.min_operations && age > REMEMBERED_SPAN)
}

impl From<PackedOperations> for Operations {
    fn from(packed: PackedOperations) -> Self {
        let by_id = packed.by_age.iter().map(|(after, it)| (it.operation, *after));
        Self {
            by_id: by_id.collect::<BTreeMap<_, _>>().into(),
            by_age: packed.by_age.into(),
            forgotten: packed.forgotten.into(),
        }
    }
}
